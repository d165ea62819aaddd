// Shapley values against a background, leaf by leaf.
//
// Row x and row b of the background contribute at a leaf only if each of its players fits in one of
// them. With A the players that fit in x alone and B those that fit in b alone, the game is "all of
// A and none of B is known", whose values are
//   v (|A| − 1)! |B|! / (|A| + |B|)!   for each of A,   −v |A|! (|B| − 1)! / (|A| + |B|)!   of B.
// So only the pattern of who fits counts: rows with the same one are served together. Interaction
// values of pairs, half with each, are by Owen's extension
//   v (|A| − 2)! |B|! / 2 (|A| + |B| − 1)!          for two of A,
//   −v (|A| − 1)! (|B| − 1)! / 2 (|A| + |B| − 1)!   for one of A and one of B,
//   v |A|! (|B| − 2)! / 2 (|A| + |B| − 1)!          for two of B.
//
// A linear leaf's term is a number of one player times such a game. It is that of x if this player
// is known, else that of b: two more games, in which the player fits in x alone, or in b alone.
#include <algorithm>
#include <bit>
#include <cmath>

#include "core/interrupt.hpp"
#include "core/threads.hpp"
#include "explain/shap.hpp"
#include "explain/shap_trees.hpp"

namespace hedgerow::explain {

namespace {

constexpr std::size_t kChunkRows = 1024;
// Memory for the patterns of rows at the leaves of a tree.
constexpr std::size_t kGroupBytes = 1 << 26;

using Word = std::uint64_t;

// The value of a player in a game with |A| = a and |B| = b: 1 / (a · (a + b over a)).
class Weights {
 public:
  explicit Weights(std::size_t most) : width_(most + 1), in_(width_ * width_, 0.0) {
    std::vector<double> choose(width_ * width_, 1.0);  // a + b over a
    for (std::size_t a = 1; a < width_; ++a)
      for (std::size_t b = 1; b < width_; ++b)
        choose[a * width_ + b] = choose[(a - 1) * width_ + b] + choose[a * width_ + b - 1];
    for (std::size_t a = 1; a < width_; ++a)
      for (std::size_t b = 0; b < width_; ++b)
        in_[a * width_ + b] = 1.0 / (static_cast<double>(a) * choose[a * width_ + b]);
  }

  double of_known(std::size_t a, std::size_t b) const { return in_[a * width_ + b]; }
  double of_unknown(std::size_t a, std::size_t b) const { return in_[b * width_ + a]; }

 private:
  std::size_t width_;
  std::vector<double> in_;
};

// The number of words with a bit for each member.
std::size_t words_for(std::size_t n_members) { return (n_members + 63) / 64; }

Word members_in_word(std::size_t n_members, std::size_t w) {
  const std::size_t n_left = n_members - 64 * w;
  return n_left >= 64 ? ~Word{0} : (Word{1} << n_left) - 1;
}

// Distinct patterns of bits, in the order of their first occurrence.
class Patterns {
 public:
  void begin(std::size_t n_words, std::size_t at_most) {
    n_words_ = n_words;
    words_.clear();
    slots_.assign(std::bit_ceil(2 * at_most + 1), 0);
  }

  std::size_t size() const { return words_.size() / n_words_; }
  const std::vector<Word>& words() const { return words_; }

  std::size_t place_of(const Word* pattern) {
    Word hash = 0;
    for (std::size_t w = 0; w < n_words_; ++w) {
      hash = (hash ^ pattern[w]) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;
    }
    std::size_t slot = hash & (slots_.size() - 1);
    for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1))
      if (std::equal(pattern, pattern + n_words_, &words_[(slots_[slot] - 1) * n_words_]))
        return slots_[slot] - 1;
    words_.insert(words_.end(), pattern, pattern + n_words_);
    slots_[slot] = static_cast<std::uint32_t>(size());
    return size() - 1;
  }

 private:
  std::size_t n_words_ = 1;
  std::vector<Word> words_;
  std::vector<std::uint32_t> slots_;  // 1 + the pattern; 0: free
};

