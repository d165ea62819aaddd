// A tree to browse, after the pattern for tree views of the WAI-ARIA practices: one item can be
// reached by tab, arrows move among those that are visible, right opens and left closes.
"use strict";

const OPEN_DEPTH = 2; // levels that are open at first
const MOST_NAMED = 4; // categories that a test names
const MOST_VALUES = 10; // of a leaf

class TreeView {
  constructor(trees) {
    this.trees = trees;
    this.root = document.getElementById("tree");
    this.number = document.getElementById("tree-number");
    this.number.max = trees.nShown;
    this.number.addEventListener("change", () => this.show(Number(this.number.value) - 1));
    document.getElementById("tree-before").addEventListener("click", () => this.show(this.tree - 1));
    document.getElementById("tree-after").addEventListener("click", () => this.show(this.tree + 1));
    this.root.addEventListener("keydown", (event) => this.onKey(event));
    this.root.addEventListener("click", (event) => this.onClick(event));
    this.show(0);
  }

  show(tree) {
    const { trees } = this;
    this.tree = Math.min(Math.max(Math.trunc(tree) || 0, 0), trees.nShown - 1);
    this.number.value = this.tree + 1;
    const first = trees.offset[this.tree];
    const end = trees.offset[this.tree + 1];
    let leaves = 0;
    for (let node = first; node < end; ++node) leaves += trees.isLeaf(node);
    const shown = trees.nShown < trees.n_trees ? ` (the first ${COUNT.format(trees.nShown)} are in this page)` : "";
    const name = trees.output_names[trees.output[this.tree]];
    document.getElementById("tree-facts").textContent =
      `of ${COUNT.format(trees.n_trees)}${shown}${name ? `, for ${name}` : ""}: ${COUNT.format(leaves)} leaves`;
    this.root.replaceChildren(this.item(first, "", 1));
    this.root.firstChild.tabIndex = 0;
  }

  item(node, when, level) {
    const { trees } = this;
    const item = element("li", { role: "treeitem", tabindex: "-1", "aria-level": level });
    item.node = node;
    item.level = level;
    const line = element("span", { class: "node" }, element("span", { class: "sign", "aria-hidden": "true" }));
    if (when) line.append(element("span", { class: "when", text: when }));
    line.append(...this.words(node));
    item.append(line);
    if (!trees.isLeaf(node)) {
      item.setAttribute("aria-expanded", "false");
      if (level <= OPEN_DEPTH) this.open(item);
      else this.sign(item);
    }
    return item;
  }

  words(node) {
    const { trees } = this;
    const i = trees.place[node];
    const rows = element("span", { class: "facts-of", text: `${COUNT.format(trees.count[node])} rows` });
    if (trees.isLeaf(node)) {
      const values = Array.from(trees.value.subarray(i * trees.width, (i + 1) * trees.width));
      const more = values.length > MOST_VALUES ? ", …" : "";
      const text = values.slice(0, MOST_VALUES).map((value) => shortly(value)).join(", ") + more;
      return [element("span", { class: "worth", text: `→ ${text}` }), rows];
    }
    const gain = element("span", { class: "facts-of", text: `gain ${shortly(trees.gain[i])}` });
    return [element("span", { class: "test", text: this.test(node) }), rows, gain];
  }

  test(node) {
    const { trees } = this;
    const feature = trees.feature[node];
    const name = trees.feature_names[feature];
    const gaps = trees.missingLeft(node) ? " or missing" : "";
    if (trees.testsCategory(node)) return `${name} is ${this.categories(node, feature)}${gaps}?`;
    const threshold = trees.threshold(node);
    if (threshold === Number.MAX_VALUE) return `${name} is not missing?`;
    return `${name} ≤ ${shortly(threshold, LONG)}${gaps}?`;
  }

  categories(node, feature) {
    const known = this.trees.categories[feature];
    if (!known) return "one of some categories";
    const left = known.labels.filter((_, k) => this.trees.hasCategory(node, known.bins[k]));
    const more = left.length - MOST_NAMED;
    const rest = more > 0 ? ` or ${more} ${more === 1 ? "other" : "others"}` : "";
    return left.slice(0, MOST_NAMED).join(", ") + rest;
  }

  isOpen(item) {
    return item.getAttribute("aria-expanded") === "true";
  }

  canOpen(item) {
    return item.hasAttribute("aria-expanded");
  }

  sign(item) {
    item.querySelector(".sign").textContent = this.isOpen(item) ? "−" : "+";
  }

  open(item) {
    const [left, right] = this.trees.children(this.tree, item.node);
    const group = element("ul", { role: "group" },
      this.item(left, "yes", item.level + 1), this.item(right, "no", item.level + 1));
    item.append(group);
    item.setAttribute("aria-expanded", "true");
    this.sign(item);
  }

  close(item) {
    item.querySelector(":scope > [role=group]").remove();
    item.setAttribute("aria-expanded", "false");
    this.sign(item);
  }

  toggle(item) {
    if (!this.canOpen(item)) return;
    if (this.isOpen(item)) this.close(item);
    else this.open(item);
  }

  focus(item) {
    for (const other of this.root.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
    item.tabIndex = 0;
    item.focus();
  }

  onClick(event) {
    const item = event.target.closest("[role=treeitem]");
    if (!item || !event.target.closest(".node")) return;
    this.toggle(item);
    this.focus(item);
  }

  onKey(event) {
    const item = event.target.closest("[role=treeitem]");
    if (!item || event.altKey || event.ctrlKey || event.metaKey) return;
    const visible = Array.from(this.root.querySelectorAll("[role=treeitem]"));
    const at = visible.indexOf(item);
    const moves = {
      ArrowDown: () => visible[at + 1],
      ArrowUp: () => visible[at - 1],
      Home: () => visible[0],
      End: () => visible[visible.length - 1],
      ArrowRight: () => this.right(item),
      ArrowLeft: () => this.left(item),
      Enter: () => (this.toggle(item), item),
      " ": () => (this.toggle(item), item),
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    const next = moves[event.key]();
    if (next) this.focus(next);
  }

  right(item) {
    if (!this.canOpen(item)) return item;
    if (this.isOpen(item)) return item.querySelector("[role=treeitem]");
    this.open(item);
    return item;
  }

  left(item) {
    if (this.canOpen(item) && this.isOpen(item)) {
      this.close(item);
      return item;
    }
    return item.parentElement.closest("[role=treeitem]");
  }
}
