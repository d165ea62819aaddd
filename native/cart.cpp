// A node looks at a few features only, and most nodes hold a few rows: their cost must follow the
// rows, not the bins. So bins that hold rows are noted in a bitmap, and only they are visited and
// cleared; and a node that has become small takes its rows' bins with it into memory that stays in
// the cache while its subtree grows.
#include "cart.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "interrupt.hpp"
#include "layout.hpp"
#include "math.hpp"
#include "random.hpp"

namespace hedgerow {
namespace {

constexpr std::size_t kLocalRows = 4096;  // of a node that takes its bins along
constexpr std::size_t kDenseRows = 160;   // from here on most bins hold rows, and all are visited
constexpr double kNever = -std::numeric_limits<double>::infinity();

// Where a subtree finds its rows: the table itself, or a copy of some rows.
struct Rows {
  const std::uint8_t* codes;
  std::size_t stride;  // code of feature f in row r: codes[f · stride + r]
  const std::uint64_t* ticket;
  const std::uint16_t* label;
  const std::int64_t* numbers;
  const double* raw;

  const std::uint8_t* column(int feature) const {
    return codes + static_cast<std::size_t>(feature) * stride;
  }
};

struct Range {
  std::size_t begin, end;
  std::size_t size() const { return end - begin; }
};

struct Cut {
  double score = kNever;  // of the two sides together
  int feature = -1;
  std::uint8_t bin = 0;
  bool missing_left = false;
  bool categorical = false;
  std::uint32_t categories[8] = {};

  bool found() const { return feature >= 0; }
  bool goes_left(int code) const {
    if (code == kMissingBin) return missing_left;
    return categorical ? categories[code >> 5] >> (code & 31) & 1 : code <= bin;
  }
};

// Classes: a sum of tickets for each class.
template <int kClasses>
struct Classes {
  const CartTarget& target;

  int n_words() const { return kClasses ? kClasses : target.n_values; }
  void add(const Rows& rows, std::uint32_t row, std::uint64_t* sums) const {
    sums[rows.label[row]] += rows.ticket[row];
  }
  std::uint64_t tickets(const std::uint64_t* sums) const {
    return std::accumulate(sums, sums + n_words(), std::uint64_t{0});
  }
  double amount(const std::uint64_t* sums, int k) const {
    return target.tickets.weight(sums[k]) * target.tickets.weight_unit;
  }
  double value(const std::uint64_t* sums, int k, double weight) const {
    return amount(sums, k) / weight;
  }
  bool is_pure(const Rows&, std::span<const std::uint32_t>, const std::uint64_t* sums) const {
    return std::count(sums, sums + n_words(), std::uint64_t{0}) >= n_words() - 1;
  }
};

// Numbers: a sum for each output, and the tickets last.
template <int kOutputs>
struct Numbers {
  const CartTarget& target;

  int n_values() const { return kOutputs ? kOutputs : target.n_values; }
  int n_words() const { return n_values() + 1; }
  void add(const Rows& rows, std::uint32_t row, std::uint64_t* sums) const {
    const std::int64_t* number = rows.numbers + static_cast<std::size_t>(row) * n_values();
    for (int v = 0; v < n_values(); ++v) sums[v] += static_cast<std::uint64_t>(number[v]);
    sums[n_values()] += rows.ticket[row];
  }
  std::uint64_t tickets(const std::uint64_t* sums) const { return sums[n_values()]; }
  double amount(const std::uint64_t* sums, int v) const {
    return static_cast<double>(static_cast<std::int64_t>(sums[v])) * target.number_unit[v];
  }
  double value(const std::uint64_t* sums, int v, double weight) const {
    return target.offset[v] + amount(sums, v) / weight;
  }
  bool is_pure(const Rows& rows, std::span<const std::uint32_t> ids, const std::uint64_t*) const {
    const auto width = static_cast<std::size_t>(n_values());
    const double* first = rows.raw + ids[0] * width;
    return std::all_of(ids.begin(), ids.end(), [&](std::uint32_t row) {
      return std::equal(first, first + width, rows.raw + row * width);
    });
  }
};

double x_log_x(double x) { return x > 0.0 ? x * log(x) : 0.0; }

// A copy of a small node's rows, column by column.
struct LocalRows {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint64_t> ticket;
  std::vector<std::uint16_t> label;
  std::vector<std::int64_t> numbers;
  std::vector<double> raw;
  std::vector<std::uint32_t> ids;
};

template <class Kind>
class Growth {
 public:
  Growth(const CartTable& table, const CartTarget& target, const CartRules& rules,
         std::uint64_t tree_id)
      : table_(table),
        target_(target),
        rules_(rules),
        kind_{target},
        max_features_(rules.max_features > 0 ? rules.max_features : table.n_features),
        root_key_(mix_u64(tree_id)),
        features_(static_cast<std::size_t>(table.n_features)),
        histogram_(kBins * words()),
        left_(words()),
        best_left_(words()) {
    std::iota(features_.begin(), features_.end(), 0);
  }

