#include "table/place.hpp"

namespace hedgerow {

std::vector<std::vector<std::size_t>> members_of(std::span<const Place> places,
                                                 std::size_t n_columns) {
  std::vector<std::vector<std::size_t>> members(n_columns);
  for (std::size_t f = 0; f < places.size(); ++f) {
    members[static_cast<std::size_t>(places[f].column)].push_back(f);
  }
  return members;
}

}  // namespace hedgerow
