// SPDX-License-Identifier: Apache-2.0
// Finds text in the names and details of all spans, marks what it found, and lists it by duration in the panel.
"use strict";

const LISTED = 200;

class Search {
  constructor(section, timeline, panel) {
    this.timeline = timeline;
    this.panel = panel;
    this.hits = [];
    this.at = -1;
    this.wanted = "";
    this.later = 0;
    this.field = section.querySelector(".seek");
    this.told = section.querySelector(".sought");
    this.field.addEventListener("input", () => { clearTimeout(this.later); this.later = setTimeout(() => this.find(), 120); });
    this.field.addEventListener("keydown", (e) => {
      if (e.key === "Enter") { e.preventDefault(); this.go(e.shiftKey ? -1 : 1); }
      if (e.key === "Escape") { this.field.value = ""; this.find(); }
    });
    section.querySelectorAll("[data-seek]").forEach((b) => b.addEventListener("click", () => this.go(Number(b.dataset.seek))));
    section.querySelector("[data-list]").addEventListener("click", () => { this.fresh(); this.list(); });
  }

  find() {
    this.at = -1;
    this.mark();
    this.list();
    this.timeline.draw();
    this.timeline.tell("view");
  }

  // Marks what is sought in all spans that there are by now.
  mark() {
    const wanted = this.field.value.trim().toLowerCase(), { model } = this.timeline;
    this.wanted = wanted;
    this.hits = [];
    const texts = wanted ? model.texts.map((text) => text.toLowerCase().includes(wanted)) : [];
    for (const track of model.tracks) {
      const found = wanted ? this.inTrack(track, texts) : null;
      for (const row of track.rows) row.mark(found);
    }
    this.hits.sort((a, b) => a[0].start[a[1]] - b[0].start[b[1]]);
    this.tell();
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

  // Searches for what the field holds, unless that has been done.
  fresh() {
    clearTimeout(this.later);
    if (this.field.value.trim().toLowerCase() !== this.wanted) this.find();
  }

  go(by) {
    this.fresh();
    if (!this.hits.length) return;
    // The first step goes to the first hit of what is in sight.
    if (this.at < 0) {
      const inSight = this.hits.findIndex(([track, i]) => track.end[i] >= this.timeline.from);
      this.at = Math.max(0, inSight) - (by > 0 ? 1 : 0);
    }
    this.at = (this.at + by + this.hits.length) % this.hits.length;
    const [track, index] = this.hits[this.at];
    this.timeline.reveal(track, index);
    this.tell();
  }

  tell() {
    const count = this.hits.length.toLocaleString("en");
    if (!this.wanted) this.told.textContent = "";
    else this.told.textContent = this.at < 0 ? `${count} found` : `${(this.at + 1).toLocaleString("en")} of ${count}`;
  }

  // What was found, the longest first.
  list() {
    if (!this.hits.length) { this.panel.fill(""); return; }
    const t = this.timeline, length = ([track, i]) => track.end[i] - track.start[i];
    const longest = [...this.hits].sort((a, b) => length(b) - length(a)).slice(0, LISTED);
    const rows = longest.map(([track, i]) => element("tr", {},
      element("td", {}, button(track.name(i) || "(no name)", () => { t.reveal(track, i); })),
      element("td", {}, track.title), element("td", {}, length([track, i]) ? span(length([track, i])) : "-")));
    const more = this.hits.length - longest.length;
    const words = `by duration${more ? `; ${more.toLocaleString("en")} shorter ones are not listed` : ""}`;
    this.panel.fill(`${this.hits.length.toLocaleString("en")} found`,
      element("table", { class: "inner found-list" }, element("caption", {}, words), ...rows));
  }
}
