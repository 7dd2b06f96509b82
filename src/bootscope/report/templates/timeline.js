// SPDX-License-Identifier: Apache-2.0
// The zoomable timeline: which stretch is shown, what is selected, measured and flagged, and its painting.
// It is as high as its tracks and scrolls with the page; only what is in sight is painted.
"use strict";

const SHORTEST = 100, BAR = 40;

class Timeline {
  constructor(main, model) {
    const section = this.section = main.querySelector("section.tracks");
    this.model = model;
    this.layout = new Layout(model);
    this.box = section.querySelector(".timeline");
    this.sheet = section.querySelector(".sheet");
    this.head = section.querySelector("canvas.head");
    this.canvas = section.querySelector("canvas.body");
    this.tip = section.querySelector(".tip");
    this.range = section.querySelector(".range");
    this.whole = model.total;
    this.from = 0;
    this.to = this.whole;
    this.selected = null;
    this.measured = null;
    this.flags = [];
    this.waiting = false;
    this.listeners = { select: [], measure: [], view: [] };
    this.names = new Names(this, section.querySelector(".names:not(.pins)"), section.querySelector(".pins"));
    section.querySelectorAll("[data-do]").forEach((b) => b.addEventListener("click", () => this.act(b.dataset.do)));
    new Interaction(this);
    this.arrange();
    new ResizeObserver(() => this.draw()).observe(this.box);
    addEventListener("scroll", () => this.draw(), { passive: true });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { palette = null; this.draw(); });
  }

  // Takes what has become of a boot that goes on: what is shown, open, pinned and selected stays.
  take(model) {
    const all = this.from <= 0 && this.to >= this.whole, { tracks } = this.model, { pins } = this.layout, { selected } = this;
    const again = (track) => track && model.tracks.find((t) => t.id === track.id);
    for (const track of model.tracks) track.open = (tracks.find((t) => t.id === track.id) || track).open;
    this.model = model;
    this.whole = model.total;
    this.layout = new Layout(model);
    for (const item of pins) if (item instanceof Track && again(item)) this.layout.pins.add(again(item));
    if (selected) this.selected = again(selected.track) ? { track: again(selected.track), index: selected.index } : null;
    this.to = all ? this.whole : Math.min(this.to, this.whole);
    this.from = Math.min(this.from, Math.max(0, this.to - SHORTEST));
    this.arrange();
  }

  on(what, does) { this.listeners[what].push(does); }
  tell(what) { for (const does of this.listeners[what]) does(); }

  arrange() {
    this.layout.arrange();
    this.sheet.style.height = this.layout.head + this.layout.height + "px";
    this.draw();
  }

  get left() { return this.box.clientWidth < 600 ? 96 : 168; }
  get width() { return Math.max(20, this.box.clientWidth - this.left - 8); }
  // How much of the sheet below its head lies above what is in sight.
  get top() { return Math.max(0, this.canvas.offsetTop - this.layout.head); }
  view() { return new View(this.from, this.to, this.left, this.width); }
  time(x) { return this.view().time(x); }

  act(what) {
    const middle = (this.from + this.to) / 2, width = this.to - this.from;
    if (what === "in") this.zoom(0.5, middle);
    else if (what === "out") this.zoom(2, middle);
    else if (what === "all") this.show(0, this.whole);
    else if (what === "left") this.show(this.from - width / 5, this.to - width / 5);
    else if (what === "right") this.show(this.from + width / 5, this.to + width / 5);
    else if (what === "open" || what === "shut") { this.layout.openAll(what === "open"); this.arrange(); }
    else if (what === "next" || what === "previous") this.stepTo(what === "next" ? 1 : -1);
    else if (what === "fit") this.fitSelected();
    else if (what === "clear") { this.measure(null); this.select(null); }
  }

  zoom(factor, around) {
    const width = Math.min(this.whole, Math.max(SHORTEST, (this.to - this.from) * factor));
    const share = (around - this.from) / (this.to - this.from);
    this.show(around - share * width, around + (1 - share) * width);
  }

  // Shows a stretch; one that reaches over an end is moved inside.
  show(from, to) {
    const width = Math.min(this.whole, Math.max(SHORTEST, to - from));
    this.from = Math.min(Math.max(0, from), this.whole - width);
    this.to = this.from + width;
    this.draw();
    this.tell("view");
  }

  // Shows what is measured, else what is selected, with a little around it.
  fitSelected() {
    const { track, index } = this.selected || { track: null, index: 0 };
    const [from, to] = this.measured || (track ? [track.start[index], track.end[index]] : [0, this.whole]);
    const room = Math.max((to - from) * 0.1, SHORTEST);
    this.show(from - room, to + room);
  }

  select(track, index) {
    this.selected = track ? { track, index } : null;
    if (track) this.measured = null;
    this.tell("select");
    this.draw();
  }

  // Measures a stretch, [from, to]; null for none.
  measure(stretch) {
    this.measured = stretch;
    if (stretch) this.selected = null;
    this.tell("measure");
    this.draw();
  }

  // Puts a flag at a moment, or takes away the one that is near.
  flag(at) {
    const near = (this.to - this.from) / this.width * 5, there = this.flags.findIndex((ns) => Math.abs(ns - at) < near);
    if (there >= 0) this.flags.splice(there, 1);
    else if (at >= 0 && at <= this.whole) this.flags = [...this.flags, Math.round(at)].sort((a, b) => a - b);
    this.draw();
    this.tell("view");
  }

  pin(item) {
    const { pins } = this.layout;
    if (!pins.delete(item)) pins.add(item);
    this.arrange();
    this.tell("view");
  }

  // The next or the previous span of the selected one's row; without one, the first in sight.
  stepTo(by) {
    if (!this.selected) { this.startStepping(); return; }
    const { track, index } = this.selected, row = track.rows[track.row[index]];
    const to = row ? row.ids.indexOf(index) + by : -1;
    if (row && to >= 0 && to < row.ids.length) this.reveal(track, row.ids[to]);
  }

  startStepping() {
    const track = this.model.phases || this.model.tracks.find((t) => t.rows.length);
    if (!track || !track.rows.length) return;
    const row = track.rows[0];
    this.reveal(track, row.ids[Math.min(row.first(this.from), row.ids.length - 1)]);
  }

  // Selects a span and brings it into sight: opens what it is in, scrolls, moves, zooms when it must.
  reveal(track, index) {
    if (track !== this.model.phases && this.layout.openTo(track)) this.arrange();
    this.scrollTo(track, index);
    const from = track.start[index], to = track.end[index], seen = this.to - this.from;
    if (to - from > seen || (to - from) * 400 < seen) {
      const room = Math.max((to - from) * (to - from > seen ? 0.1 : 20), 5 * SHORTEST);
      this.show(from - room, to + room);
    } else if (from < this.from || to > this.to) this.show((from + to - seen) / 2, (from + to + seen) / 2);
    this.select(track, index);
  }

  scrollTo(track, index) {
    const block = this.layout.blocks.find((b) => b.item === track);
    if (!block) return;
    const sheet = this.sheet.getBoundingClientRect().top, first = BAR + this.layout.head;
    const y = sheet + this.layout.head + block.y + Math.max(0, track.row[index]) * ROW;
    if (y < first || y > innerHeight - 2 * ROW) scrollBy(0, y - first - (innerHeight - first) / 3);
  }

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.paint(); });
  }

  // Paints what is in sight; on paper, where nothing scrolls, `everything`.
  paint(everything = false) {
    const width = this.box.clientWidth, { head, height: sheet, blocks } = this.layout, view = this.view();
    const room = everything ? Math.min(sheet, MOST_ON_PAPER) : Math.min(sheet, innerHeight - BAR - head);
    const height = Math.max(20, Math.round(room));
    this.paintHead(width, view);
    sized(this.canvas, width, height, head);
    const g = surface(this.canvas, width, height), top = everything ? 0 : this.top;
    paintRuler(g, view, height, false);
    let b = this.layout.blockAt(top);
    const first = b;
    for (; b < blocks.length && blocks[b].y < top + height; b++) this.paintBlock(g, blocks[b], view, blocks[b].y - top, height);
    g.globalAlpha = 0.6;
    paintMilestones(g, this.model.milestones, view, 0, height, false);
    g.globalAlpha = 1;
    paintFlags(g, this.flags, view, 0, height, false);
    if (this.measured) paintMeasured(g, this.measured, view, 0, height);
    this.names.show(blocks.slice(first, b), this.layout.pinned);
    this.range.textContent = `${seconds(this.from, 6)} to ${seconds(this.to, 6)} s (${span(this.to - this.from)})`;
    this.box.dataset.from = String(Math.round(this.from));
    this.box.dataset.to = String(Math.round(this.to));
  }

  paintHead(width, view) {
    const high = this.layout.head, g = surface(this.head, width, high);
    sized(this.head, width, high, 0);
    paintRuler(g, view, RULER, true);
    g.clearRect(0, 0, this.left, high);
    paintPhases(g, this.model.phases, view, RULER + MARKS, PHASES);
    if (this.model.spent) paintSpent(g, this.model.spent, view, RULER + MARKS + PHASES - 11, 9);
    for (const block of this.layout.pinned) this.paintBlock(g, block, view, block.y, high);
    paintMilestones(g, this.model.milestones, view, RULER, high - RULER, true);
    g.fillStyle = colours().quiet;
    if (this.model.milestones.length) g.fillText("milestones", 10, RULER + 8);
    if (this.model.phases) g.fillText("phases", 10, RULER + MARKS + 14);
    g.fillStyle = colours().line;
    g.fillRect(0, high - 1, width, 1);
    if (this.selected && this.selected.track === this.model.phases) {
      this.outline(g, view, this.selected.index, RULER + MARKS, PHASES - 12);
    }
    paintFlags(g, this.flags, view, 0, high, true);
    if (this.measured) paintMeasured(g, this.measured, view, RULER, high - RULER);
  }

  paintBlock(g, block, view, y0, limit) {
    const { item, rows } = block;
    const label = item instanceof Track ? (id) => item.label(id) : null;
    const colour = item instanceof Track ? (id) => item.colour(id) : () => KIND_COLOUR[item.kind] || "cpu";
    rows.forEach((row, r) => {
      const y = y0 + r * ROW + (r ? FIRST - ROW : 0), high = r ? ROW - 2 : FIRST - 2;
      if (!row || y > limit || y + high < 0) return;
      if (item.kind === "console" && label && this.model.spent) paintLines(g, row, this.model.spent.console, view, y, high, label);
      else paintRow(g, row, view, y, high, colour, label);
      if (item.kind === "service" && label) paintBeside(g, row, view, y, high, label);
      const s = this.selected;
      if (s && s.track === item && s.track.row[s.index] === r) this.outline(g, view, s.index, y, high);
    });
  }

  outline(g, view, index, y, height) {
    const { track } = this.selected, a = Math.max(view.left, view.x(track.start[index]));
    const b = Math.min(view.left + view.width, view.x(track.end[index]));
    if (b < view.left || a > view.left + view.width) return;
    g.strokeStyle = colours().ink;
    g.lineWidth = 2;
    g.strokeRect(a - 1, y - 0.5, Math.max(3, b - a + 1), height + 1);
  }

  phaseAt(t) {
    const { phases } = this.model, hits = phases ? phases.rows.map((_, r) => nearest(phases, r, t, 0)) : [];
    return hits.find(Boolean) || null;
  }

  // The span under a place in sight, as { track, index }, or null; `y` counts from the top of the head.
  at(x, y) {
    if (x < this.left) return null;
    const t = this.time(x), near = (this.to - this.from) / this.width * 3, { head } = this.layout;
    if (y < RULER + MARKS + PHASES) return y > RULER + MARKS ? this.phaseAt(t) : null;
    const hit = y < head ? this.layout.pinnedAt(y) : this.layout.rowAt(y - head + this.top);
    return hit && hit.block.item instanceof Track ? nearest(hit.block.item, hit.row, t, near) : null;
  }
}

const MOST_ON_PAPER = 8000;

function sized(canvas, width, height, top) {
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  canvas.style.top = BAR + top + "px";
}

// The span of a row that holds `t`, or the closest within `near`.
function nearest(track, row, t, near) {
  const spans = track.rows[row];
  if (!spans) return null;
  let best = null, distance = Infinity;
  for (let k = spans.first(t - near); k < spans.start.length && spans.start[k] <= t + near; k++) {
    const away = Math.max(0, spans.start[k] - t, t - spans.end[k]);
    if (away < distance) { best = spans.ids[k]; distance = away; }
    if (!away || k > spans.first(t) + 2) break;
  }
  return best === null ? null : { track, index: best };
}
