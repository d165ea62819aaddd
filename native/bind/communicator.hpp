// A communicator that is an object of Python's; see hedgerow/_cluster/communicator.py.
#pragma once
#include <nanobind/nanobind.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "bind/gil.hpp"
#include "core/communicator.hpp"

namespace hedgerow {

// Its methods are called with Python's lock released; what the object raises passes through.
class PythonCommunicator final : public Communicator {
 public:
  explicit PythonCommunicator(nanobind::object object)
      : object_(std::move(object)),
        rank_(nanobind::cast<int>(object_.attr("rank"))),
        size_(nanobind::cast<int>(object_.attr("size"))) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::vector<Bytes> exchange(const std::vector<Bytes>& parts) override {
    const GilTaken gil;
    nanobind::list list;
    for (const Bytes& part : parts) list.append(to_python(part));
    return from_python(object_.attr("exchange")(list));
  }

  std::vector<Bytes> gather(const Bytes& part) override {
    const GilTaken gil;
    return from_python(object_.attr("gather")(to_python(part)));
  }

 private:
  static nanobind::bytes to_python(const Bytes& part) {
    return nanobind::bytes(part.data(), part.size());
  }

  std::vector<Bytes> from_python(const nanobind::object& result) const {
    std::vector<Bytes> parts;
    for (const nanobind::handle item : result) {
      const auto bytes = nanobind::cast<nanobind::bytes>(item);
      const auto* begin = static_cast<const std::byte*>(bytes.data());
      parts.emplace_back(begin, begin + bytes.size());
    }
    if (parts.size() != static_cast<std::size_t>(size_)) {
      throw std::runtime_error("a communicator must return one part for each worker");
    }
    return parts;
  }

  nanobind::object object_;
  int rank_, size_;
};

}  // namespace hedgerow
