// The boxes of a growing tree's leaves and their touches. Only features that were tested on the
// path to a leaf have an extent; of all others it contains every value.
#include "tree/monotone.hpp"

#include <algorithm>

namespace hedgerow {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using CategorySet = std::array<std::uint32_t, 8>;

CategorySet both(CategorySet a, const std::uint32_t* b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] &= b[i];
  return a;
}

CategorySet without(CategorySet a, const std::uint32_t* b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] &= ~b[i];
  return a;
}

bool is_empty(const CategorySet& set) {
  return std::all_of(set.begin(), set.end(), [](std::uint32_t word) { return word == 0; });
}

void tighten(Limits& limits, double value, bool is_upper) {
  if (is_upper) {
    limits.high = std::min(limits.high, value);
  } else {
    limits.low = std::max(limits.low, value);
  }
}

// The first number below `count` for which a monotone test is true.
template <class Test>
std::size_t first_true(std::size_t count, const Test& test) {
  std::size_t low = 0, high = count;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (test(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace

std::size_t ThresholdSeries::first_from(double number) const {
  if (number == kInfinity) return count;
  return first_true(count, [&](std::size_t i) { return end(i) >= number; });
}

std::size_t ThresholdSeries::first_beyond(double number) const {
  if (number == -kInfinity) return 0;
  return first_true(count, [&](std::size_t i) { return end(i) > number; });
}

// Sets all entries of a series, including the padding.
void LimitSeries::fill(std::size_t count, const Limits& limits) {
  std::fill_n(low, count + 8, limits.low);
  std::fill_n(high, count + 8, limits.high);
}

void LimitSeries::tighten(std::size_t i, double value, bool is_upper) {
  if (is_upper) {
    high[i] = std::min(high[i], value);
  } else {
    low[i] = std::max(low[i], value);
  }
}

// Propagates limits forwards.
void LimitSeries::pass_up(std::size_t count) {
  for (std::size_t i = 1; i < count + 8; ++i) {
    low[i] = std::max(low[i], low[i - 1]);
    high[i] = std::min(high[i], high[i - 1]);
  }
}

// Propagates limits backwards.
void LimitSeries::pass_down(std::size_t count) {
  for (std::size_t i = count - 1; i > 0; --i) {
    low[i - 1] = std::max(low[i - 1], low[i]);
    high[i - 1] = std::min(high[i - 1], high[i]);
  }
}

void MonotoneLeaves::plant(std::span<const std::int8_t> directions, const Limits& widest,
                           double value) {
  directions_ = directions;
  widest_ = widest;
  leaves_.assign(1, {});
  leaf(0).value = widest.clamp(value);
}

const MonotoneLeaves::Extent* MonotoneLeaves::extent(int node, int feature) const {
  const std::vector<Extent>& extents = leaf(node).extents;
  const auto extent = std::find_if(extents.begin(), extents.end(),
                                   [&](const Extent& each) { return each.feature == feature; });
  return extent == extents.end() ? nullptr : &*extent;
}

// Whether two leaves have values of a feature in common.
bool MonotoneLeaves::overlap(int node, int other, int feature) const {
  const Extent *a = extent(node, feature), *b = extent(other, feature);
  if (!a || !b) return true;
  return (a->missing && b->missing) || std::max(a->low, b->low) < std::min(a->high, b->high) ||
         !is_empty(both(a->categories, b->categories.data()));
}

// The extents of a child.
std::vector<MonotoneLeaves::Extent> MonotoneLeaves::child_extents(const LeafBox& parent,
                                                                  const BoxSplit& split,
                                                                  bool is_left) const {
  std::vector<Extent> extents = parent.extents;
  const auto is_tested = [&](const Extent& each) { return each.feature == split.feature; };
  auto extent = std::find_if(extents.begin(), extents.end(), is_tested);
  if (extent == extents.end()) {
    Extent whole{split.feature, -kInfinity, kInfinity, true, {}};
    if (split.categorical) {
      whole.high = -kInfinity;
      whole.categories.fill(~std::uint32_t{0});
    }
    extent = extents.insert(extents.end(), whole);
  }
  extent->missing = extent->missing && split.missing_left == is_left;
  if (split.categorical) {
    extent->categories = is_left ? both(extent->categories, split.categories)
                                 : without(extent->categories, split.categories);
  } else if (is_left) {
    extent->high = std::min(extent->high, split.end);
  } else {
    extent->low = std::max(extent->low, split.end);
  }
  return extents;
}

// Whether a child inherits a touch of its parent. A leaf that touches in the feature of the split
// touches the adjacent child, if that has numbers; any other leaf touches the children that share
// values.
bool MonotoneLeaves::inherits(const Touch& touch, const BoxSplit& split, int left, int right,
                              bool is_left) const {
  if (touch.feature != split.feature) {
    return overlap(is_left ? left : right, touch.node, split.feature);
  }
  const bool is_beyond = touch.is_upper == (direction(split.feature) > 0);  // in numbers
  const bool has_numbers = extent(is_beyond ? right : left, split.feature)->holds_numbers();
  return is_left == (is_beyond != has_numbers);
}

void MonotoneLeaves::connect(int lower, int upper, int feature) {
  leaf(lower).touches.push_back({upper, feature, true});
  leaf(upper).touches.push_back({lower, feature, false});
}

// The limits of both children contain the parent's value, and so does their intersection, to which
// the lower child is restricted so that the upper child can be above it.
void MonotoneLeaves::split(int node, const BoxSplit& split, int left, int right, double left_value,
                           double right_value) {
  const bool are_ordered = split_box(node, split, left, right);
  const bool is_increasing = direction(split.feature) >= 0;
  const int lower = is_increasing ? left : right, upper = is_increasing ? right : left;
  Limits of_lower = limits(lower);
  if (are_ordered) of_lower.high = std::min(of_lower.high, limits(upper).high);
  leaf(lower).value = of_lower.clamp(is_increasing ? left_value : right_value);
  leaf(upper).value = limits(upper).clamp(is_increasing ? right_value : left_value);
}

// Returns whether the children touch.
bool MonotoneLeaves::split_box(int node, const BoxSplit& split, int left, int right) {
  const LeafBox parent = std::move(leaf(node));
  leaves_.resize(std::max(leaves_.size(), static_cast<std::size_t>(std::max(left, right)) + 1));
  leaf(left).extents = child_extents(parent, split, true);
  leaf(right).extents = child_extents(parent, split, false);
  for (const Touch& touch : parent.touches) {
    std::erase_if(leaf(touch.node).touches, [&](const Touch& back) { return back.node == node; });
    for (const bool is_left : {true, false}) {
      if (!inherits(touch, split, left, right, is_left)) continue;
      const int child = is_left ? left : right;
      connect(touch.is_upper ? child : touch.node, touch.is_upper ? touch.node : child,
              touch.feature);
    }
  }
  const bool have_numbers =
      extent(left, split.feature)->holds_numbers() && extent(right, split.feature)->holds_numbers();
  if (direction(split.feature) == 0 || !have_numbers) return false;
  const bool is_increasing = direction(split.feature) > 0;
  connect(is_increasing ? left : right, is_increasing ? right : left, split.feature);
  return true;
}

bool MonotoneLeaves::matters(int node, int feature) const {
  return direction(feature) != 0 || !leaf(node).touches.empty();
}

Limits MonotoneLeaves::limits(int node) const {
  Limits limits = widest_;
  for (const Touch& touch : leaf(node).touches) {
    tighten(limits, leaf(touch.node).value, touch.is_upper);
  }
  return limits;
}

// From which threshold on the left child inherits a touch, and up to which the right child does.
std::pair<std::size_t, std::size_t> MonotoneLeaves::reach(int node, const Touch& touch, int feature,
                                                          const ThresholdSeries& cuts) const {
  const bool same = touch.feature == feature;
  const Extent* mine = extent(node, feature);
  const Extent* its = same ? nullptr : extent(touch.node, feature);
  const double low = std::max(mine ? mine->low : -kInfinity, its ? its->low : -kInfinity);
  const double high = std::min(mine ? mine->high : kInfinity, its ? its->high : kInfinity);
  const bool shares_missing = !same && (!mine || mine->missing) && (!its || its->missing);
  const std::size_t with_numbers = cuts.takes_all ? cuts.count - 1 : cuts.count;
  std::size_t first = cuts.count, end = 0;
  if (low < high) {
    first = cuts.first_beyond(low);
    end = std::min(cuts.first_from(high), with_numbers);
  }
  if (shares_missing) {
    first = std::min(first, cuts.missing_left_from);
    end = std::max(end, cuts.missing_left_from);
  }
  return {first, end};
}

// Most leaves limit all thresholds of a feature alike. Any other leaf limits the left child from
// some threshold on and the right child up to some threshold: it is entered there, and then
// propagated.
void MonotoneLeaves::limit_splits(int node, int feature, const ThresholdSeries& cuts,
                                  SplitLimits& limits) const {
  const std::size_t count = cuts.count;
  Limits all_left = widest_, all_right = widest_;
  bool are_alike = true;
  for (const Touch& touch : leaf(node).touches) {
    const auto [first, end] = reach(node, touch, feature, cuts);
    const double value = leaf(touch.node).value;
    if (first == 0) tighten(all_left, value, touch.is_upper);
    if (end == count) tighten(all_right, value, touch.is_upper);
    are_alike = are_alike && (first == 0 || first == count) && (end == 0 || end == count);
  }
  limits.left.fill(count, all_left);
  limits.right.fill(count, all_right);
  if (are_alike) return;
  for (const Touch& touch : leaf(node).touches) {
    const auto [first, end] = reach(node, touch, feature, cuts);
    const double value = leaf(touch.node).value;
    if (first < count) limits.left.tighten(first, value, touch.is_upper);
    if (end > 0) limits.right.tighten(end - 1, value, touch.is_upper);
  }
  limits.left.pass_up(count);
  limits.right.pass_down(count);
}

// Whether some of the values that two leaves share, possibly the missing one, go right.
bool MonotoneLeaves::shares_rest(const Extent* mine, const Extent& its, const std::uint32_t* left) {
  if (its.missing && (!mine || mine->missing)) return true;
  const CategorySet rest = without(its.categories, left);
  return !is_empty(mine ? both(rest, mine->categories.data()) : rest);
}

SideLimits MonotoneLeaves::limit_sets(int node, int feature, const std::uint32_t* left) const {
  SideLimits limits{widest_, widest_};
  const Extent* mine = extent(node, feature);
  for (const Touch& touch : leaf(node).touches) {
    const Extent* its = extent(touch.node, feature);
    const double value = leaf(touch.node).value;
    if (!its || !is_empty(both(its->categories, left))) tighten(limits.left, value, touch.is_upper);
    if (!its || shares_rest(mine, *its, left)) tighten(limits.right, value, touch.is_upper);
  }
  return limits;
}

std::vector<int> MonotoneLeaves::touching(int node) const {
  std::vector<int> nodes;
  for (const Touch& touch : leaf(node).touches) nodes.push_back(touch.node);
  return nodes;
}

std::vector<Link> monotone_links(const TreeSplits& tree, std::span<const std::int8_t> directions) {
  MonotoneLeaves leaves;
  leaves.plant(directions, {}, 0.0);
  std::vector<int> nodes;
  for (std::size_t i = 0; i < tree.feature.size(); ++i) {
    const auto node = static_cast<int>(i);
    if (tree.feature[i] < 0) {
      nodes.push_back(node);
      continue;
    }
    const bool takes_all = tree.threshold[i] >= std::numeric_limits<double>::max();
    const bool categorical = tree.category_set[i] >= 0;
    const std::uint32_t* categories =
        categorical ? &tree.category_bits[8 * static_cast<std::size_t>(tree.category_set[i])]
                    : nullptr;
    const BoxSplit split = {tree.feature[i], takes_all ? kInfinity : tree.threshold[i],
                            tree.missing_left[i], categorical, categories};
    leaves.split(node, split, tree.left[i], tree.right[i], 0.0, 0.0);
  }
  std::vector<Link> links = leaves.links(nodes);
  for (Link& link : links) {
    link = {nodes[static_cast<std::size_t>(link.lower)],
            nodes[static_cast<std::size_t>(link.upper)]};
  }
  return links;
}

std::vector<Link> MonotoneLeaves::links(std::span<const int> nodes) const {
  std::vector<int> place(leaves_.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    place[static_cast<std::size_t>(nodes[i])] = static_cast<int>(i);
  }
  std::vector<Link> links;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const Touch& touch : leaf(nodes[i]).touches) {
      if (touch.is_upper)
        links.push_back({static_cast<int>(i), place[static_cast<std::size_t>(touch.node)]});
    }
  }
  return links;
}

}  // namespace hedgerow
