// Uninitialised, cache-line aligned memory for plain values. Large buffers request huge pages,
// because rows are gathered from random positions and small pages would miss the TLB at every row.
#pragma once
#include <cstddef>
#include <memory>
#include <type_traits>

#include "core/platform.hpp"

namespace hedgerow {

template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(std::size_t count)
      : memory_(static_cast<T*>(allocate_aligned(count * sizeof(T)))) {}

  T* get() const { return memory_.get(); }
  T& operator[](std::size_t i) const { return memory_.get()[i]; }
  explicit operator bool() const { return memory_ != nullptr; }

 private:
  struct Free {
    void operator()(T* memory) const { free_aligned(memory); }
  };

  std::unique_ptr<T, Free> memory_;
};

}  // namespace hedgerow