// Leaves of a tree that are processed together, and the nodes on their paths.
struct LeafGroup {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::size_t begin, end;
  std::vector<std::uint32_t> nodes;  // each once
  std::vector<std::uint32_t> place;  // of each node of the tree among these

  LeafGroup(const ShapTree& tree, const ShapLeaves& leaves, std::size_t first, std::size_t last)
      : begin(first), end(last), place(tree.edges.size() + 1, kNone) {
    for (std::size_t l = begin; l < end; ++l)
      for (std::size_t t = leaves.leaves[l].turn_begin; t < leaves.leaves[l].turn_end; ++t)
        add(leaves.turns[t].node);
  }

  std::size_t size() const { return end - begin; }

 private:
  void add(std::uint32_t node) {
    if (place[node] != kNone) return;
    place[node] = static_cast<std::uint32_t>(nodes.size());
    nodes.push_back(node);
  }
};

// The number of leaves of a group, so that paths and patterns of this many rows fit into memory.
std::size_t group_size(std::size_t n_rows, std::size_t most_members) {
  const std::size_t of_row = 2 + sizeof(Word) * (1 + words_for(most_members));
  return std::max<std::size_t>(kGroupBytes / (of_row * std::max(n_rows, kChunkRows)), 1);
}

// Which rows go left at the nodes of a group.
class Ways {
 public:
  template <class T>
  Ways(const ShapTrees& trees, const ShapTree& tree, const LeafGroup& group, Strided<const T> rows,
       std::size_t n_rows)
      : columns(trees.features.size(), n_rows),
        n_rows(n_rows),
        group_(group),
        went_left_(group.nodes.size() * n_rows) {
    columns.read(rows, n_rows, trees.features);
    std::uint8_t* left = went_left_.data();
    for (const std::uint32_t node : group.nodes) {
      check_interrupt();
      const ShapTest& test = trees.tests[tree.root + node];
      goes_left(trees, test, columns.column(test.feature), n_rows, left);
      left += n_rows;
    }
  }

  const std::uint8_t* went_left(std::uint32_t node) const {
    return &went_left_[group_.place[node] * n_rows];
  }

  ShapColumns columns;
  std::size_t n_rows;

 private:
  const LeafGroup& group_;
  std::vector<std::uint8_t> went_left_;  // of each node of the group
};

// The patterns of rows at a leaf.
class Fits {
 public:
  explicit Fits(const Ways& of) : ways(of) {}

  // Determines which of a leaf's members fit in each row.
  void mark(const ShapLeaves& leaves, const ShapLeaves::ShapLeaf& leaf) {
    n_words_ = words_for(leaf.member_end - leaf.member_begin);
    bits_.assign(n_words_ * ways.n_rows, ~Word{0});
    for (std::size_t t = leaf.turn_begin; t < leaf.turn_end; ++t) {
      const ShapLeaves::Turn& turn = leaves.turns[t];
      const Word others = ~(Word{1} << turn.member % 64);
      const std::uint8_t* left = ways.went_left(turn.node);
      const std::uint8_t wrong = turn.is_right;
      Word* word = &bits_[turn.member / 64 * ways.n_rows];
      for (std::size_t i = 0; i < ways.n_rows; ++i) word[i] &= left[i] == wrong ? others : ~Word{0};
    }
    in_any.assign(n_words_, 0);
    for (std::size_t w = 0; w < n_words_; ++w)
      for (std::size_t i = 0; i < ways.n_rows; ++i) in_any[w] |= bits_[w * ways.n_rows + i];
  }

  // Groups the rows with the same pattern.
  void group() {
    patterns.begin(n_words_, ways.n_rows);
    place.resize(ways.n_rows);
    pattern_.resize(n_words_);
    for (std::size_t i = 0; i < ways.n_rows; ++i) {
      for (std::size_t w = 0; w < n_words_; ++w) pattern_[w] = bits_[w * ways.n_rows + i];
      place[i] = static_cast<std::uint32_t>(patterns.place_of(pattern_.data()));
    }
  }

  const Ways& ways;
  std::vector<Word> in_any;  // the members that fit in some row
  Patterns patterns;
  std::vector<std::uint32_t> place;  // of each row among the patterns