  CartTree grow(std::span<const std::uint32_t> sample) {
    ids_.assign(sample.begin(), sample.end());
    moved_.resize(ids_.size());
    const Rows rows{table_.by_column, table_.n_rows,   target_.ticket,
                    target_.label,    target_.numbers, target_.raw};
    Node root{{0, ids_.size()}, 0, root_key_, -1, false};
    std::vector<std::uint64_t> sums(words());
    for (const std::uint32_t row : ids_) kind_.add(rows, row, sums.data());
    root_weight_ = weight(sums.data());
    if (rules_.max_leaves > 0) {
      grow_best_first(rows, root, sums);
    } else {
      push(root, sums.data());
      grow_depth_first(rows, ids_.data(), 0);
    }
    return std::move(tree_);
  }

 private:
  struct Node {
    Range range;
    int depth;
    std::uint64_t key;  // of its random draws: a hash of the way to it
    int parent;
    bool is_right;
  };

  // A leaf of a tree that grows best first, with the cut that it would be split by.
  struct Leaf {
    Node node;
    int index;
    std::vector<std::uint64_t> sums, left;
    Cut cut;
    double gain;

    bool operator<(const Leaf& other) const {
      return gain != other.gain ? gain < other.gain : index > other.index;
    }
  };

  std::size_t words() const { return static_cast<std::size_t>(kind_.n_words()); }
  double weight(const std::uint64_t* sums) const {
    return target_.tickets.weight(kind_.tickets(sums)) * target_.tickets.weight_unit;
  }

  // What a side contributes: the more, the purer it is.
  double score(const std::uint64_t* sums, double weight) const {
    double sum = 0.0;
    if (rules_.impurity == Impurity::entropy) {
      for (int v = 0; v < target_.n_values; ++v) sum += x_log_x(kind_.amount(sums, v));
      return sum - target_.n_outputs * x_log_x(weight);
    }
    const int n_values = static_cast<int>(words()) - !target_.has_classes();
    for (int v = 0; v < n_values; ++v) {
      const double amount = kind_.amount(sums, v);
      sum += amount * amount;
    }
    return sum / weight;
  }

  int add_node(const Node& node, const std::uint64_t* sums) {
    const int index = tree_.n_nodes();
    const double w = weight(sums);
    tree_.feature.push_back(-1);
    tree_.left.push_back(-1);
    tree_.right.push_back(-1);
    tree_.category_set.push_back(-1);
    tree_.split_bin.push_back(0);
    tree_.missing_left.push_back(0);
    tree_.gain.push_back(0.0);
    tree_.cover.push_back(w);
    tree_.count.push_back(static_cast<std::int64_t>(node.range.size()));
    for (int v = 0; v < target_.n_values; ++v) tree_.value.push_back(kind_.value(sums, v, w));
    if (node.parent >= 0) {
      (node.is_right ? tree_.right : tree_.left)[static_cast<std::size_t>(node.parent)] = index;
    }
    return index;
  }

  void record_cut(int index, const Cut& cut, double gain) {
    const auto i = static_cast<std::size_t>(index);
    tree_.feature[i] = cut.feature;
    tree_.gain[i] = gain;
    tree_.missing_left[i] = cut.missing_left;
    if (cut.categorical) {
      tree_.category_set[i] = static_cast<std::int32_t>(tree_.category_bits.size() / 8);
      tree_.category_bits.insert(tree_.category_bits.end(), cut.categories, cut.categories + 8);
    } else {
      tree_.split_bin[i] = cut.bin;
    }
  }

  // Depth first. The nodes to come wait on a stack, their sums beside them.
  void push(const Node& node, const std::uint64_t* sums) {
    stack_.push_back(node);
    stack_sums_.insert(stack_sums_.end(), sums, sums + words());
  }

