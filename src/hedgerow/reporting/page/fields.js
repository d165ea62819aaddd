// The what-if: a field for each column, and the prediction for what they hold.
"use strict";

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") made.textContent = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const SHORT = new Intl.NumberFormat("en", { maximumSignificantDigits: 5 });
const PERCENT = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });
const MOST_CLASSES = 20; // to list; of more, the likeliest

// A number to read: very large and very small ones by their power of ten.
function shortly(value) {
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-4 || size >= 1e9) ? value.toExponential(3) : SHORT.format(value);
}

class WhatIf {
  constructor(whatIf, trees) {
    this.whatIf = whatIf;
    this.trees = trees;
    this.values = whatIf.rows[0].values.slice();
    this.setters = new Map();
    const inputs = document.getElementById("inputs");
    for (const j of whatIf.order) inputs.append(this.field(j));
    this.offerRows(document.getElementById("start"));
    document.getElementById("fields").addEventListener("submit", (event) => event.preventDefault());
    this.startFrom(0);
  }

  offerRows(start) {
    this.whatIf.rows.forEach((row, i) => start.append(element("option", { value: i, text: row.row })));
    start.addEventListener("change", () => this.startFrom(Number(start.value)));
  }

  startFrom(i) {
    this.values = this.whatIf.rows[i].values.slice();
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

  predict() {
    return predictRow(this.trees, this.whatIf, this.values);
  }

  show() {
    const output = document.getElementById("prediction");
    const { rule } = this.whatIf;
    const prediction = this.predict();
    output.dataset.prediction = JSON.stringify(prediction);
    if (rule.classes) output.replaceChildren(...this.classes(0, rule.classes, prediction));
    else if (rule.labels) output.replaceChildren(...this.labels(rule, prediction));
    else output.replaceChildren(...prediction.flatMap((value, k) => this.number(k, value)));
    // What a screen reader says while a slider moves: the short form alone.
    document.getElementById("said").textContent =
      Array.from(output.querySelectorAll(".big"), (said) => said.textContent).join(", ");
  }

  target(k) {
    return element("p", { class: "note", text: this.whatIf.targets[k] });
  }

  number(k, value) {
    return [
      this.target(k),
      element("p", { class: "big", text: shortly(value) }),
      element("p", { class: "exact", text: `exactly ${value}` }),
    ];
  }

  // Boosting gives the second class of each label; forests give both.
  labels(rule, prediction) {
    let next = 0;
    return rule.labels.flatMap((classes, k) => {
      const p = rule.shares
        ? prediction.slice(next, (next += classes.length))
        : bothClasses(prediction[k]);
      return this.classes(k, classes, p);
    });
  }

  classes(k, classes, p) {
    const best = p.indexOf(Math.max(...p));
    const said = `${classes[best]} (${PERCENT.format(p[best])})`;
    const places = Array.from(classes.keys());
    if (places.length > MOST_CLASSES) places.sort((a, b) => p[b] - p[a]).length = MOST_CLASSES;
    const rows = places.map((c) =>
      element("tr", {},
        element("th", { scope: "row", text: classes[c] }),
        element("td", {}, element("div", { class: "exact", text: p[c] }),
          element("div", { class: "meter", "aria-hidden": "true" },
            element("span", { style: `width: ${100 * p[c]}%` })))));
    return [
      this.target(k),
      element("p", { class: "big", text: said }),
      element("table", {}, element("tbody", {}, ...rows)),
    ];
  }
}
