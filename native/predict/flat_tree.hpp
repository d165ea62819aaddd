// The flat form of a tree: all nodes are evaluated for all rows of a block, from the deepest to the
// root, and each selects for every row the leaf that its left or its right child has selected. Rows
// do not follow individual paths, so nothing is gathered or mispredicted: a node costs a comparison
// and a blend of bytes. For up to 256 leaves this is much faster than walking down the tree.
//
// Values are codes of one byte: the rank of a number among the split points of its feature (or the
// bin of a category), 255 for missing. Each feature has two columns of codes, biased by 128 so that
// signed comparison orders them. In the second every code is incremented, which wraps a missing
// value from the top, right of every split, to the bottom, left of every split.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/compiler.hpp"
#include "predict/codes.hpp"
#include "predict/predictor.hpp"

namespace hedgerow::predict {

inline constexpr std::size_t kBlockRows = 128;      // a tree's columns and slots stay in L1
inline constexpr std::size_t kMaxFlatLeaves = 256;  // a leaf's number is a byte

struct alignas(64) Column {
  std::int8_t code[kBlockRows];
};

// "code > split goes right."
struct FlatNode {
  std::uint32_t split;        // the byte four times over: broadcast by a plain load
  std::uint16_t column;       // in a feature's pair of columns, or after all of them a test's
  std::uint16_t left, right;  // slots: a leaf's number, or 256 + the place of an earlier node
};

// Makes a column of 0 (left) and 1 (right) from a categorical feature's codes.
struct CategoryTest {
  std::uint16_t column;
  std::array<std::uint8_t, 32> goes_left;  // bit set over biased codes
};

struct FlatTree {
  std::size_t node_begin, node_end;
  std::size_t test_begin, test_end;
  std::array<std::size_t, 3> kind_end = {};  // in its nodes, of each FlatKind but the last
};

// The nodes of a tree by kind. A triple is a pair and its parent, whose other child is a leaf on
// the left or on the right. A pair selects one of two leaves with consecutive numbers. Neither has
// to read what it selects from.
enum FlatKind { kLeftTriple, kRightTriple, kPair, kOther };

struct FlatTrees {
  std::vector<FlatNode> nodes;
  std::vector<CategoryTest> tests;
};

inline CategoryTest category_test(const std::uint32_t* bits, bool missing_left,
                                  std::size_t column) {
  CategoryTest test{static_cast<std::uint16_t>(column), {}};
  for (int code = 0; code <= kMissingCode; ++code) {
    const int biased = code ^ 128;
    const bool left = code == kMissingCode ? missing_left : has_bit(bits, code);
    test.goes_left[biased >> 3] |= static_cast<std::uint8_t>(left << (biased & 7));
  }
  return test;
}

// An internal node's feature, as its place among the pairs of columns, and its split point's code:
// what `locate(node)` gives below.
struct Located {
  std::size_t feature;
  int split;
};

// The test of a node, without children.
inline FlatNode flat_test(const TreeArrays& tree, std::size_t node, std::size_t n_features,
                          const Located& at, const FlatTree& flat, FlatTrees& trees) {
  const bool missing_left = tree.missing_left[node];
  std::size_t column = 2 * at.feature + missing_left;
  int split = at.split + missing_left - 128;
  if (tree.is_categorical(node)) {
    column = 2 * n_features + trees.tests.size() - flat.test_begin;
    split = 0;
    trees.tests.push_back(category_test(tree.bits(node), missing_left, 2 * at.feature));
  }
  return {0x01010101u * static_cast<std::uint8_t>(split), static_cast<std::uint16_t>(column), 0, 0};
}

// Adds `tree` to `trees`. Columns of tests begin after n_features pairs.
template <class Locate>
FlatTree flatten(const TreeArrays& tree, std::size_t n_features, const Locate& locate,
                 FlatTrees& trees) {
  FlatTree flat{trees.nodes.size(), 0, trees.tests.size(), 0};
  std::vector<std::uint16_t> slot(tree.n_nodes);
  std::uint16_t n_leaves = 0;
  for (std::size_t node = 0; node < tree.n_nodes; ++node)
    if (tree.is_leaf(node)) slot[node] = n_leaves++;
  const auto is_pair = [&](std::size_t node) {
    if (tree.is_leaf(node)) return false;
    const auto left = static_cast<std::size_t>(tree.left[node]);
    const auto right = static_cast<std::size_t>(tree.right[node]);
    return tree.is_leaf(left) && tree.is_leaf(right) && slot[right] == slot[left] + 1;
  };
  const auto kind_of = [&](std::size_t node) {
    const auto left = static_cast<std::size_t>(tree.left[node]);
    const auto right = static_cast<std::size_t>(tree.right[node]);
    if (is_pair(node)) return kPair;
    if (tree.is_leaf(left) && is_pair(right)) return kLeftTriple;
    return tree.is_leaf(right) && is_pair(left) ? kRightTriple : kOther;
  };
  std::vector<bool> is_added(tree.n_nodes, false);
  const auto add = [&](std::size_t node) {
    slot[node] = static_cast<std::uint16_t>(kMaxFlatLeaves + trees.nodes.size() - flat.node_begin);
    FlatNode added = flat_test(tree, node, n_features, locate(node), flat, trees);
    added.left = slot[tree.left[node]];
    added.right = slot[tree.right[node]];
    trees.nodes.push_back(added);
    is_added[node] = true;
  };
  for (const FlatKind kind : {kLeftTriple, kRightTriple, kPair, kOther}) {
    for (std::size_t node = tree.n_nodes; node-- > 0;) {  // children before their parents
      if (tree.is_leaf(node) || is_added[node] || kind_of(node) != kind) continue;
      if (kind == kLeftTriple) add(static_cast<std::size_t>(tree.right[node]));
      if (kind == kRightTriple) add(static_cast<std::size_t>(tree.left[node]));
      add(node);
    }
    if (kind != kOther) flat.kind_end[kind] = trees.nodes.size() - flat.node_begin;
  }
  flat.node_end = trees.nodes.size();
  flat.test_end = trees.tests.size();
  return flat;
}

inline namespace HEDGEROW_LEVEL {

// Working memory for one thread: columns of codes, and a slot for every leaf and node of a tree.
class FlatScratch {
 public:
  FlatScratch(std::size_t n_columns, std::size_t max_leaves)
      : columns(n_columns), slots_(kMaxFlatLeaves + max_leaves) {
    for (std::size_t leaf = 0; leaf < max_leaves; ++leaf)
      std::memset(slots_[leaf].code, static_cast<int>(leaf), kBlockRows);
  }

  // The number of the leaf in which each row of the block ends.
  const std::uint8_t* select_leaves(const FlatTree& tree, const FlatTrees& trees,
                                    std::size_t first_test_column) {
    run_tests(tree, trees, first_test_column);
    const FlatNode* nodes = trees.nodes.data() + tree.node_begin;
    const auto [left_triples_end, right_triples_end, pairs_end] = tree.kind_end;
    run_triples<true>(nodes, 0, left_triples_end);
    run_triples<false>(nodes, left_triples_end, right_triples_end);
    run_pairs(nodes, right_triples_end, pairs_end);
    run_nodes(nodes, pairs_end, tree.node_end - tree.node_begin);
    const bool is_leaf = tree.node_begin == tree.node_end;
    const Column& root = slots_[is_leaf ? 0 : kMaxFlatLeaves + tree.node_end - tree.node_begin - 1];
    return reinterpret_cast<const std::uint8_t*>(root.code);
  }

  // The number of the entry of each row of the block in the table of a tree, as int8_t.
  void select_entries(const FlatTree& tree, const FlatTrees& trees, std::size_t first_test_column,
                      Column& entries) {
    run_tests(tree, trees, first_test_column);
    set_bits(trees, tree.node_begin, tree.node_end, entries);
  }

  // The same for a table of more than 256 entries.
  void select_wide_entries(const FlatTree& tree, const FlatTrees& trees,
                           std::size_t first_test_column, std::uint16_t* entries) {
    run_tests(tree, trees, first_test_column);
    Column low, high;
    set_bits(trees, tree.node_begin, tree.node_begin + 8, low);
    set_bits(trees, tree.node_begin + 8, tree.node_end, high);
    for (std::size_t i = 0; i < kBlockRows; ++i) {
      const auto upper = static_cast<std::uint8_t>(high.code[i]);
      entries[i] = static_cast<std::uint16_t>(upper << 8 | static_cast<std::uint8_t>(low.code[i]));
    }
  }

  std::vector<Column> columns;

 private:
#if defined(__AVX512BW__)
  static constexpr std::size_t kWidth = 64;
#elif defined(__AVX2__)
  static constexpr std::size_t kWidth = 32;
#else
  static constexpr std::size_t kWidth = 16;
#endif
  typedef std::int8_t Bytes __attribute__((vector_size(kWidth), may_alias));
  typedef std::uint8_t UBytes __attribute__((vector_size(kWidth), may_alias));
  typedef std::uint32_t Words __attribute__((vector_size(kWidth), may_alias));

  static Bytes everywhere(std::uint32_t byte) {
    return reinterpret_cast<Bytes>(Words{} + 0x01010101u * byte);
  }
  static Bytes split_of(const FlatNode& node) {
    return reinterpret_cast<Bytes>(Words{} + node.split);
  }
  const Bytes* codes_of(const FlatNode& node) const {
    return reinterpret_cast<const Bytes*>(columns[node.column].code);
  }

  void run_pairs(const FlatNode* nodes, std::size_t begin, std::size_t end) {
    Column* results = slots_.data() + kMaxFlatLeaves;
    for (std::size_t n = begin; n < end; ++n) {
      const Bytes split = split_of(nodes[n]), left = everywhere(nodes[n].left), right = left + 1;
      const Bytes* code = codes_of(nodes[n]);
      auto* result = reinterpret_cast<Bytes*>(results[n].code);
      for (std::size_t i = 0; i < kBlockRows / kWidth; ++i)
        result[i] = code[i] > split ? right : left;
    }
  }

  template <bool kLeafIsLeft>
  void run_triples(const FlatNode* nodes, std::size_t begin, std::size_t end) {
    Column* results = slots_.data() + kMaxFlatLeaves;
    for (std::size_t n = begin; n < end; n += 2) {
      const FlatNode &pair = nodes[n], &node = nodes[n + 1];
      const Bytes split = split_of(node), split_of_pair = split_of(pair);
      const Bytes leaf = everywhere(kLeafIsLeft ? node.left : node.right);
      const Bytes left = everywhere(pair.left), right = left + 1;
      const Bytes *code = codes_of(node), *code_of_pair = codes_of(pair);
      auto* result = reinterpret_cast<Bytes*>(results[n + 1].code);
      for (std::size_t i = 0; i < kBlockRows / kWidth; ++i) {
        const Bytes of_pair = code_of_pair[i] > split_of_pair ? right : left;
        if constexpr (kLeafIsLeft) {
          result[i] = code[i] > split ? of_pair : leaf;
        } else {
          result[i] = code[i] > split ? leaf : of_pair;
        }
      }
    }
  }

  void run_nodes(const FlatNode* nodes, std::size_t begin, std::size_t end) {
    const Column* slots = slots_.data();
    Column* results = slots_.data() + kMaxFlatLeaves;
    for (std::size_t n = begin; n < end; ++n) {
      const Bytes split = split_of(nodes[n]);
      const Bytes* code = codes_of(nodes[n]);
      const auto* left = reinterpret_cast<const Bytes*>(slots[nodes[n].left].code);
      const auto* right = reinterpret_cast<const Bytes*>(slots[nodes[n].right].code);
      auto* result = reinterpret_cast<Bytes*>(results[n].code);
      for (std::size_t i = 0; i < kBlockRows / kWidth; ++i)
        result[i] = code[i] > split ? right[i] : left[i];
    }
  }

  // The outcomes of up to eight tests as the bits of a byte, the first lowest: 1 is right.
  void set_bits(const FlatTrees& trees, std::size_t begin, std::size_t end, Column& bits) const {
    for (std::size_t i = 0; i < kBlockRows / kWidth; ++i) {
      UBytes byte = {};
      for (std::size_t n = end; n-- > begin;) {
        const FlatNode& test = trees.nodes[n];
        const Bytes split = reinterpret_cast<Bytes>(Words{} + test.split);
        const auto* code = reinterpret_cast<const Bytes*>(columns[test.column].code);
        byte = byte + byte - (UBytes)(code[i] > split);
      }
      reinterpret_cast<UBytes*>(bits.code)[i] = byte;
    }
  }

  void run_tests(const FlatTree& tree, const FlatTrees& trees, std::size_t first_test_column) {
    for (std::size_t i = tree.test_begin; i < tree.test_end; ++i)
      run_test(trees.tests[i], columns[first_test_column + i - tree.test_begin]);
  }

  void run_test(const CategoryTest& test, Column& result) const {
    const std::int8_t* code = columns[test.column].code;
#if defined(__SSSE3__)
    // The code's upper five bits find the byte of the set, the lower three the bit in it.
    const auto* set = reinterpret_cast<const __m128i*>(test.goes_left.data());
    const __m128i low = _mm_loadu_si128(set), high = _mm_loadu_si128(set + 1);
    const __m128i bit_of = _mm_set1_epi64x(static_cast<long long>(0x8040201008040201));
    for (std::size_t i = 0; i < kBlockRows; i += 16) {
      const __m128i codes = _mm_load_si128(reinterpret_cast<const __m128i*>(code + i));
      const __m128i nibble = _mm_and_si128(_mm_srli_epi16(codes, 3), _mm_set1_epi8(15));
      const __m128i upper = _mm_cmplt_epi8(codes, _mm_setzero_si128());
      const __m128i in_low = _mm_andnot_si128(upper, _mm_shuffle_epi8(low, nibble));
      const __m128i in_high = _mm_and_si128(upper, _mm_shuffle_epi8(high, nibble));
      const __m128i bit = _mm_shuffle_epi8(bit_of, _mm_and_si128(codes, _mm_set1_epi8(7)));
      const __m128i member = _mm_and_si128(_mm_or_si128(in_low, in_high), bit);
      const __m128i is_out = _mm_cmpeq_epi8(member, _mm_setzero_si128());
      _mm_store_si128(reinterpret_cast<__m128i*>(result.code + i),
                      _mm_and_si128(is_out, _mm_set1_epi8(1)));
    }
#else
    for (std::size_t i = 0; i < kBlockRows; ++i) {
      const auto biased = static_cast<std::uint8_t>(code[i]);
      result.code[i] = !(test.goes_left[biased >> 3] >> (biased & 7) & 1);
    }
#endif
  }

  std::vector<Column> slots_;
};

}  // namespace HEDGEROW_LEVEL
}  // namespace hedgerow::predict