 private:
  std::size_t n_words_ = 1;
  std::vector<Word> bits_;  // of all rows, word by word
  std::vector<Word> pattern_;
};

// The patterns of the background at a leaf, and their weights. In a linear leaf, for each term and
// value: the sum of the term over the rows with the pattern.
struct LeafBackground {
  std::vector<Word> in_any, patterns;
  std::vector<double> weight;
  std::vector<double> terms;  // (terms, values, patterns)

  // Whether each member fits in some row of the background, or in some of others.
  bool may_meet(const std::vector<Word>& in_others, std::size_t n_members) const {
    for (std::size_t w = 0; w < in_any.size(); ++w)
      if (members_in_word(n_members, w) & ~(in_any[w] | in_others[w])) return false;
    return true;
  }
};

// One game: the member that is assumed to fit in one of the rows only, whatever the patterns are.
struct Game {
  static constexpr std::size_t kNobody = static_cast<std::size_t>(-1);
  std::size_t only_in_x = kNobody, only_in_b = kNobody;
};

// What is computed for a leaf: the values of its members, or those of pairs of members.
enum class Of { members, pairs };

// The index of a pair of members, the first of which is later, among all pairs.
std::size_t pair_place(std::size_t later, std::size_t earlier) {
  return later * (later - 1) / 2 + earlier;
}

class LeafGames {
 public:
  LeafGames(const Weights& weights, std::size_t n_members, Of of)
      : weights_(weights),
        of_(of),
        n_members_(n_members),
        n_words_(words_for(n_members)),
        relevant_to_x_(n_words_),
        relevant_to_b_(n_words_),
        known_(n_words_),
        unknown_(n_words_) {}

  void begin(const Game& game) {
    for (std::size_t w = 0; w < n_words_; ++w) {
      const Word all = members_in_word(n_members_, w);
      relevant_to_x_[w] = all & ~bit_of(game.only_in_b, w);
      relevant_to_b_[w] = all & ~bit_of(game.only_in_x, w);
    }
  }

  // Adds to `values` (members or pairs) of a row with pattern x, of a leaf that adds 1. False if
  // nothing.
  bool add(const Word* x, const std::vector<Word>& background, const double* counts,
           double* values) {
    bool is_any = false;
    for (const Word* b = background.data(); b < background.data() + background.size();
         b += n_words_, ++counts) {
      if (!meet(x, b)) continue;
      std::size_t n_known = 0, n_unknown = 0;
      for (std::size_t w = 0; w < n_words_; ++w) {
        n_known += static_cast<std::size_t>(std::popcount(known_[w]));
        n_unknown += static_cast<std::size_t>(std::popcount(unknown_[w]));
      }
      is_any = true;
      if (of_ == Of::members)
        add_members(*counts, n_known, n_unknown, values);
      else
        add_pairs(*counts, n_known, n_unknown, values);
    }
    return is_any;
  }

 private:
  void add_members(double count, std::size_t n_known, std::size_t n_unknown, double* values) const {
    spread(known_, count * weights_.of_known(n_known, n_unknown), values);
    spread(unknown_, -count * weights_.of_unknown(n_known, n_unknown), values);
  }

  void add_pairs(double count, std::size_t n_known, std::size_t n_unknown, double* pairs) {
    const double half = 0.5 * count;
    list(known_, known_members_);
    list(unknown_, unknown_members_);
    if (n_known > 1)
      spread_pairs(known_members_, half * weights_.of_known(n_known - 1, n_unknown), pairs);
    if (n_unknown > 1)
      spread_pairs(unknown_members_, half * weights_.of_unknown(n_known, n_unknown - 1), pairs);
    if (n_known == 0 || n_unknown == 0) return;
    const double mixed = -half * weights_.of_known(n_known, n_unknown - 1);
    for (const std::size_t a : known_members_)
      for (const std::size_t b : unknown_members_)
        pairs[pair_place(std::max(a, b), std::min(a, b))] += mixed;
  }

  static void spread_pairs(const std::vector<std::size_t>& members, double weight, double* pairs) {
    for (std::size_t a = 1; a < members.size(); ++a)
      for (std::size_t b = 0; b < a; ++b) pairs[pair_place(members[a], members[b])] += weight;
  }

