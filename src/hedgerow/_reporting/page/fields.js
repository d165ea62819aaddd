// The what-if: a field for each feature, the prediction for what they hold, and what each contributes.
"use strict";

const PERCENT = new Intl.NumberFormat("en", { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });
const EXACT_PERCENT = new Intl.NumberFormat("en", { style: "percent", minimumFractionDigits: 2, maximumFractionDigits: 2 });
const MOST_CLASSES = 5; // to list; of more, the likeliest
const MOST_STEPS = 8; // of a waterfall

class WhatIf {
  constructor(whatIf, trees) {
    this.whatIf = whatIf;
    this.trees = trees;
    this.values = whatIf.rows[0].values.slice();
    this.started = this.values.slice();
    this.setters = new Map();
    this.chosenOutput = null; // the predicted class's, until the reader chooses another
    const divisor = whatIf.rule.kind === "mean" ? whatIf.rule.n_trees : 1;
    if (!whatIf.explained.absent)
      this.contributions = new Contributions(trees, whatIf.fields.length, divisor);
    const inputs = document.getElementById("inputs");
    for (const j of whatIf.order) inputs.append(this.field(j));
    this.offerRows(document.getElementById("start"));
    document.getElementById("fields").addEventListener("submit", (event) => event.preventDefault());
    this.startFrom(0);
  }

  offerRows(start) {
    for (const group of this.whatIf.groups)
      start.append(element("optgroup", { label: group.label }, ...group.rows.map((i) =>
        element("option", { value: i, text: this.whatIf.rows[i].id }))));
    start.addEventListener("change", () => this.startFrom(Number(start.value)));
    document.getElementById("what-if-reset")
      .addEventListener("click", () => this.startFrom(Number(start.value)));
  }

  startFrom(i) {
    this.values = this.whatIf.rows[i].values.slice();
    this.started = this.values.slice();
    for (const [j, set] of this.setters) set(this.values[j]);
    this.show();
  }

  field(j) {
    const field = this.whatIf.fields[j];
    const id = `field-${j}`;
    const label = element("label", { for: id, text: field.name });
    const input = field.kind === "number" ? this.numberInput(j, field, id) : this.choiceInput(j, field, id);
    return element("div", { class: "field" }, label, input);
  }

  numberInput(j, field, id) {
    const number = element("input", { type: "number", id, step: "any", placeholder: "missing" });
    const slider = element("input", {
      type: "range", min: field.low, max: field.high, "aria-label": `${field.name}, slider`,
      step: field.is_whole ? 1 : field.high / 200 - field.low / 200 || "any",
    });
    const changed = (value) => {
      this.values[j] = value;
      this.show();
    };
    number.addEventListener("input", () => {
      const value = number.value === "" ? null : Number(number.value);
      if (value !== null) slider.value = value;
      changed(value);
    });
    slider.addEventListener("input", () => {
      number.value = field.is_whole ? slider.value : String(Number(Number(slider.value).toPrecision(6)));
      changed(Number(number.value));
    });
    this.setters.set(j, (value) => {
      number.value = value === null ? "" : String(value);
      slider.value = value === null ? field.low : value;
    });
    return element("div", { class: "pair" }, slider, number);
  }

  choiceInput(j, field, id) {
    const select = element("select", { id }, element("option", { value: "", text: "missing" }));
    field.labels.forEach((label, i) => select.append(element("option", { value: i, text: label })));
    select.addEventListener("change", () => {
      this.values[j] = select.value === "" ? null : Number(select.value);
      this.show();
    });
    this.setters.set(j, (value) => {
      select.value = value === null ? "" : value;
    });
    return select;
  }

  predict(values = this.values) {
    return predictRow(this.trees, this.whatIf, values);
  }

  // What each feature contributes to each score: see Contributions.
  explain(values = this.values) {
    const found = this.contributions.of(seenRow(this.whatIf.fields, values, this.trees.n_features));
    const { mirror } = this.whatIf.explained; // of the scores of two classes, where the first is explained
    if (mirror === undefined) return found;
    return { base: found.base.map((one) => mirror - one), values: found.values.map((one) => -one) };
  }

  get isChanged() {
    return this.values.some((value, j) => value !== this.started[j]);
  }

  show() {
    const output = document.getElementById("prediction");
    const { rule } = this.whatIf;
    const prediction = this.predict();
    const before = this.isChanged ? this.predict(this.started) : null;
    output.dataset.prediction = JSON.stringify(prediction);
    if (rule.classes) output.replaceChildren(...this.classes(0, rule.classes, prediction, before));
    else if (rule.labels) output.replaceChildren(...this.labels(rule, prediction, before));
    else output.replaceChildren(...prediction.flatMap((value, k) =>
      this.number(k, value, before && before[k])));
    // What a screen reader says while a slider moves: the short form alone.
    document.getElementById("said").textContent =
      Array.from(output.querySelectorAll(".big"), (said) => said.textContent).join(", ");
    this.showContributionsSoon();
  }

