// Predicts as the model does, from the trees that travel in the page (reporting/forest_payload.py).
// Sums are of float64 in the order of the trees, and what follows is the library's own arithmetic:
// the result is what predict_proba or predict returns, to the last bit. Knows nothing of the page.
"use strict";

const ARRAYS = {
  u1: Uint8Array, u2: Uint16Array, u4: Uint32Array,
  i2: Int16Array, i4: Int32Array, f4: Float32Array, f8: Float64Array,
};

function unpacked({ dtype, data }) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  return new ARRAYS[dtype](bytes.buffer);
}

class Trees {
  constructor(payload) {
    for (const [name, value] of Object.entries(payload))
      this[name] = value && value.dtype ? unpacked(value) : value;
    if (payload.slopes)
      this.slopes = Object.fromEntries(
        Object.entries(payload.slopes).map(([name, value]) => [name, unpacked(value)]));
    // The place of each node among the inner nodes, or among the leaves.
    this.place = new Uint32Array(this.feature.length);
    let inner = 0;
    let leaves = 0;
    for (let node = 0; node < this.feature.length; ++node)
      this.place[node] = this.feature[node] < 0 ? leaves++ : inner++;
  }

  get nShown() {
    return this.output.length;
  }

  isLeaf(node) {
    return this.feature[node] < 0;
  }

  testsCategory(node) {
    return (this.flags[this.place[node]] & 2) !== 0;
  }

  missingLeft(node) {
    return (this.flags[this.place[node]] & 1) !== 0;
  }

  threshold(node) {
    return this.thresholds[this.at[this.place[node]]];
  }

  hasCategory(node, bin) {
    // Stored word by word: the first word of every set, then the second. Further words are 0.
    const set = this.at[this.place[node]];
    const word = this.sets[(bin >> 5) * this.n_sets + set];
    return ((word >>> (bin & 31)) & 1) === 1;
  }

  goesLeft(node, x) {
    if (Number.isNaN(x)) return this.missingLeft(node);
    return this.testsCategory(node) ? this.hasCategory(node, x) : x <= this.threshold(node);
  }

  children(tree, node) {
    const first = this.offset[tree];
    const i = this.place[node];
    return [first + this.left[i], first + this.right[i]];
  }

  // The share of a node's training rows that go left; where all count alike, by their number.
  shareLeft(node, left, right) {
    if (this.share) return this.share[this.place[node]];
    return this.count[left] / (this.count[left] + this.count[right]);
  }

  leafOf(tree, row) {
    let node = this.offset[tree];
    while (!this.isLeaf(node)) {
      const [left, right] = this.children(tree, node);
      node = this.goesLeft(node, row[this.feature[node]]) ? left : right;
    }
    return node;
  }

  // What a leaf adds to one of its outputs.
  leafValue(leaf, k, row) {
    let value = this.value[leaf * this.width + k];
    if (!this.slopes) return value;
    const { start, feature, coefficient, centre, low, high } = this.slopes;
    for (let t = start[leaf]; t < start[leaf + 1]; ++t) {
      const x = row[feature[t]];
      if (!Number.isFinite(x)) continue;
      const held = x < low[t] ? low[t] : x > high[t] ? high[t] : x;
      value += coefficient[t * this.width + k] * (held - centre[t * this.width + k]);
    }
    return value;
  }

  // The sum over all trees: a number for each output.
  scores(row) {
    const scores = this.base.slice();
    for (let tree = 0; tree < this.nShown; ++tree) {
      const leaf = this.place[this.leafOf(tree, row)];
      for (let k = 0; k < this.width; ++k)
        scores[this.output[tree] + k] += this.leafValue(leaf, k, row);
    }
    return scores;
  }
}

// What the trees see of the values of the fields: a number, a place among the labels, or null.
function seenRow(fields, values, nFeatures) {
  const row = new Float64Array(nFeatures).fill(NaN);
  fields.forEach((field, j) => {
    const value = values[j];
    if (field.kind === "number") {
      if (value !== null) row[j] = field.is_float32 ? Math.fround(value) : value;
      return;
    }
    const seen = value === null ? field.gap : field.seen[value];
    (field.features || [j]).forEach((feature, s) => {
      row[feature] = seen[s] === null ? NaN : seen[s];
    });
  });
  return row;
}

function calibrated({ method, slope, offset, x, y, start }, scores) {
  let p;
  if (method === "isotonic")
    p = scores.map((score, k) =>
      interpolate(score, x.slice(start[k], start[k + 1]), y.slice(start[k], start[k + 1])));
  else {
    const raw = scores.map((score, k) => score * slope[k] + offset[k]);
    p = method === "temperature" && raw.length > 1 ? softmax(raw) : raw.map(sigmoid);
  }
  if (p.length === 1) return p;
  const total = sumOf(p);
  return p.map((one) => (total > 0 ? one / total : 1 / p.length));
}

const LINKS = {
  identity: (scores) => scores,
  sorted: (scores) => scores.slice().sort((a, b) => a - b),
  log: (scores) => scores.map(exp),
  sigmoid: (scores) => scores.map(sigmoid),
  half_sigmoid: (scores) => scores.map((score) => sigmoid(2 * score)),
  softmax: (scores) => (scores.length === 1 ? [1] : softmax(scores)),
};

const bothClasses = (p) => [1 - p, p];

function linkedPrediction(rule, scores) {
  const p = rule.calibration ? calibrated(rule.calibration, scores) : LINKS[rule.link](scores);
  return rule.classes && p.length === 1 ? bothClasses(p[0]) : p;
}

function meanPrediction(rule, sums) {
  const means = sums.map((sum) => sum / rule.n_trees);
  if (!rule.shares) return means;
  const outputs = rule.labels || [rule.classes];
  let next = 0;
  return outputs.flatMap((classes) => {
    if (classes.length === 2) return bothClasses(means[next++]);
    next += classes.length;
    return means.slice(next - classes.length, next);
  });
}

// What the model's predict_proba, or predict, returns for a row of field values.
function predictRow(trees, whatIf, values) {
  const scores = trees.scores(seenRow(whatIf.fields, values, trees.n_features));
  const rule = whatIf.rule;
  return rule.kind === "link" ? linkedPrediction(rule, scores) : meanPrediction(rule, scores);
}
