// SPDX-License-Identifier: Apache-2.0
// The flame graph, hanging down: each bar is a call path, as wide as the time spent in it. As in speedscope it is
// laid out in order of time, left heavy, or around one function.
"use strict";

const FLAME_ROW = 19, MOST_FUNCTIONS = 300;

class Flame {
  constructor(section, data) {
    const flame = data[section.dataset.of];
    this.tree = new FlameTree(flame, data.texts);
    this.time = flame.samples ? new FlameTime(this.tree, flame.samples) : null;
    this.section = section;
    this.box = section.querySelector(".flame");
    this.canvas = section.querySelector("canvas");
    this.tip = section.querySelector(".hint");
    this.told = section.querySelector(".frame-told");
    this.phase = section.querySelector(".flame-phase");
    this.field = section.querySelector(".flame-seek");
    this.modes = [...section.querySelectorAll("[data-mode]")];
    this.mode = "heavy";
    this.root = 0;
    this.chosen = 0;
    this.stretch = this.time ? [this.time.begin, this.time.end] : null;
    this.bars = [];
    this.hits = null;
    this.waiting = false;
    this.fill();
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { palette = null; this.draw(); });
    this.tell();
  }

  fill() {
    const { tree } = this, whole = tree.total[0];
    this.phase.append(element("option", { value: "0" }, `all (${span(whole)})`));
    for (const i of tree.children[0]) {
      this.phase.append(element("option", { value: String(i) }, `${tree.name(i)} (${span(tree.total[i])})`));
    }
    for (const asked of this.modes) if (asked.dataset.mode === "time" && !this.time) asked.hidden = true;
  }

  listen() {
    this.phase.addEventListener("change", () => this.zoom(Number(this.phase.value)));
    this.field.addEventListener("input", () => this.find());
    this.section.querySelector(".flame-all").addEventListener("click", () => this.zoom(0));
    for (const asked of this.modes) asked.addEventListener("click", () => this.as(asked.dataset.mode));
    this.box.addEventListener("click", (e) => { const bar = this.at(e); if (bar) this.zoom(bar.i, bar); });
    this.box.addEventListener("pointermove", (e) => this.point(e));
    this.box.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.box.addEventListener("keydown", (e) => this.key(e));
  }

  // Lays it out in another way.
  as(mode) {
    this.mode = mode;
    for (const asked of this.modes) asked.setAttribute("aria-pressed", String(asked.dataset.mode === mode));
    const list = this.section.querySelector(".flame-functions");
    list.hidden = mode !== "sandwich";
    if (mode === "sandwich") {
      if (!list.children.length) this.listFunctions(list);
      if (this.tree.depth[this.chosen] < FUNCTIONS) this.chosen = (this.tree.functions()[0] || { node: 0 }).node;
    }
    this.tell();
    this.draw();
  }

  listFunctions(list) {
    const { tree } = this, whole = tree.total[0] || 1, found = tree.functions();
    const rows = found.slice(0, MOST_FUNCTIONS).map((one) => element("tr", {},
      element("th", {}, element("button", { type: "button", class: "goto", onclick: () => this.choose(one.node) }, tree.name(one.node))),
      element("td", {}, span(one.self)), element("td", {}, percent(one.self, whole)),
      element("td", {}, span(one.total)), element("td", {}, percent(one.total, whole))));
    const head = element("thead", {}, element("tr", {}, ...["function", "itself", "share", "with what it calls", "share"].map((t) => element("th", {}, t))));
    const table = element("table", { class: "sorts" }, head, element("tbody", {}, ...rows));
    list.append(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "functions" }, table));
    if (found.length > rows.length) list.append(element("p", { class: "quiet" }, `and ${found.length - rows.length} shorter ones`));
    new Sorted(table);
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const { tree } = this, i = this.chosen, among = tree.children[Math.max(0, tree.parent[i])], at = among.indexOf(i);
    const to = { ArrowUp: tree.parent[i], ArrowDown: tree.children[i][0], ArrowLeft: among[at - 1],
      ArrowRight: at < 0 ? undefined : among[at + 1] }[e.key];
    if (e.key === "Enter") this.zoom(i);
    else if (e.key === "Escape" || e.key === "0") this.zoom(0);
    else if (e.key.startsWith("Arrow")) { if (to !== undefined && to >= 0) this.choose(to); }
    else return;
    e.preventDefault();
  }

  choose(i) {
    this.chosen = i;
    // What is out of sight is brought back by the nearest frame around both.
    if (!this.tree.within(i, this.root)) this.root = this.tree.parent[i] < 0 ? 0 : this.tree.parent[i];
    this.tell();
    this.draw();
  }

  zoom(i, bar = null) {
    this.chosen = i;
    if (this.mode !== "sandwich" || !i) this.root = i;
    if (this.time) this.stretch = i ? (bar && bar.end ? [bar.start, bar.end] : this.stretchOf(i)) : [this.time.begin, this.time.end];
    this.phase.value = String(this.tree.path(i)[0] || 0);
    this.tell();
    this.draw();
  }

  // From the first to the last sample in a frame.
  stretchOf(i) {
    const found = (this.time.rows[this.tree.depth[i] - 1] || []).filter((bar) => bar.i === i);
    return found.length ? [found[0].start, found[found.length - 1].end] : this.stretch;
  }

  find() {
    const wanted = this.field.value.trim().toLowerCase(), { tree } = this;
    this.hits = wanted ? Uint8Array.from({ length: tree.count }, (_, i) => Number(i > 0 && tree.name(i).toLowerCase().includes(wanted))) : null;
    this.tell();
    this.draw();
  }

  // Time in frames that were found, counted once where one lies in another.
  found() {
    const { tree } = this, inside = new Uint8Array(tree.count);
    let ns = 0, count = 0;
    for (let i = 1; i < tree.count; i++) {
      inside[i] = inside[tree.parent[i]] || this.hits[i];
      if (this.hits[i]) count++;
      if (inside[i] && !inside[tree.parent[i]]) ns += tree.total[i];
    }
    return `${count.toLocaleString("en")} found, ${span(ns)}, ${percent(ns, tree.total[0])}`;
  }

  tell() {
    const { tree } = this, i = this.chosen, whole = tree.total[0] || 1;
    const path = tree.path(i).map((k) => tree.name(k)).join(" › ") || "all";
    const self = tree.self[i] < tree.total[i] && tree.self[i] ? `, itself ${span(tree.self[i])}` : "";
    const alone = `${path}: ${span(tree.total[i])} (${percent(tree.total[i], whole)})${self}`;
    const words = this.mode === "sandwich" ? `${tree.name(i)}: who called it above, what it called below` : alone;
    this.told.textContent = words + (this.hits ? ` - ${this.found()}` : "");
  }

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.paint(); });
  }

  laidOut(width) {
    if (this.mode === "time" && this.stretch) return this.time.bars(this.stretch[0], this.stretch[1], width);
    if (this.mode === "sandwich" && this.tree.depth[this.chosen] >= FUNCTIONS) return sandwich(this.tree, this.chosen, width);
    return leftHeavy(this.tree, this.root, width);
  }

  paint() {
    const width = this.box.clientWidth, above = this.mode === "heavy" ? this.tree.path(this.root).length : 0;
    this.bars = this.laidOut(width);
    const deepest = this.bars.reduce((most, bar) => Math.max(most, bar.row), 0), height = (deepest + 1) * FLAME_ROW + 2;
    this.canvas.style.height = height + "px";
    const g = surface(this.canvas, width, height);
    for (const bar of this.bars) this.paintBar(g, bar, bar.row < above);
  }

  paintBar(g, { i, x, width, row }, above) {
    const shades = colours(), y = row * FLAME_ROW + 1, hit = this.hits && this.hits[i];
    g.globalAlpha = above || (this.hits && !hit) ? 0.45 : 1;
    const name = frameColour(this.tree, i);
    g.fillStyle = hit ? shades.hit : shades[name];
    g.fillRect(x, y, Math.max(0.5, width - (width > 3 ? 1 : 0)), FLAME_ROW - 1);
    g.globalAlpha = 1;
    if (i === this.chosen) {
      g.strokeStyle = shades.ink;
      g.lineWidth = 2;
      g.strokeRect(x + 1, y + 1, Math.max(2, width - 3), FLAME_ROW - 3);
    }
    const text = width > 28 ? fitted(this.tree.name(i), width - 8) : "";
    if (!text) return;
    g.fillStyle = shades.on[hit ? "hit" : name];
    g.fillText(text, x + 4, y + FLAME_ROW / 2);
  }

  at(e) {
    const frame = this.canvas.getBoundingClientRect(), x = e.clientX - frame.left, row = Math.floor((e.clientY - frame.top - 1) / FLAME_ROW);
    return this.bars.find((b) => b.row === row && b.x <= x && x < b.x + Math.max(1, b.width)) || null;
  }

  point(e) {
    const bar = this.at(e), { tree } = this;
    this.tip.hidden = !bar;
    if (!bar) return;
    const ns = bar.ns === undefined ? tree.total[bar.i] : bar.ns, whole = tree.total[0] || 1;
    const own = bar.ns === undefined && tree.self[bar.i] ? `, itself ${span(tree.self[bar.i])}` : "";
    const from = bar.end ? ` from ${seconds(bar.start, 6)} s` : "";
    this.tip.textContent = `${tree.name(bar.i)}\n${span(ns)}${from}, ${percent(ns, whole)} of all${own}`;
    const frame = this.tip.offsetParent.getBoundingClientRect(), x = e.clientX - frame.left, right = x > frame.width / 2;
    this.tip.style.left = right ? "" : x + 14 + "px";
    this.tip.style.right = right ? frame.width - x + 14 + "px" : "";
    this.tip.style.top = e.clientY - frame.top + 14 + "px";
  }
}

// Waiting, storage and console have the colours they have everywhere; code has one of five by its name.
function frameColour(tree, i) {
  const name = tree.name(i);
  if (!i || tree.depth[i] === 1) return "flame1";
  if (/^(idle|asleep|waiting)/i.test(name)) return "idle";
  if (/^storage/i.test(name)) return "storage";
  if (/^console/i.test(name)) return "console";
  let hash = 7;
  for (let k = 0; k < Math.min(40, name.length); k++) hash = (hash * 31 + name.charCodeAt(k)) >>> 0;
  return "flame" + (2 + hash % 4);
}
