// The parameters of tree growth for all boosting engines, plain numbers with a fixed layout.
//
// Names, meanings and defaults are those of the Python dataclass GrowthParams
// (hedgerow/_tree/growth_params.py), which documents them; bind/growth_params.hpp copies fields by
// name. Constraints, which are lists, are in tree/constraints.hpp.
#pragma once
#include <cstdint>
#include <type_traits>

#include "shared/leaf_rule.hpp"
#include "shared/named.hpp"
#include "shared/objective.hpp"

namespace hedgerow {

// Which leaf is split next: the one with the largest gain, all leaves of a level in turn, or all
// leaves of a level by the same test.
enum class GrowPolicy : std::int32_t { leafwise, levelwise, symmetric };
inline constexpr Named<GrowPolicy> kGrowPolicies[] = {{"leafwise", GrowPolicy::leafwise},
                                                      {"levelwise", GrowPolicy::levelwise},
                                                      {"symmetric", GrowPolicy::symmetric}};

struct GrowthParams {
  std::int64_t max_leaves = 31;  // 0: no limit
  std::int64_t max_depth = 0;    // 0: no limit
  std::int64_t min_samples_leaf = 1;
  double min_child_weight = 1e-3;
  double reg_lambda = 1.0;
  double reg_alpha = 0.0;
  double min_split_gain = 0.0;
  double prune_below = 0.0;     // 0: no pruning
  double max_delta_step = 0.0;  // 0: no limit
  double learning_rate = 0.1;
  GrowPolicy grow_policy = GrowPolicy::leafwise;
  std::int32_t max_cat_to_onehot = 4;
  std::int32_t max_cat_threshold = 32;
  double cat_smooth = 10.0;
  double cat_l2 = 10.0;
  double min_category_weight = 2.5;
  double colsample_bytree = 1.0;
  double colsample_bylevel = 1.0;
  double colsample_bynode = 1.0;
  LeafRule leaf = {};
  std::uint64_t seed = 0;

  Penalties penalties(double extra_lambda = 0.0) const {
    return {reg_lambda + extra_lambda, reg_alpha, max_delta_step};
  }
  double weight(double G, double H) const { return leaf_weight(penalties(), leaf, G, H); }
  // Whether the leaves of a tree take an additional common step; not if max_delta_step limits them.
  bool has_common_step() const { return !leaf.is_newton() && max_delta_step == 0.0; }
  bool is_leafwise() const { return grow_policy == GrowPolicy::leafwise; }
  bool is_symmetric() const { return grow_policy == GrowPolicy::symmetric; }
  std::int64_t min_rows() const { return min_samples_leaf > 1 ? min_samples_leaf : 1; }
  // Whether a leaf with this number of rows and depth may be split.
  bool may_split(std::int64_t rows, int depth) const {
    return rows >= 2 * min_rows() && (max_depth == 0 || depth < max_depth);
  }
};
static_assert(std::is_trivially_copyable_v<GrowthParams>);

// Calls visit(name in Python, field) for each field.
template <class Params, class Visit>
void visit_fields(Params& params, Visit visit) {
  visit("max_leaves", params.max_leaves);
  visit("max_depth", params.max_depth);
  visit("min_samples_leaf", params.min_samples_leaf);
  visit("min_child_weight", params.min_child_weight);
  visit("reg_lambda", params.reg_lambda);
  visit("reg_alpha", params.reg_alpha);
  visit("min_split_gain", params.min_split_gain);
  visit("prune_below", params.prune_below);
  visit("max_delta_step", params.max_delta_step);
  visit("learning_rate", params.learning_rate);
  visit("grow_policy", params.grow_policy);
  visit("max_cat_to_onehot", params.max_cat_to_onehot);
  visit("max_cat_threshold", params.max_cat_threshold);
  visit("cat_smooth", params.cat_smooth);
  visit("cat_l2", params.cat_l2);
  visit("min_category_weight", params.min_category_weight);
  visit("colsample_bytree", params.colsample_bytree);
  visit("colsample_bylevel", params.colsample_bylevel);
  visit("colsample_bynode", params.colsample_bynode);
  visit("leaf_decay_rate", params.leaf.decay_rate);
  visit("leaf_growth_rate", params.leaf.growth_rate);
  visit("seed", params.seed);
}

}  // namespace hedgerow
