// Best fit, in decreasing order of codes: a column joins the others to which the least can be added
// after it.
#include "table/joint_columns.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/threads.hpp"
#include "table/binned_view.hpp"

namespace hedgerow {
namespace {

// Bytes that are searched in the time it takes to wake a thread.
constexpr std::size_t kBytesPerThread = 1 << 20;

// Columns that share a byte.
struct JointColumn {
  std::vector<std::size_t> parts;
  int n_codes = 1;
};

class ColumnPacking {
 public:
  explicit ColumnPacking(int most_codes) : most_codes_(most_codes) {}

  void add(std::size_t column, int n_codes) {
    for (std::size_t room = static_cast<std::size_t>(n_codes); room < with_room_.size(); ++room) {
      if (with_room_[room].empty()) continue;
      const std::size_t fullest = with_room_[room].back();
      with_room_[room].pop_back();
      return put(fullest, column, n_codes);
    }
    joint_.emplace_back();
    put(joint_.size() - 1, column, n_codes);
  }

  // A constant takes no room beside others.
  void add_constant(std::size_t column) {
    const auto shared = std::find_if(joint_.begin(), joint_.end(), [](const JointColumn& joint) {
      return joint.parts.size() > 1 || joint.n_codes == 1;
    });
    if (shared != joint_.end()) return shared->parts.push_back(column);
    joint_.emplace_back().parts.push_back(column);
  }

  const std::vector<JointColumn>& columns() const { return joint_; }

 private:
  void put(std::size_t index, std::size_t column, int n_codes) {
    JointColumn& joint = joint_[index];
    joint.parts.push_back(column);
    joint.n_codes *= n_codes;
    const int room = most_codes_ / joint.n_codes;
    if (room > 1) with_room_[static_cast<std::size_t>(room)].push_back(index);
  }

  int most_codes_;
  std::vector<JointColumn> joint_;
  // The columns that can be joined by one with so many codes.
  std::array<std::vector<std::size_t>, kBins / 2 + 1> with_room_;
};

// The codes of a column that is not joint.
int count_codes(const Place& last, int n_bins, bool has_missing) {
  return last.is_bundled() ? last.first + n_bins - 1 : n_bins + has_missing;
}

ColumnPacking pack(const std::vector<int>& n_codes, int most_codes) {
  std::vector<std::size_t> few;
  for (std::size_t column = 0; column < n_codes.size(); ++column) {
    if (n_codes[column] <= kLargestRadix) few.push_back(column);
  }
  std::stable_sort(few.begin(), few.end(),
                   [&](std::size_t a, std::size_t b) { return n_codes[a] > n_codes[b]; });
  ColumnPacking packing(most_codes);
  for (const std::size_t column : few) {
    if (n_codes[column] > 1) {
      packing.add(column, n_codes[column]);
    } else {
      packing.add_constant(column);
    }
  }
  return packing;
}

// Numbers the columns in the order of their first features.
void number_columns(std::vector<Place>& places) {
  std::vector<std::int32_t> number(places.size(), -1);
  std::int32_t n_columns = 0;
  for (Place& place : places) {
    std::int32_t& own = number[static_cast<std::size_t>(place.column)];
    if (own < 0) own = n_columns++;
    place.column = own;
  }
}

}  // namespace

std::vector<std::uint8_t> find_missing(const std::uint8_t* by_column, std::size_t n_features,
                                       std::size_t n_rows, int threads) {
  std::vector<std::uint8_t> has_missing(n_features);
  parallel_for(
      threads_for(n_features * n_rows, kBytesPerThread, threads), n_features, [&](std::size_t f) {
        has_missing[f] = std::memchr(by_column + f * n_rows, kMissingBin, n_rows) != nullptr;
      });
  return has_missing;
}

// The part with the most codes has the largest stride: summing it up first leaves the least to do.
std::vector<Place> join_columns(std::span<const Place> places, std::span<const std::int32_t> n_bins,
                                std::span<const std::uint8_t> has_missing, int most_codes) {
  const auto members = members_of(places, places.size());
  std::vector<int> n_codes;
  for (const std::vector<std::size_t>& features : members) {
    if (features.empty()) break;  // there are fewer columns than features
    const std::size_t last = features.back();
    n_codes.push_back(count_codes(places[last], n_bins[last], has_missing[last] != 0));
  }
  std::vector<Place> joined(places.begin(), places.end());
  const ColumnPacking packing = pack(n_codes, most_codes);
  for (const JointColumn& joint : packing.columns()) {
    if (joint.parts.size() == 1) continue;
    int stride = joint.n_codes;
    for (const std::size_t part : joint.parts) {
      stride /= n_codes[part];
      for (const std::size_t feature : members[part]) {
        Place& place = joined[feature];
        place.column = static_cast<std::int32_t>(joint.parts.front());
        place.stride = stride;
        place.radix = n_codes[part];
      }
    }
  }
  number_columns(joined);
  return joined;
}

}  // namespace hedgerow
