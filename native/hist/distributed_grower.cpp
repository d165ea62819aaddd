#include "hist/distributed_grower.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/threads.hpp"
#include "hist/histogram_builder.hpp"
#include "hist/leaf_storage.hpp"
#include "hist/level_scan.hpp"
#include "hist/tree_builder.hpp"
#include "hist/tree_columns.hpp"

namespace hedgerow::hist {
namespace {

// Histogram updates that justify waking a thread.
constexpr std::size_t kUpdatesPerThread = 4'000;

struct DistributedLeaf : EngineLeaf {  // its rows are those of this worker
  GradientSum sum = {0, 0};            // over the rows of all workers
};

struct alignas(64) Room {
  FeatureRoom sums;
  LeftSums left;
};

// The fewest histograms that growth needs: those of the leaves that are evaluated together, or of a
// level.
std::size_t fewest_slots(const GrowthParams& params, int leaves_ahead) {
  const auto evaluated = 2 * static_cast<std::size_t>(leaves_ahead) + 2;
  if (!params.is_symmetric()) return evaluated;
  return std::max(evaluated, std::size_t{1} << most_levels(params));
}

// A range of items, of which each worker has one.
struct Share {
  std::size_t begin, end;

  Share(std::size_t count, int rank, int size)
      : begin(count * static_cast<std::size_t>(rank) / static_cast<std::size_t>(size)),
        end(count * static_cast<std::size_t>(rank + 1) / static_cast<std::size_t>(size)) {}
  std::size_t count() const { return end - begin; }
};

using BinCounts = std::array<std::uint64_t, kBins>;

BinCounts count_bins(const std::uint8_t* bins, std::size_t n_rows) {
  BinCounts counts{};
  for (std::size_t row = 0; row < n_rows; ++row) ++counts[bins[row]];
  return counts;
}

// Bytes of a column in which every bin has rows.
constexpr std::size_t kMostColumnBytes = kBins / 8 + kBins * sizeof(GradientSum);

// Appends the sums of a column: a bit for each bin that has rows, then the sums of these bins. In a
// small node most bins have none.
void append_column(Bytes& bytes, int n_codes, const GradientSum* sums) {
  std::array<std::uint64_t, kBins / 64> has_rows{};
  std::array<GradientSum, kBins> present;
  std::size_t count = 0;
  const auto look_at = [&](int bin) {
    if (sums[bin].hc == 0) return;
    has_rows[static_cast<std::size_t>(bin) / 64] |= std::uint64_t{1} << (bin % 64);
    present[count++] = sums[bin];
  };
  for (int code = 0; code < std::min(n_codes, kMissingBin); ++code) look_at(code);
  look_at(kMissingBin);
  append(bytes, has_rows.data(), has_rows.size());
  append(bytes, present.data(), count);
}

// Adds the sums of a column that another worker has appended.
void add_column(BytesReader& reader, GradientSum* sums) {
  const auto has_rows = reader.read<std::array<std::uint64_t, kBins / 64>>();
  for (std::size_t word = 0; word < has_rows.size(); ++word) {
    for (std::uint64_t bits = has_rows[word]; bits != 0; bits &= bits - 1) {
      sums[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))] +=
          reader.read<GradientSum>();
    }
  }
}

// Which of some features can be divided so that both sides have `min_rows` of the rows of all
// workers. Each worker adds up the bin counts of its share of these features.
std::vector<bool> can_split_together(const BinnedView& bins, const std::vector<int>& features,
                                     std::uint64_t min_rows, Communicator& communicator) {
  const int size = communicator.size();
  std::vector<Bytes> parts(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    const Share share(features.size(), rank, size);
    for (std::size_t i = share.begin; i < share.end; ++i) {
      const BinCounts counts = count_bins(bins.column(features[i]), bins.n_rows);
      append(parts[static_cast<std::size_t>(rank)], counts.data(), counts.size());
    }
  }
  std::vector<BinCounts> total(Share(features.size(), communicator.rank(), size).count());
  for (const Bytes& part : communicator.exchange(parts)) {
    BytesReader reader(part);
    for (BinCounts& counts : total) {
      const auto received = reader.read<BinCounts>();
      for (std::size_t bin = 0; bin < counts.size(); ++bin) counts[bin] += received[bin];
    }
    reader.finish();
  }
  Bytes flags;
  for (const BinCounts& counts : total) {
    std::uint64_t sum = 0, most = 0;
    for (const std::uint64_t count : counts) {
      sum += count;
      most = std::max(most, count);
    }
    flags.push_back(static_cast<std::byte>(sum - most >= std::min(min_rows, sum)));
  }
  std::vector<bool> can;
  for (const Bytes& part : communicator.gather(flags)) {
    for (const std::byte flag : part) can.push_back(flag != std::byte{0});
  }
  can.resize(features.size());
  return can;
}

