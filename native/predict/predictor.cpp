#include "predict/predictor.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/threads.hpp"
#include "predict/codes.hpp"
#include "predict/flat_tree.hpp"
#include "predict/linear_terms.hpp"
#include "predict/step_tree.hpp"
#include "predict/table_tree.hpp"

namespace hedgerow::predict {

TreeArrays EnsembleArrays::tree(std::size_t t) const {
  const std::int64_t begin = tree_offset[t];
  return {static_cast<std::size_t>(tree_offset[t + 1] - begin),
          nodes.feature + begin,
          nodes.threshold + begin,
          nodes.left + begin,
          nodes.right + begin,
          nodes.missing_left + begin,
          nodes.category_set + begin,
          nodes.value + begin * static_cast<std::int64_t>(nodes.n_values),
          nodes.category_bits,
          nodes.n_values};
}

namespace {

constexpr std::size_t kFewRows = 7;                // up to here steps are faster than a block
constexpr std::size_t kMaxChunkRows = 2048;        // rows a thread takes at a time
constexpr std::size_t kMaxSegmentFeatures = 2048;  // half a megabyte of codes
constexpr std::size_t kTablesAtOnce = 8;           // trees whose values are added in one pass
// Rows that step through a large tree before the next one is read from memory, their scores, and
// the numbers that trees read of them.
constexpr std::size_t kStepBlockRows = 16384, kStepBlockScores = std::size_t{1} << 17;
constexpr std::size_t kStepBlockNumbers = std::size_t{1} << 20;

// A feature of a segment, and how its values become codes.
struct CodedFeature {
  std::size_t feature;
  bool is_categorical;
  RankTree for_double, for_float;
};

// Consecutive trees that share codes.
struct Segment {
  std::size_t tree_end;
  std::size_t feature_begin, feature_end;
  std::vector<std::int16_t> place;  // of each column of the table among these features, or −1

  std::size_t n_features() const { return feature_end - feature_begin; }
  std::int16_t place_of(std::size_t column) const {
    return column < place.size() ? place[column] : std::int16_t{-1};
  }
};

// How a tree finds the leaves of a block of rows.
enum class BlockForm { steps, flat, table, wide_table };

struct TreeForms {
  std::uint32_t root;        // among the step nodes
  std::uint32_t leaf_begin;  // among the leaves of all trees
  std::int32_t output;
  BlockForm form;
  FlatTree flat;  // or the tests of a table
};

// The slopes of all leaves; `start` is empty if there are none.
struct LeafSlopes {
  std::vector<std::int64_t> start;
  std::vector<std::int32_t> feature;
  std::vector<double> coefficient, centre, low, high;

  LinearTerms terms(std::size_t n_values) const {
    return {start.data(), feature.data(), coefficient.data(), centre.data(), low.data(),
            high.data(),  n_values};
  }
};

}  // namespace

struct Forest {
  std::vector<double> base_score;
  bool has_float_sums = false;
  std::vector<TreeForms> trees;
  std::vector<double> leaf_value;  // n_values a leaf
  std::size_t n_values = 1;
  std::vector<std::int32_t> leaf_node;
  LeafSlopes slopes;
  StepTrees steps;
  FlatTrees flat;
  std::vector<Segment> segments;
  std::vector<CodedFeature> features;
  std::vector<double> double_splits;
  std::vector<float> float_splits;
  std::size_t max_columns = 0, max_leaves = 1;
  std::size_t block_rows = kBlockRows;  // rows that visit a tree before the next tree

  // Where a feature's search tree begins, and its form.
  std::pair<const double*, const RankTree&> search(const CodedFeature& feature, double) const {
    return {double_splits.data() + feature.for_double.begin, feature.for_double};
  }
  std::pair<const float*, const RankTree&> search(const CodedFeature& feature, float) const {
    return {float_splits.data() + feature.for_float.begin, feature.for_float};
  }
};

namespace {

// Building.

// The split points of trees that share codes, by feature.
class SegmentPlan {
 public:
  // Returns false if the tree does not fit. Points of a refused tree may remain: they do no harm.
  bool add(const TreeArrays& tree) {
    for (std::size_t node = 0; node < tree.n_nodes; ++node) {
      if (tree.is_leaf(node)) continue;
      std::vector<double>& points = points_[key(tree, node)];
      if (points_.size() > kMaxSegmentFeatures) return false;
      if (tree.is_categorical(node)) continue;
      const auto at = std::lower_bound(points.begin(), points.end(), tree.threshold[node]);
      if (at != points.end() && *at == tree.threshold[node]) continue;
      if (points.size() == kMaxSplitPoints) return false;
      points.insert(at, tree.threshold[node]);
    }
    return true;
  }

