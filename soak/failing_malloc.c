/* Allocations that fail on demand, for soak/allocations.py: preloaded, it stands before the C
 * library's. While armed, the n-th allocation made from one of the chosen libraries fails, once. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

enum { MOST_RANGES = 64 };
static uintptr_t low[MOST_RANGES], high[MOST_RANGES];
static int n_ranges;
static atomic_long countdown; /* 0: not armed */
static atomic_long seen;

void soak_watch(uintptr_t from, uintptr_t to) {
  if (n_ranges == MOST_RANGES) return;
  low[n_ranges] = from;
  high[n_ranges++] = to;
}

/* Lets the n-th allocation from now on fail; a number that is never reached only counts. */
void soak_arm(long n) {
  atomic_store(&seen, 0);
  atomic_store(&countdown, n);
}

/* Returns how many allocations there were since soak_arm. */
long soak_disarm(void) {
  atomic_store(&countdown, 0);
  return atomic_load(&seen);
}

static int fails(void *caller) {
  if (atomic_load_explicit(&countdown, memory_order_relaxed) == 0) return 0;
  const uintptr_t at = (uintptr_t)caller;
  for (int i = 0; i < n_ranges; ++i) {
    if (at < low[i] || at >= high[i]) continue;
    if (atomic_fetch_add(&seen, 1) + 1 != atomic_load(&countdown)) return 0;
    errno = ENOMEM;
    return 1;
  }
  return 0;
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t size) { return fails(CALLER) ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails(CALLER) ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { return fails(CALLER) ? NULL : __libc_realloc(old, size); }
void *aligned_alloc(size_t alignment, size_t size) {
  return fails(CALLER) ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void **memory, size_t alignment, size_t size) {
  void *got = fails(CALLER) ? NULL : __libc_memalign(alignment, size);
  if (got == NULL) return ENOMEM;
  *memory = got;
  return 0;
}
