// Rows to scores, by the trees of a finished model. Mirrors native/predict/predictor.cpp.
//
// A thread takes a row. The values of a block's rows wait in shared memory, those of a feature side
// by side: threads read different banks, whichever features they test. Trees pass through shared
// memory, some at a time. Leaf values are added in the order of the trees, as on the CPU.
#include "shared/math.hpp"
#include "state.hpp"

namespace hedgerow::cuda {

// A node of a tree, whose children are neighbours. `number` is the threshold, or in a test of
// categories the number of the set that goes left, or in a leaf the number of the leaf.
template <class Real>
struct alignas(2 * sizeof(Real)) ScoreNode {
  Real number;
  uint32_t packed;  // from the lowest bit: 16 of the left child, 14 of the feature, and two flags

  uint32_t left() const { return packed & 0xffffu; }  // 0: a leaf
  uint32_t feature() const { return packed >> 16 & 0x3fffu; }
  bool sends_missing_left() const { return packed >> 30 & 1; }
  bool is_categorical() const { return packed >> 31; }
};

// Where a tree begins, relative to its chunk.
struct TreePlace {
  uint32_t node, leaf;
};

// Consecutive trees, which are in shared memory together; one that is too large stays where it is.
struct TreeChunk {
  uint32_t first_tree, n_trees;
  uint32_t first_node, n_nodes;
  uint32_t first_leaf, n_leaves;
  uint32_t is_staged, unused;
};

// What a prediction reads and writes. Features are those that the trees use.
struct Prediction {
  const void* numbers;
  int64_t row_stride, column_stride;
  uint64_t n_rows;
  const int32_t* columns;          // the column of each feature
  const int32_t* category_starts;  // where its categories begin; none: it is numeric
  const double* categories;        // sorted
  const uint8_t* category_bins;
  const void* nodes;
  const double* values;  // (leaves, n_values)
  const uint32_t* category_sets;
  const TreePlace* trees;
  const TreeChunk* chunks;
  const int32_t* chunk_starts;  // of each pass, an output's or that of all outputs
  const double* start;
  uint64_t start_stride;
  double* scores;  // (n_rows, n_outputs)
  int32_t n_features, n_outputs, n_values;
  int32_t tree_bytes;  // of shared memory; those of rows follow, if there is room for them
  int32_t stages_rows, has_sets;
};

// The bin of a category, NaN if it is missing or unknown.
template <class Real>
inline Real bin_of_category(const Prediction& prediction, int feature, Real number) {
  const int32_t end = prediction.category_starts[feature + 1];
  int32_t low = prediction.category_starts[feature], high = end;
  while (low < high) {
    const int32_t middle = (low + high) / 2;
    if (prediction.categories[middle] < static_cast<double>(number)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const bool is_known = low < end && prediction.categories[low] == static_cast<double>(number);
  return is_known ? static_cast<Real>(prediction.category_bins[low])
                  : static_cast<Real>(std::numeric_limits<double>::quiet_NaN());
}

// A value as trees test it.
template <class Real>
inline Real tested_value(const Prediction& prediction, size_t row, int feature) {
  const auto* numbers = static_cast<const Real*>(prediction.numbers);
  const Real number = numbers[static_cast<int64_t>(row) * prediction.row_stride +
                              prediction.columns[feature] * prediction.column_stride];
  const int32_t* starts = prediction.category_starts + feature;
  return starts[0] == starts[1] ? number : bin_of_category(prediction, feature, number);
}

// The values of a thread's row: in shared memory, or where they are.
template <class Real, bool kIsStaged>
struct RowValues {
  const Prediction& prediction;
  size_t row;
  const Real* staged;  // those of neighbouring features are blockDim.x apart

  Real operator()(uint32_t feature) const {
    if constexpr (kIsStaged) return staged[feature * blockDim.x];
    return tested_value<Real>(prediction, row, static_cast<int>(feature));
  }
};

// The number of the leaf of a row. Without branches, so that the lanes of a warp stay together.
template <bool kHasSets, class Real, class Values>
inline uint32_t leaf_of_row(const ScoreNode<Real>* nodes, const Values& values) {
  ScoreNode<Real> node = nodes[0];
  while (node.left()) {
    const Real x = values(node.feature());
    // A missing value is neither above the threshold nor at most equal to it.
    bool is_above = x > node.number, is_not_below = !(x <= node.number);
    if (kHasSets && node.is_categorical()) {
      const auto bin = static_cast<uint32_t>(x == x ? x : Real{0});
      const uint32_t* set = values.prediction.category_sets + 8 * static_cast<size_t>(node.number);
      const bool is_in_set = set[bin >> 5] >> (bin & 31) & 1;
      is_above = x == x && !is_in_set;
      is_not_below = x != x || !is_in_set;
    }
    const bool goes_right = is_above | (is_not_below & !node.sends_missing_left());
    node = nodes[node.left() + goes_right];
  }
  return static_cast<uint32_t>(node.number);
}

// Copies whole 16 bytes with all threads of a block.
inline void copy_words(const void* from, size_t n_bytes, void* to) {
  struct alignas(16) Words {
    uint32_t words[4];
  };
  const auto* source = static_cast<const Words*>(from);
  auto* target = static_cast<Words*>(to);
  for (size_t i = threadIdx.x; i < n_bytes / sizeof(Words); i += blockDim.x) target[i] = source[i];
}

// Adds the trees of a chunk to the scores of a row: those of one output in `sum`, or of all.
template <bool kHasSets, class Real, class Values>
inline void add_chunk(const Prediction& prediction, const TreeChunk& chunk,
                      const ScoreNode<Real>* nodes, const double* leaf_values, const Values& values,
                      double& sum) {
  const int n_values = prediction.n_values;
  for (uint32_t t = chunk.first_tree; t < chunk.first_tree + chunk.n_trees; ++t) {
    const TreePlace place = prediction.trees[t];
    const uint32_t leaf = place.leaf + leaf_of_row<kHasSets>(nodes + place.node, values);
    if (n_values == 1) {
      sum += leaf_values[leaf];
      continue;
    }
    double* scores = prediction.scores + values.row * n_values;
    for (int k = 0; k < n_values; ++k) scores[k] += leaf_values[size_t(leaf) * n_values + k];
  }
}

// The scores of rows: output blockIdx.y, or all if nodes have a value for each.
template <class Real, bool kIsStaged, bool kHasSets>
inline void score_rows(const Prediction& prediction) {
  extern __shared__ double predict_room[];
  using Node = ScoreNode<Real>;
  auto* room = reinterpret_cast<uint8_t*>(predict_room);
  auto* staged = reinterpret_cast<Real*>(room + prediction.tree_bytes) + threadIdx.x;
  const size_t row = thread_index();
  const bool is_row = row < prediction.n_rows;
  const RowValues<Real, kIsStaged> values = {prediction, row, staged};
  for (int f = 0; kIsStaged && is_row && f < prediction.n_features; ++f) {
    staged[f * blockDim.x] = tested_value<Real>(prediction, row, f);
  }
  const int pass = blockIdx.y, n_values = prediction.n_values;
  const double* start = prediction.start + row * prediction.start_stride;
  double sum = is_row && n_values == 1 ? start[pass] : 0.0;
  double* scores = prediction.scores + row * prediction.n_outputs;
  for (int k = 0; is_row && n_values > 1 && k < n_values; ++k) scores[k] = start[k];
  for (int c = prediction.chunk_starts[pass]; c < prediction.chunk_starts[pass + 1]; ++c) {
    const TreeChunk chunk = prediction.chunks[c];
    const Node* nodes = static_cast<const Node*>(prediction.nodes) + chunk.first_node;
    const double* leaf_values = prediction.values + size_t(chunk.first_leaf) * n_values;
    if (!chunk.is_staged) {
      if (is_row) add_chunk<kHasSets>(prediction, chunk, nodes, leaf_values, values, sum);
      continue;
    }
    const size_t node_bytes = chunk.n_nodes * sizeof(Node);
    __syncthreads();  // the last chunk may still be read
    copy_words(nodes, node_bytes, room);
    copy_words(leaf_values, size_t(chunk.n_leaves) * n_values * sizeof(double), room + node_bytes);
    __syncthreads();
    if (is_row) {
      add_chunk<kHasSets>(prediction, chunk, reinterpret_cast<const Node*>(room),
                          reinterpret_cast<const double*>(room + node_bytes), values, sum);
    }
  }
  if (is_row && n_values == 1) scores[pass] = sum;
}

template <class Real>
inline void score_rows(const Prediction& prediction) {
  if (!prediction.stages_rows) {
    score_rows<Real, false, true>(prediction);
  } else if (prediction.has_sets) {
    score_rows<Real, true, true>(prediction);
  } else {
    score_rows<Real, true, false>(prediction);
  }
}

extern "C" __global__ void __launch_bounds__(512, 2)
    predict_floats(const __grid_constant__ Prediction prediction) {
  score_rows<float>(prediction);
}

extern "C" __global__ void __launch_bounds__(512, 2)
    predict_doubles(const __grid_constant__ Prediction prediction) {
  score_rows<double>(prediction);
}

// ---- Checks of a table --------------------------------------------------------------------------

// Counts infinities in all columns, and unknown categories in those of categorical features.
template <class Real>
inline void check_rows(const Prediction& prediction, int n_columns, uint32_t* counts) {
  constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
  const auto* numbers = static_cast<const Real*>(prediction.numbers);
  const size_t n = prediction.n_rows * n_columns;
  for (size_t i = thread_index(); i < n; i += n_threads()) {
    const auto row = static_cast<int64_t>(i / n_columns);
    const auto column = static_cast<int64_t>(i % n_columns);
    const Real x = numbers[row * prediction.row_stride + column * prediction.column_stride];
    if (x == kInfinity || x == -kInfinity) atomic_add(counts, 1u);
  }
  for (int f = 0; f < prediction.n_features; ++f) {
    if (prediction.category_starts[f] == prediction.category_starts[f + 1]) continue;
    for (size_t row = thread_index(); row < prediction.n_rows; row += n_threads()) {
      const Real x = numbers[static_cast<int64_t>(row) * prediction.row_stride +
                             prediction.columns[f] * prediction.column_stride];
      const Real bin = bin_of_category(prediction, f, x);
      if (x == x && bin != bin) atomic_add(counts + 1, 1u);
    }
  }
}

extern "C" __global__ void check_floats(const __grid_constant__ Prediction prediction,
                                        int32_t n_columns, uint32_t* counts) {
  check_rows<float>(prediction, n_columns, counts);
}

extern "C" __global__ void check_doubles(const __grid_constant__ Prediction prediction,
                                         int32_t n_columns, uint32_t* counts) {
  check_rows<double>(prediction, n_columns, counts);
}

// ---- Scores to predictions: mirrors native/predict/links.cpp ------------------------------------

extern "C" __global__ void two_class_probabilities(const double* scores, uint64_t n, double factor,
                                                   double* probabilities) {
  for (size_t i = thread_index(); i < n; i += n_threads()) {
    const double p = sigmoid(scores[i] * factor);
    probabilities[2 * i] = 1.0 - p;
    probabilities[2 * i + 1] = p;
  }
}

extern "C" __global__ void sigmoids(const double* scores, uint64_t n, double factor,
                                    double* probabilities) {
  for (size_t i = thread_index(); i < n; i += n_threads()) {
    probabilities[i] = sigmoid(scores[i] * factor);
  }
}

extern "C" __global__ void exponentials(const double* scores, uint64_t n, double* results) {
  for (size_t i = thread_index(); i < n; i += n_threads()) results[i] = hedgerow::exp(scores[i]);
}

extern "C" __global__ void softmax_rows(const double* scores, uint64_t n_rows, int32_t n_outputs,
                                        double* probabilities) {
  for (size_t row = thread_index(); row < n_rows; row += n_threads()) {
    const double* of_row = scores + row * n_outputs;
    double* to = probabilities + row * n_outputs;
    double largest = -std::numeric_limits<double>::infinity(), sum = 0.0;
    for (int k = 0; k < n_outputs; ++k) largest = largest < of_row[k] ? of_row[k] : largest;
    for (int k = 0; k < n_outputs; ++k) {
      to[k] = hedgerow::exp(of_row[k] - largest);
      sum += to[k];
    }
    for (int k = 0; k < n_outputs; ++k) to[k] = to[k] / sum;
  }
}

// The index of the class of each row: of two by the sign of a score, else the first of the largest.
extern "C" __global__ void classes_of_rows(const double* scores, uint64_t n_rows, int32_t n_outputs,
                                           int64_t* classes) {
  for (size_t row = thread_index(); row < n_rows; row += n_threads()) {
    const double* of_row = scores + row * n_outputs;
    int64_t best = n_outputs == 1 && of_row[0] > 0.0 ? 1 : 0;
    for (int k = 1; k < n_outputs; ++k) best = of_row[k] > of_row[best] ? k : best;
    classes[row] = best;
  }
}

}  // namespace hedgerow::cuda