  void list(const std::vector<Word>& members, std::vector<std::size_t>& listed) const {
    listed.clear();
    for (std::size_t w = 0; w < n_words_; ++w)
      for (Word bits = members[w]; bits; bits &= bits - 1)
        listed.push_back(64 * w + static_cast<std::size_t>(std::countr_zero(bits)));
  }

  // Finds A and B; false if some member fits in neither row, or all fit in both.
  bool meet(const Word* x, const Word* b) {
    Word different = 0;
    for (std::size_t w = 0; w < n_words_; ++w) {
      const Word of_x = x[w] & relevant_to_x_[w], of_b = b[w] & relevant_to_b_[w];
      if ((of_x | of_b) != (relevant_to_x_[w] | relevant_to_b_[w])) return false;
      known_[w] = of_x & ~of_b;
      unknown_[w] = of_b & ~of_x;
      different |= of_x ^ of_b;
    }
    return different != 0;
  }

  static Word bit_of(std::size_t member, std::size_t w) {
    return member / 64 == w && member != Game::kNobody ? Word{1} << member % 64 : 0;
  }

  void spread(const std::vector<Word>& members, double weight, double* values) const {
    for (std::size_t w = 0; w < n_words_; ++w)
      for (Word bits = members[w]; bits; bits &= bits - 1)
        values[64 * w + static_cast<std::size_t>(std::countr_zero(bits))] += weight;
  }

  const Weights& weights_;
  Of of_;
  std::size_t n_members_, n_words_;
  std::vector<Word> relevant_to_x_, relevant_to_b_;
  std::vector<Word> known_, unknown_;
  std::vector<std::size_t> known_members_, unknown_members_;
};

// The contribution of term t of a linear leaf to its value k for a row.
double term_value(const ShapTrees& trees, std::size_t t, std::size_t k, double x) {
  const ShapTrees::ShapSlopes& slopes = trees.slopes;
  if (!std::isfinite(x)) return 0.0;
  const std::size_t at = t * trees.n_values + k;
  const double clipped = std::clamp(x, slopes.low[t], slopes.high[t]);
  return slopes.coefficient[at] * (clipped - slopes.centre[at]);
}

LeafBackground background_of(const ShapTrees& trees, const ShapTree& tree, const ShapLeaves& leaves,
                             const ShapLeaves::ShapLeaf& leaf, Fits& fits) {
  LeafBackground background;
  fits.mark(leaves, leaf);
  fits.group();
  const std::size_t n_rows = fits.place.size(), n_patterns = fits.patterns.size();
  const double share = 1.0 / static_cast<double>(n_rows);
  std::vector<double> counts(n_patterns, 0.0);
  for (const std::uint32_t place : fits.place) counts[place] += 1.0;
  for (const double count : counts) background.weight.push_back(count * share);
  const auto terms = trees.slopes.of_node(tree.root + leaf.node);
  background.terms.assign(terms.size() * trees.n_values * n_patterns, 0.0);
  double* sum = background.terms.data();
  for (const std::size_t t : terms) {
    const double* column = fits.ways.columns.column(trees.slopes.feature[t]);
    for (std::size_t k = 0; k < trees.n_values; ++k, sum += n_patterns)
      for (std::size_t i = 0; i < n_rows; ++i)
        sum[fits.place[i]] += share * term_value(trees, t, k, column[i]);
  }
  background.in_any = fits.in_any;
  background.patterns = fits.patterns.words();
  return background;
}

// Adds one leaf's values to a chunk of rows.
class LeafAddition {
 public:
  LeafAddition(const ShapTrees& trees, const ShapTree& tree, const ShapLeaves& leaves,
               const ShapLeaves::ShapLeaf& leaf, const LeafBackground& background, const Fits& rows,
               const Weights& weights, Of of)
      : trees_(trees),
        tree_(tree),
        members_(&leaves.members[leaf.member_begin]),
        n_members_(leaf.member_end - leaf.member_begin),
        node_(tree.root + leaf.node),
        background_(background),
        rows_(rows),
        of_(of),
        n_added_(of == Of::members ? n_members_ : n_members_ * (n_members_ - 1) / 2),
        games_(weights, n_members_, of),
        table_(rows.patterns.size() * n_added_),
        is_any_(rows.patterns.size()) {}

