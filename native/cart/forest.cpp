#include "cart/forest.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "core/buffer.hpp"
#include "core/threads.hpp"
#include "shared/random.hpp"
#include "table/binned_view.hpp"

namespace hedgerow::cart {
namespace {

// The power of two in whose units a sum is just below 2^bits.
double unit_for(double sum, int bits) {
  int exponent = 0;
  if (sum > 0.0) std::frexp(sum, &exponent);
  return std::ldexp(1.0, std::max(exponent, -1000) - bits);
}

// The sample of one tree: rows, fixed-point weights and numbers.
//
// Units are powers of two and offsets have few digits, so that weights and numbers of few digits
// become integers without rounding: splits that tie mathematically tie here too, and a row of
// weight two equals two rows.
class TreeSample {
 public:
  TreeSample(const ForestTarget& target, const CartRules& rules, const RowDraws& draws,
             std::uint64_t tree, std::size_t n_rows)
      : forest_(target), impurity_(rules.impurity), counts_(draw_counts(draws, tree, n_rows)) {
    take_rows(n_rows);
    if (rows_.empty()) {  // no row with weight was drawn: use all rows
      std::fill(counts_.begin(), counts_.end(), std::uint16_t{1});
      take_rows(n_rows);
    }
    weigh(n_rows);
    if (target.label == nullptr) take_numbers(n_rows);
    set_scales();
  }

  std::span<const std::uint32_t> rows() const { return rows_; }

  CartTarget target() const {
    CartTarget target;
    target.label = forest_.label;
    target.raw = forest_.numbers;
    target.numbers = forest_.label ? nullptr : numbers_.data();
    target.n_values = forest_.n_values;
    target.n_outputs = forest_.n_outputs;
    target.number_unit = unit_.data();
    target.number_scale = scale_.data();
    target.offset = offset_.data();
    target.fixed_weight = fixed_weight_.data();
    target.weights = weights_;
    target.packed_bits = packed_bits_;
    target.gain_unit = gain_unit_;
    return target;
  }

 private:
  void take_rows(std::size_t n_rows) {
    for (std::size_t row = 0; row < n_rows; ++row) {
      const double weight = counts_[row] * (forest_.weight ? forest_.weight[row] : 1.0);
      if (weight > 0.0) rows_.push_back(static_cast<std::uint32_t>(row));
    }
  }

  double weight_of(std::uint32_t row) const {
    const double weight = counts_[row] * (forest_.weight ? forest_.weight[row] : 1.0);
    return class_factor_.empty() ? weight : weight * class_factor_[forest_.label[row]];
  }

  // Weights as integers: themselves if they are small integers, else in units of about 2^-40 of
  // their sum.
  void weigh(std::size_t n_rows) {
    if (forest_.balance_sample) balance();
    double total = 0.0;
    bool whole = true;
    for (const std::uint32_t row : rows_) {
      const double weight = weight_of(row);
      total += weight;
      whole = whole && weight == std::floor(weight);
    }
    if (!std::isfinite(total)) throw std::overflow_error("weights are too large to be added up");
    const int count_bits = static_cast<int>(std::bit_width(rows_.size()));
    weights_.count_shift = 64 - count_bits;
    // Every sum must be exact in float64, or the weight of a node minus that of all its rows but
    // one could be zero.
    const int room = std::min(weights_.count_shift - 1, 52);
    weights_.weight_unit = whole && total < std::ldexp(1.0, room) ? 1.0 : unit_for(total, room);
    if (whole && total < 0x1p31)
      pack(std::bit_width(static_cast<std::uint64_t>(total)), count_bits);
    fixed_weight_.resize(n_rows);
    const std::uint64_t one = std::uint64_t{1} << weights_.count_shift;
    for (const std::uint32_t row : rows_) {
      const double units = std::floor(weight_of(row) / weights_.weight_unit + 0.5);
      fixed_weight_[row] = one + static_cast<std::uint64_t>(std::max(units, 1.0));
    }
  }

  // Packs the weights of two classes and the count into one word if they fit.
  void pack(int weight_bits, int count_bits) {
    const bool fits = 2 * weight_bits + count_bits <= 64;
    if (forest_.label && forest_.n_values == 2 && fits) packed_bits_ = weight_bits;
  }

  void balance() {
    std::vector<double> class_count(static_cast<std::size_t>(forest_.n_values));
    double total = 0.0;
    int present = 0;
    for (const std::uint32_t row : rows_) {
      class_count[forest_.label[row]] += counts_[row];
      total += counts_[row];
    }
    for (const double count : class_count) present += count > 0.0;
    for (const double count : class_count) {
      class_factor_.push_back(count > 0.0 ? total / (present * count) : 0.0);
    }
  }