  // Moves the plan into the forest and builds the flat forms of its trees.
  void finish(const EnsembleArrays& ensemble, std::size_t tree_begin, std::size_t tree_end,
              Forest& forest) {
    const std::size_t n_features = points_.size(), begin = forest.features.size();
    Segment segment{tree_end, begin, begin + n_features, {}};
    if (n_features > 0) {  // keys are sorted by feature
      segment.place.assign(static_cast<std::size_t>(points_.rbegin()->first.first) + 1, -1);
    }
    for (auto& [key, points] : points_) {
      const std::size_t place = forest.features.size() - begin;
      place_[key] = place;
      segment.place[static_cast<std::size_t>(key.first)] = static_cast<std::int16_t>(place);
      forest.features.push_back(coded(key, points, forest));
    }
    forest.segments.push_back(std::move(segment));
    for (std::size_t t = tree_begin; t < tree_end; ++t)
      if (forest.trees[t].form != BlockForm::steps)
        flatten_tree(ensemble.tree(t), n_features, forest.trees[t], forest);
    points_.clear();
    place_.clear();
  }

 private:
  using Key = std::pair<std::int32_t, bool>;  // feature, is categorical

  static Key key(const TreeArrays& tree, std::size_t node) {
    return {tree.feature[node], tree.is_categorical(node)};
  }

  static CodedFeature coded(const Key& key, const std::vector<double>& points, Forest& forest) {
    CodedFeature feature{static_cast<std::size_t>(key.first), key.second, {}, {}};
    if (feature.is_categorical) return feature;
    std::vector<float> rounded(points.size());
    std::transform(points.begin(), points.end(), rounded.begin(), round_down);
    feature.for_double = add_rank_tree(points, forest.double_splits);
    feature.for_float = add_rank_tree(rounded, forest.float_splits);
    return feature;
  }

  void flatten_tree(const TreeArrays& tree, std::size_t n_features, TreeForms& forms,
                    Forest& forest) const {
    const auto locate = [&](std::size_t node) {
      const std::vector<double>& points = points_.at(key(tree, node));
      const auto at = std::lower_bound(points.begin(), points.end(), tree.threshold[node]);
      return Located{place_.at(key(tree, node)), static_cast<int>(at - points.begin())};
    };
    forms.flat = forms.form == BlockForm::flat
                     ? flatten(tree, n_features, locate, forest.flat)
                     : list_tests(tree, *few_tests(tree), n_features, locate, forest.flat);
    const std::size_t n_tests = forms.flat.test_end - forms.flat.test_begin;
    forest.max_columns = std::max(forest.max_columns, 2 * n_features + n_tests);
  }