// The same for all features. Most can already be divided with the rows of one worker.
std::vector<bool> features_to_split(const BinnedView& bins, std::uint64_t min_rows,
                                    Communicator& communicator) {
  const auto n_features = static_cast<std::size_t>(bins.n_features);
  Bytes own(n_features);
  for (int f = 0; f < bins.n_features; ++f) {
    own[static_cast<std::size_t>(f)] =
        static_cast<std::byte>(bins.n_rows > 0 && can_split(bins.column(f), bins.n_rows, min_rows));
  }
  std::vector<bool> can(n_features);
  for (const Bytes& part : communicator.gather(own)) {
    BytesReader reader(part);
    for (std::size_t f = 0; f < n_features; ++f) {
      if (reader.read<bool>()) can[f] = true;
    }
    reader.finish();
  }
  std::vector<int> open;
  for (int f = 0; f < bins.n_features; ++f) {
    if (!can[static_cast<std::size_t>(f)]) open.push_back(f);
  }
  if (open.empty()) return can;
  const std::vector<bool> together = can_split_together(bins, open, min_rows, communicator);
  for (std::size_t i = 0; i < open.size(); ++i)
    can[static_cast<std::size_t>(open[i])] = together[i];
  return can;
}

}  // namespace

class DistributedEngine final : public GrowthEngine {
 public:
  DistributedEngine(const BinnedView& bins, const GrowthParams& params,
                    const Constraints& constraints, int threads, const EngineLimits& limits,
                    Communicator& communicator)
      : bins_(bins),
        params_(params),
        constraints_(constraints),
        threads_(threads),
        communicator_(communicator),
        rows_(bins_, threads),
        columns_(bins_, features_to_split(bins_, static_cast<std::uint64_t>(params.min_rows()),
                                          communicator)),
        builder_(bins_, threads),
        pool_(sizeof(GradientSum) * kColumnStride * most_own_columns(), limits.histogram_bytes,
              fewest_slots(params, limits.leaves_ahead)),
        rooms_(static_cast<std::size_t>(std::max(threads, 1))),
        leaves_at_once_(static_cast<std::size_t>(2 * limits.leaves_ahead)) {
    if (params_.is_symmetric()) {
      const std::span n_bins(bins_.n_bins, static_cast<std::size_t>(bins_.n_features));
      level_.emplace(params_, constraints_, n_bins);
    }
  }

  void set_gradients(const Gradients& gradients) { gradients_ = gradients; }

  int n_values() const override { return 1; }
  bool has_limits() const override { return true; }
  void set_features(const std::vector<int>& features) override;
  NewLeaf plant_root(const Bag& bag) override;
  void search(LeafSearch& search) override;
  std::array<NewLeaf, 2> make_children(int leaf, const Split& split) override;
  void divide(std::span<Division> divisions) override;
  void divide_level(std::span<Division> divisions) override { make_histograms(divisions); }
  void search_level(LevelSearch& search) override;
  void close(int leaf) override { pool_.release(at(leaf).slot); }
  LeafSums sums(int leaf, int) const override {
    const GradientSum& sum = leaves_[static_cast<std::size_t>(leaf)].sum;
    return {gradients_.fixed.g(sum), gradients_.fixed.h(sum)};
  }
  void number_rows(const GrownTree& tree, std::span<const int> leaves,
                   std::uint16_t* leaf_of_row) override;

 private:
  // A leaf whose histogram is that of its parent minus that of its sibling.
  struct Subtraction {
    int sibling, leaf;
  };

