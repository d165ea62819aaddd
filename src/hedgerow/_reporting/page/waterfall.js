// A waterfall as a table: from the base value, bar by bar, to the score. macros.html writes the same.
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

const COUNT = new Intl.NumberFormat("en");
const LONG = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });
const SHORT = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

// A number to read: very large and very small ones by their power of ten.
function shortly(value, format = SHORT) {
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-4 || size >= 1e9) ? value.toExponential(2) : format.format(value);
  return text.replace("-", "−");
}

function signed(value) {
  return (value >= 0 ? "+" : "−") + shortly(Math.abs(value));
}

// Text that may wrap between words.
function breakable(text) {
  const parts = text.split(/(?<=[a-z])(?=[A-Z])|(?<=[_./])/);
  return parts.flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part]));
}

// How many decimals give the largest of some numbers four digits.
function decimalsOf(values) {
  const largest = Math.max(...values.map(Math.abs));
  return largest > 0 ? Math.min(12, Math.max(0, 3 - Math.floor(Math.log10(largest)))) : 3;
}

// The largest steps, and one for all others: [{ name, value, adds, before }].
function largestSteps(steps, most) {
  const sorted = steps.slice().sort((a, b) => Math.abs(b.adds) - Math.abs(a.adds));
  if (sorted.length <= most) return sorted;
  const rest = sorted.splice(most - 1);
  const sum = (of) => rest.reduce((total, step) => total + step[of], 0);
  sorted.push({ name: `${rest.length} other features`, value: "", adds: sum("adds"), before: sum("before") });
  return sorted;
}

function waterfallTable(caption, base, steps, last) {
  let at = base;
  const bars = steps.map((step) => ({ ...step, from: at, to: (at += step.adds) }));
  const ends = [base, ...bars.map((bar) => bar.to)];
  const low = Math.min(...ends);
  const width = Math.max(...ends) - low || 1;
  const decimals = decimalsOf(ends);
  const format = new Intl.NumberFormat("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  const plain = (value) => format.format(value).replace("-", "−");
  const withSign = (value) => (value >= 0 ? "+" : "−") + format.format(Math.abs(value));
  const share = (value) => `${((100 * (value - low)) / width).toFixed(2)}%`;
  const tick = (name, value) => element("tr", { class: "end" },
    element("th", { scope: "row", text: name }),
    element("td", { class: "track" }, element("span", { class: "tick", style: `left: ${share(value)}` })),
    element("td", { class: "n", text: plain(value) }));
  const rows = bars.map((bar) => {
    const name = element("th", { scope: "row" }, ...breakable(bar.name));
    if (bar.value !== "") name.append(" ", element("span", { class: "value" }, ...breakable(`= ${bar.value}`)));
    const size = ((100 * Math.abs(bar.to - bar.from)) / width).toFixed(2);
    const span = element("span", {
      class: bar.adds >= 0 ? "up" : "down",
      style: `left: ${share(Math.min(bar.from, bar.to))}; width: ${size}%`,
    });
    if (bar.before !== undefined && withSign(bar.before) !== withSign(bar.adds))
      name.append(" ", element("span", { class: "before", text: `was ${withSign(bar.before)}` }));
    return element("tr", {}, name, element("td", { class: "track" }, span),
      element("td", { class: "n", text: withSign(bar.adds) }));
  });
  return element("table", { class: "waterfall" },
    element("caption", { text: caption }),
    element("thead", { class: "unseen" }, element("tr", {},
      element("th", { scope: "col", text: "feature" }), element("td"),
      element("th", { scope: "col", text: "contribution" }))),
    element("tbody", {}, tick("average (base value)", base), ...rows, tick(last, at)));
}