  Node pop(std::vector<std::uint64_t>& sums) {
    sums.assign(stack_sums_.end() - static_cast<std::ptrdiff_t>(words()), stack_sums_.end());
    stack_sums_.resize(stack_sums_.size() - words());
    const Node node = stack_.back();
    stack_.pop_back();
    return node;
  }

  // Grows what waits above `base`, on rows of which `ids` is the working order.
  void grow_depth_first(const Rows& rows, std::uint32_t* ids, std::size_t base) {
    std::vector<std::uint64_t> sums;
    while (stack_.size() > base) {
      const Node node = pop(sums);
      if (ids == ids_.data() && node.range.size() <= kLocalRows && table_.n_rows > kLocalRows) {
        grow_locally(rows, node, sums);
        continue;
      }
      if (node.range.size() >= 256) check_interrupt();
      const int index = add_node(node, sums.data());
      const Cut cut = best_cut(rows, ids, node, sums.data());
      const double gain = gain_of(cut, sums.data());
      if (!is_worth(cut, gain)) continue;
      record_cut(index, cut, gain);
      const std::size_t middle = divide(rows, ids, node.range, cut);
      for (std::size_t w = 0; w < words(); ++w) sums[w] -= best_left_[w];
      const auto child = [&](Range range, bool is_right) {
        return Node{range, node.depth + 1, mix_u64(2 * node.key + is_right), index, is_right};
      };
      push(child({middle, node.range.end}, true), sums.data());
      push(child({node.range.begin, middle}, false), best_left_.data());
    }
  }

  void grow_locally(const Rows& rows, Node node, const std::vector<std::uint64_t>& sums) {
    const std::span<const std::uint32_t> ids(ids_.data() + node.range.begin, node.range.size());
    const std::size_t n = ids.size();
    local_.codes.resize(n * features_.size());
    local_.ticket.resize(n);
    local_.ids.resize(n);
    std::iota(local_.ids.begin(), local_.ids.end(), 0);
    for (std::size_t f = 0; f < features_.size(); ++f) {
      const std::uint8_t* column = rows.column(static_cast<int>(f));
      for (std::size_t i = 0; i < n; ++i) local_.codes[f * n + i] = column[ids[i]];
    }
    for (std::size_t i = 0; i < n; ++i) local_.ticket[i] = rows.ticket[ids[i]];
    const auto take = [&](const auto* from, auto& into, std::size_t width) {
      if (!from) return;
      into.resize(n * width);
      for (std::size_t i = 0; i < n; ++i) {
        std::copy_n(from + ids[i] * width, width,
                    into.begin() + static_cast<std::ptrdiff_t>(i * width));
      }
    };
    const auto width = static_cast<std::size_t>(target_.n_values);
    take(rows.label, local_.label, 1);
    take(rows.numbers, local_.numbers, width);
    take(rows.raw, local_.raw, width);
    node.range = {0, n};
    const std::size_t base = stack_.size();
    push(node, sums.data());
    grow_depth_first({local_.codes.data(), n, local_.ticket.data(), local_.label.data(),
                      local_.numbers.data(), local_.raw.data()},
                     local_.ids.data(), base);
  }

  void grow_best_first(const Rows& rows, const Node& root, const std::vector<std::uint64_t>& sums) {
    std::vector<Leaf> open;
    const auto open_leaf = [&](const Node& node, const std::vector<std::uint64_t>& of_node) {
      Leaf leaf{node, add_node(node, of_node.data()), of_node, {}, {}, 0.0};
      leaf.cut = best_cut(rows, ids_.data(), node, of_node.data());
      leaf.gain = gain_of(leaf.cut, of_node.data());
      if (!is_worth(leaf.cut, leaf.gain)) return;
      leaf.left = best_left_;
      open.push_back(std::move(leaf));
      std::push_heap(open.begin(), open.end());
    };
    open_leaf(root, sums);
    for (int n_leaves = 1; n_leaves < rules_.max_leaves && !open.empty(); ++n_leaves) {
      check_interrupt();
      std::pop_heap(open.begin(), open.end());
      Leaf leaf = std::move(open.back());
      open.pop_back();
      record_cut(leaf.index, leaf.cut, leaf.gain);
      const Node& node = leaf.node;
      const std::size_t middle = divide(rows, ids_.data(), node.range, leaf.cut);
      for (std::size_t w = 0; w < words(); ++w) leaf.sums[w] -= leaf.left[w];
      open_leaf(
          {{node.range.begin, middle}, node.depth + 1, mix_u64(2 * node.key), leaf.index, false},
          leaf.left);
      open_leaf(
          {{middle, node.range.end}, node.depth + 1, mix_u64(2 * node.key + 1), leaf.index, true},
          leaf.sums);
    }
  }

