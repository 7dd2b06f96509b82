// SPDX-License-Identifier: Apache-2.0
// The zoomable timeline: what is shown, what the mouse, the fingers and the keys do.
"use strict";

const RULER = 20, MARKS = 16, PHASES = 40, HEAD = RULER + MARKS + PHASES + 4;
const ROW = 15, FIRST = 20, GAP = 3, SHORTEST = 100;

class Timeline {
  constructor(main, model) {
    const section = this.section = main.querySelector("section.tracks");
    this.model = model;
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
    this.onselect = () => {};
    this.names = new Names(this, section.querySelector(".names"));
    section.querySelectorAll("[data-do]").forEach((b) => b.addEventListener("click", () => this.act(b.dataset.do)));
    new Hand(this);
    this.arrange();
    new ResizeObserver(() => this.draw()).observe(this.box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { palette = null; this.draw(); });
  }

  // Puts the tracks that are open below each other: blocks of { item, y, height, rows, depth }.
  arrange() {
    this.blocks = [];
    this.height = 6;
    for (const group of this.model.groups) {
      const depth = group.tracks.length > 1 ? 1 : 0;
      if (depth) this.place(group, [group.open ? null : group.union], 0);
      if (!depth || group.open) for (const track of group.tracks) this.placeTrack(track, depth);
      this.height += 5;
    }
    this.sheet.style.height = HEAD + this.height + "px";
    this.draw();
  }

  // Without recursion: a chain of parents may be as long as a boot has processes.
  placeTrack(root, depth) {
    const left = [[root, depth]];
    while (left.length) {
      const [track, at] = left.pop();
      this.place(track, track.open ? track.rows : track.rows.slice(0, 1), at);
      if (track.open) for (const child of [...track.children].reverse()) left.push([child, at + 1]);
    }
  }

  place(item, rows, depth) {
    const height = FIRST + Math.max(0, rows.length - 1) * ROW;
    this.blocks.push({ item, y: this.height, height, rows, depth });
    this.height += height + GAP;
  }

  // Index of the first block that reaches below `y`.
  blockAt(y) {
    let low = 0, high = this.blocks.length;
    while (low < high) {
      const middle = (low + high) >> 1, block = this.blocks[middle];
      if (block.y + block.height + GAP <= y) low = middle + 1; else high = middle;
    }
    return low;
  }

  get left() { return this.box.clientWidth < 600 ? 96 : 168; }
  get width() { return Math.max(20, this.box.clientWidth - this.left - 8); }
  view() { return new Window(this.from, this.to, this.left, this.width); }
  time(x) { return this.view().time(x); }

  act(what) {
    const middle = (this.from + this.to) / 2, width = this.to - this.from;
    if (what === "in") this.zoom(0.5, middle);
    else if (what === "out") this.zoom(2, middle);
    else if (what === "all") this.show(0, this.whole);
    else if (what === "left") this.show(this.from - width / 5, this.to - width / 5);
    else if (what === "right") this.show(this.from + width / 5, this.to + width / 5);
    else if (what === "up" || what === "down") this.box.scrollTop += what === "up" ? -60 : 60;
    else if (what === "open" || what === "shut") this.openAll(what === "open");
    else if (what === "next" || what === "previous") this.stepTo(what === "next" ? 1 : -1);
    else if (what === "fit" && this.selected) this.fit(this.selected.track, this.selected.index);
    else if (what === "clear") this.select(null);
  }

  openAll(open) {
    for (const group of this.model.groups) group.open = open;
    for (const track of this.model.tracks) track.open = open;
    this.arrange();
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
  }

  fit(track, index) {
    const from = track.start[index], to = track.end[index], room = Math.max((to - from) * 0.1, SHORTEST);
    this.show(from - room, to + room);
  }

  select(track, index) {
    this.selected = track ? { track, index } : null;
    this.onselect(track, index);
    this.draw();
  }

  // The next or the previous span of the selected one's row.
  stepTo(by) {
    if (!this.selected) return;
    const { track, index } = this.selected, row = track.rows[track.row[index]];
    const to = row ? row.ids.indexOf(index) + by : -1;
    if (row && to >= 0 && to < row.ids.length) this.reveal(track, row.ids[to]);
  }

