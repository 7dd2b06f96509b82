// SPDX-License-Identifier: Apache-2.0
// The state of a timeline as the page's fragment, so that a link restores a view: #view=BOOT;t=FROM,TO;s=TRACK,SPAN;
// m=FROM,TO;f=FLAG,FLAG;p=TRACK,TRACK;q=TEXT. Times are nanoseconds, tracks and spans their numbers.
"use strict";

const SETTLED_MS = 300, MOST_MARKS = 100;

class Link {
  constructor(number, timeline, search) {
    this.number = number;
    this.timeline = timeline;
    this.search = search;
    this.later = 0;
    for (const what of ["select", "measure", "view"]) timeline.on(what, () => this.changed());
  }

  changed() {
    clearTimeout(this.later);
    this.later = setTimeout(() => history.replaceState(null, "", "#" + this.text()), SETTLED_MS);
  }

  text() {
    const t = this.timeline, parts = [`view=${this.number}`, `t=${Math.round(t.from)},${Math.round(t.to)}`];
    if (t.selected) parts.push(`s=${t.selected.track.number},${t.selected.index}`);
    if (t.measured) parts.push(`m=${t.measured.map(Math.round)}`);
    if (t.flags.length) parts.push(`f=${t.flags}`);
    if (t.layout.pins.size) parts.push(`p=${[...t.layout.pins].map((item) => item.number)}`);
    if (this.search.wanted) parts.push(`q=${encodeURIComponent(this.search.wanted)}`);
    return parts.join(";");
  }

  // Restores what a fragment says; anything that does not fit this boot is passed over.
  restore(text) {
    const told = new Map(text.split(";").map((part) => [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)]));
    if (told.get("view") !== String(this.number)) return false;
    const t = this.timeline, { tracks } = t.model;
    const numbers = (key) => (told.get(key) || "").split(",").slice(0, MOST_MARKS).filter(Boolean).map(Number).filter(Number.isFinite);
    const inside = (ns) => ns >= 0 && ns <= t.whole;
    for (const number of numbers("p")) if (tracks[number]) t.layout.pins.add(tracks[number]);
    t.flags = numbers("f").filter(inside).sort((a, b) => a - b);
    t.arrange();
    const query = told.get("q");
    if (query) { this.search.field.value = decoded(query); this.search.find(); }
    const [number, index] = numbers("s"), track = tracks[number];
    if (track && index >= 0 && index < track.count) t.reveal(track, index);
    const [a, b] = numbers("m");
    if (inside(a) && inside(b) && a < b) t.measure([a, b]);
    const [from, to] = numbers("t");
    if (to > from) t.show(from, to);
    t.section.scrollIntoView({ block: "start" });
    return true;
  }
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return ""; }
}