  double gain_of(const Cut& cut, const std::uint64_t* sums) const {
    if (!cut.found()) return 0.0;
    const double gain = (cut.score - score(sums, weight(sums))) / target_.n_outputs;
    return std::max(gain, 0.0);  // convexity says so; rounding may not
  }

  bool is_worth(const Cut& cut, double gain) const {
    return cut.found() && gain >= rules_.min_impurity_decrease * root_weight_;
  }

  // Parts the rows of a node in two, each in their order; best_left_ must be the cut's left side.
  std::size_t divide(const Rows& rows, std::uint32_t* ids, Range range, const Cut& cut) {
    bool left[kBins];
    for (int code = 0; code < kBins; ++code) left[code] = cut.goes_left(code);
    const std::uint8_t* column = rows.column(cut.feature);
    std::uint32_t* to_left = ids + range.begin;
    std::uint32_t* to_right = moved_.data();
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const std::uint32_t row = ids[i];
      const bool goes_left = left[column[row]];
      *to_left = row;
      *to_right = row;
      to_left += goes_left;
      to_right += !goes_left;
    }
    std::copy(moved_.data(), to_right, to_left);
    return static_cast<std::size_t>(to_left - ids);
  }

  // The best cut of a node over features in random order; its left side is left in best_left_.
  // A feature that is constant in the node counts as tried, but one that is not must be found.
  Cut best_cut(const Rows& rows, const std::uint32_t* ids, const Node& node,
               const std::uint64_t* sums) {
    Cut best;
    const auto n = static_cast<std::int64_t>(node.range.size());
    const bool may_split = n >= rules_.min_samples_split && n >= 2 * rules_.min_samples_leaf &&
                           (rules_.max_depth == 0 || node.depth < rules_.max_depth);
    const std::span<const std::uint32_t> of_node(ids + node.range.begin, node.range.size());
    if (!may_split || kind_.is_pure(rows, of_node, sums)) return best;
    const std::size_t n_features = features_.size();
    swaps_.clear();
    bool all_constant = true;
    for (std::size_t tried = 0; tried < n_features; ++tried) {
      if (tried >= static_cast<std::size_t>(max_features_) && !all_constant) break;
      const std::size_t other =
          tried + draw(Purpose::cart_features, node.key, tried, n_features - tried);
      std::swap(features_[tried], features_[other]);
      swaps_.push_back(other);
      all_constant &= !try_feature(rows, of_node, node, features_[tried], sums, best);
    }
    for (std::size_t i = swaps_.size(); i-- > 0;) std::swap(features_[i], features_[swaps_[i]]);
    return best;
  }

  std::size_t draw(Purpose purpose, std::uint64_t a, std::uint64_t b, std::size_t count) const {
    const std::uint64_t bits = hash_u64(rules_.seed, purpose, a, b);
    return static_cast<std::size_t>(unit_interval(bits) * static_cast<double>(count));
  }

  // Fills the histogram of a feature and lists the codes that occur, ascending, missing last.
  void fill(const Rows& rows, std::span<const std::uint32_t> ids, int feature) {
    const std::uint8_t* column = rows.column(feature);
    n_codes_ = 0;
    if (ids.size() >= kDenseRows) {
      std::fill(histogram_.begin(), histogram_.end(), 0);
      for (const std::uint32_t row : ids) kind_.add(rows, row, at(column[row]));
      for (int code = 0; code < kBins; ++code) {
        codes_[n_codes_] = static_cast<std::uint8_t>(code);
        n_codes_ += kind_.tickets(at(code)) != 0;
      }
      return;
    }
    std::uint64_t occupied[kBins / 64] = {};
    for (const std::uint32_t row : ids) {
      const unsigned code = column[row];
      std::uint64_t& bits = occupied[code >> 6];
      const std::uint64_t bit = std::uint64_t{1} << (code & 63);
      if (!(bits & bit)) std::fill_n(at(static_cast<int>(code)), words(), 0);
      bits |= bit;
      kind_.add(rows, row, at(static_cast<int>(code)));
    }
    for (int word = 0; word < kBins / 64; ++word) {
      for (std::uint64_t bits = occupied[word]; bits; bits &= bits - 1) {
        codes_[n_codes_++] = static_cast<std::uint8_t>(64 * word + std::countr_zero(bits));
      }
    }
  }

