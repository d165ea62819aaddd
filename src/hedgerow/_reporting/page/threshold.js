// The decision threshold: confusion matrix, metrics and costs for the positive class, threshold and
// costs that the reader chose. Counts is the arithmetic alone; Threshold is its form in the page.
"use strict";

const MOST_POINTS = 300; // of a curve

class Counts {
  // Of one class as the positive one: thresholds in ascending order, and the rows from each to the next.
  constructor({ thresholds, positive, negative }, isExact) {
    this.thresholds = unpacked(thresholds);
    this.isExact = isExact; // whether every score is a threshold
    this.tp = this.fromAbove(unpacked(positive));
    this.fp = this.fromAbove(unpacked(negative));
    this.positives = this.tp[0];
    this.negatives = this.fp[0];
  }

  fromAbove(rows) {
    const sums = new Float64Array(rows.length + 1);
    for (let i = rows.length - 1; i >= 0; --i) sums[i] = sums[i + 1] + rows[i];
    return sums;
  }

  // The place of the lowest threshold that is at least t; of some thresholds only, of the nearest.
  placeOf(t) {
    let low = 0;
    let high = this.thresholds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.thresholds[middle] < t) low = middle + 1;
      else high = middle;
    }
    if (this.isExact || low === 0 || low === this.thresholds.length) return low;
    return t - this.thresholds[low - 1] < this.thresholds[low] - t ? low - 1 : low;
  }

  at(place) {
    const [tp, fp] = [this.tp[place], this.fp[place]];
    return { tp, fp, fn: this.positives - tp, tn: this.negatives - fp };
  }

  // The threshold of least cost, in the middle between the scores that it separates.
  cheapest(costFp, costFn) {
    let best = 0;
    let least = Infinity;
    for (let i = 0; i <= this.thresholds.length; ++i) {
      const { fp, fn } = this.at(i);
      const cost = costFp * fp + costFn * fn;
      if (cost < least) [best, least] = [i, cost];
    }
    return { place: best, threshold: this.between(best), cost: least };
  }

  // A short number by which the rows from this place on are positive, and no others.
  between(place) {
    const { thresholds } = this;
    const n = thresholds.length;
    if (place === n) return thresholds[n - 1] < 1 ? Math.min(1, shortAbove(thresholds[n - 1])) : shortAbove(thresholds[n - 1]);
    if (place === 0) return thresholds[0];
    const [below, above] = [thresholds[place - 1], thresholds[place]];
    for (let digits = 2; digits <= 15; ++digits) {
      const short = Number(((below + above) / 2).toPrecision(digits));
      if (below < short && short <= above && this.placeOf(short) === place) return short;
    }
    return above;
  }

  // Some places, evenly, with both ends.
  places() {
    const n = this.thresholds.length;
    const some = new Set([0, n - 1, n]);
    for (let i = 0; i < MOST_POINTS; ++i) some.add(Math.round((i * n) / (MOST_POINTS - 1)));
    return Array.from(some).sort((a, b) => a - b);
  }
}

function shortAbove(value) {
  return value + Math.max(Math.abs(value), 1) * 1e-6;
}

function rates({ tp, fp, fn, tn }) {
  const n = tp + fp + fn + tn;
  return {
    precision: tp / (tp + fp),
    recall: tp / (tp + fn),
    specificity: tn / (tn + fp),
    f1: (2 * tp) / (2 * tp + fp + fn),
    accuracy: (tp + tn) / n,
    lift: tp / (tp + fp) / ((tp + fn) / n),
    flagged: (tp + fp) / n,
  };
}

class Threshold {
  constructor(payload) {
    this.payload = payload;
    this.counts = payload.by_class.map((one, k) =>
      new Counts(one, payload.n_scores[k] === payload.n_thresholds[k]));
    this.inputs = Object.fromEntries(
      ["positive", "threshold", "threshold-slider", "cost-fp", "cost-fn"].map((id) =>
        [id, document.getElementById(id)]));
    this.views = null;
    this.start();
    this.inputs.positive.addEventListener("change", () => this.choose());
    this.inputs.threshold.addEventListener("input", () => this.set(Number(this.inputs.threshold.value)));
    this.inputs["threshold-slider"].addEventListener("input", () => {
      const value = Number(Number(this.inputs["threshold-slider"].value).toPrecision(4));
      this.inputs.threshold.value = value;
      this.set(value);
    });
    for (const id of ["cost-fp", "cost-fn"]) this.inputs[id].addEventListener("input", () => this.show());
    document.getElementById("least-cost").addEventListener("click", () => this.useLeastCost());
    document.getElementById("threshold-reset").addEventListener("click", () => this.start());
    document.getElementById("threshold-form").addEventListener("submit", (event) => event.preventDefault());
  }

  get positive() {
    return Number(this.inputs.positive.value);
  }

  get current() {
    return this.counts[this.positive];
  }

  start() {
    this.inputs.positive.value = this.payload.positive;
    this.inputs["cost-fp"].value = 1;
    this.inputs["cost-fn"].value = 1;
    this.choose();
  }

  // Another positive class: the slider covers its scores.
  choose() {
    const { thresholds, isExact } = this.current;
    const { start, unit, n_rows: nRows } = this.payload;
    const slider = this.inputs["threshold-slider"];
    const [low, high] = [Math.min(thresholds[0], start), Math.max(thresholds[thresholds.length - 1], start)];
    slider.min = low;
    slider.max = high;
    slider.step = (high - low) / 1000 || "any";
    document.getElementById("threshold-exactness").textContent = isExact
      ? `Counts are exact: the page has the ${unit === "score" ? "scores" : "probabilities"} of all ${COUNT.format(nRows)} rows.`
      : `Counts over all ${COUNT.format(nRows)} rows are exact at each of ${COUNT.format(thresholds.length)} thresholds; the nearest one is used.`;
    this.inputs.threshold.value = start;
    this.set(start);
  }