  std::map<Key, std::vector<double>> points_;
  std::map<Key, std::size_t> place_;
};

// The leaves of a tree in the order of their numbers. In the table of a tree, a leaf has several
// numbers, the same ones in all forms.
std::vector<std::size_t> leaves_of(const TreeArrays& tree, const std::optional<FewTests>& tests) {
  if (tests) return leaves_of_entries(tree, *tests);
  std::vector<std::size_t> leaves;
  for (std::size_t node = 0; node < tree.n_nodes; ++node) {
    if (tree.is_leaf(node)) leaves.push_back(node);
  }
  return leaves;
}

// Adds everything of a tree but its tests in blocks; returns the number of its leaves.
std::size_t add_tree(const TreeArrays& tree, std::int32_t output,
                     const std::optional<FewTests>& tests, Forest& forest) {
  const auto leaf_begin = static_cast<std::uint32_t>(forest.leaf_node.size());
  std::vector<std::uint32_t> leaf_number(tree.n_nodes, 0);
  for (const std::size_t node : leaves_of(tree, tests)) {
    leaf_number[node] = static_cast<std::uint32_t>(forest.leaf_node.size()) - leaf_begin;
    const double* value = tree.value + node * tree.n_values;
    forest.leaf_value.insert(forest.leaf_value.end(), value, value + tree.n_values);
    forest.leaf_node.push_back(static_cast<std::int32_t>(node));
  }
  const std::uint32_t root = add_steps(tree, leaf_number, forest.steps);
  forest.trees.push_back({root, leaf_begin, output, BlockForm::steps, {}});
  return forest.leaf_node.size() - leaf_begin;
}

// Copies the slopes of an ensemble from nodes to leaves, which are in the same
// order.
void add_slopes(const EnsembleArrays& ensemble, Forest& forest) {
  if (!ensemble.linear) return;
  const LinearTerms& terms = *ensemble.linear;
  const std::size_t n_nodes = ensemble.nodes.n_nodes, width = terms.n_values;
  LeafSlopes& slopes = forest.slopes;
  for (std::size_t node = 0; node < n_nodes; ++node) {
    if (ensemble.nodes.is_leaf(node)) slopes.start.push_back(terms.start[node]);
  }
  slopes.start.push_back(terms.start[n_nodes]);
  const auto n_terms = static_cast<std::size_t>(terms.start[n_nodes]);
  slopes.feature.assign(terms.feature, terms.feature + n_terms);
  slopes.coefficient.assign(terms.coefficient, terms.coefficient + n_terms * width);
  slopes.centre.assign(terms.centre, terms.centre + n_terms * width);
  slopes.low.assign(terms.low, terms.low + n_terms);
  slopes.high.assign(terms.high, terms.high + n_terms);
}

// Whether a tree has too many leaves for any form but steps.
bool is_large(const TreeArrays& tree, bool has_slopes) {
  return tree.n_nodes > 2 * kMaxFlatLeaves - 1 && (has_slopes || !few_tests(tree));
}

std::size_t step_block_rows(std::size_t n_outputs, std::size_t n_columns) {
  const std::size_t by_outputs = kStepBlockScores / n_outputs;
  const std::size_t by_columns = kStepBlockNumbers / (n_columns + 1);
  const std::size_t rows = std::min(by_outputs, by_columns) / kWalkers * kWalkers;
  return std::clamp(rows, kWalkers, kStepBlockRows);
}

// Whether most trees are large, as in a random forest. Then all rows step through all trees.
bool are_mostly_large(const EnsembleArrays& ensemble) {
  std::size_t n_large = 0;
  for (std::size_t t = 0; t < ensemble.n_trees(); ++t)
    n_large += is_large(ensemble.tree(t), ensemble.linear != nullptr);
  return 2 * n_large > ensemble.n_trees();
}

std::unique_ptr<const Forest> build(const EnsembleArrays& ensemble) {
  auto forest = std::make_unique<Forest>();
  forest->base_score.assign(ensemble.base_score.begin(), ensemble.base_score.end());
  forest->has_float_sums = ensemble.has_float_sums;
  forest->n_values = ensemble.nodes.n_values;
  const bool all_step = are_mostly_large(ensemble);
  find_columns(ensemble.nodes, forest->steps);
  if (all_step)
    forest->block_rows = step_block_rows(forest->base_score.size(), forest->steps.columns.size());
  std::int32_t n_sets = 0;
  SegmentPlan plan;
  std::size_t begin = 0;
  for (std::size_t t = 0; t < ensemble.n_trees(); ++t) {
    const TreeArrays tree = ensemble.tree(t);
    for (std::size_t node = 0; node < tree.n_nodes; ++node)
      n_sets = std::max(n_sets, tree.category_set[node] + 1);
    std::optional<FewTests> tests;
    if (!ensemble.linear) tests = few_tests(tree);  // slopes are listed once for each leaf
    const std::size_t n_leaves = add_tree(tree, ensemble.tree_output[t], tests, *forest);
    if (all_step || (n_leaves > kMaxFlatLeaves && !tests)) continue;
    bool fits = plan.add(tree);
    if (!fits) {
      plan.finish(ensemble, begin, t, *forest);
      begin = t;
      fits = plan.add(tree);  // if even alone it has too many split points, it is not flat
    }
    if (!fits) continue;
    forest->trees[t].form = !tests             ? BlockForm::flat
                            : tests->is_wide() ? BlockForm::wide_table
                                               : BlockForm::table;
    if (!tests) forest->max_leaves = std::max(forest->max_leaves, n_leaves);
  }
  plan.finish(ensemble, begin, ensemble.n_trees(), *forest);
  add_slopes(ensemble, *forest);
  const std::uint32_t* bits = ensemble.nodes.category_bits;
  forest->steps.category_bits.assign(bits, bits + 8 * n_sets);
  return forest;
}

// Blocks.

template <class T>
void fill_codes(const Forest& forest, const CodedFeature& feature, Strided<const T> column,
                std::size_t n_rows, Column* pair) {
  std::int8_t* code = pair[0].code;
  const auto [table, tree] = forest.search(feature, T{});
  if (feature.is_categorical)
    category_codes(column, n_rows, code);
  else
    rank_codes(tree, table, column, n_rows, code);
  for (std::size_t i = 0; i < kBlockRows; ++i)
    pair[1].code[i] = static_cast<std::int8_t>(code[i] + 1);
}

// The codes of a segment's features.
template <class T>
void fill_segment(const Forest& forest, const Segment& segment, const Strided<const T>& rows,
                  std::size_t first_row, std::size_t n_rows, Column* columns) {
  for (std::size_t f = 0; f < segment.n_features(); ++f) {
    const CodedFeature& feature = forest.features[segment.feature_begin + f];
    fill_codes(forest, feature, rows.from(first_row, feature.feature), n_rows, &columns[2 * f]);
  }
}

template <class T>
int code_of(const Forest& forest, const CodedFeature& feature, T value) {
  if (feature.is_categorical) return category_code(value);
  if (value != value) return kMissingCode;
  const auto [table, tree] = forest.search(feature, T{});
  return static_cast<int>(rank(tree.levels, table, value));
}

// The same from stored values: the code of 0 everywhere else.
template <class T>
void fill_segment(const Forest& forest, const Segment& segment, const StoredRows<T>& rows,
                  std::size_t first_row, std::size_t n_rows, Column* columns) {
  const CodedFeature* features = forest.features.data() + segment.feature_begin;
  for (std::size_t f = 0; f < segment.n_features(); ++f) {
    const int zero = code_of(forest, features[f], T{0});
    std::memset(columns[2 * f].code, zero - 128, kBlockRows);
    std::memset(columns[2 * f + 1].code, zero - 127, kBlockRows);
  }
  // Values of features that no tree uses are dropped without a branch, which would be
  // unpredictable.
  constexpr std::size_t kStrip = 256;
  std::int16_t place[kStrip + 1];
  T value[kStrip + 1];
  for (std::size_t i = 0; i < n_rows; ++i) {
    std::size_t n_used = 0;
    const auto encode = [&] {
      for (std::size_t k = 0; k < n_used; ++k) {
        const auto f = static_cast<std::size_t>(place[k]);
        const int code = code_of(forest, features[f], value[k]);
        columns[2 * f].code[i] = static_cast<std::int8_t>(code - 128);
        columns[2 * f + 1].code[i] = static_cast<std::int8_t>(code - 127);
      }
      n_used = 0;
    };
    rows.for_each(first_row + i, [&](std::size_t column, T stored) {
      place[n_used] = segment.place_of(column);
      value[n_used] = stored;
      n_used += place[n_used] >= 0;
      if (n_used == kStrip) encode();
    });
    encode();
  }
}

// The numbers of a table's rows, of the same type as there.
template <class Rows>
using BlockOf = StepBlock<std::remove_cvref_t<decltype(std::declval<Rows>().at(0, 0))>>;

// One row after another, each through several trees side by side.
template <class Rows, class Sink>
void visit_few(const Forest& forest, const Rows& rows, std::size_t n_rows, Sink& sink) {
  BlockOf<Rows> block(forest.steps);
  block.read(rows, 0, n_rows, n_rows);
  for (std::size_t row = 0; row < n_rows; ++row) {
    sink.begin(row, 1);
    for (std::size_t t = sink.first_tree(); t < sink.last_tree(); t += kWalkers) {
      const std::size_t n = std::min(kWalkers, sink.last_tree() - t);
      Nodes node;
      for (std::size_t i = 0; i < kWalkers; ++i)
        node[i] = forest.trees[t + std::min(i, n - 1)].root;
      walk(forest.steps, block.row(row), 0, block.mask(), node);
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t leaf = forest.steps.leaf_number(node[i]);
        sink.add(t + i, &leaf);
      }
    }
  }
}

template <class Rows, class Sink>
void visit_block(const Forest& forest, const Rows& rows, std::size_t first_row, std::size_t n_rows,
                 FlatScratch& scratch, BlockOf<Rows>& block, Sink& sink) {
  sink.begin(first_row, n_rows);
  bool is_read = false;
  std::size_t t = sink.first_tree();
  for (const Segment& segment : forest.segments) {
    const std::size_t end = std::min(segment.tree_end, sink.last_tree());
    if (t >= end) continue;
    fill_segment(forest, segment, rows, first_row, n_rows, scratch.columns.data());
    while (t < end) {
      const TreeForms& tree = forest.trees[t];
      if (tree.form == BlockForm::table) {
        Column entries[kTablesAtOnce];
        std::size_t n = 0;
        for (; n < kTablesAtOnce && t + n < end && forest.trees[t + n].form == BlockForm::table;
             ++n)
          scratch.select_entries(forest.trees[t + n].flat, forest.flat, 2 * segment.n_features(),
                                 entries[n]);
        sink.add_tables(t, {entries, n});
        t += n;
        continue;
      }
      if (tree.form == BlockForm::wide_table) {
        std::uint16_t entries[kBlockRows];
        scratch.select_wide_entries(tree.flat, forest.flat, 2 * segment.n_features(), entries);
        sink.add(t, entries);
      } else if (tree.form == BlockForm::flat) {
        sink.add(t, scratch.select_leaves(tree.flat, forest.flat, 2 * segment.n_features()));
      } else {
        std::uint32_t leaf[kStepBlockRows];
        if (!std::exchange(is_read, true))
          block.read(rows, first_row, n_rows, (n_rows + kWalkers - 1) / kWalkers * kWalkers);
        walk_block(forest.steps, tree.root, block, n_rows, leaf);
        sink.add(t, leaf);
      }
      ++t;
    }
  }
}

// Rows that a thread processes at a time: enough to amortise its scratch memory, few enough to
// share the work.
std::size_t chunk_rows(std::size_t n_rows, int threads, std::size_t most) {
  const std::size_t share = n_rows / (4 * static_cast<std::size_t>(std::max(threads, 1)));
  const std::size_t rounded = (share / kBlockRows + 1) * kBlockRows;
  return std::min(rounded, most);
}

template <class Task>
void for_each_chunk(std::size_t n_rows, int threads, std::size_t most, const Task& task) {
  const std::size_t step = chunk_rows(n_rows, threads, most);
  parallel_for(threads, (n_rows + step - 1) / step,
               [&](std::size_t i) { task(i * step, std::min(n_rows, (i + 1) * step)); });
}

template <class Rows, class Sink>
void visit(const Forest& forest, const Rows& rows, std::size_t n_rows, int threads,
           const Sink& shared) {
  if (n_rows <= kFewRows) {
    Sink sink = shared;
    visit_few(forest, rows, n_rows, sink);
    return;
  }
  for_each_chunk(n_rows, threads, std::max(kMaxChunkRows, forest.block_rows),
                 [&](std::size_t begin, std::size_t end) {
                   Sink sink = shared;
                   FlatScratch scratch(forest.max_columns, forest.max_leaves);
                   BlockOf<Rows> block(forest.steps);
                   for (std::size_t row = begin; row < end; row += forest.block_rows)
                     visit_block(forest, rows, row, std::min(forest.block_rows, end - row), scratch,
                                 block, sink);
                 });
}

// Sinks: where the leaves of a block of rows go. A sink belongs to one thread.

// Adds up leaf values; Sum is double, or float for models that round every sum to float.
template <class Sum>
class ScoreSink {
 public:
  ScoreSink(const Forest& forest, const Stages& stages)
      : forest_(forest), stages_(stages), scores_(forest.base_score.size() * forest.block_rows) {}

