// Brings the page to life: charts, theme, contents, threshold, trees and what-if.
"use strict";

const report = JSON.parse(document.getElementById("report-data").textContent);

const views = new Map(); // of charts that change, by their place in the page

// A text that is a property of every object, such as __proto__, is no key for Vega's lookups: it gets
// a character without width.
function harmless(value) {
  if (typeof value === "string") return value in {} ? `\u2060${value}` : value;
  if (Array.isArray(value)) return value.map(harmless);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, harmless(part)]));
}

// Puts points into the layers that have their names.
function fill(spec, points) {
  for (const layer of spec.layer || []) {
    if (layer.data && layer.data.name in points) layer.data.values = points[layer.data.name];
    fill(layer, points);
  }
}

async function drawChart(place, points) {
  const spec = report.charts[Number(place.dataset.chart)];
  if (points) fill(spec, points);
  // Expressions are interpreted: the policy of the page forbids code from text, and other styles.
  const options = { ast: true, defaultStyle: false, tooltip: { disableDefaultStyle: true } };
  const { view } = await vegaEmbed(place, harmless(spec), { actions: false, renderer: "svg", ...options });
  views.set(place.dataset.place, view);
}

function drawCharts(threshold) {
  const pictures = threshold ? threshold.pictures() : {};
  return Promise.all(Array.from(document.querySelectorAll("[data-chart]"), (place) =>
    drawChart(place, pictures[place.dataset.place])));
}

// On a narrow screen the contents are behind a button.
function setUpContents() {
  const button = document.getElementById("open-contents");
  const contents = document.getElementById("contents");
  const show = (isOpen) => {
    contents.classList.toggle("open", isOpen);
    button.setAttribute("aria-expanded", String(isOpen));
  };
  document.documentElement.classList.add("scripted");
  button.addEventListener("click", () => show(!contents.classList.contains("open")));
  contents.addEventListener("click", (event) => {
    if (event.target.closest("a")) show(false);
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !contents.classList.contains("open")) return;
    show(false);
    button.focus();
  });
}

function setUpTheme() {
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  const apply = () => {
    const dark = chosen === null ? system.matches : chosen;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    button.textContent = dark ? "Light" : "Dark"; // what a click turns on
    button.title = `Switch to the ${dark ? "light" : "dark"} theme`;
  };
  button.addEventListener("click", () => {
    chosen = document.documentElement.dataset.theme !== "dark";
    apply();
  });
  system.addEventListener("change", apply);
  // On paper it is light, whatever the screen is.
  addEventListener("beforeprint", () => { document.documentElement.dataset.theme = "light"; });
  addEventListener("afterprint", apply);
  apply();
}

setUpTheme();
setUpContents();
if (!report.trees.absent) {
  const trees = new Trees(report.trees);
  new TreeView(trees);
  if (!report.what_if.absent) window.hedgerowWhatIf = new WhatIf(report.what_if, trees);
}
const threshold = report.threshold ? new Threshold(report.threshold) : null;
window.hedgerowThreshold = threshold;
window.hedgerowReady = drawCharts(threshold).then(() => threshold && threshold.connect(views));
