// How workers that share the rows of a table exchange bytes.
//
// Two operations suffice, because all that is added up are integers, which every worker adds in the
// same way: `exchange` sends each worker its own part, `gather` sends everybody the same. Both are
// collective: every worker calls them in the same order. The bindings implement them by a Python
// object, which may use threads, sockets or another library.
#pragma once
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace hedgerow {

using Bytes = std::vector<std::byte>;

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // parts[j] goes to worker j. Returns what each worker has sent to this one.
  virtual std::vector<Bytes> exchange(const std::vector<Bytes>& parts) = 0;
  // Returns what each worker has passed.
  virtual std::vector<Bytes> gather(const Bytes& part) = 0;
};

template <class T>
void append(Bytes& bytes, const T* values, std::size_t count) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* begin = reinterpret_cast<const std::byte*>(values);
  bytes.insert(bytes.end(), begin, begin + count * sizeof(T));
}

// Reads values in the order in which they were appended. What a worker sends is trusted as little
// as a file: a part that is too short or too long is an error.
class BytesReader {
 public:
  explicit BytesReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T read() {
    T value;
    std::memcpy(&value, take(sizeof(T)), sizeof(T));
    return value;
  }
  const std::byte* take(std::size_t count);
  // Throws unless everything has been read.
  void finish() const;

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace hedgerow