  std::size_t first_tree() const { return stages_.first_tree; }
  std::size_t last_tree() const {
    return stages_.first_tree + stages_.n_stages * stages_.stage_trees;
  }

  void begin(std::size_t first_row, std::size_t n_rows) {
    first_row_ = first_row;
    n_rows_ = n_rows;
    pending_ = stages_.stage_trees;
    stage_ = stages_.stages;
    for (std::size_t k = 0; k < forest_.base_score.size(); ++k)
      for (std::size_t i = 0; i < n_rows; ++i)
        scores_[k * forest_.block_rows + i] = static_cast<Sum>(
            stages_.start.data ? stages_.start.at(first_row + i, k) : forest_.base_score[k]);
    if (pending_ == 0) write();
  }

  template <class Leaf>
  void add(std::size_t t, const Leaf* leaf) {
    const TreeForms& tree = forest_.trees[t];
    const std::size_t width = forest_.n_values;
    const double* value = &forest_.leaf_value[tree.leaf_begin * width];
    Sum* __restrict scores = &scores_[static_cast<std::size_t>(tree.output) * forest_.block_rows];
    if (width == 1) {
      for (std::size_t i = 0, n = n_rows_; i < n; ++i)
        scores[i] += static_cast<Sum>(value[leaf[i]]);
    } else {
      for (std::size_t k = 0; k < width; ++k)
        for (std::size_t i = 0; i < n_rows_; ++i)
          scores[k * forest_.block_rows + i] += static_cast<Sum>(value[leaf[i] * width + k]);
    }
    end_tree();
  }

