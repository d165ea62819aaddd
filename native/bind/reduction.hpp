// A reduction over workers by methods of a Python object.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bind/conversions.hpp"
#include "bind/gil.hpp"
#include "core/reduction.hpp"

namespace hedgerow {

// The object has the methods sum and max. Each takes a uint64 array and returns one of the same
// size.
class PythonReduction final : public Reduction {
 public:
  explicit PythonReduction(nb::object object) : object_(std::move(object)) {}
  bool is_alone() const override { return false; }
  void sum(std::span<std::uint64_t> numbers) const override { call("sum", numbers); }
  void max(std::span<std::uint64_t> numbers) const override { call("max", numbers); }

 private:
  void call(const char* method, std::span<std::uint64_t> numbers) const {
    const GilTaken taken;
    const std::vector<std::uint64_t> own(numbers.begin(), numbers.end());
    const nb::object result = object_.attr(method)(to_numpy<std::uint64_t>(own));
    const auto reduced = nb::cast<Array<const std::uint64_t, nb::ndim<1>>>(result);
    require(reduced.size() == numbers.size(), "a reduction must keep the number of numbers");
    std::copy_n(reduced.data(), reduced.size(), numbers.begin());
  }

  nb::object object_;
};

// None: a worker that has all rows.
inline std::shared_ptr<const Reduction> reduction_of(const nb::object& object) {
  if (object.is_none()) return std::make_shared<NoReduction>();
  return std::make_shared<PythonReduction>(object);
}

}  // namespace hedgerow
