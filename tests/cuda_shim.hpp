// CUDA on the CPU, for tests without a GPU: the kernels' own text, compiled by a C++ compiler. A
// thread of a block is a fibre, and blocks run one after another, so atomics are plain operations.
// Threads that leave a kernel early count as arrived at every barrier, as on a GPU. Blocks come in
// any order, and so do the warps of a block between barriers: kernels that rely on one differ from
// launch to launch.
#pragma once
#include <setjmp.h>
#include <ucontext.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

// At a jump of the C library the address sanitizer takes the stack for unwound.
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#define SHIM_SETJMP __builtin_setjmp
#define SHIM_LONGJMP __builtin_longjmp
using Place = void* [5];
#else
#define SHIM_SETJMP _setjmp
#define SHIM_LONGJMP _longjmp
using Place = jmp_buf;
#endif

#define __global__
#define __launch_bounds__(...)
#define __device__
#define __grid_constant__
#define __shared__ static
#define __noinline__ [[gnu::noinline]] inline

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

namespace shim {

constexpr unsigned kWarp = 32;
constexpr std::size_t kStack = 128 << 10;

// Those that wait for one another: a block or a warp.
struct Team {
  unsigned alive = 0, arrived = 0, generation = 0;

  void release_if_complete() {
    if (arrived == alive) arrived = 0, ++generation;
  }
};

// What lanes exchange stands in the slots of even and odd generations in turn: a lane writes to one
// half again when all lanes have passed the barrier after reading it.
struct Warp : Team {
  std::uint64_t slots[2][kWarp];
};

// Where a fibre or the scheduler goes on, and what the address sanitizer has to know of its stack.
struct Context {
  Place place;
  const void* stack = nullptr;
  std::size_t stack_bytes = 0;
  void* sanitizer_frames = nullptr;
};

struct Fibre : Context {
  ucontext_t start;
  std::unique_ptr<char[]> memory;
  dim3 thread;
  bool is_started = false, is_done = true;
  const Team* awaited = nullptr;
  unsigned generation = 0;  // of the team that it waits for

  bool can_go_on() const {
    return !is_done && (awaited == nullptr || awaited->generation != generation);
  }
};

inline std::deque<Fibre> fibres;
inline std::vector<Warp> warps;
inline Team block;
inline unsigned n_threads, current;
inline Fibre* running;
inline Context scheduler;
inline dim3 grid_dim, block_dim, block_index;
inline void* dynamic_shared;
inline void (*body)(void**);
inline void** arguments;

inline Fibre& self() { return *running; }

// What comes before and after every change of stacks.
inline void before_switch([[maybe_unused]] Context& from, [[maybe_unused]] const Context& to) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&from.sanitizer_frames, to.stack, to.stack_bytes);
#endif
}
inline void after_switch([[maybe_unused]] Context& from, [[maybe_unused]] const Context& to) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(to.sanitizer_frames, &from.stack, &from.stack_bytes);
#endif
}

// Goes back to the scheduler until it is this fibre's turn again.
[[gnu::noinline, gnu::no_sanitize_address]] inline void yield() {
  before_switch(self(), scheduler);
  if (SHIM_SETJMP(self().place) == 0) SHIM_LONGJMP(scheduler.place, 1);
  after_switch(scheduler, self());
}

inline void fibre_main() {
  after_switch(scheduler, self());
  for (;;) {
    body(arguments);
    self().is_done = true;
    --block.alive;
    block.release_if_complete();
    Warp& warp = warps[current / kWarp];
    --warp.alive;
    warp.release_if_complete();
    yield();
  }
}

inline void wait(Team& team) {
  const unsigned generation = team.generation;
  ++team.arrived;
  team.release_if_complete();
  if (team.generation != generation) return;
  self().awaited = &team;
  self().generation = generation;
  yield();
  self().awaited = nullptr;
}

inline void prepare(Fibre& fibre) {
  fibre.memory = std::make_unique<char[]>(kStack);
  fibre.stack = fibre.memory.get();
  fibre.stack_bytes = kStack;
  getcontext(&fibre.start);
  fibre.start.uc_stack.ss_sp = fibre.memory.get();
  fibre.start.uc_stack.ss_size = kStack;
  makecontext(&fibre.start, fibre_main, 0);
}

[[gnu::noinline, gnu::no_sanitize_address]] inline void resume(Fibre& fibre) {
  const bool is_started = std::exchange(fibre.is_started, true);
  if (!is_started) prepare(fibre);
  before_switch(scheduler, fibre);
  if (SHIM_SETJMP(scheduler.place) != 0) return after_switch(self(), scheduler);
  if (is_started) SHIM_LONGJMP(fibre.place, 1);
  setcontext(&fibre.start);
}