  std::uint64_t* at(int code) {
    return histogram_.data() + static_cast<std::size_t>(code) * words();
  }

  // Tries a feature's cuts; false if it is constant in the node.
  bool try_feature(const Rows& rows, std::span<const std::uint32_t> ids, const Node& node,
                   int feature, const std::uint64_t* sums, Cut& best) {
    fill(rows, ids, feature);
    if (n_codes_ < 2) return false;
    const bool has_missing = codes_[n_codes_ - 1] == kMissingBin;
    const int n_values = n_codes_ - has_missing;
    const bool categorical = table_.is_categorical[feature];
    if (categorical) sort_categories(n_values, node.key, feature);
    Scan scan{sums, feature, n_values, categorical, -1, false, best.score};
    if (rules_.random_cuts) {
      random_cut(scan, node.key, has_missing);
    } else {
      scan_cuts(scan, false, has_missing ? n_values : n_values - 1);
      if (has_missing) scan_cuts(scan, true, n_values - 1);
    }
    if (scan.position >= 0) best = cut_of(scan, has_missing, ids.size());
    return true;
  }

  struct Scan {
    const std::uint64_t* sums;  // of the node
    int feature;
    int n_values;
    bool categorical;
    int position;  // of the best cut: after this place among the codes; −1 for none
    bool missing_left;
    double score;
  };

  void start_left(bool missing_left) {
    const std::uint64_t* missing = at(kMissingBin);
    for (std::size_t w = 0; w < words(); ++w) left_[w] = missing_left ? missing[w] : 0;
  }

  void move_left(int position) {
    const std::uint64_t* bin = at(codes_[position]);
    for (std::size_t w = 0; w < words(); ++w) left_[w] += bin[w];
  }

  // The cuts after the first, the second, … place.
  void scan_cuts(Scan& scan, bool missing_left, int n_cuts) {
    start_left(missing_left);
    for (int position = 0; position < n_cuts; ++position) {
      move_left(position);
      consider(scan, missing_left, position);
    }
  }

  void consider(Scan& scan, bool missing_left, int position) {
    std::uint64_t right[kClassesInPlace];
    std::uint64_t* other = right;
    if (words() > kClassesInPlace) {
      right_.resize(words());
      other = right_.data();
    }
    for (std::size_t w = 0; w < words(); ++w) other[w] = scan.sums[w] - left_[w];
    const std::uint64_t tickets_left = kind_.tickets(left_.data());
    const std::uint64_t tickets_right = kind_.tickets(other);
    const Tickets& tickets = target_.tickets;
    const double weight_left = tickets.weight(tickets_left) * tickets.weight_unit;
    const double weight_right = tickets.weight(tickets_right) * tickets.weight_unit;
    if (tickets.count(tickets_left) < rules_.min_samples_leaf ||
        tickets.count(tickets_right) < rules_.min_samples_leaf ||
        weight_left < rules_.min_weight_leaf || weight_right < rules_.min_weight_leaf) {
      return;
    }
    const double both = score(left_.data(), weight_left) + score(other, weight_right);
    if (!(both > scan.score)) return;
    scan.score = both;
    scan.position = position;
    scan.missing_left = missing_left;
  }

  // One cut at a random number between the node's smallest and largest (of categories: at a random
  // place in a random order).
  void random_cut(Scan& scan, std::uint64_t key, bool has_missing) {
    const std::uint64_t bits =
        hash_u64(rules_.seed, Purpose::cart_cut, key, static_cast<std::uint64_t>(scan.feature));
    const double u = unit_interval(bits);
    if (scan.n_values < 2) {  // one value and missing ones
      start_left(false);
      move_left(0);
      return consider(scan, false, 0);
    }
    int position = std::min(scan.n_values - 2, static_cast<int>(u * (scan.n_values - 1)));
    if (!scan.categorical) {
      const double low = value_of(scan.feature, codes_[0]);
      const double high = value_of(scan.feature, codes_[scan.n_values - 1]);
      const double cut = low + u * (high - low);
      position = 0;
      while (position < scan.n_values - 2 && value_of(scan.feature, codes_[position + 1]) <= cut) {
        ++position;
      }
    }
    for (const bool missing_left : {false, true}) {
      if (missing_left && !has_missing) break;
      start_left(missing_left);
      for (int i = 0; i <= position; ++i) move_left(i);
      consider(scan, missing_left, position);
    }
  }

