#include "cart/tree.hpp"

#include <algorithm>

namespace hedgerow::cart {
namespace {

// Appends nodes begin … end − 1 of `from`; their children are numbered by `renumber`.
template <class Renumber>
void append(CartTree& tree, const CartTree& from, std::size_t begin, std::size_t end,
            Renumber renumber) {
  const auto copy = [&](auto& into, const auto& values, std::size_t width = 1) {
    const auto at = [&](std::size_t i) {
      return values.begin() + static_cast<std::ptrdiff_t>(i * width);
    };
    into.insert(into.end(), at(begin), at(end));
  };
  copy(tree.feature, from.feature);
  copy(tree.split_bin, from.split_bin);
  copy(tree.threshold, from.threshold);
  copy(tree.missing_left, from.missing_left);
  copy(tree.gain, from.gain);
  copy(tree.cover, from.cover);
  copy(tree.count, from.count);
  copy(tree.value, from.value, from.value.size() / from.feature.size());
  for (std::size_t i = begin; i < end; ++i) {
    const bool is_leaf = from.feature[i] < 0;
    tree.left.push_back(is_leaf ? -1 : renumber(from.left[i]));
    tree.right.push_back(is_leaf ? -1 : renumber(from.right[i]));
    tree.category_set.push_back(-1);
    if (from.category_set[i] < 0) continue;
    tree.category_set.back() = static_cast<std::int32_t>(tree.category_bits.size() / 8);
    const auto set = from.category_bits.begin() + 8 * std::ptrdiff_t{from.category_set[i]};
    tree.category_bits.insert(tree.category_bits.end(), set, set + 8);
  }
}

}  // namespace

int add_node(CartTree& tree, double weight, std::size_t count, int n_values) {
  tree.feature.push_back(-1);
  tree.left.push_back(-1);
  tree.right.push_back(-1);
  tree.category_set.push_back(-1);
  tree.split_bin.push_back(0);
  tree.threshold.push_back(0.0);
  tree.missing_left.push_back(0);
  tree.gain.push_back(0.0);
  tree.cover.push_back(weight);
  tree.count.push_back(static_cast<std::int64_t>(count));
  tree.value.resize(tree.value.size() + static_cast<std::size_t>(n_values));
  return tree.n_nodes() - 1;
}

void record_split(CartTree& tree, int index, const CartSplit& split) {
  const auto i = static_cast<std::size_t>(index);
  tree.feature[i] = split.feature;
  tree.gain[i] = split.gain;
  tree.missing_left[i] = split.missing_left;
  if (split.categorical) {
    tree.category_set[i] = static_cast<std::int32_t>(tree.category_bits.size() / 8);
    tree.category_bits.insert(tree.category_bits.end(), split.categories, split.categories + 8);
  } else {
    tree.split_bin[i] = split.split_bin;
    tree.threshold[i] = split.threshold;
  }
}

CartTree splice(const CartTree& top, std::span<const int> places, std::span<const CartTree> grown) {
  std::vector<int> before(places.size() + 1, 0);  // nodes that come in before each place
  for (std::size_t i = 0; i < places.size(); ++i)
    before[i + 1] = before[i] + grown[i].n_nodes() - 1;
  const auto place_in_top = [&](int node) {
    const auto passed = std::lower_bound(places.begin(), places.end(), node) - places.begin();
    return node + before[static_cast<std::size_t>(passed)];
  };
  CartTree tree;
  std::size_t done = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto place = static_cast<std::size_t>(places[i]);
    append(tree, top, done, place, place_in_top);
    const int first = tree.n_nodes();
    append(tree, grown[i], 0, grown[i].feature.size(), [&](int node) { return first + node; });
    done = place + 1;
  }
  append(tree, top, done, top.feature.size(), place_in_top);
  return tree;
}

}  // namespace hedgerow::cart