  DistributedLeaf& at(int leaf) { return leaves_[static_cast<std::size_t>(leaf)]; }
  std::uint64_t count(const DistributedLeaf& leaf) const {
    return gradients_.fixed.count(leaf.sum);
  }
  NewLeaf describe(int leaf) const;
  // The largest number of columns of which a worker has the sums.
  std::size_t most_own_columns() const {
    const auto n = static_cast<std::size_t>(bins_.n_columns);
    const auto size = static_cast<std::size_t>(communicator_.size());
    return std::max<std::size_t>(1, (n + size - 1) / size);
  }
  Share columns_of(int rank) const {
    return {columns_.columns().size(), rank, communicator_.size()};
  }
  Share own_columns() const { return columns_of(communicator_.rank()); }
  GradientSum* histogram(int slot) const { return pool_.at<GradientSum>(slot); }
  int take_slot();
  void plan(Division& division, std::vector<int>& built, std::vector<Subtraction>& differences);
  void add_up(const std::vector<int>& leaves);
  void build(const std::vector<int>& leaves, GradientSum* histograms);
  std::vector<Bytes> pack(std::size_t n_leaves, const GradientSum* histograms) const;
  void receive(std::span<const Bytes> parts, const std::vector<int>& leaves);
  void search_all(std::span<LeafSearch* const> searches);
  void make_histograms(std::span<Division> divisions);
  Split scan_level(const LevelSearch& search, std::span<const LevelLeaf> leaves, std::size_t k,
                   int slot);
  std::vector<LeafDivision> divide_by(const LevelSearch& search, std::span<const LevelLeaf> leaves);

  BinnedView bins_;
  GrowthParams params_;
  Constraints constraints_;
  int threads_;
  Communicator& communicator_;
  RowPartition rows_;
  TreeColumns columns_;
  HistogramBuilder builder_;
  HistogramPool pool_;              // sums over all workers, of this worker's columns
  std::vector<Room> rooms_;         // by slot
  std::size_t leaves_at_once_;      // whose sums are exchanged together
  std::optional<LevelScan> level_;  // of symmetric trees

  // State of the tree being grown.
  Gradients gradients_;
  std::vector<DistributedLeaf> leaves_;  // by id
  Buffer<GradientSum> local_;            // sums over the rows of this worker, of all columns
  std::size_t n_local_ = 0;
};

NewLeaf DistributedEngine::describe(int leaf) const {
  const DistributedLeaf& made = leaves_[static_cast<std::size_t>(leaf)];
  const FixedPoint& fixed = gradients_.fixed;
  return {leaf, fixed.count(made.sum), fixed.h(made.sum),
          ChildMinimum(params_, fixed).fits_twice(fixed, made.sum)};
}

void DistributedEngine::set_features(const std::vector<int>& features) {
  columns_.select(features);
  builder_.set_columns(columns_);
}

// A free slot, or that of the smallest waiting leaf: the same one on every worker.
int DistributedEngine::take_slot() {
  const int slot = pool_.acquire();
  if (slot >= 0) return slot;
  DistributedLeaf* smallest = nullptr;
  for (DistributedLeaf& leaf : leaves_) {
    if (!leaf.is_waiting || leaf.slot < 0) continue;
    if (!smallest || count(leaf) < count(*smallest)) smallest = &leaf;
  }
  pool_.release(smallest->slot);
  return pool_.acquire();
}

// Builds the histograms of this worker's rows, one leaf after another.
void DistributedEngine::build(const std::vector<int>& leaves, GradientSum* histograms) {
  const std::size_t n_columns = columns_.columns().size(), size = n_columns * kColumnStride;
  std::vector<std::size_t> small;  // places of leaves whose columns are divided among threads
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const RowSet rows = rows_.rows(at(leaves[i]).rows);
    const int team = threads_for(rows.count * n_columns, kUpdatesPerThread, threads_);
    if (builder_.divides_rows(rows.count, team)) {
      builder_.build(gradients_, rows, team, histograms + i * size);
    } else {
      small.push_back(i);
    }
  }
  const std::vector<ColumnGroup>& groups = builder_.groups();
  parallel_for(threads_, small.size() * groups.size(), [&](std::size_t task, int slot) {
    const std::size_t i = small[task / groups.size()];
    const ColumnGroup& group = groups[task % groups.size()];
    builder_.build_group(gradients_, rows_.rows(at(leaves[i]).rows), group, slot,
                         histograms + i * size + group.first * kColumnStride);
  });
}