  // Numbers in fixed point.
  void take_numbers(std::size_t n_rows) {
    const auto width = static_cast<std::size_t>(forest_.n_values);
    std::vector<double> weight(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      weight[i] = weights_.weight(fixed_weight_[rows_[i]]) * weights_.weight_unit;
    }
    numbers_.resize(n_rows * width);
    for (std::size_t v = 0; v < width; ++v) {
      const auto number = [&](std::size_t i) { return forest_.numbers[rows_[i] * width + v]; };
      const double offset = offset_of(weight, number);
      double sum = 0.0;
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        sum += std::fabs(weight[i] * (number(i) - offset));
      }
      if (!std::isfinite(sum)) throw std::overflow_error("numbers are too large to be added up");
      offset_.push_back(offset);
      unit_.push_back(unit_for(sum, 62));
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        const double units = weight[i] * (number(i) - offset) / unit_[v];
        numbers_[rows_[i] * width + v] = static_cast<std::int64_t>(std::floor(units + 0.5));
      }
    }
  }

  // About the mean, so that a common offset costs no precision. Class fractions, whose entropy
  // needs the numbers themselves, have none.
  template <class Number>
  double offset_of(const std::vector<double>& weight, Number number) const {
    if (is_entropy(impurity_)) return 0.0;
    double total = 0.0, mean = 0.0, spread = 0.0;
    for (const double w : weight) total += w;
    for (std::size_t i = 0; i < weight.size(); ++i) mean += weight[i] / total * number(i);
    for (std::size_t i = 0; i < weight.size(); ++i) {
      spread = std::max(spread, std::fabs(number(i) - mean));
    }
    const double grid = unit_for(spread, 20);
    return std::isfinite(mean / grid) ? std::floor(mean / grid + 0.5) * grid : mean;
  }

  // Sets the unit of impurity decreases, and the units of numbers relative to it.
  void set_scales() {
    const double coarsest = unit_.empty() ? 1.0 : *std::max_element(unit_.begin(), unit_.end());
    const double weight_unit = weights_.weight_unit;
    const bool of_classes = forest_.label || is_entropy(impurity_);
    const double one = of_classes ? weight_unit : coarsest;
    for (const double unit : unit_) scale_.push_back(unit / one);
    gain_unit_ = of_classes || impurity_ == Impurity::absolute ? one : one * (one / weight_unit);
  }

  const ForestTarget& forest_;
  Impurity impurity_;
  std::vector<std::uint16_t> counts_;
  std::vector<double> class_factor_;
  std::vector<std::uint32_t> rows_;
  std::vector<std::uint64_t> fixed_weight_;
  std::vector<std::int64_t> numbers_;
  std::vector<double> unit_, scale_, offset_;
  double gain_unit_ = 1.0;
  FixedPointWeights weights_;
  int packed_bits_ = 0;
};

// The order of the rows by each of n columns, and their ranks by row.
struct SortedLists {
  template <class ColumnAt>
  SortedLists(std::size_t n, std::size_t n_rows, int threads, const ColumnAt& column_at)
      : order(n * n_rows), rank(n * n_rows) {
    parallel_for(threads, n, [&](std::size_t c) {
      sort_column(column_at(c), n_rows, order.get() + c * n_rows, rank.get() + c * n_rows);
    });
  }

  Buffer<std::uint32_t> order, rank;
};

// A table with the additional arrays that random thresholds need.
class RandomThresholdTable {
 public:
  RandomThresholdTable(const CartTable& table, bool by_row, int threads) : table_(table) {
    take_values();
    if (by_row) take_rows(threads);
  }

  const CartTable& table() const { return table_; }

 private:
  void take_values() {
    values_.resize(static_cast<std::size_t>(table_.n_features) * kBins);
    for (int feature = 0; feature < table_.n_features; ++feature) {
      if (table_.is_categorical[feature]) continue;
      double* of_feature = values_.data() + static_cast<std::size_t>(feature) * kBins;
      for (int bin = 0; bin < table_.n_bins[feature]; ++bin) {
        of_feature[bin] = table_.value(feature, bin);
      }
    }
    table_.values = values_.data();
  }

  void take_rows(int threads) {
    constexpr std::size_t kStep = 1024;
    const auto n_features = static_cast<std::size_t>(table_.n_features);
    const std::size_t row_bytes = (n_features + kRowAlignment) / kRowAlignment * kRowAlignment;
    rows_.resize(table_.n_rows * row_bytes);
    parallel_for(threads, (table_.n_rows + kStep - 1) / kStep, [&](std::size_t block) {
      const std::size_t begin = block * kStep, end = std::min(begin + kStep, table_.n_rows);
      for (std::size_t f = 0; f < n_features; ++f) {
        const std::uint8_t* column = table_.column(static_cast<int>(f));
        std::uint8_t* to = rows_.data() + f;
        for (std::size_t i = begin; i < end; ++i) to[i * row_bytes] = column[i];
      }
    });
    table_.by_row = rows_.data();
    table_.row_bytes = row_bytes;
  }

  CartTable table_;
  std::vector<double> values_;
  std::vector<std::uint8_t> rows_;
};

// Whether ByRowEngine can be used (by_row_engine.hpp).
bool goes_by_row(const CartTable& table, const ForestTarget& target, const CartRules& rules) {
  const bool* last = table.is_categorical + table.n_features;
  return target.label && target.n_values == 2 && rules.max_leaves == 0 &&
         rules.impurity != Impurity::gain_ratio &&
         std::find(table.is_categorical, last, true) == last;
}