  // The same for consecutive trees in table form.
  void add_tables(std::size_t t, std::span<const Column> entries) {
    const TreeForms* trees = &forest_.trees[t];
    const bool have_one_output = std::all_of(trees, trees + entries.size(), [&](const auto& tree) {
      return tree.output == trees->output;
    });
    if (entries.size() == kTablesAtOnce && have_one_output && forest_.n_values == 1 &&
        pending_ > kTablesAtOnce) {
      add_at_once(trees, entries.data());
      pending_ -= kTablesAtOnce;
      return;
    }
    for (std::size_t i = 0; i < entries.size(); ++i) add(t + i, entry_numbers(entries[i]));
  }

 protected:
  static const std::uint8_t* entry_numbers(const Column& entries) {
    return reinterpret_cast<const std::uint8_t*>(entries.code);
  }

  // A score is read and written once for several trees, and has the same bits as one by one.
  void add_at_once(const TreeForms* trees, const Column* entries) {
    const double* value[kTablesAtOnce];
    for (std::size_t k = 0; k < kTablesAtOnce; ++k)
      value[k] = &forest_.leaf_value[trees[k].leaf_begin];
    Sum* __restrict scores = &scores_[static_cast<std::size_t>(trees->output) * forest_.block_rows];
    for (std::size_t i = 0, n = n_rows_; i < n; ++i) {
      Sum score = scores[i];
      for (std::size_t k = 0; k < kTablesAtOnce; ++k)
        score += static_cast<Sum>(value[k][entry_numbers(entries[k])[i]]);
      scores[i] = score;
    }
  }

