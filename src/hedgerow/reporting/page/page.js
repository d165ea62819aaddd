// Brings the page to life: charts, theme, trees and what-if.
"use strict";

const report = JSON.parse(document.getElementById("report-data").textContent);

function drawCharts() {
  const places = Array.from(document.querySelectorAll("[data-chart]"));
  return Promise.all(places.map((place) =>
    vegaEmbed(place, report.charts[Number(place.dataset.chart)], { actions: false, renderer: "svg" })));
}

function setUpTheme() {
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  const apply = () => {
    const dark = chosen === null ? system.matches : chosen;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    button.setAttribute("aria-pressed", String(dark));
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
if (!report.trees.absent) {
  const trees = new Trees(report.trees);
  new TreeView(trees);
  if (!report.what_if.absent) window.hedgerowWhatIf = new WhatIf(report.what_if, trees);
}
window.hedgerowReady = drawCharts();
