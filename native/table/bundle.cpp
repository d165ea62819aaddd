// First fit: a feature joins the first bundle with which it has no row in common. Rows are bits,
// and a test ends at the first common row, which for features that are not exclusive comes soon.
#include "table/bundle.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "table/binned_view.hpp"

namespace hedgerow {
namespace {

constexpr int kMostCodes = kMissingBin - 1;  // code 0 and the missing bin have other meanings
constexpr int kMostBins = 64;                // a feature with more is hardly sparse
constexpr std::size_t kMostBundles = 64;     // open at a time; more would cost more than they save
// Rows that are examined first, and the fraction of them that may be nonzero.
constexpr std::size_t kFirstLook = 1024;
constexpr double kLargestShare = 0.9;

using Bits = std::vector<std::uint64_t>;

struct Bundle {
  Bits occupied;
  std::size_t n_taken = 0;
  int n_codes = 1;
  std::vector<std::size_t> features;
};

struct Occupancy {
  Bits rows;
  std::size_t count = 0;
};

bool looks_sparse(const std::uint8_t* bins, std::size_t n_rows, std::uint8_t zero) {
  if (n_rows == 0) return false;
  const std::size_t n = std::min(n_rows, kFirstLook), step = n_rows / n;
  std::size_t differ = 0;
  for (std::size_t i = 0; i < n; ++i) differ += bins[i * step] != zero;
  return static_cast<double>(differ) <= kLargestShare * static_cast<double>(n);
}

// The rows in which a feature is not zero; none if it has missing values, which have no
// code.
std::optional<Occupancy> occupied_rows(const std::uint8_t* bins, std::size_t n_rows,
                                       std::uint8_t zero) {
  Occupancy occupancy;
  occupancy.rows.resize((n_rows + 63) / 64);
  for (std::size_t word = 0; word < occupancy.rows.size(); ++word) {
    const std::size_t begin = 64 * word, count = std::min<std::size_t>(64, n_rows - begin);
    std::uint64_t differ = 0;
    bool missing = false;
    for (std::size_t i = 0; i < count; ++i) {
      differ |= static_cast<std::uint64_t>(bins[begin + i] != zero) << i;
      missing |= bins[begin + i] == kMissingBin;
    }
    if (missing) return std::nullopt;
    occupancy.rows[word] = differ;
    occupancy.count += static_cast<std::size_t>(std::popcount(differ));
  }
  return occupancy;
}

bool are_disjoint(const Bits& a, const Bits& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] & b[i]) return false;
  }
  return true;
}

class Packing {
 public:
  explicit Packing(std::size_t n_rows) : n_rows_(n_rows) {}

  void add(std::size_t feature, int n_bins, const Occupancy& occupancy) {
    for (Bundle& bundle : bundles_) {
      if (fits(bundle, n_bins, occupancy)) return join(bundle, feature, n_bins, occupancy);
    }
    if (bundles_.size() == kMostBundles) return;
    bundles_.emplace_back().occupied.resize(occupancy.rows.size());
    join(bundles_.back(), feature, n_bins, occupancy);
  }

  const std::vector<Bundle>& bundles() const { return bundles_; }

 private:
  bool fits(const Bundle& bundle, int n_bins, const Occupancy& occupancy) const {
    return bundle.n_codes + n_bins - 1 <= kMostCodes &&
           bundle.n_taken + occupancy.count <= n_rows_ &&
           are_disjoint(bundle.occupied, occupancy.rows);
  }

  static void join(Bundle& bundle, std::size_t feature, int n_bins, const Occupancy& occupancy) {
    for (std::size_t i = 0; i < bundle.occupied.size(); ++i)
      bundle.occupied[i] |= occupancy.rows[i];
    bundle.n_taken += occupancy.count;
    bundle.n_codes += n_bins - 1;
    bundle.features.push_back(feature);
  }

  std::size_t n_rows_;
  std::vector<Bundle> bundles_;
};

// Columns in the order of their first features.
std::vector<Place> places_of(std::size_t n_features, const std::vector<Bundle>& bundles,
                             std::span<const std::int32_t> n_bins,
                             std::span<const std::int32_t> zero_bin) {
  std::vector<Place> places(n_features, Place{-1});
  std::vector<const Bundle*> led_by(n_features, nullptr);
  for (const Bundle& bundle : bundles) {
    if (bundle.features.size() > 1) led_by[bundle.features.front()] = &bundle;
  }
  std::int32_t column = 0;
  for (std::size_t f = 0; f < n_features; ++f) {
    if (places[f].column >= 0) continue;  // in the bundle of an earlier feature
    if (led_by[f]) {
      std::int32_t first = 1;
      for (const std::size_t member : led_by[f]->features) {
        places[member] = {column, first, zero_bin[member]};
        first += n_bins[member] - 1;
      }
    }
    places[f].column = column++;
  }
  return places;
}

}  // namespace

std::vector<Place> bundle_features(const ColumnBins& bins, std::span<const std::int32_t> zero_bin) {
  Packing packing(bins.n_rows);
  for (std::size_t f = 0; f < zero_bin.size(); ++f) {
    if (zero_bin[f] < 0 || bins.n_bins[f] < 2 || bins.n_bins[f] > kMostBins) continue;
    const std::uint8_t* column = bins.by_column + f * bins.n_rows;
    const auto zero = static_cast<std::uint8_t>(zero_bin[f]);
    if (!looks_sparse(column, bins.n_rows, zero)) continue;
    if (const auto occupancy = occupied_rows(column, bins.n_rows, zero)) {
      packing.add(f, bins.n_bins[f], *occupancy);
    }
  }
  return places_of(zero_bin.size(), packing.bundles(), bins.n_bins, zero_bin);
}

}  // namespace hedgerow
