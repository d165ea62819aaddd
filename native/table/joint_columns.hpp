// Joint columns: features with few bins share a column of by_row, whose code has a digit for each
// of them. Eight flags are one byte, and so are two features of 16 bins; one histogram update then
// serves them all. Nothing is approximated: the sum of a bin is the sum over the codes with that
// digit, and integers add up exactly.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "table/place.hpp"

namespace hedgerow {

inline constexpr int kMostDigits = 8;  // two values each make the 256 codes of a byte
// A feature with more bins keeps its column: there would be room for three values of others, which
// saves less than it costs to sum up the codes in every node.
inline constexpr int kLargestRadix = 64;

// Whether each feature has missing values in its n_rows bins, 1 or 0.
std::vector<std::uint8_t> find_missing(const std::uint8_t* by_column, std::size_t n_features,
                                       std::size_t n_rows, int threads);

// Joins columns of features, or bundles, that have few codes, as long as their product is at most
// `most_codes` (256 or less). Which ones follows from their numbers of codes alone. has_missing
// tells for each feature whether the table has a missing value in it.
std::vector<Place> join_columns(std::span<const Place> places, std::span<const std::int32_t> n_bins,
                                std::span<const std::uint8_t> has_missing, int most_codes);

}  // namespace hedgerow