  // Large ensembles take a while: once for each picture on the screen is enough.
  showContributionsSoon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.showContributions();
    });
  }

  showContributions() {
    const place = document.getElementById("contributions");
    const { explained, fields } = this.whatIf;
    if (explained.absent) {
      place.replaceChildren(element("p", { class: "absent", text: `Not available: ${explained.absent}` }));
      return;
    }
    const now = this.explain();
    const before = this.isChanged ? this.explain(this.started) : now;
    const n = explained.names.length;
    const k = this.explainedOutput();
    const steps = fields.map((field, j) => ({
      name: field.name,
      value: this.valueText(j),
      adds: now.values[j * n + k],
      before: before.values[j * n + k],
    }));
    const caption = `Contributions to ${this.scoreName(k)} (SHAP values${explained.is_calibrated ? ", before calibration" : ""})`;
    const table = waterfallTable(caption, now.base[k], largestSteps(steps, MOST_STEPS), "this row");
    place.replaceChildren(...(n > 1 ? [this.outputChoice(k)] : []), table);
  }

  scoreName(k) {
    const { what, unit, names } = this.whatIf.explained;
    return names.length === 1 ? what : `${unit} of ${names[k]}`;
  }

  explainedOutput() {
    const { explained, rule } = this.whatIf;
    const n = explained.names.length;
    if (n === 1) return 0;
    if (this.chosenOutput !== null) return this.chosenOutput;
    if (!rule.classes || rule.classes.length !== n) return Math.floor(n / 2);
    const p = this.predict();
    return p.indexOf(Math.max(...p));
  }

  outputChoice(k) {
    const select = element("select", { id: "explained" });
    this.whatIf.explained.names.forEach((name, i) => select.append(element("option", { value: i, text: name })));
    select.value = k;
    select.addEventListener("change", () => {
      this.chosenOutput = Number(select.value);
      this.showContributions();
      document.getElementById("explained").focus();
    });
    return element("p", { class: "controls" }, element("label", {}, "Explain ", select));
  }

  valueText(j) {
    const value = this.values[j];
    const field = this.whatIf.fields[j];
    if (value === null) return "missing";
    return field.kind === "number" ? String(Number(value.toPrecision(6))).replace("-", "−") : field.labels[value];
  }

  target(k) {
    return element("p", { class: "note", text: this.whatIf.targets[k] });
  }

  change(text) {
    return text === null ? [] : [element("p", { class: "change", text })];
  }

  number(k, value, before) {
    const changed = before === null ? null : `was ${shortly(before)} (${signed(value - before)})`;
    return [
      this.target(k),
      element("p", { class: "big", title: `exactly ${value}`, text: shortly(value, LONG) }),
      ...this.change(changed),
    ];
  }

  // Boosting gives the second class of each label; forests give both.
  labels(rule, prediction, before) {
    let next = 0;
    return rule.labels.flatMap((classes, k) => {
      const from = next;
      next += classes.length;
      const part = (p) => p && (rule.shares ? p.slice(from, next) : bothClasses(p[k]));
      return this.classes(k, classes, part(prediction), part(before));
    });
  }

  classes(k, classes, p, before) {
    const best = p.indexOf(Math.max(...p));
    const points = before && 100 * (p[best] - before[best]);
    const changed = before && `${classes[best]} was ${PERCENT.format(before[best])} (${points >= 0 ? "+" : "−"}${Math.abs(points).toFixed(1)} points)`;
    const places = Array.from(classes.keys());
    if (places.length > MOST_CLASSES) places.sort((a, b) => p[b] - p[a]).length = MOST_CLASSES;
    const rows = places.map((c) =>
      element("tr", {},
        element("th", { scope: "row", text: classes[c] }),
        element("td", { class: "wide", "aria-hidden": "true" }, element("div", { class: "meter" },
          element("span", { style: `width: ${100 * p[c]}%` }))),
        element("td", { class: "n", title: `exactly ${p[c]}`, text: EXACT_PERCENT.format(p[c]) })));
    const others = classes.length - places.length;
    return [
      this.target(k),
      element("p", { class: "big", text: `${classes[best]} (${PERCENT.format(p[best])})` }),
      ...this.change(changed),
      element("table", {}, element("caption", { class: "unseen", text: "Predicted probabilities" }),
        element("tbody", {}, ...rows)),
      ...(others > 0 ? [element("p", { class: "note", text: `and ${others} less likely classes` })] : []),
    ];
  }
}
