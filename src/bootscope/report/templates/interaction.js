// SPDX-License-Identifier: Apache-2.0
// What people do to a timeline: wheel, drag, two fingers, keys, pointing. As in Perfetto: Ctrl+wheel and W, S zoom,
// A and D move, a drag measures. A plain wheel scrolls the page, wherever it is.
"use strict";

const KEYS = { "+": "in", "=": "in", "-": "out", w: "in", s: "out", a: "left", d: "right", 0: "all", ArrowLeft: "left",
  ArrowRight: "right", n: "next", p: "previous", Enter: "fit", Escape: "clear" };

class Interaction {
  constructor(timeline) {
    this.timeline = timeline;
    this.fingers = new Map();
    this.start = null;
    // The moment under the pointer.
    this.moment = null;
    const box = timeline.box, on = (name, does, how = undefined) => box.addEventListener(name, does, how);
    on("wheel", (e) => this.wheel(e), { passive: false });
    on("pointerdown", (e) => this.down(e));
    on("pointermove", (e) => this.move(e));
    on("pointerup", (e) => this.up(e));
    on("pointercancel", (e) => this.fingers.delete(e.pointerId));
    on("pointerleave", () => { timeline.tip.hidden = true; this.moment = null; });
    on("dblclick", (e) => { if (this.inside(e)) timeline.act("all"); });
    on("keydown", (e) => this.key(e));
  }

  // Where an event lies: from the left of the box, and from the top of the head, which sticks.
  place(e) {
    const box = this.timeline.box, frame = box.getBoundingClientRect(), head = this.timeline.head.getBoundingClientRect();
    return [e.clientX - frame.left - box.clientLeft, e.clientY - head.top];
  }

  inside(e) {
    const [x] = this.place(e);
    return x >= this.timeline.left && x < this.timeline.box.clientWidth;
  }

  wheel(e) {
    if (!this.inside(e)) return;
    const t = this.timeline, sideways = e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY);
    if (e.ctrlKey || e.metaKey) t.zoom((e.deltaY || e.deltaX) < 0 ? 1 / 1.3 : 1.3, t.time(this.place(e)[0]));
    else if (sideways) t.act((e.deltaX || e.deltaY) < 0 ? "left" : "right");
    else return;
    e.preventDefault();
  }

  down(e) {
    if (!this.inside(e) || e.button || e.target.closest("button")) return;
    this.fingers.set(e.pointerId, e);
    const t = this.timeline;
    this.start = { from: t.from, to: t.to, at: t.time(this.place(e)[0]), e, moved: false, pans: e.shiftKey || e.pointerType !== "mouse" };
    t.box.setPointerCapture(e.pointerId);
  }

  move(e) {
    this.moment = this.timeline.time(this.place(e)[0]);
    if (!this.fingers.has(e.pointerId)) { this.point(e); return; }
    const t = this.timeline, before = [...this.fingers.values()];
    this.fingers.set(e.pointerId, e);
    if (before.length === 2) { this.pinch(before, [...this.fingers.values()]); return; }
    const { from, to, at, e: first, pans } = this.start, dx = e.clientX - first.clientX, dy = e.clientY - first.clientY;
    if (Math.abs(dx) + Math.abs(dy) > 4) this.start.moved = true;
    if (!this.start.moved) return;
    t.tip.hidden = true;
    if (pans) t.show(from - dx / t.width * (to - from), to - dx / t.width * (to - from));
    else { t.measured = this.stretch(at, this.moment); t.draw(); }
  }

  // A measured stretch within what there is, its ends on milestones and flags that are near.
  stretch(a, b) {
    const t = this.timeline, near = (t.to - t.from) / t.width * 4;
    const marks = [...t.model.milestones.map(([, ns]) => ns), ...t.flags];
    const held = [a, b].map((ns) => Math.min(t.whole, Math.max(0, ns)));
    const [from, to] = held.map((ns) => marks.find((mark) => Math.abs(mark - ns) < near) ?? ns);
    return from < to ? [from, to] : [to, from];
  }

  pinch(before, after) {
    const apart = ([a, b]) => Math.max(10, Math.abs(a.clientX - b.clientX));
    this.start.moved = true;
    const middle = (this.place(after[0])[0] + this.place(after[1])[0]) / 2;
    this.timeline.zoom(apart(before) / apart(after), this.timeline.time(middle));
  }

  up(e) {
    if (!this.fingers.delete(e.pointerId)) return;
    const t = this.timeline, [x, y] = this.place(e);
    // The panel opens when the drag is done: it makes the timeline narrower.
    if (this.start.moved) { if (!this.start.pans) t.measure(t.measured); return; }
    if (y < RULER) { t.flag(t.time(x)); return; }
    const hit = t.at(x, y);
    if (t.measured && !hit) t.measure(null);
    else t.select(hit && hit.track, hit && hit.index);
  }

  key(e) {
    if (e.target !== this.timeline.box || e.ctrlKey || e.metaKey || e.altKey) return;
    const t = this.timeline, does = KEYS[e.key];
    if ((does === "in" || does === "out") && this.moment !== null) t.zoom(does === "in" ? 0.5 : 2, this.moment);
    else if (does) t.act(does);
    else if (e.key === "f") t.flag(this.moment ?? (t.selected ? t.selected.track.start[t.selected.index] : t.from));
    else if (e.key === "m" && t.selected) this.measureSelected();
    else if (e.key === "/") t.section.querySelector(".seek").focus();
    else return;
    e.preventDefault();
  }

  measureSelected() {
    const { track, index } = this.timeline.selected;
    this.timeline.measure([track.start[index], track.end[index]]);
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
  const lines = [track.name(index), `${ns ? track.length(index) + " from" : "at"} ${seconds(track.start[index], 6)} s`];
  if (track.self[index] < ns) lines[1] += `, itself ${span(track.self[index])}`;
  if (track.kind === "phase") {
    const split = track.details(index).filter(([label, value]) => label.endsWith("_ns") && value);
    lines.push(split.map(([label, value]) => told(label, value).join(" ")).join(", "));
  }
  return lines;
}
