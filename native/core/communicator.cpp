#include "core/communicator.hpp"

#include <stdexcept>

namespace hedgerow {
namespace {

[[noreturn]] void refuse() {
  throw std::runtime_error(
      "a worker has sent a message of another size than expected: do all workers run the same "
      "version, with the same parameters?");
}

}  // namespace

const std::byte* BytesReader::take(std::size_t count) {
  if (count > bytes_.size()) refuse();
  const std::byte* begin = bytes_.data();
  bytes_ = bytes_.subspan(count);
  return begin;
}

void BytesReader::finish() const {
  if (!bytes_.empty()) refuse();
}

}  // namespace hedgerow