  void end_tree() {
    if (--pending_ == 0) write();
  }

  void write() {
    for (std::size_t k = 0; k < forest_.base_score.size(); ++k)
      for (std::size_t i = 0; i < n_rows_; ++i)
        stage_.at(first_row_ + i, k) = scores_[k * forest_.block_rows + i];
    stage_.data += stages_.stage_stride;
    pending_ = stages_.stage_trees;
  }

  const Forest& forest_;
  const Stages& stages_;
  std::vector<Sum> scores_;  // of the block, output by output
  std::size_t first_row_ = 0, n_rows_ = 0, pending_ = 0;
  Strided<double> stage_{};
};

// The same for trees with linear leaves, which read the rows again.
template <class Rows>
class LinearSink : public ScoreSink<double> {
 public:
  LinearSink(const Forest& forest, const Stages& stages, const Rows& rows)
      : ScoreSink<double>(forest, stages),
        terms_(forest.slopes.terms(forest.n_values)),
        rows_(rows) {}

  template <class Leaf>
  void add(std::size_t t, const Leaf* leaf) {
    const TreeForms& tree = forest_.trees[t];
    const std::size_t width = forest_.n_values, output = static_cast<std::size_t>(tree.output);
    for (std::size_t i = 0; i < n_rows_; ++i) {
      const std::size_t of_row = tree.leaf_begin + leaf[i];
      for (std::size_t k = 0; k < width; ++k) {
        scores_[(output + k) * forest_.block_rows + i] +=
            terms_.add_to(forest_.leaf_value[of_row * width + k], of_row, k, rows_, first_row_ + i);
      }
    }
    end_tree();
  }