// What goes to each worker: of every leaf, the sums of the worker's columns.
std::vector<Bytes> DistributedEngine::pack(std::size_t n_leaves,
                                           const GradientSum* histograms) const {
  const std::vector<int>& columns = columns_.columns();
  std::vector<Bytes> parts(static_cast<std::size_t>(communicator_.size()));
  parallel_for(threads_, parts.size(), [&](std::size_t rank) {
    const Share share = columns_of(static_cast<int>(rank));
    Bytes& part = parts[rank];
    part.reserve(n_leaves * share.count() * kMostColumnBytes);
    for (std::size_t i = 0; i < n_leaves; ++i) {
      for (std::size_t k = share.begin; k < share.end; ++k) {
        const GradientSum* sums = histograms + (i * columns.size() + k) * kColumnStride;
        append_column(part, columns_.n_codes(columns[k]), sums);
      }
    }
  });
  return parts;
}

// Adds what the workers have sent into the leaves' slots.
void DistributedEngine::receive(std::span<const Bytes> parts, const std::vector<int>& leaves) {
  const Share own = own_columns();
  const std::size_t size = own.count() * kColumnStride;
  for (const int leaf : leaves) std::fill_n(histogram(at(leaf).slot), size, GradientSum{0, 0});
  for (const Bytes& part : parts) {
    BytesReader reader(part);
    for (const int leaf : leaves) {
      GradientSum* sums = histogram(at(leaf).slot);
      for (std::size_t k = own.begin; k < own.end; ++k, sums += kColumnStride) {
        add_column(reader, sums);
      }
    }
    reader.finish();
  }
}

// Fills the slots of some leaves with the sums over the rows of all workers.
void DistributedEngine::add_up(const std::vector<int>& leaves) {
  if (leaves.empty()) return;
  const std::size_t size = leaves.size() * columns_.columns().size() * kColumnStride;
  if (n_local_ < size) {
    local_ = Buffer<GradientSum>(size);
    n_local_ = size;
  }
  build(leaves, local_.get());
  receive(communicator_.exchange(pack(leaves.size(), local_.get())), leaves);
}

// Searches some leaves: each worker its own columns, then all compare the best of each.
void DistributedEngine::search_all(std::span<LeafSearch* const> searches) {
  if (searches.empty()) return;
  const FeatureScan scan{bins_, columns_, constraints_};
  const Share own = own_columns();
  std::vector<SplitSearch> split_searches;
  for (const LeafSearch* search : searches) {
    split_searches.emplace_back(params_, gradients_.fixed, at(search->leaf).sum, search->limited);
  }
  std::vector<Split> found(searches.size() * own.count());
  parallel_for(threads_, found.size(), [&](std::size_t task, int slot) {
    const std::size_t i = task / own.count(), k = task % own.count();
    const LeafSearch& search = *searches[i];
    GradientSum* sums = histogram(at(search.leaf).slot) + k * kColumnStride;
    scan.offer(split_searches[i], columns_.columns()[own.begin + k], sums, search.allowed,
               rooms_[static_cast<std::size_t>(slot)].sums, found[task]);
  });
  std::vector<Split> best(searches.size());
  for (std::size_t task = 0; task < found.size(); ++task) {
    Split& so_far = best[task / own.count()];
    if (found[task].beats(so_far)) so_far = found[task];
  }
  Bytes own_best;
  append(own_best, best.data(), best.size());
  for (LeafSearch* search : searches) search->best = {};
  for (const Bytes& part : communicator_.gather(own_best)) {
    BytesReader reader(part);
    for (LeafSearch* search : searches) {
      const auto split = reader.read<Split>();
      if (split.beats(search->best)) search->best = split;
    }
    reader.finish();
  }
  for (const LeafSearch* search : searches) at(search->leaf).is_waiting = true;
}