// Numbers that change from call to call, the same in every process.
inline unsigned any_number() {
  static std::uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<unsigned>(state >> 33);
}

inline void run_block() {
  while (fibres.size() < n_threads) fibres.emplace_back();
  warps.assign((n_threads + kWarp - 1) / kWarp, {});
  block = {n_threads, 0, 0};
  for (unsigned i = 0; i < n_threads; ++i) {
    fibres[i].thread = {i, 0, 0};
    fibres[i].is_done = false;
    ++warps[i / kWarp].alive;
  }
  const unsigned n_warps = static_cast<unsigned>(warps.size());
  while (block.alive > 0) {
    const unsigned first = any_number() % n_warps;
    for (unsigned i = 0; i < n_warps; ++i) {
      const unsigned begin = (first + i) % n_warps * kWarp;
      for (current = begin; current < begin + kWarp && current < n_threads; ++current) {
        running = &fibres[current];
        if (running->can_go_on()) resume(*running);
      }
    }
  }
}

inline void run(dim3 grid, unsigned threads, std::size_t shared_bytes) {
  // On a GPU shared memory holds anything at first.
  std::vector<std::uint64_t> shared(shared_bytes / 8 + 1, 0x7ff8dead7ff8dead);
  dynamic_shared = shared.data();
  grid_dim = grid;
  block_dim = {threads, 1, 1};
  n_threads = threads;
  const unsigned n_blocks = grid.x * grid.y, first = any_number() % n_blocks;
  for (unsigned i = 0; i < n_blocks; ++i) {
    const unsigned place = (first + i) % n_blocks;
    block_index = {place % grid.x, place / grid.x, 0};
    run_block();
  }
}

template <class... Args, std::size_t... i>
void call(void (*kernel)(Args...), void** given, std::index_sequence<i...>) {
  kernel(*static_cast<std::remove_reference_t<Args>*>(given[i])...);
}
template <class... Args>
void call(void (*kernel)(Args...), void** given) {
  call(kernel, given, std::index_sequence_for<Args...>{});
}

// Shows a value to the lanes of the warp; returns what all of them have shown.
template <class T>
const std::uint64_t* show(T value) {
  static_assert(sizeof(T) <= 8);
  Warp& warp = warps[current / kWarp];
  std::uint64_t* slots = warp.slots[warp.generation % 2];
  std::memcpy(&slots[current % kWarp], &value, sizeof(T));
  wait(warp);
  return slots;
}

template <class T>
T exchange(T value, unsigned from) {
  std::memcpy(&value, &show(value)[from % kWarp], sizeof(T));
  return value;
}

template <class T>
T replace(T* at, T value) {
  return std::exchange(*at, value);
}

}  // namespace shim

#define threadIdx (shim::self().thread)
#define blockIdx (shim::block_index)
#define blockDim (shim::block_dim)
#define gridDim (shim::grid_dim)

inline void __syncthreads() { shim::wait(shim::block); }
inline void __syncwarp(unsigned = ~0u) { shim::wait(shim::warps[shim::current / shim::kWarp]); }
template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  return shim::exchange(value, static_cast<unsigned>(lane));
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return shim::exchange(value, shim::current ^ static_cast<unsigned>(mask));
}
template <class T>
T __shfl_up_sync(unsigned, T value, int distance) {
  const int lane = static_cast<int>(shim::current % shim::kWarp);
  return shim::exchange(value, static_cast<unsigned>(lane >= distance ? lane - distance : lane));
}
inline unsigned __ballot_sync(unsigned, bool is_set) {
  const std::uint64_t* shown = shim::show<std::uint64_t>(is_set);
  unsigned votes = 0;
  for (unsigned lane = 0; lane < shim::kWarp; ++lane) votes |= (shown[lane] & 1u) << lane;
  return votes;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return shift % 32 == 0 ? high : high << shift % 32 | low >> (32 - shift % 32);
}
inline void __threadfence() {}
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __ffs(unsigned x) { return x ? std::countr_zero(x) + 1 : 0; }
template <class T>
T atomicAdd(T* at, T value) {
  return shim::replace(at, static_cast<T>(*at + value));
}
inline unsigned atomicOr(unsigned* at, unsigned value) { return shim::replace(at, *at | value); }
template <class T>
T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
T max(T a, T b) {
  return a < b ? b : a;
}
using std::isfinite;