 private:
  LinearTerms terms_;
  Rows rows_;
};

class LeafSink {
 public:
  LeafSink(const Forest& forest, Strided<std::int32_t> leaves) : forest_(forest), leaves_(leaves) {}

  std::size_t first_tree() const { return 0; }
  std::size_t last_tree() const { return forest_.trees.size(); }

  void begin(std::size_t first_row, std::size_t n_rows) {
    first_row_ = first_row;
    n_rows_ = n_rows;
  }

  template <class Leaf>
  void add(std::size_t t, const Leaf* leaf) {
    const std::int32_t* node = &forest_.leaf_node[forest_.trees[t].leaf_begin];
    for (std::size_t i = 0; i < n_rows_; ++i) leaves_.at(first_row_ + i, t) = node[leaf[i]];
  }

  void add_tables(std::size_t t, std::span<const Column> entries) {
    for (const Column& of_tree : entries)
      add(t++, reinterpret_cast<const std::uint8_t*>(of_tree.code));
  }

 private:
  const Forest& forest_;
  Strided<std::int32_t> leaves_;
  std::size_t first_row_ = 0, n_rows_ = 0;
};

}  // namespace

Predictor::Predictor(const EnsembleArrays& ensemble) : forest_(build(ensemble)) {}
Predictor::~Predictor() = default;
std::size_t Predictor::n_trees() const { return forest_->trees.size(); }
std::size_t Predictor::n_outputs() const { return forest_->base_score.size(); }

template <class Rows>
void Predictor::predict(const Rows& rows, std::size_t n_rows, const Stages& stages,
                        int threads) const {
  if (!forest_->slopes.start.empty())
    visit(*forest_, rows, n_rows, threads, LinearSink<Rows>(*forest_, stages, rows));
  else if (forest_->has_float_sums)
    visit(*forest_, rows, n_rows, threads, ScoreSink<float>(*forest_, stages));
  else
    visit(*forest_, rows, n_rows, threads, ScoreSink<double>(*forest_, stages));
}

template <class Rows>
void Predictor::apply(const Rows& rows, std::size_t n_rows, Strided<std::int32_t> leaves,
                      int threads) const {
  visit(*forest_, rows, n_rows, threads, LeafSink(*forest_, leaves));
}

#define HEDGEROW_INSTANTIATE(Rows)                                                      \
  template void Predictor::predict(const Rows&, std::size_t, const Stages&, int) const; \
  template void Predictor::apply(const Rows&, std::size_t, Strided<std::int32_t>, int) const;
HEDGEROW_INSTANTIATE(Strided<const float>)
HEDGEROW_INSTANTIATE(Strided<const double>)
HEDGEROW_INSTANTIATE(StoredRows<float>)
HEDGEROW_INSTANTIATE(StoredRows<double>)
#undef HEDGEROW_INSTANTIATE

// Training rows.

namespace {

struct BinnedTree {
  const TreeArrays& tree;
  const std::uint8_t* split_bin;
  const std::uint8_t* by_column;
  std::size_t n_rows;

  // For trees too large to be flat.
  std::size_t leaf_of(std::size_t row) const {
    std::size_t node = 0;
    while (!tree.is_leaf(node)) {
      const int bin = by_column[static_cast<std::size_t>(tree.feature[node]) * n_rows + row];
      const bool left = bin == kMissingCode         ? tree.missing_left[node]
                        : tree.is_categorical(node) ? has_bit(tree.bits(node), bin)
                                                    : bin <= split_bin[node];
      node = static_cast<std::size_t>(left ? tree.left[node] : tree.right[node]);
    }
    return node;
  }
};

// The rows to which a tree is added: all, or a list.
struct RowList {
  std::optional<std::span<const std::int32_t>> listed;