  void add_to(double* values) {
    play(background_.weight.data(), {});
    for (std::size_t k = 0; k < trees_.n_values; ++k) {
      const double value = trees_.value[node_ * trees_.n_values + k];
      add_table(values, k, [value](std::size_t) { return value; });
    }
    const double* sums = background_.terms.data();
    for (const std::size_t t : trees_.slopes.of_node(node_)) {
      const std::size_t member = member_of(trees_.slopes.player[t]);
      const double* column = rows_.ways.columns.column(trees_.slopes.feature[t]);
      play(background_.weight.data(), {member, Game::kNobody});
      for (std::size_t k = 0; k < trees_.n_values; ++k)
        add_table(values, k, [&](std::size_t i) { return term_value(trees_, t, k, column[i]); });
      for (std::size_t k = 0; k < trees_.n_values; ++k, sums += background_.weight.size()) {
        play(sums, {Game::kNobody, member});
        add_table(values, k, [](std::size_t) { return 1.0; });
      }
    }
  }

 private:
  // Fills the table (patterns of rows, members or pairs).
  void play(const double* counts, const Game& game) {
    std::fill(table_.begin(), table_.end(), 0.0);
    games_.begin(game);
    const Word* pattern = rows_.patterns.words().data();
    for (std::size_t p = 0; p < rows_.patterns.size(); ++p, pattern += words_for(n_members_))
      is_any_[p] = games_.add(pattern, background_.patterns, counts, table_.data() + p * n_added_);
  }

  template <class Factor>
  void add_table(double* values, std::size_t k, const Factor& factor) const {
    const std::size_t width = trees_.n_outputs, output = static_cast<std::size_t>(tree_.output) + k;
    for (std::size_t i = 0; i < rows_.place.size(); ++i) {
      const std::size_t p = rows_.place[i];
      if (!is_any_[p]) continue;
      const double times = factor(i);
      const double* added = table_.data() + p * n_added_;
      const std::size_t n_players = trees_.n_players;
      if (of_ == Of::members)
        add_members(values + i * n_players * width + output, times, added);
      else
        add_pairs(values + i * n_players * n_players * width + output, times, added);
    }
  }

  std::size_t player(std::size_t member) const { return trees_.players[members_[member].player]; }

  void add_members(double* of_row, double times, const double* added) const {
    for (std::size_t m = 0; m < n_members_; ++m)
      of_row[player(m) * trees_.n_outputs] += times * added[m];
  }

  void add_pairs(double* of_row, double times, const double* added) const {
    const std::size_t width = trees_.n_outputs, n_players = trees_.n_players;
    for (std::size_t a = 1; a < n_members_; ++a)
      for (std::size_t b = 0; b < a; ++b, ++added) {
        of_row[(player(a) * n_players + player(b)) * width] += times * *added;
        of_row[(player(b) * n_players + player(a)) * width] += times * *added;
      }
  }

  std::size_t member_of(std::uint32_t player) const {
    std::size_t member = 0;
    while (members_[member].player != player) ++member;
    return member;
  }

  const ShapTrees& trees_;
  const ShapTree& tree_;
  const ShapLeaves::Member* members_;
  std::size_t n_members_, node_;
  const LeafBackground& background_;
  const Fits& rows_;
  Of of_;
  std::size_t n_added_;
  LeafGames games_;
  std::vector<double> table_;
  std::vector<std::uint8_t> is_any_;
};

// The background at each leaf of a group.
std::vector<LeafBackground> backgrounds_of(const ShapTrees& trees, const ShapTree& tree,
                                           const ShapLeaves& leaves, const LeafGroup& group,
                                           const Ways& ways, int threads) {
  constexpr std::size_t kLeavesPerTask = 16;
  std::vector<LeafBackground> backgrounds(group.size());
  parallel_for(threads, (group.size() + kLeavesPerTask - 1) / kLeavesPerTask, [&](std::size_t c) {
    Fits fits(ways);
    const std::size_t end = std::min((c + 1) * kLeavesPerTask, group.size());
    for (std::size_t l = c * kLeavesPerTask; l < end; ++l) {
      check_interrupt();
      backgrounds[l] = background_of(trees, tree, leaves, leaves.leaves[group.begin + l], fits);
    }
  });
  return backgrounds;
}