  // Selects a span and brings it into sight: opens what it is in, scrolls, moves, zooms when it must.
  reveal(track, index) {
    const group = this.model.groups.find((g) => { let t = track; while (t.up) t = t.up; return g.tracks.includes(t); });
    let shut = group && !group.open;
    if (group) group.open = true;
    for (let at = track; at; at = at.up) { shut = shut || !at.open; at.open = true; }
    if (shut) this.arrange();
    const block = this.blocks.find((b) => b.item === track);
    if (block) {
      const y = block.y + Math.max(0, track.row[index]) * ROW, room = this.box.clientHeight - HEAD;
      if (y < this.box.scrollTop || y > this.box.scrollTop + room - 2 * ROW) this.box.scrollTop = y - room / 3;
    }
    const from = track.start[index], to = track.end[index], seen = this.to - this.from;
    if (to - from > seen || (to - from) * 400 < seen) {
      const room = Math.max((to - from) * (to - from > seen ? 0.1 : 20), 5 * SHORTEST);
      this.show(from - room, to + room);
    } else if (from < this.from || to > this.to) this.show((from + to - seen) / 2, (from + to + seen) / 2);
    this.select(track, index);
  }

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.paint(); });
  }

  paint() {
    const width = this.box.clientWidth, height = Math.max(20, this.box.clientHeight - HEAD), view = this.view();
    this.paintHead(width, view);
    const g = surface(this.canvas, width, height), top = this.box.scrollTop;
    this.canvas.style.width = width + "px";
    this.canvas.style.height = height + "px";
    paintRuler(g, view, height, false);
    let b = this.blockAt(top);
    const first = b;
    for (; b < this.blocks.length && this.blocks[b].y < top + height; b++) this.paintBlock(g, this.blocks[b], view, top);
    g.globalAlpha = 0.6;
    paintMilestones(g, this.model.milestones, view, 0, height, false);
    g.globalAlpha = 1;
    this.names.show(this.blocks.slice(first, b));
    this.range.textContent = `${seconds(this.from, 6)} to ${seconds(this.to, 6)} s (${span(this.to - this.from)})`;
    this.box.dataset.from = Math.round(this.from);
    this.box.dataset.to = Math.round(this.to);
  }

  paintHead(width, view) {
    const g = surface(this.head, width, HEAD);
    this.head.style.width = width + "px";
    this.head.style.height = HEAD + "px";
    paintRuler(g, view, RULER, true);
    g.clearRect(0, 0, this.left, HEAD);
    paintPhases(g, this.model.phases, view, RULER + MARKS, PHASES);
    if (this.model.spent) paintSpent(g, this.model.spent, view, RULER + MARKS + PHASES - 11, 9);
    paintMilestones(g, this.model.milestones, view, RULER, HEAD - RULER, true);
    g.fillStyle = colours().quiet;
    if (this.model.milestones.length) g.fillText("milestones", 10, RULER + 8);
    if (this.model.phases) g.fillText("phases", 10, RULER + MARKS + 14);
    g.fillStyle = colours().line;
    g.fillRect(0, HEAD - 1, width, 1);
    if (this.selected && this.selected.track === this.model.phases) {
      this.outline(g, view, this.selected.index, RULER + MARKS, PHASES - 12);
    }
  }

  paintBlock(g, block, view, top) {
    const { item, rows } = block;
    const label = item instanceof Track ? (id) => item.label(id) : null;
    const colour = item instanceof Track ? (id) => item.colour(id) : () => KIND_COLOUR[item.kind] || "cpu";
    rows.forEach((row, r) => {
      const y = block.y - top + r * ROW + (r ? FIRST - ROW : 0), high = r ? ROW - 2 : FIRST - 2;
      if (!row || y > this.canvas.clientHeight || y + high < 0) return;
      if (item.kind === "console" && label && this.model.spent) paintLines(g, row, this.model.spent.console, view, y, high, label);
      else paintRow(g, row, view, y, high, colour, label);
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

  // The span under a place of the box, as { track, index }, or null.
  at(x, y) {
    if (x < this.left) return null;
    const t = this.time(x), near = (this.to - this.from) / this.width * 3;
    if (y < HEAD) return y > RULER + MARKS && this.model.phases ? nearest(this.model.phases, 0, t, 0) : null;
    const inside = y - HEAD + this.box.scrollTop, block = this.blocks[this.blockAt(inside)];
    if (!block || !(block.item instanceof Track) || inside < block.y) return null;
    const below = inside - block.y, row = below < FIRST ? 0 : 1 + Math.floor((below - FIRST) / ROW);
    return row < block.rows.length ? nearest(block.item, row, t, near) : null;
  }
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