  RowList within(std::size_t begin, std::size_t end) const {
    if (!listed) return {};
    const auto at = [&](std::size_t row) {
      return std::lower_bound(listed->begin(), listed->end(), static_cast<std::int64_t>(row));
    };
    return {std::span(at(begin), at(end))};
  }

  bool is_empty() const { return listed && listed->empty(); }

  template <class Update>
  void for_each(std::size_t begin, std::size_t end, const Update& update) const {
    if (listed)
      for (const std::int32_t row : *listed) update(static_cast<std::size_t>(row));
    else
      for (std::size_t row = begin; row < end; ++row) update(row);
  }
};

// A tree's flat form over bins: each bin is a code already.
struct BinnedFlat {
  explicit BinnedFlat(const BinnedTree& binned) {
    const TreeArrays& tree = binned.tree;
    for (std::size_t node = 0; node < tree.n_nodes; ++node) {
      if (tree.is_leaf(node))
        leaf_value.push_back(tree.value[node]);
      else
        features.push_back(tree.feature[node]);
    }
    std::sort(features.begin(), features.end());
    features.erase(std::unique(features.begin(), features.end()), features.end());
    const auto locate = [&](std::size_t node) {
      const auto at = std::lower_bound(features.begin(), features.end(), tree.feature[node]);
      return Located{static_cast<std::size_t>(at - features.begin()), binned.split_bin[node]};
    };
    flat = flatten(tree, features.size(), locate, trees);
  }

  std::size_t n_columns() const { return 2 * features.size() + trees.tests.size(); }

  const std::uint8_t* select_leaves(const BinnedTree& binned, std::size_t begin, std::size_t end,
                                    FlatScratch& scratch) const {
    for (std::size_t f = 0; f < features.size(); ++f) {
      const std::uint8_t* bin =
          binned.by_column + static_cast<std::size_t>(features[f]) * binned.n_rows + begin;
      Column* pair = &scratch.columns[2 * f];
      for (std::size_t i = 0; i < end - begin; ++i) {
        pair[0].code[i] = static_cast<std::int8_t>(bin[i] - 128);
        pair[1].code[i] = static_cast<std::int8_t>(bin[i] - 127);
      }
    }
    return scratch.select_leaves(flat, trees, 2 * features.size());
  }

  std::vector<std::int32_t> features;
  std::vector<double> leaf_value;  // n_values a leaf
  std::size_t n_values = 1;
  FlatTrees trees;
  FlatTree flat;
};

}  // namespace

void add_tree_binned(const TreeArrays& tree, const std::uint8_t* split_bin,
                     const std::uint8_t* by_column, std::size_t n_rows,
                     std::optional<std::span<const std::int32_t>> rows, double* scores,
                     int threads) {
  const BinnedTree binned{tree, split_bin, by_column, n_rows};
  if (tree.n_nodes > 2 * kMaxFlatLeaves - 1) {
    for_each_chunk(n_rows, threads, kMaxChunkRows, [&](std::size_t begin, std::size_t end) {
      RowList{rows}.within(begin, end).for_each(begin, end, [&](std::size_t row) {
        scores[row] += tree.value[binned.leaf_of(row)];
      });
    });
    return;
  }
  const BinnedFlat flat(binned);
  for_each_chunk(n_rows, threads, kMaxChunkRows, [&](std::size_t chunk, std::size_t chunk_end) {
    FlatScratch scratch(flat.n_columns(), flat.leaf_value.size());
    for (std::size_t begin = chunk; begin < chunk_end; begin += kBlockRows) {
      const std::size_t end = std::min(begin + kBlockRows, chunk_end);
      const RowList chosen = RowList{rows}.within(begin, end);
      if (chosen.is_empty()) continue;
      const std::uint8_t* leaf = flat.select_leaves(binned, begin, end, scratch);
      chosen.for_each(begin, end,
                      [&](std::size_t row) { scores[row] += flat.leaf_value[leaf[row - begin]]; });
    }
  });
}

}  // namespace hedgerow::predict
