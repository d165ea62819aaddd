// Isotonic regression by recursive partitioning (Luss, Rosset and Shahar, 2012). The items of a
// block have their mean m as common value. Among its upper sets U, which contain with an item all
// items above it, the solution separates the one with the largest Σ_U weight (target − m) from the
// rest of the block if that is positive, and both are solved recursively; otherwise the block keeps
// m.
//
// U is found by a maximum flow. Items with targets above m have a supply, those below it a demand,
// of weight |target − m|; supply may flow up along links. U is the set that is reachable from
// supply that finds no demand.
#include "tree/isotonic.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/interrupt.hpp"

namespace hedgerow {
namespace {

// Supply below this fraction of a block's is rounding error.
constexpr double kNoise = 0x1p-40;
// The minimum weight, as a fraction of the largest: a block without weight would have no mean.
constexpr double kLeastWeight = 0x1p-60;

using Items = std::vector<std::size_t>;

// An edge of the residual graph: up a link, or down if there is flow to undo.
struct FlowEdge {
  std::size_t link;
  bool is_up;
};

class Regression {
 public:
  Regression(std::span<const Link> links, std::span<const double> target,
             std::span<const double> weight)
      : links_(links),
        target_(target),
        weight_(weight.begin(), weight.end()),
        steps_(target.size()),
        moved_(links.size()),
        excess_(target.size()),
        block_(target.size()),
        is_reached_(target.size()),
        came_by_(target.size()),
        value_(target.size()) {
    const double largest = *std::max_element(weight.begin(), weight.end());
    for (double& w : weight_) w = largest > 0.0 ? std::max(w, largest * kLeastWeight) : 1.0;
    for (std::size_t i = 0; i < links.size(); ++i) {
      steps_[static_cast<std::size_t>(links[i].lower)].push_back({i, true});
      steps_[static_cast<std::size_t>(links[i].upper)].push_back({i, false});
    }
  }

  std::vector<double> solve() {
    Items all(target_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    std::vector<Items> blocks = {std::move(all)};
    for (std::size_t number = 1; !blocks.empty(); ++number) {
      const Items block = std::move(blocks.back());
      blocks.pop_back();
      auto [above, rest] = part(block);
      if (above.empty() || rest.empty()) continue;
      for (const std::size_t item : above) block_[item] = number;
      blocks.push_back(std::move(rest));
      blocks.push_back(std::move(above));
    }
    raise_what_rounding_lowered();
    return std::move(value_);
  }

 private:
  std::span<const Link> links_;
  std::span<const double> target_;
  std::vector<double> weight_;
  std::vector<std::vector<FlowEdge>> steps_;  // from each item
  std::vector<double> moved_;                 // along each link
  std::vector<double> excess_;                // of each item: supply left, or demand if negative
  std::vector<std::size_t> block_;            // of each item
  std::vector<bool> is_reached_;
  std::vector<FlowEdge> came_by_;
  std::vector<double> value_;

  // Solves a block: its mean, or recursively U and the rest.
  std::pair<Items, Items> part(const Items& block) {
    const double mean = mean_of(block);
    double supply = 0.0;
    for (const std::size_t item : block) {
      value_[item] = mean;
      excess_[item] = weight_[item] * (target_[item] - mean);
      supply += std::max(excess_[item], 0.0);
      for (const FlowEdge& step : steps_[item]) moved_[step.link] = 0.0;
    }
    move_supply(block, kNoise * supply);
    std::pair<Items, Items> parts;
    for (const std::size_t item : block) {
      (is_reached_[item] ? parts.first : parts.second).push_back(item);
    }
    return parts;
  }

  double mean_of(const Items& block) const {
    double sum = 0.0, total = 0.0;
    for (const std::size_t item : block) {
      sum += weight_[item] * target_[item];
      total += weight_[item];
    }
    return sum / total;
  }

  std::size_t far_end(const FlowEdge& step) const {
    const Link& link = links_[step.link];
    return static_cast<std::size_t>(step.is_up ? link.upper : link.lower);
  }
  std::size_t near_end(const FlowEdge& step) const { return far_end({step.link, !step.is_up}); }

  // Augments the flow as long as there is a path, and marks items from which no demand is
  // reachable. These stay so: so are all items that they lead to, and later paths avoid them.
  void move_supply(const Items& block, double noise) {
    for (const std::size_t item : block) is_reached_[item] = false;
    for (const std::size_t source : block) {
      while (excess_[source] > noise && !is_reached_[source]) {
        check_interrupt();
        const Items reached = search(source);
        if (!(excess_[reached.back()] < 0.0)) break;
        move_along(source, reached.back());
        for (const std::size_t item : reached) is_reached_[item] = false;
      }
    }
  }

  // Breadth-first search from a source, up to the first item with a demand.
  Items search(std::size_t source) {
    Items reached = {source};
    is_reached_[source] = true;
    for (std::size_t next = 0; next < reached.size(); ++next) {
      const std::size_t item = reached[next];
      for (const FlowEdge& step : steps_[item]) {
        const std::size_t end = far_end(step);
        const bool open = step.is_up || moved_[step.link] > 0.0;
        if (!open || is_reached_[end] || block_[end] != block_[item]) continue;
        is_reached_[end] = true;
        came_by_[end] = step;
        reached.push_back(end);
        if (excess_[end] < 0.0) return reached;
      }
    }
    return reached;
  }

  void move_along(std::size_t source, std::size_t end) {
    double amount = std::min(excess_[source], -excess_[end]);
    for (std::size_t at = end; at != source; at = near_end(came_by_[at])) {
      const FlowEdge& step = came_by_[at];
      if (!step.is_up) amount = std::min(amount, moved_[step.link]);
    }
    for (std::size_t at = end; at != source; at = near_end(came_by_[at])) {
      const FlowEdge& step = came_by_[at];
      moved_[step.link] += step.is_up ? amount : -amount;
    }
    excess_[source] -= amount;
    excess_[end] += amount;
  }

  void raise_what_rounding_lowered() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Link& link : links_) {
        double& upper = value_[static_cast<std::size_t>(link.upper)];
        const double lower = value_[static_cast<std::size_t>(link.lower)];
        changed = changed || upper < lower;
        upper = std::max(upper, lower);
      }
    }
  }
};

bool holds(std::span<const Link> links, std::span<const double> value) {
  return std::all_of(links.begin(), links.end(), [&](const Link& link) {
    return value[static_cast<std::size_t>(link.lower)] <=
           value[static_cast<std::size_t>(link.upper)];
  });
}

}  // namespace

std::vector<double> isotonic(std::span<const Link> links, std::span<const double> target,
                             std::span<const double> weight) {
  if (holds(links, target)) return {target.begin(), target.end()};
  return Regression(links, target, weight).solve();
}

}  // namespace hedgerow
