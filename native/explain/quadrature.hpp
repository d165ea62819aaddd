// Gauss–Legendre quadrature on [0, 1]: n points are exact for polynomials of degree 2 n − 1.
#pragma once
#include <cstddef>
#include <vector>

namespace hedgerow::explain {

struct QuadratureRule {
  std::vector<double> point, weight;

  std::size_t size() const { return point.size(); }
};

// The same bits everywhere: only + − × ÷ are used.
QuadratureRule gauss_legendre(std::size_t n_points);

}  // namespace hedgerow::explain
