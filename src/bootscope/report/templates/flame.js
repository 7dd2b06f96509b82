// SPDX-License-Identifier: Apache-2.0
// The flame graph, hanging down: each bar is a call path, as wide as the time spent in it.
"use strict";

const FLAME_ROW = 19, MOST_ROWS = 48;

// The call paths as a tree. Node 0 stands for all of them; its children are the phases.
class FlameTree {
  constructor(data, texts) {
    const count = this.count = data.parent.length + 1;
    this.texts = texts;
    this.name = (i) => (i ? texts[data.name[i - 1]] : "all");
    this.text = (i) => (i ? data.name[i - 1] : -1);
    this.parent = Int32Array.from({ length: count }, (_, i) => (i ? data.parent[i - 1] + 1 : -1));
    this.self = Float64Array.from({ length: count }, (_, i) => (i ? data.self[i - 1] : 0));
    this.total = Float64Array.from(this.self);
    this.depth = new Int32Array(count);
    // Parents come before their children.
    for (let i = count - 1; i > 0; i--) this.total[this.parent[i]] += this.total[i];
    this.children = Array.from({ length: count }, () => []);
    for (let i = 1; i < count; i++) {
      this.depth[i] = this.depth[this.parent[i]] + 1;
      this.children[this.parent[i]].push(i);
    }
    for (let i = 1; i < count; i++) this.children[i].sort((a, b) => this.total[b] - this.total[a]);
    this.place();
  }

  place() {
    this.x = new Float64Array(this.count);
    for (let i = 0; i < this.count; i++) {
      let at = this.x[i];
      for (const child of this.children[i]) { this.x[child] = at; at += this.total[child]; }
    }
  }

  path(i) {
    const found = [];
    for (let at = i; at > 0; at = this.parent[at]) found.unshift(at);
    return found;
  }
}

class Flame {
  constructor(section, data) {
    this.tree = new FlameTree(data.flame, data.texts);
    this.section = section;
    this.box = section.querySelector(".flame");
    this.canvas = section.querySelector("canvas");
    this.tip = section.querySelector(".hint");
    this.told = section.querySelector(".frame-told");
    this.phase = section.querySelector(".flame-phase");
    this.field = section.querySelector(".flame-seek");
    this.root = 0;
    this.chosen = 0;
    this.hits = null;
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
  }

  listen() {
    this.phase.addEventListener("change", () => this.zoom(Number(this.phase.value)));
    this.field.addEventListener("input", () => this.find());
    this.section.querySelector(".flame-all").addEventListener("click", () => this.zoom(0));
    this.box.addEventListener("click", (e) => { const i = this.at(e); if (i >= 0) this.zoom(i); });
    this.box.addEventListener("pointermove", (e) => this.point(e));
    this.box.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.box.addEventListener("keydown", (e) => this.key(e));
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
    if (!within(this.tree, i, this.root)) this.root = this.tree.parent[i] < 0 ? 0 : this.tree.parent[i];
    this.tell();
    this.draw();
  }

  zoom(i) {
    this.root = this.chosen = i;
    const path = this.tree.path(i);
    this.phase.value = String(path[0] || 0);
    this.tell();
    this.draw();
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
    this.told.textContent = `${path}: ${span(tree.total[i])} (${percent(tree.total[i], whole)})${self}` +
      (this.hits ? ` - ${this.found()}` : "");
  }

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.paint(); });
  }

  // The frames around the root take the whole width; below it all that is wide enough to be seen.
  paint() {
    const { tree, root } = this, width = this.box.clientWidth, above = [0, ...tree.path(root)];
    if (root === 0) above.length = 1;
    this.bars = above.map((i, row) => ({ i, x: 0, width, row }));
    const scale = width / (tree.total[root] || 1), base = tree.x[root], first = above.length;
    const left = tree.children[root].slice();
    let deepest = first - 1;
    while (left.length) {
      const i = left.pop(), wide = tree.total[i] * scale, row = first + tree.depth[i] - tree.depth[root] - 1;
      if (wide < 0.4 || row >= MOST_ROWS) continue;
      this.bars.push({ i, x: (tree.x[i] - base) * scale, width: wide, row });
      deepest = Math.max(deepest, row);
      for (const child of tree.children[i]) left.push(child);
    }
    const height = (deepest + 1) * FLAME_ROW + 2;
    this.canvas.style.height = height + "px";
    const g = this.g = surface(this.canvas, width, height);
    for (const bar of this.bars) this.paintBar(g, bar, bar.row < first - 1);
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
    const bar = (this.bars || []).find((b) => b.row === row && b.x <= x && x < b.x + Math.max(1, b.width));
    return bar ? bar.i : -1;
  }

  point(e) {
    const i = this.at(e), { tree } = this;
    this.tip.hidden = i < 0;
    if (i < 0) return;
    this.tip.textContent = `${tree.name(i)}\n${span(tree.total[i])}, ${percent(tree.total[i], tree.total[0] || 1)} of all` +
      (tree.self[i] ? `, itself ${span(tree.self[i])}` : "");
    const frame = this.tip.offsetParent.getBoundingClientRect(), x = e.clientX - frame.left, right = x > frame.width / 2;
    this.tip.style.left = right ? "" : x + 14 + "px";
    this.tip.style.right = right ? frame.width - x + 14 + "px" : "";
    this.tip.style.top = e.clientY - frame.top + 14 + "px";
  }
}

function within(tree, i, root) {
  for (let at = i; at >= 0; at = tree.parent[at]) if (at === root) return true;
  return false;
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
