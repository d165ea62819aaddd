#include "explain/shap.hpp"

#include <algorithm>

#include "core/interrupt.hpp"
#include "core/threads.hpp"
#include "explain/shap_tables.hpp"
#include "explain/shap_trees.hpp"
#include "explain/shap_walk.hpp"

namespace hedgerow::explain {

namespace {

constexpr std::size_t kMaxChunkRows = 256;
constexpr std::size_t kMaxChunkValues = 1 << 17;  // a megabyte
// Numbers of edges, and values of tables, that are stored at a time: those of all trees of a deep
// forest would take several times its memory.
constexpr std::size_t kMaxNumbers = 1 << 23;  // 64 megabytes
constexpr std::size_t kTaskEntries = 256;     // of a table that a thread fills at a time

// A tree that is ready for rows: with its edges' numbers, or a table of its values.
struct Prepared {
  const ShapTree& tree;
  bool has_table;
  TreeNumbers numbers;
  std::vector<double> table;

  Prepared(const ShapTree& of, std::size_t n_rows)
      : tree(of), has_table(is_table_worthwhile(of, n_rows)) {}

  std::size_t n_numbers(const ShapTrees& trees) const {
    return TreeNumbers::size(tree) + (has_table ? n_table_values(trees, tree) : 0);
  }
};

void fill_tables(const ShapTrees& trees, std::vector<Prepared>& prepared, int threads) {
  struct TablePart {
    Prepared& of;
    std::size_t first, last;
  };
  std::vector<TablePart> parts;
  for (Prepared& tree : prepared) {
    if (!tree.has_table) continue;
    const std::size_t n_entries = tree.tree.tests->n_entries();
    for (std::size_t first = 0; first < n_entries; first += kTaskEntries)
      parts.push_back({tree, first, std::min(first + kTaskEntries, n_entries)});
  }
  parallel_for(threads, parts.size(), [&](std::size_t p) {
    check_interrupt();
    Prepared& of = parts[p].of;
    fill_table(trees, of.tree, of.numbers, parts[p].first, parts[p].last, of.table.data());
  });
}

// The next trees from `first` on, as many as are kept at a time, at least one.
std::vector<Prepared> prepared_from(const ShapTrees& trees, std::size_t first, std::size_t n_rows,
                                    int threads) {
  std::vector<Prepared> prepared;
  std::size_t n_numbers = 0;
  for (std::size_t t = first; t < trees.trees.size(); ++t) {
    Prepared next(trees.trees[t], n_rows);
    n_numbers += next.n_numbers(trees);
    if (t > first && n_numbers > kMaxNumbers) break;
    prepared.push_back(std::move(next));
  }
  parallel_for(threads, prepared.size(), [&](std::size_t t) {
    check_interrupt();
    Prepared& next = prepared[t];
    next.numbers = TreeNumbers(trees, next.tree);
    if (next.has_table) next.table.resize(n_table_values(trees, next.tree));
  });
  fill_tables(trees, prepared, threads);
  return prepared;
}

std::size_t chunk_rows(const ShapTrees& trees) {
  const std::size_t n_values = std::max<std::size_t>(trees.players.size() * trees.n_outputs, 1);
  const std::size_t rows = kMaxChunkValues / n_values / kRowLanes * kRowLanes;
  return std::clamp(rows, kRowLanes, kMaxChunkRows);
}

// The sums of a chunk of rows over trees, in their order: those of a tree are added as one number,
// whether they come from a walk or from a table.
class ChunkSums {
 public:
  template <class T>
  ChunkSums(const ShapTrees& trees, Strided<const T> rows, std::size_t n_rows)
      : trees_(trees),
        n_rows_(n_rows),
        capacity_((n_rows + kRowLanes - 1) / kRowLanes * kRowLanes),
        columns_(trees.features.size(), capacity_),
        sums_(trees.n_outputs * trees.players.size() * capacity_),
        walk_(trees),
        left_(n_rows),
        entry_(n_rows) {
    columns_.read(rows, n_rows, trees.features);
  }

  // Calls use(value, sum) for each of values (rows, players, outputs).
  template <class Use>
  void for_each(double* values, const Use& use) {
    const std::size_t n_used = trees_.players.size();
    for (std::size_t k = 0; k < trees_.n_outputs; ++k)
      for (std::size_t p = 0; p < n_used; ++p)
        for (std::size_t i = 0; i < n_rows_; ++i)
          use(values[(i * trees_.n_players + trees_.players[p]) * trees_.n_outputs + k],
              sums_[(k * n_used + p) * capacity_ + i]);
  }

  void add(const Prepared& prepared) {
    if (prepared.has_table) {
      check_interrupt();
      find_entries(trees_, prepared.tree, columns_, n_rows_, left_.data(), entry_.data());
      add_table(trees_, prepared.tree, prepared.table.data(), entry_.data(), n_rows_, sums_.data(),
                capacity_);
      return;
    }
    for (std::size_t first = 0; first < n_rows_; first += kRowLanes) {
      check_interrupt();
      add_walk(prepared, first);
    }
  }

 private:
  // The block of rows that begins at `first`.
  void add_walk(const Prepared& prepared, std::size_t first) {
    const ShapTree& tree = prepared.tree;
    walk_.walk(tree, prepared.numbers, [&](std::size_t node) {
      const ShapTest& test = trees_.tests[tree.root + node];
      return goes_left(trees_, test, columns_.column(test.feature) + first);
    });
    for (std::size_t k = 0; k < trees_.n_values; ++k) {
      const std::size_t output = static_cast<std::size_t>(tree.output) + k;
      for (std::size_t seat = 0; seat < tree.seats.size(); ++seat) {
        const std::size_t player = output * trees_.players.size() + tree.seats[seat];
        double* sum = &sums_[player * capacity_ + first];
        (RowDoubles::load(sum) + walk_.gained(k, seat)).store(sum);
      }
    }
  }

  const ShapTrees& trees_;
  std::size_t n_rows_, capacity_;
  ShapColumns columns_;
  std::vector<double> sums_;
  BlockWalk walk_;
  std::vector<std::uint8_t> left_;
  std::vector<std::uint16_t> entry_;
};

// Adds the values of trees to a chunk of rows; values are (rows, players, outputs).
template <class T>
void add_trees(const ShapTrees& trees, const std::vector<Prepared>& prepared, Strided<const T> rows,
               std::size_t n_rows, double* values) {
  ChunkSums sums(trees, rows, n_rows);
  sums.for_each(values, [](double value, double& sum) { sum = value; });
  for (const Prepared& tree : prepared) sums.add(tree);
  sums.for_each(values, [](double& value, double sum) { value = sum; });
}

}  // namespace

template <class T>
void ShapExplainer::explain(Strided<const T> rows, std::size_t n_rows, double* values,
                            int threads) const {
  const ShapTrees& trees = *trees_;
  const std::size_t chunk = chunk_rows(trees), row_values = trees.n_players * trees.n_outputs;
  for (std::size_t first = 0; first < trees.trees.size();) {
    const std::vector<Prepared> prepared = prepared_from(trees, first, n_rows, threads);
    parallel_for(threads, (n_rows + chunk - 1) / chunk, [&](std::size_t c) {
      const std::size_t begin = c * chunk, n = std::min(chunk, n_rows - begin);
      add_trees(trees, prepared, rows.from(begin, 0), n, values + begin * row_values);
    });
    first += prepared.size();
  }
}

template void ShapExplainer::explain(Strided<const float>, std::size_t, double*, int) const;
template void ShapExplainer::explain(Strided<const double>, std::size_t, double*, int) const;

}  // namespace hedgerow::explain