NewLeaf DistributedEngine::plant_root(const Bag& bag) {
  leaves_.clear();
  pool_.release_all();
  leaves_.emplace_back();
  at(0).rows = rows_.begin(bag);
  at(0).slot = take_slot();
  add_up({0});
  // The sum over this worker's rows is the sum over the bins of any column.
  GradientSum sum = local_[kMissingBin];
  const int n_codes = columns_.n_codes(columns_.columns().front());
  for (int code = 0; code < std::min(n_codes, kMissingBin); ++code) {
    sum += local_[static_cast<std::size_t>(code)];
  }
  Bytes own_sum;
  append(own_sum, &sum, 1);
  for (const Bytes& part : communicator_.gather(own_sum)) {
    BytesReader reader(part);
    at(0).sum += reader.read<GradientSum>();
    reader.finish();
  }
  return describe(0);
}

void DistributedEngine::search(LeafSearch& search) {
  if (at(search.leaf).slot < 0) {
    at(search.leaf).slot = take_slot();
    add_up({search.leaf});
  }
  LeafSearch* const searches[] = {&search};
  search_all(searches);
}

std::array<NewLeaf, 2> DistributedEngine::make_children(int leaf, const Split& split) {
  const int left = static_cast<int>(leaves_.size()), right = left + 1;
  leaves_.resize(leaves_.size() + 2);
  at(left).sum = split.left;
  at(right).sum = at(leaf).sum - split.left;
  return {describe(left), describe(right)};
}

// Decides which histograms of two new leaves are built and which follow by subtraction, and assigns
// their slots. Everything it depends on is the same on every worker.
void DistributedEngine::plan(Division& division, std::vector<int>& built,
                             std::vector<Subtraction>& differences) {
  const auto size = [&](std::size_t side) { return count(at(division.children[side].leaf)); };
  const std::size_t small_side = size(0) <= size(1) ? 0 : 1, large_side = 1 - small_side;
  const int small = division.children[small_side].leaf, large = division.children[large_side].leaf;
  DistributedLeaf& parent = at(division.leaf);
  const bool subtracts = division.is_searched[large_side] && parent.slot >= 0;
  if (!subtracts) pool_.release(parent.slot);
  if (division.is_searched[small_side] || subtracts) {
    at(small).slot = take_slot();
    built.push_back(small);
  }
  if (subtracts) {
    at(large).slot = std::exchange(parent.slot, -1);
    differences.push_back({small, large});
  } else if (division.is_searched[large_side]) {
    at(large).slot = take_slot();
    built.push_back(large);
  }
}

// Divides rows, and makes the histograms of new leaves.
void DistributedEngine::make_histograms(std::span<Division> divisions) {
  std::vector<int> built;
  std::vector<Subtraction> differences;
  std::vector<RowDivision> divided;
  for (const Division& division : divisions) {
    divided.push_back({at(division.leaf).rows, &division.split, {}});
  }
  rows_.divide(divided);
  set_rows(divisions, divided, leaves_);
  for (Division& division : divisions) plan(division, built, differences);
  for (std::size_t i = 0; i < built.size(); i += leaves_at_once_) {
    const std::size_t end = std::min(built.size(), i + leaves_at_once_);
    add_up({built.data() + i, built.data() + end});
  }
  const Share own = own_columns();
  parallel_for(threads_, differences.size() * own.count(), [&](std::size_t task) {
    const Subtraction& difference = differences[task / own.count()];
    const std::size_t k = task % own.count();
    subtract_histogram(columns_.n_codes(columns_.columns()[own.begin + k]),
                       histogram(at(difference.sibling).slot) + k * kColumnStride,
                       histogram(at(difference.leaf).slot) + k * kColumnStride);
  });
  for (const Division& division : divisions) {
    for (const std::size_t side : {0, 1}) {
      if (!division.is_searched[side]) pool_.release(at(division.children[side].leaf).slot);
    }
  }
}

void DistributedEngine::divide(std::span<Division> divisions) {
  make_histograms(divisions);
  std::vector<LeafSearch*> searches;
  for (Division& division : divisions) {
    for (const std::size_t side : {0, 1}) {
      if (division.is_searched[side]) searches.push_back(&division.children[side]);
    }
  }
  search_all(searches);
}

// The best test of the features of the k-th of this worker's columns.
Split DistributedEngine::scan_level(const LevelSearch& search, std::span<const LevelLeaf> leaves,
                                    std::size_t k, int slot) {
  const FeatureScan scan{bins_, columns_, constraints_};
  const int column = columns_.columns()[own_columns().begin + k];
  Room& room = rooms_[static_cast<std::size_t>(slot)];
  return level_->best_test(
      search, leaves, room.left, [&](auto use) { scan.for_each_feature(column, use); },
      [&](std::size_t i, const AllowedFeatures& allowed, auto use) {
        GradientSum* sums = histogram(at(search.leaves[i]).slot) + k * kColumnStride;
        scan.for_each_histogram(leaves[i].sum, column, sums, allowed, room.sums, use);
      });
}

