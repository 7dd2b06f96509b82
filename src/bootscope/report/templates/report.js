// SPDX-License-Identifier: Apache-2.0
// The zoomable timeline and the console search. No libraries: the page must work without a network.
"use strict";

const KINDS = ["cpu", "storage", "console", "idle", "fixed"];
const LEFT = 84, RULER = 22, PHASE_ROW = 44, ROW = 40, GAP = 6;

function seconds(ns, digits) { return (ns / 1e9).toFixed(digits); }

function span(ns) {
  if (ns >= 1e9) return (ns / 1e9).toFixed(3) + " s";
  if (ns >= 1e6) return (ns / 1e6).toFixed(3) + " ms";
  if (ns >= 1e3) return (ns / 1e3).toFixed(2) + " µs";
  return Math.round(ns) + " ns";
}

// The distance between ruler marks: 1, 2 or 5 times a power of ten.
function step(visible, marks) {
  const raw = visible / marks, power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((n) => n * power).find((s) => s >= raw);
}

// Index of the first span that ends after `t` (spans are in order of time).
function firstAfter(spans, t) {
  let low = 0, high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle][1] <= t) low = middle + 1; else high = middle;
  }
  return low;
}

class Timeline {
  constructor(section) {
    this.box = section.querySelector(".timeline");
    this.canvas = section.querySelector("canvas");
    this.tip = section.querySelector(".tip");
    this.range = section.querySelector(".range");
    this.data = JSON.parse(section.querySelector(".data").textContent);
    this.whole = Math.max(1, this.data.total_ns);
    this.from = 0;
    this.to = this.whole;
    section.querySelectorAll("[data-do]").forEach((b) => b.addEventListener("click", () => this.act(b.dataset.do)));
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    this.draw();
  }

  listen() {
    this.box.addEventListener("wheel", (e) => {
      e.preventDefault();
      this.zoom(e.deltaY < 0 ? 1 / 1.3 : 1.3, this.time(e.offsetX));
    }, { passive: false });
    this.box.addEventListener("pointerdown", (e) => {
      this.drag = { x: e.clientX, from: this.from };
      this.box.setPointerCapture(e.pointerId);
    });
    this.box.addEventListener("pointerup", () => { this.drag = null; });
    this.box.addEventListener("pointermove", (e) => this.drag ? this.move(e) : this.point(e));
    this.box.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.box.addEventListener("dblclick", () => this.act("all"));
    this.box.addEventListener("keydown", (e) => {
      const does = { "+": "in", "=": "in", "-": "out", "0": "all", ArrowLeft: "left", ArrowRight: "right" }[e.key];
      if (does) { e.preventDefault(); this.act(does); }
    });
  }

  act(what) {
    const middle = (this.from + this.to) / 2, width = this.to - this.from;
    if (what === "in") this.zoom(0.5, middle);
    else if (what === "out") this.zoom(2, middle);
    else if (what === "all") this.show(0, this.whole);
    else if (what === "left") this.show(this.from - width / 5, this.to - width / 5);
    else if (what === "right") this.show(this.from + width / 5, this.to + width / 5);
  }

  width() { return this.box.clientWidth - LEFT - 8; }
  time(x) { return this.from + (x - LEFT) / this.width() * (this.to - this.from); }
  x(t) { return LEFT + (t - this.from) / (this.to - this.from) * this.width(); }

  zoom(factor, around) {
    const width = Math.min(this.whole, Math.max(100, (this.to - this.from) * factor));
    const share = (around - this.from) / (this.to - this.from);
    this.show(around - share * width, around + (1 - share) * width);
  }

  // Shows a stretch; one that reaches over an end is moved inside.
  show(from, to) {
    const width = Math.min(this.whole, to - from);
    this.from = Math.min(Math.max(0, from), this.whole - width);
    this.to = this.from + width;
    this.draw();
  }

  move(e) {
    const width = this.to - this.from;
    const from = this.drag.from - (e.clientX - this.drag.x) / this.width() * width;
    this.show(from, from + width);
  }