// Adds up all leaves' values of members, or of pairs, row by row.
template <class T>
void add_all(const ShapTrees& trees, Strided<const T> rows, std::size_t n_rows,
             Strided<const T> background, std::size_t n_background, Of of, double* values,
             int threads) {
  const std::size_t row_values =
      trees.n_players * trees.n_outputs * (of == Of::members ? 1 : trees.n_players);
  const auto add_group = [&](const ShapTree& tree, const ShapLeaves& leaves, const Weights& weights,
                             const LeafGroup& group) {
    const std::vector<LeafBackground> by_leaf = backgrounds_of(
        trees, tree, leaves, group, Ways(trees, tree, group, background, n_background), threads);
    parallel_for(threads, (n_rows + kChunkRows - 1) / kChunkRows, [&](std::size_t c) {
      const std::size_t begin = c * kChunkRows, n = std::min(kChunkRows, n_rows - begin);
      const Ways ways(trees, tree, group, rows.from(begin, 0), n);
      Fits fits(ways);
      double* of_chunk = values + begin * row_values;
      for (std::size_t l = 0; l < by_leaf.size(); ++l) {
        check_interrupt();
        const ShapLeaves::ShapLeaf& leaf = leaves.leaves[group.begin + l];
        const std::size_t n_members = leaf.member_end - leaf.member_begin;
        if (of == Of::pairs && n_members < 2) continue;
        fits.mark(leaves, leaf);
        if (!by_leaf[l].may_meet(fits.in_any, n_members)) continue;
        fits.group();
        LeafAddition(trees, tree, leaves, leaf, by_leaf[l], fits, weights, of).add_to(of_chunk);
      }
    });
  };
  for (const ShapTree& tree : trees.trees) {
    const ShapLeaves leaves(trees, tree);
    const Weights weights(leaves.most_members());
    const std::size_t at_a_time = group_size(n_background, leaves.most_members());
    for (std::size_t first = 0; first < leaves.leaves.size(); first += at_a_time) {
      const std::size_t last = std::min(first + at_a_time, leaves.leaves.size());
      add_group(tree, leaves, weights, LeafGroup(tree, leaves, first, last));
    }
  }
}

}  // namespace

template <class T>
void ShapExplainer::compare(Strided<const T> rows, std::size_t n_rows, Strided<const T> background,
                            std::size_t n_background, double* values, int threads) const {
  add_all(*trees_, rows, n_rows, background, n_background, Of::members, values, threads);
}

template <class T>
void ShapExplainer::compare_pairs(Strided<const T> rows, std::size_t n_rows,
                                  Strided<const T> background, std::size_t n_background,
                                  const double* values, double* interactions, int threads) const {
  const std::size_t n_players = trees_->n_players, n_outputs = trees_->n_outputs;
  add_all(*trees_, rows, n_rows, background, n_background, Of::pairs, interactions, threads);
  for (std::size_t place = 0; place < n_rows * n_players; ++place) {
    double* of_player = interactions + place * n_players * n_outputs;
    for (std::size_t k = 0; k < n_outputs; ++k) {
      double left = values[place * n_outputs + k];
      for (std::size_t b = 0; b < n_players; ++b) left -= of_player[b * n_outputs + k];
      of_player[place % n_players * n_outputs + k] = left;
    }
  }
}

template void ShapExplainer::compare(Strided<const float>, std::size_t, Strided<const float>,
                                     std::size_t, double*, int) const;
template void ShapExplainer::compare(Strided<const double>, std::size_t, Strided<const double>,
                                     std::size_t, double*, int) const;
template void ShapExplainer::compare_pairs(Strided<const float>, std::size_t, Strided<const float>,
                                           std::size_t, const double*, double*, int) const;
template void ShapExplainer::compare_pairs(Strided<const double>, std::size_t,
                                           Strided<const double>, std::size_t, const double*,
                                           double*, int) const;

}  // namespace hedgerow::explain
