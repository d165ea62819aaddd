// Shapley values of a row, from the trees that travel in the page: the same as
// hr.explain.shap_values (native/explain/shap.hpp has the formula). A leaf with value v adds
//   v (oⱼ − zⱼ) ∫₀¹ ∏ (zᵢ + t (oᵢ − zᵢ)) dt  over the other columns i on its path
// to column j, where o is 1 if the row goes the leaf's way at all nodes that test the column, else 0,
// and z is the share of the training rows that do. Knows nothing of the page.
"use strict";

const rules = new Map();

// Gauss–Legendre points and weights on [0, 1], exact for polynomials of degree 2n − 1.
function quadrature(n) {
  if (rules.has(n)) return rules.get(n);
  const points = new Float64Array(n);
  const weights = new Float64Array(n);
  for (let i = 0; i < n; ++i) {
    let x = Math.cos((Math.PI * (i + 0.75)) / (n + 0.5));
    let slope = 0;
    for (let step = 0; step < 100; ++step) {
      let [before, value] = [1, x];
      for (let k = 2; k <= n; ++k)
        [before, value] = [value, ((2 * k - 1) * x * value - (k - 1) * before) / k];
      slope = (n * (x * value - before)) / (x * x - 1);
      const move = value / slope;
      x -= move;
      if (Math.abs(move) < 1e-16) break;
    }
    points[i] = (1 + x) / 2;
    weights[i] = 1 / ((1 - x * x) * slope * slope);
  }
  rules.set(n, { points, weights });
  return rules.get(n);
}

class Contributions {
  constructor(trees, nColumns, divisor = 1) {
    this.trees = trees;
    this.nColumns = nColumns;
    this.divisor = divisor; // of the sums over trees: a forest is a mean
    this.nOutputs = trees.base.length;
    this.column = []; // on the path to a node: distinct columns, whether the row fits, shares
    this.fits = [];
    this.share = [];
  }

  // { base: of each output, values: nColumns × nOutputs }
  of(row) {
    this.row = row;
    this.base = Float64Array.from(this.trees.base);
    this.values = new Float64Array(this.nColumns * this.nOutputs);
    for (let tree = 0; tree < this.trees.nShown; ++tree) {
      this.tree = tree;
      this.walk(this.trees.offset[tree]);
    }
    for (const array of [this.base, this.values])
      for (let i = 0; i < array.length; ++i) array[i] /= this.divisor;
    return { base: Array.from(this.base), values: this.values };
  }

  walk(node) {
    const { trees } = this;
    if (trees.isLeaf(node)) return this.leaf(trees.place[node]);
    const feature = trees.feature[node];
    const column = trees.sources[feature];
    const goesLeft = trees.goesLeft(node, this.row[feature]);
    const [left, right] = trees.children(this.tree, node);
    const share = trees.shareLeft(node, left, right);
    this.step(left, column, goesLeft, share);
    this.step(right, column, !goesLeft, 1 - share);
  }

  step(child, column, fits, share) {
    const at = this.column.indexOf(column);
    if (at < 0) {
      this.column.push(column);
      this.fits.push(fits ? 1 : 0);
      this.share.push(share);
      this.walk(child);
      this.column.pop();
      this.fits.pop();
      this.share.pop();
      return;
    }
    const [fitted, shared] = [this.fits[at], this.share[at]];
    this.fits[at] = fits ? fitted : 0;
    this.share[at] = shared * share;
    this.walk(child);
    this.fits[at] = fitted;
    this.share[at] = shared;
  }

  leaf(leaf) {
    const { trees, column, fits, share } = this;
    const output = trees.output[this.tree];
    let expected = 1;
    for (const z of share) expected *= z;
    for (let k = 0; k < trees.width; ++k)
      this.base[output + k] += expected * trees.value[leaf * trees.width + k];
    // A column that neither the row nor any training row goes by: the leaf is out of reach.
    if (column.some((_, i) => fits[i] === 0 && share[i] === 0)) return;
    const { points, weights } = quadrature(Math.max(1, Math.ceil(column.length / 2)));
    const products = weights.slice();
    for (let q = 0; q < points.length; ++q)
      for (let i = 0; i < column.length; ++i)
        products[q] *= share[i] + points[q] * (fits[i] - share[i]);
    for (let j = 0; j < column.length; ++j) {
      let integral = 0;
      for (let q = 0; q < points.length; ++q)
        integral += products[q] / (share[j] + points[q] * (fits[j] - share[j]));
      const worth = (fits[j] - share[j]) * integral;
      const first = column[j] * this.nOutputs + output;
      for (let k = 0; k < trees.width; ++k)
        this.values[first + k] += worth * trees.value[leaf * trees.width + k];
    }
  }
}