  colour(name) { return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim(); }

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.paint(); });
  }

  paint() {
    const scale = devicePixelRatio || 1, width = this.box.clientWidth, height = this.canvas.clientHeight;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    const g = this.g = this.canvas.getContext("2d");
    g.scale(scale, scale);
    g.font = "12px system-ui, sans-serif";
    g.textBaseline = "middle";
    this.ink = this.colour("ink");
    this.paintRuler(width, height);
    this.paintPhases();
    this.data.tracks.forEach((track, i) => this.paintTrack(track, i));
    this.paintMilestones(height);
    this.range.textContent = seconds(this.from, 6) + " to " + seconds(this.to, 6) + " s (" + span(this.to - this.from) + ")";
    this.box.dataset.from = Math.round(this.from);
    this.box.dataset.to = Math.round(this.to);
  }

  paintRuler(width, height) {
    const g = this.g, distance = step(this.to - this.from, this.width() / 110);
    const digits = Math.max(0, Math.min(9, Math.ceil(9 - Math.log10(distance))));
    for (let t = Math.ceil(this.from / distance) * distance; t <= this.to; t += distance) {
      g.fillStyle = this.colour("line");
      g.fillRect(this.x(t), RULER - 4, 1, height);
      g.fillStyle = this.colour("quiet");
      g.fillText(seconds(t, digits) + " s", this.x(t) + 3, 10);
    }
    g.clearRect(0, 0, LEFT, height);
  }

  top(row) { return RULER + PHASE_ROW + GAP + row * (ROW + GAP); }

  bar(from, to, y, h, colour) {
    const a = Math.max(LEFT, this.x(from)), b = Math.min(LEFT + this.width(), this.x(to));
    if (b < LEFT || a > LEFT + this.width()) return 0;
    this.g.fillStyle = colour;
    this.g.fillRect(a, y, Math.max(1, b - a), h);
    return b - a;
  }

  label(text, from, to, y, colour) {
    const a = Math.max(LEFT, this.x(from)) + 4, room = Math.min(LEFT + this.width(), this.x(to)) - a - 2;
    if (room < 14) return;
    const g = this.g, width = g.measureText(text).width;
    const shown = width <= room ? text : text.slice(0, Math.floor(text.length * room / width) - 1) + "…";
    if (shown.length < 2) return;
    g.fillStyle = colour;
    g.fillText(shown, a, y);
  }

  // A phase is drawn as a whole with its name; the split by kind is the strip below it.
  paintPhases() {
    this.name("phases", RULER + PHASE_ROW / 2);
    this.data.phases.forEach((p, i) => {
      if (p.end_ns <= this.from || p.start_ns >= this.to) return;
      this.g.globalAlpha = i % 2 ? 0.28 : 0.16;
      this.bar(p.start_ns, p.end_ns, RULER, PHASE_ROW - 12, this.ink);
      this.g.globalAlpha = 1;
      this.label(p.name + " " + span(p.end_ns - p.start_ns), p.start_ns, p.end_ns, RULER + 16, this.ink);
      let at = p.start_ns;
      for (const kind of KINDS) {
        const ns = p[kind + "_ns"];
        if (ns) this.bar(at, at + ns, RULER + PHASE_ROW - 11, 10, this.colour(kind));
        at += ns;
      }
    });
  }

  name(text, y) { this.g.fillStyle = this.colour("quiet"); this.g.fillText(text, 8, y); }

  paintTrack(track, row) {
    const y = this.top(row), spans = track.spans;
    const colour = this.colour({ storage: "storage", console: "console", idle: "idle", programs: "cpu", pins: "good" }[track.name]);
    this.name(track.name, y + ROW / 2);
    let drawn = -1;
    for (let i = firstAfter(spans, this.from); i < spans.length && spans[i][0] < this.to; i++) {
      const [from, to, text] = spans[i], end = this.x(to);
      // Spans that fall on a pixel already drawn add nothing to see.
      if (end < drawn + 0.5) continue;
      drawn = Math.max(end, this.x(from) + 1);
      const wide = this.bar(from, to, y + 4, ROW - 8, colour);
      if (wide > 40) this.label(text, from, to, y + ROW / 2, this.colour("paper"));
    }
  }

  paintMilestones(height) {
    for (const [, ns] of this.data.milestones) {
      if (ns < this.from || ns > this.to) continue;
      this.g.fillStyle = this.colour("good");
      this.g.fillRect(this.x(ns) - 1, RULER, 2, height);
    }
  }

  // What is under the pointer.
  point(e) {
    const t = this.time(e.offsetX), near = (this.to - this.from) / this.width() * 3;
    const lines = e.offsetX < LEFT ? [] : this.under(e.offsetY, t, near);
    this.tip.hidden = !lines.length;
    this.tip.textContent = lines.join("\n");
    this.tip.style.whiteSpace = "pre-line";
    const right = e.offsetX > this.box.clientWidth / 2;
    this.tip.style.left = right ? "" : e.offsetX + 14 + "px";
    this.tip.style.right = right ? this.box.clientWidth - e.offsetX + 14 + "px" : "";
    this.tip.style.top = e.offsetY + 10 + "px";
  }

  under(y, t, near) {
    const mark = this.data.milestones.find(([, ns]) => Math.abs(ns - t) < near);
    const lines = mark ? [mark[0] + " at " + seconds(mark[1], 6) + " s"] : [];
    if (y < RULER + PHASE_ROW) {
      const p = this.data.phases.find((q) => q.start_ns <= t && t < q.end_ns);
      if (p) lines.push(p.name + ", " + span(p.end_ns - p.start_ns) + " from " + seconds(p.start_ns, 6) + " s",
        KINDS.filter((k) => p[k + "_ns"]).map((k) => k + " " + span(p[k + "_ns"])).join(", "));
      return lines;
    }
    const row = Math.floor((y - this.top(0)) / (ROW + GAP)), track = this.data.tracks[row];
    const hit = track && track.spans[firstAfter(track.spans, t - near)];
    if (hit && hit[0] <= t + near) lines.push(hit[2], span(hit[1] - hit[0]) + " from " + seconds(hit[0], 6) + " s");
    return lines;
  }
}

document.querySelectorAll("main").forEach((main) => {
  const timeline = new Timeline(main.querySelector(".timeline").closest("section"));
  main.querySelectorAll(".phases tbody tr").forEach((row) => {
    const go = () => timeline.show(Number(row.dataset.start), Number(row.dataset.end));
    row.addEventListener("click", go);
    row.addEventListener("keydown", (e) => { if (e.key === "Enter") go(); });
  });
  const find = main.querySelector(".find"), rows = [...main.querySelectorAll(".console tbody tr")];
  find.addEventListener("input", () => {
    const wanted = find.value.toLowerCase();
    let shown = 0;
    for (const row of rows) {
      row.hidden = !row.lastElementChild.textContent.toLowerCase().includes(wanted);
      if (!row.hidden) shown++;
    }
    main.querySelector(".found").textContent = wanted ? shown + " of " + rows.length + " lines" : "";
  });
});