// Calls grow(sample, tree, threads) for each tree.
template <class Grow>
std::vector<CartTree> grow_each(const ForestTarget& target, const CartRules& rules,
                                const RowDraws& draws, std::size_t n_rows, std::uint64_t first_tree,
                                std::size_t n_trees, int threads, Grow grow) {
  const bool at_once = n_trees >= static_cast<std::size_t>(std::max(threads, 1));
  std::vector<CartTree> trees(n_trees);
  parallel_for(at_once ? threads : 1, n_trees, [&](std::size_t i) {
    const TreeSample sample(target, rules, draws, first_tree + i, n_rows);
    trees[i] = grow(sample, first_tree + i, at_once ? 1 : threads);
  });
  return trees;
}

}  // namespace

std::vector<std::uint16_t> draw_counts(const RowDraws& draws, std::uint64_t tree,
                                       std::size_t n_rows) {
  std::vector<std::uint16_t> counts(n_rows, 0);
  const auto uniform = [&](std::size_t draw, std::size_t count) {
    const double u = unit_interval(hash_u64(draws.seed, Purpose::bootstrap, tree, draw));
    return static_cast<std::size_t>(u * static_cast<double>(count));
  };
  const auto take = [&](std::size_t row) {
    counts[row] = static_cast<std::uint16_t>(std::min(counts[row] + 1, 0xFFFF));
  };
  if (!draws.class_draws.empty()) {
    std::size_t draw = 0;
    for (std::size_t k = 0; k < draws.class_draws.size(); ++k) {
      const std::uint32_t* of_class = draws.rows_by_class.data() + draws.class_starts[k];
      const std::size_t n_of_class = draws.class_starts[k + 1] - draws.class_starts[k];
      for (const std::size_t end = draw + draws.class_draws[k]; draw < end; ++draw) {
        take(of_class[uniform(draw, n_of_class)]);
      }
    }
  } else if (draws.bootstrap) {
    for (std::size_t i = 0; i < draws.n_draws; ++i) take(uniform(i, n_rows));
  } else if (draws.n_draws >= n_rows) {
    std::fill(counts.begin(), counts.end(), std::uint16_t{1});
  } else {  // Floyd's algorithm: every set of n_draws rows is equally likely
    for (std::size_t last = n_rows - draws.n_draws; last < n_rows; ++last) {
      const std::size_t row = uniform(last, last + 1);
      counts[counts[row] ? last : row] = 1;
    }
  }
  return counts;
}

std::vector<CartTree> grow_forest(const CartTable& table, const ForestTarget& target,
                                  const CartRules& rules, const RowDraws& draws,
                                  std::uint64_t first_tree, std::size_t n_trees, int threads) {
  if (rules.impurity == Impurity::absolute) {
    const SortedLists sorted(
        static_cast<std::size_t>(table.n_features), table.n_rows, threads, [&](std::size_t f) {
          return RawColumn{table.column(static_cast<int>(f)), 1, RawColumn::Type::category};
        });
    const SortedColumns columns{sorted.order.get(),   sorted.rank.get(), nullptr,          nullptr,
                                table.is_categorical, table.n_rows,      table.n_features, &table};
    return grow_forest(columns, target, rules, draws, first_tree, n_trees, threads);
  }
  std::optional<RandomThresholdTable> at_random;
  if (rules.random_thresholds) at_random.emplace(table, goes_by_row(table, target, rules), threads);
  const CartTable& of_trees = at_random ? at_random->table() : table;
  return grow_each(target, rules, draws, table.n_rows, first_tree, n_trees, threads,
                   [&](const TreeSample& sample, std::uint64_t tree, int threads_of_tree) {
                     return grow_cart(of_trees, sample.target(), rules, sample.rows(), tree,
                                      threads_of_tree);
                   });
}

std::vector<CartTree> grow_forest(const SortedColumns& table, const ForestTarget& target,
                                  const CartRules& rules, const RowDraws& draws,
                                  std::uint64_t first_tree, std::size_t n_trees, int threads) {
  std::optional<SortedLists> numbers;
  if (rules.impurity == Impurity::absolute) {
    const auto width = static_cast<std::size_t>(target.n_values);
    numbers.emplace(width, table.n_rows, threads, [&](std::size_t v) {
      return RawColumn{target.numbers + v, static_cast<std::ptrdiff_t>(width * sizeof(double)),
                       RawColumn::Type::float64};
    });
  }
  return grow_each(target, rules, draws, table.n_rows, first_tree, n_trees, threads,
                   [&](const TreeSample& sample, std::uint64_t tree, int threads_of_tree) {
                     CartTarget of_tree = sample.target();
                     if (numbers) {
                       of_tree.number_order = numbers->order.get();
                       of_tree.number_rank = numbers->rank.get();
                     }
                     return grow_cart_exact(table, of_tree, rules, sample.rows(), tree,
                                            threads_of_tree);
                   });
}

}  // namespace hedgerow::cart
