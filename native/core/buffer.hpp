// Uninitialised, cache-line aligned memory for plain values. Large buffers request huge pages,
// because rows are gathered from random positions and small pages would miss the TLB at every row.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace hedgerow {

template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(std::size_t count) : memory_(allocate(count * sizeof(T))) {}

  T* get() const { return memory_.get(); }
  T& operator[](std::size_t i) const { return memory_.get()[i]; }
  explicit operator bool() const { return memory_ != nullptr; }

 private:
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };

  static T* allocate(std::size_t bytes) {
    constexpr std::size_t kHugePage = std::size_t{2} << 20;
    const std::size_t alignment = bytes >= 2 * kHugePage ? kHugePage : 64;
    const std::size_t rounded = (bytes / alignment + 1) * alignment;
    void* memory = std::aligned_alloc(alignment, rounded);
    if (!memory) throw std::bad_alloc();
#if defined(__SANITIZE_ADDRESS__)
    // The padding for alignment is not part of the buffer, but the sanitizer would accept it.
    ASAN_POISON_MEMORY_REGION(static_cast<char*>(memory) + bytes, rounded - bytes);
#endif
#if defined(__linux__)
    if (alignment == kHugePage) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return static_cast<T*>(memory);
  }

  std::unique_ptr<T, Free> memory_;
};

}  // namespace hedgerow
