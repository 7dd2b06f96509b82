// SPDX-License-Identifier: Apache-2.0
// All that is known of the span that was clicked, and the search over all spans.
"use strict";

const MOST = 12;

class Details {
  constructor(section, timeline) {
    Object.assign(this, { timeline, box: section.querySelector(".details") });
    timeline.onselect = (track, index) => this.show(track, index);
  }

  show(track, index) {
    this.box.replaceChildren();
    this.box.hidden = !track;
    if (!track) return;
    const t = this.timeline, ns = track.end[index] - track.start[index], parent = track.parent[index];
    const button = (words, does) => element("button", { type: "button", onclick: does }, words);
    this.box.append(element("h4", {}, track.name(index) || "(no name)"), element("p", { class: "tools" },
      button("zoom to it", () => t.act("fit")), button("previous", () => t.act("previous")),
      button("next", () => t.act("next")), button("close", () => { t.act("clear"); t.box.focus(); })));
    const rows = [["track", track.title], ["start", seconds(track.start[index], 9) + " s"]];
    if (ns) rows.push(["end", seconds(track.end[index], 9) + " s"], ["length", span(ns)]);
    if (ns && !track.overlaps) rows.push(["itself", `${span(track.self[index])} (${percent(track.self[index], ns)})`]);
    rows.push(...track.details(index).map(([label, value]) => told(label, value)));
    const table = element("table", {}, ...rows.map(([a, b]) => element("tr", {}, element("th", {}, a), element("td", {}, b))));
    const jump = (i) => button(track.name(i) || "(no name)", () => t.reveal(track, i));
    if (parent >= 0) table.append(element("tr", {}, element("th", {}, "within"), element("td", {}, jump(parent))));
    this.box.append(table, ...this.inner(track, index, jump));
  }

  // The longest of what ran inside.
  inner(track, index, jump) {
    const inner = track.overlaps ? [] : track.childrenOf(index);
    if (!inner.length) return [];
    const length = (i) => track.end[i] - track.start[i];
    inner.sort((a, b) => length(b) - length(a));
    const rows = inner.slice(0, MOST).map((i) => element("tr", {}, element("td", {}, jump(i)), element("td", {}, span(length(i)))));
    const words = inner.length > MOST ? `the longest ${MOST} of ${inner.length} inside` : "inside";
    return [element("table", { class: "inner" }, element("caption", {}, words), ...rows)];
  }
}

function percent(part, whole) { return (100 * part / whole).toFixed(1) + " %"; }

// Finds text in the names and details of all spans; marks what it found, goes from one to the next.
class Search {
  constructor(section, timeline) {
    Object.assign(this, { timeline, hits: [], at: -1, wanted: "" });
    this.field = section.querySelector(".seek");
    this.told = section.querySelector(".sought");
    this.field.addEventListener("input", () => { clearTimeout(this.later); this.later = setTimeout(() => this.find(), 120); });
    this.field.addEventListener("keydown", (e) => {
      if (e.key === "Enter") { e.preventDefault(); this.go(e.shiftKey ? -1 : 1); }
      if (e.key === "Escape") { this.field.value = ""; this.find(); }
    });
    section.querySelectorAll("[data-seek]").forEach((b) => b.addEventListener("click", () => this.go(Number(b.dataset.seek))));
  }

  find() {
    const wanted = this.field.value.trim().toLowerCase(), { model } = this.timeline;
    this.wanted = wanted;
    this.at = -1;
    this.hits = [];
    const texts = wanted ? model.texts.map((text) => text.toLowerCase().includes(wanted)) : [];
    for (const track of model.tracks) {
      const found = wanted ? this.inTrack(track, texts) : null;
      for (const row of track.rows) row.mark(found);
    }
    this.hits.sort((a, b) => a[0].start[a[1]] - b[0].start[b[1]]);
    this.tell();
    this.timeline.draw();
  }

  inTrack(track, texts) {
    const { raw } = track, found = new Uint8Array(track.count), shapes = raw.shapes.map((s) => s.map((l) => l[0] === "$"));
    for (let i = 0, value = 0; i < track.count; i++) {
      let hit = texts[raw.name[i]];
      for (const isText of shapes[raw.shape.length ? raw.shape[i] : 0] || []) {
        hit = hit || (isText && texts[raw.values[value]]);
        value++;
      }
      if (!hit) continue;
      found[i] = 1;
      this.hits.push([track, i]);
    }
    return found;
  }

  go(by) {
    clearTimeout(this.later);
    if (this.field.value.trim().toLowerCase() !== this.wanted) this.find();
    if (!this.hits.length) return;
    // The first step goes to the first hit of what is in sight.
    if (this.at < 0) {
      const inSight = this.hits.findIndex(([track, i]) => track.end[i] >= this.timeline.from);
      this.at = Math.max(0, inSight) - (by > 0 ? 1 : 0);
    }
    this.at = (this.at + by + this.hits.length) % this.hits.length;
    this.timeline.reveal(...this.hits[this.at]);
    this.tell();
  }

  tell() {
    const count = this.hits.length.toLocaleString("en");
    if (!this.wanted) this.told.textContent = "";
    else this.told.textContent = this.at < 0 ? `${count} found` : `${(this.at + 1).toLocaleString("en")} of ${count}`;
  }
}