  set(threshold) {
    if (!Number.isFinite(threshold)) return;
    this.threshold = threshold;
    this.inputs["threshold-slider"].value = threshold;
    this.show();
  }

  get costs() {
    return ["cost-fp", "cost-fn"].map((id) => Math.max(0, Number(this.inputs[id].value) || 0));
  }

  useLeastCost() {
    const { threshold } = this.current.cheapest(...this.costs);
    this.inputs.threshold.value = threshold;
    this.set(threshold);
  }

  show() {
    const place = this.current.placeOf(this.threshold);
    const counts = this.current.at(place);
    const found = rates(counts);
    const [costFp, costFn] = this.costs;
    const cost = costFp * counts.fp + costFn * counts.fn;
    this.showCounts(counts);
    const text = Object.fromEntries(Object.entries(found).map(([name, value]) => [name, percentOr(value)]));
    text.lift = Number.isFinite(found.lift) ? `${SHORT.format(Number(found.lift.toFixed(2)))}×` : "–";
    text.cost = amount(cost);
    const n = this.current.positives + this.current.negatives;
    text["cost-per-row"] = `of errors on these rows; ${shortly(cost / n)} per row`;
    for (const [name, value] of Object.entries(text))
      document.querySelector(`[data-metric="${name}"]`).textContent = value;
    this.showStatus(cost);
    this.draw();
  }

  showCounts(counts) {
    const table = document.getElementById("live-confusion");
    const { classes } = this.payload;
    const names = { positive: classes[this.positive], negative: classes[1 - this.positive] };
    for (const place of table.querySelectorAll("[data-class]")) place.textContent = names[place.dataset.class];
    const totals = { tp: this.current.positives, fn: this.current.positives, fp: this.current.negatives, tn: this.current.negatives };
    for (const place of table.querySelectorAll("[data-count]")) {
      const name = place.dataset.count;
      place.textContent = amount(counts[name]);
      place.parentElement.style.setProperty("--share", (counts[name] / totals[name] || 0).toFixed(3));
    }
    table.dataset.counts = JSON.stringify(counts);
  }

  showStatus(cost) {
    const best = this.current.cheapest(...this.costs);
    const button = document.getElementById("least-cost");
    const isBest = cost <= best.cost;
    button.disabled = isBest;
    button.textContent = isBest ? "This is the threshold with the lowest cost" : `Use the threshold with the lowest cost: ${shortly(best.threshold)}`;
    const never = this.costs[1] * this.current.positives;
    const always = this.costs[0] * this.current.negatives;
    document.getElementById("threshold-status").textContent =
      `Cost ${amount(cost)} at a threshold of ${shortly(this.threshold)}`
      + (isBest ? ", the least possible." : `; the least is ${amount(best.cost)}, at ${shortly(best.threshold)}.`)
      + ` Predicting no row positive would cost ${amount(never)}, predicting every row positive ${amount(always)}.`;
  }

  // From now on, charts follow: views by their place in the page.
  connect(views) {
    this.views = views;
  }

  draw() {
    if (!this.views) return;
    for (const [place, data] of Object.entries(this.pictures())) {
      const view = this.views.get(place);
      if (!view) continue;
      for (const [name, points] of Object.entries(data)) view.data(name, harmless(points));
      view.runAsync();
    }
  }

  // The points of every chart that follows the threshold, by place and by name.
  pictures() {
    const { current } = this;
    const last = current.thresholds.length - 1;
    const points = current.places().map((i) => ({
      i, x: current.thresholds[Math.min(i, last)], ...current.at(i), ...rates(current.at(i)),
    }));
    const now = rates(current.at(current.placeOf(this.threshold)));
    const inside = points.filter(({ i }) => i <= last);
    const label = this.payload.classes[this.positive];
    return {
      "roc-0": {
        curve: points.map((p) => ({ class: label, x: 1 - p.specificity, y: p.recall, i: -p.i })),
        now: [{ x: 1 - now.specificity, y: now.recall }],
      },
      "precision-0": {
        curve: points.map((p) => ({ class: label, x: p.recall, y: Number.isNaN(p.precision) ? 1 : p.precision, i: p.i })),
        now: [{ x: now.recall, y: Number.isNaN(now.precision) ? 1 : now.precision }],
      },
      rates: {
        curve: inside.flatMap((p) => [["precision", p.precision], ["recall", p.recall], ["F1", p.f1]]
          .map(([name, y]) => ({ name, x: p.x, y }))),
        now: [{ x: this.shown() }],
      },
      costs: this.costPicture(inside),
    };
  }

  costPicture(points) {
    const [costFp, costFn] = this.costs;
    const { thresholds } = this.current;
    const best = this.current.cheapest(costFp, costFn);
    return {
      curve: points.map(({ x, fp, fn }) => ({ x, y: costFp * fp + costFn * fn })),
      now: [{ x: this.shown() }],
      best: [{ x: Math.min(best.threshold, thresholds[thresholds.length - 1]), y: best.cost }],
    };
  }

  // The threshold where it stands in a chart, which ends where the scores do.
  shown() {
    const { thresholds } = this.current;
    return Math.min(Math.max(this.threshold, thresholds[0]), thresholds[thresholds.length - 1]);
  }
}

function percentOr(value) {
  return Number.isFinite(value) ? PERCENT.format(value) : "–";
}

function amount(value) {
  return COUNT.format(Number(value.toFixed(Math.abs(value) < 100 ? 2 : 0)));
}