  // About where a bin's values lie: the middle of its ends, of which the outer bins have one.
  double value_of(int feature, int bin) const {
    const double* edge = table_.thresholds + table_.threshold_starts[feature];
    const int last = table_.n_bins[feature] - 1;
    if (last == 0) return 0.0;
    return 0.5 * edge[std::max(bin - 1, 0)] + 0.5 * edge[std::min(bin, last - 1)];
  }

  // Orders the categories that occur so that the best subset is likely to be a run of them: by the
  // first number, or the share of one class against all; that is exact for numbers and two classes.
  void sort_categories(int n_values, std::uint64_t key, int feature) {
    double rank[kBins];
    for (int i = 0; i < n_values; ++i) {
      const int code = codes_[i];
      rank[code] = rules_.random_cuts
                       ? unit_interval(hash_u64(rules_.seed, Purpose::cart_categories,
                                                key + static_cast<std::uint64_t>(feature),
                                                static_cast<std::uint64_t>(code)))
                       : projection(at(code));
    }
    std::stable_sort(codes_, codes_ + n_values,
                     [&](std::uint8_t a, std::uint8_t b) { return rank[a] < rank[b]; });
  }

  // A category's mean value, or for many classes the mean number of its classes.
  double projection(const std::uint64_t* sums) const {
    const double w = weight(sums);
    if (target_.n_values == 1) return kind_.amount(sums, 0) / w;
    double sum = 0.0;
    for (int v = 1; v < target_.n_values; ++v) sum += v * kind_.amount(sums, v);
    return sum / w;
  }

  Cut cut_of(const Scan& scan, bool has_missing, std::size_t n_rows) {
    Cut cut;
    cut.score = scan.score;
    cut.feature = scan.feature;
    cut.categorical = scan.categorical;
    start_left(scan.missing_left);
    for (int i = 0; i <= scan.position; ++i) move_left(i);
    best_left_ = left_;
    const auto n_left =
        static_cast<std::size_t>(target_.tickets.count(kind_.tickets(best_left_.data())));
    cut.missing_left = has_missing ? scan.missing_left : !scan.categorical && 2 * n_left >= n_rows;
    if (scan.categorical) {
      for (int i = 0; i <= scan.position; ++i) {
        cut.categories[codes_[i] >> 5] |= 1u << (codes_[i] & 31);
      }
    } else {
      cut.bin = scan.position + 1 < scan.n_values
                    ? middle_bin(scan.feature, codes_[scan.position], codes_[scan.position + 1])
                    : static_cast<std::uint8_t>(table_.n_bins[scan.feature] - 1);
    }
    return cut;
  }

  // Of the bins that part `low` from `high`, the one that ends nearest to the middle of the gap.
  std::uint8_t middle_bin(int feature, int low, int high) const {
    const double* edge = table_.thresholds + table_.threshold_starts[feature];
    const double middle = 0.5 * edge[low] + 0.5 * edge[high - 1];
    const double* above = std::lower_bound(edge + low, edge + high - 1, middle);
    if (above != edge + low && middle - above[-1] <= *above - middle) --above;
    return static_cast<std::uint8_t>(above - edge);
  }

  static constexpr std::size_t kClassesInPlace = 16;

  const CartTable& table_;
  const CartTarget& target_;
  const CartRules& rules_;
  Kind kind_;
  int max_features_;
  std::uint64_t root_key_;
  double root_weight_ = 0.0;
  CartTree tree_;
  std::vector<int> features_;
  std::vector<std::size_t> swaps_;
  std::vector<std::uint32_t> ids_, moved_;
  LocalRows local_;
  std::vector<Node> stack_;
  std::vector<std::uint64_t> stack_sums_;
  std::vector<std::uint64_t> histogram_, left_, right_, best_left_;
  std::uint8_t codes_[kBins + 1];
  int n_codes_ = 0;
};

}  // namespace

CartTree grow_cart(const CartTable& table, const CartTarget& target, const CartRules& rules,
                   std::span<const std::uint32_t> rows, std::uint64_t tree_id) {
  const auto grow = [&](auto growth) { return growth.grow(rows); };
  if (target.has_classes() && target.n_values == 2) {
    return grow(Growth<Classes<2>>(table, target, rules, tree_id));
  }
  if (target.has_classes()) return grow(Growth<Classes<0>>(table, target, rules, tree_id));
  if (target.n_values == 1) return grow(Growth<Numbers<1>>(table, target, rules, tree_id));
  return grow(Growth<Numbers<0>>(table, target, rules, tree_id));
}

}  // namespace hedgerow
