// Bindings of sums over rows.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <vector>

#include "bind/conversions.hpp"
#include "bind/gil.hpp"
#include "core/array_sums.hpp"
#include "table/group_sums.hpp"

namespace hedgerow::bind_sums {

namespace nb = nanobind;
using namespace nb::literals;

using Numbers = Array<const double, nb::ndim<1>>;
using Groups = Array<const std::int64_t, nb::ndim<1>>;

inline void bind(nb::module_& m) {
  m.def(
      "sum_rows",
      [](const Numbers& numbers, int threads) {
        GilReleased release;
        return sum_numbers(numbers.data(), numbers.size(), threads);
      },
      "numbers"_a, "threads"_a = 1, "The exact sum of numbers, rounded once.");
  m.def(
      "sum_columns",
      [](const Array<const double, nb::ndim<2>>& matrix, int threads) {
        std::vector<double> sums;
        {
          GilReleased release;
          sums = sum_columns(matrix.data(), matrix.shape(0), matrix.shape(1), threads);
        }
        return to_numpy<double>(sums);
      },
      "matrix"_a, "threads"_a, "The exact sum of each column, rounded once.");
  m.def(
      "sum_words",
      [](const Numbers& numbers) {
        ExactSum::Words words;
        {
          GilReleased release;
          words = exact_sum(numbers.data(), numbers.size()).words();
        }
        return to_numpy<std::int64_t>(std::vector(words.begin(), words.end()));
      },
      "numbers"_a,
      "The exact sum before it is rounded. The words of several workers add up to those of all.");
  m.def(
      "sum_of_words",
      [](const Array<const std::int64_t, nb::ndim<1>>& words) {
        require(words.size() == ExactSum::kWords, "the number of words is wrong");
        ExactSum::Words copy;
        std::copy_n(words.data(), copy.size(), copy.begin());
        return ExactSum(copy).rounded();
      },
      "words"_a, "The number nearest to a sum in words.");
  m.def(
      "sum_groups",
      [](const Numbers& numbers, const Groups& group, std::size_t n_groups) {
        const std::size_t n = numbers.size();
        require(group.size() == n, "each number needs a group");
        const auto* end = group.data() + n;
        require(std::all_of(group.data(), end,
                            [&](std::int64_t k) {
                              return k >= 0 && static_cast<std::size_t>(k) < n_groups;
                            }),
                "a group is out of range");
        std::vector<double> sums(n_groups);
        {
          GilReleased release;
          sum_groups({numbers.data(), n}, group.data(), sums);
        }
        return to_numpy<double>(sums);
      },
      "numbers"_a, "group"_a, "n_groups"_a,
      "The sum of the numbers of each group: in order in blocks of `row_block` rows, exact between "
      "blocks.");
}

}  // namespace hedgerow::bind_sums