// What the test of a level does to its leaves: the worker that has the column tells the others.
std::vector<LeafDivision> DistributedEngine::divide_by(const LevelSearch& search,
                                                       std::span<const LevelLeaf> leaves) {
  const FeatureScan scan{bins_, columns_, constraints_};
  const Split& test = search.test;
  const int column = bins_.places[static_cast<std::size_t>(test.feature)].column;
  const std::vector<int>& columns = columns_.columns();
  const auto place = static_cast<std::size_t>(
      std::lower_bound(columns.begin(), columns.end(), column) - columns.begin());
  const Share own = own_columns();
  const bool has_column = place >= own.begin && place < own.end;
  Bytes known;
  for (std::size_t i = 0; has_column && i < leaves.size(); ++i) {
    GradientSum* sums = histogram(at(search.leaves[i]).slot) + (place - own.begin) * kColumnStride;
    scan.for_each_histogram(
        leaves[i].sum, column, sums, {}, rooms_.front().sums, [&](const FeatureHistogram& of_leaf) {
          if (of_leaf.feature != test.feature) return;
          const LeafDivision known_here = level_->divide(leaves[i], test, of_leaf);
          append(known, &known_here, 1);
        });
  }
  std::vector<LeafDivision> divisions;
  for (const Bytes& part : communicator_.gather(known)) {
    if (part.empty()) continue;
    BytesReader reader(part);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      divisions.push_back(reader.read<LeafDivision>());
    }
    reader.finish();
  }
  return divisions;
}

// Each worker scans its own columns, then all compare the best of each.
void DistributedEngine::search_level(LevelSearch& search) {
  level_->begin(gradients_.fixed);
  std::vector<LevelLeaf> leaves;
  leaves.reserve(search.leaves.size());
  for (const int leaf : search.leaves) leaves.push_back(level_->leaf(at(leaf).sum));
  std::vector<Split> found(own_columns().count());
  parallel_for(threads_, found.size(),
               [&](std::size_t k, int slot) { found[k] = scan_level(search, leaves, k, slot); });
  Split own_best;
  for (const Split& of_column : found) {
    if (of_column.beats(own_best)) own_best = of_column;
  }
  Bytes own;
  append(own, &own_best, 1);
  for (const Bytes& part : communicator_.gather(own)) {
    BytesReader reader(part);
    const auto of_worker = reader.read<Split>();
    if (of_worker.beats(search.test)) search.test = of_worker;
    reader.finish();
  }
  if (!search.test.found()) return;
  const int n_bins = bins_.n_bins[search.test.feature];
  search.splits = level_->complete(search.test, divide_by(search, leaves), n_bins);
}

void DistributedEngine::number_rows(const GrownTree& tree, std::span<const int> leaves,
                                    std::uint16_t* leaf_of_row) {
  rows_.number_rows(tree, number_leaves(leaves_, leaves), leaf_of_row);
}

DistributedGrower::DistributedGrower(const BinnedView& bins, const GrowthParams& params,
                                     const Constraints& constraints, int threads,
                                     const EngineLimits& limits, Communicator& communicator)
    : engine_(std::make_unique<DistributedEngine>(bins, params, constraints, threads, limits,
                                                  communicator)),
      builder_(std::make_unique<TreeBuilder>(
          params, constraints, std::span(bins.n_bins, static_cast<std::size_t>(bins.n_features)),
          limits.leaves_ahead)) {}

DistributedGrower::~DistributedGrower() = default;
DistributedGrower::DistributedGrower(DistributedGrower&&) noexcept = default;

GrownTree DistributedGrower::grow(const Gradients& gradients, const Bag& bag, std::uint64_t tree_id,
                                  std::uint16_t* leaf_of_row) {
  engine_->set_gradients(gradients);
  return builder_->grow(*engine_, bag, tree_id, leaf_of_row);
}

}  // namespace hedgerow::hist
