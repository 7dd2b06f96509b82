// SPDX-License-Identifier: Apache-2.0
// What people do to a timeline: wheel, drag, two fingers, keys, pointing. And the names of its tracks.
"use strict";

const KEYS = { "+": "in", "=": "in", "-": "out", 0: "all", ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up",
  ArrowDown: "down", n: "next", p: "previous", Enter: "fit", Escape: "clear" };

class Hand {
  constructor(timeline) {
    this.timeline = timeline;
    this.fingers = new Map();
    const box = timeline.box, on = (name, does, how) => box.addEventListener(name, does, how);
    on("wheel", (e) => this.wheel(e), { passive: false });
    on("pointerdown", (e) => this.down(e));
    on("pointermove", (e) => this.move(e));
    on("pointerup", (e) => this.up(e));
    on("pointercancel", (e) => this.fingers.delete(e.pointerId));
    on("pointerleave", () => { timeline.tip.hidden = true; });
    on("dblclick", (e) => { if (this.inside(e)) timeline.act("all"); });
    on("scroll", () => timeline.draw());
    on("keydown", (e) => this.key(e));
  }

  place(e) {
    const box = this.timeline.box, frame = box.getBoundingClientRect();
    return [e.clientX - frame.left - box.clientLeft, e.clientY - frame.top - box.clientTop];
  }

  inside(e) {
    const [x] = this.place(e);
    return x >= this.timeline.left && x < this.timeline.box.clientWidth;
  }

  // Over the tracks the wheel zooms, with shift it moves; over their names it scrolls as everywhere.
  wheel(e) {
    if (!this.inside(e)) return;
    e.preventDefault();
    const t = this.timeline, by = e.deltaY || e.deltaX;
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) t.act((e.deltaX || e.deltaY) < 0 ? "left" : "right");
    else t.zoom(by < 0 ? 1 / 1.3 : 1.3, t.time(this.place(e)[0]));
  }

  down(e) {
    if (!this.inside(e) || e.button) return;
    this.fingers.set(e.pointerId, e);
    const t = this.timeline;
    this.start = { from: t.from, to: t.to, top: t.box.scrollTop, e, moved: false };
    t.box.setPointerCapture(e.pointerId);
  }

  move(e) {
    if (!this.fingers.has(e.pointerId)) { this.point(e); return; }
    const t = this.timeline, before = [...this.fingers.values()];
    this.fingers.set(e.pointerId, e);
    if (before.length === 2) { this.pinch(before, [...this.fingers.values()]); return; }
    const { from, to, top, e: first } = this.start, dx = e.clientX - first.clientX, dy = e.clientY - first.clientY;
    if (Math.abs(dx) + Math.abs(dy) > 4) this.start.moved = true;
    if (!this.start.moved) return;
    t.tip.hidden = true;
    t.show(from - dx / t.width * (to - from), to - dx / t.width * (to - from));
    if (e.pointerType === "mouse") t.box.scrollTop = top - dy;
  }

  pinch(before, after) {
    const apart = ([a, b]) => Math.max(10, Math.abs(a.clientX - b.clientX));
    this.start.moved = true;
    const middle = (this.place(after[0])[0] + this.place(after[1])[0]) / 2;
    this.timeline.zoom(apart(before) / apart(after), this.timeline.time(middle));
  }

  up(e) {
    if (!this.fingers.delete(e.pointerId) || this.start.moved) return;
    const hit = this.timeline.at(...this.place(e));
    this.timeline.select(hit && hit.track, hit && hit.index);
  }

  key(e) {
    const does = e.target === this.timeline.box && !e.ctrlKey && !e.metaKey && !e.altKey && KEYS[e.key];
    if (does) { e.preventDefault(); this.timeline.act(does); }
    if (e.key === "/" && e.target === this.timeline.box) {
      e.preventDefault();
      this.timeline.section.querySelector(".seek").focus();
    }
  }

  // What is under the pointer.
  point(e) {
    const t = this.timeline, [x, y] = this.place(e), time = t.time(x), near = (t.to - t.from) / t.width * 3;
    const mark = x >= t.left && t.model.milestones.find(([, ns]) => Math.abs(ns - time) < near);
    const lines = mark ? [`${mark[0]} at ${seconds(mark[1], 6)} s`] : [];
    const hit = t.at(x, y);
    if (hit) lines.push(...summary(hit.track, hit.index));
    const tip = t.tip, right = x > t.box.clientWidth / 2;
    tip.hidden = !lines.length;
    tip.textContent = lines.join("\n");
    const frame = tip.offsetParent ? tip.offsetParent.getBoundingClientRect() : { left: 0, top: 0, width: 0 };
    tip.style.left = right ? "" : e.clientX - frame.left + 14 + "px";
    tip.style.right = right ? frame.width - (e.clientX - frame.left) + 14 + "px" : "";
    tip.style.top = e.clientY - frame.top + 12 + "px";
  }
}

// A span in a few lines.
function summary(track, index) {
  const ns = track.end[index] - track.start[index];
  const lines = [track.name(index), `${ns ? span(ns) + " from" : "at"} ${seconds(track.start[index], 6)} s`];
  if (track.self[index] < ns) lines[1] += `, itself ${span(track.self[index])}`;
  if (track.kind === "phase") {
    const split = track.details(index).filter(([label, value]) => label.endsWith("_ns") && value);
    lines.push(split.map(([label, value]) => told(label, value).join(" ")).join(", "));
  }
  return lines;
}

// The names at the left: real buttons, so that keys and screen readers find them. Only those in sight exist.
class Names {
  constructor(timeline, box) {
    Object.assign(this, { timeline, box, made: new Map() });
  }

  show(blocks) {
    this.box.style.width = this.timeline.left - 6 + "px";
    const seen = new Set(blocks.map((b) => b.item));
    for (const [item, name] of this.made) {
      if (seen.has(item) || name === document.activeElement) continue;
      name.remove();
      this.made.delete(item);
    }
    for (const block of blocks) this.place(block);
  }

  place({ item, y, depth }) {
    if (!this.made.has(item)) {
      const name = this.make(item);
      this.made.set(item, name);
      this.box.append(name);
    }
    const name = this.made.get(item);
    name.style.top = HEAD + y + "px";
    name.style.paddingLeft = 8 + Math.min(4, depth) * 9 + "px";
    if (name.tagName === "BUTTON") name.setAttribute("aria-expanded", String(item.open));
  }

  make(item) {
    const more = item instanceof Group || item.rows.length > 1 || item.children.length;
    const note = item.hidden ? `${item.title}: ${item.hidden} spans lie deeper than ${MAX_ROWS} rows` : item.title;
    if (!more) return element("span", { title: note }, item.title);
    return element("button", { type: "button", title: note, onclick: () => this.toggle(item) }, item.title);
  }

  toggle(item) {
    item.open = !item.open;
    this.timeline.arrange();
  }
}
