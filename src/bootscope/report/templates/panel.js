// SPDX-License-Identifier: Apache-2.0
// The panel beside a timeline: all that is known of the selected span, or of a measured stretch, or what a search found.
"use strict";

const MOST = 12;
// Tracks that tell once more what others tell.
const AGAIN = ["spent", "path", "cpu"];

function percent(part, whole) { return (100 * part / whole).toFixed(1) + " %"; }
function button(words, does) { return element("button", { type: "button", onclick: does }, words); }
function tableOf(rows) {
  return element("table", {}, ...rows.map(([a, b]) => element("tr", {}, element("th", {}, a), element("td", {}, b))));
}

class Panel {
  constructor(section, timeline) {
    this.timeline = timeline;
    this.box = section.querySelector(".details");
    this.work = section.querySelector(".work");
    timeline.on("select", () => this.showSpan());
    timeline.on("measure", () => this.showMeasured());
  }

  // Fills the panel; without a title it goes away.
  fill(title, ...parts) {
    this.box.replaceChildren();
    this.box.hidden = !title;
    this.work.classList.toggle("beside", Boolean(title));
    if (!title) return;
    const close = () => { this.timeline.act("clear"); this.fill(""); this.timeline.box.focus({ preventScroll: true }); };
    this.box.append(element("p", { class: "tools shut" }, button("close", close)), element("h4", {}, title), ...parts);
  }

  showSpan() {
    const t = this.timeline;
    if (!t.selected) { if (!t.measured) this.fill(""); return; }
    const { track, index } = t.selected;
    const ns = track.end[index] - track.start[index], parent = track.parent[index];
    const rows = [["track", track.title], ["start", seconds(track.start[index], 9) + " s"]];
    if (ns) rows.push(["end", seconds(track.end[index], 9) + " s"], ["length", track.length(index)]);
    if (ns && !track.overlaps) rows.push(["itself", `${span(track.self[index])} (${percent(track.self[index], ns)})`]);
    rows.push(...track.details(index).map(([label, value]) => told(label, value)));
    const table = tableOf(rows), jump = (i) => button(track.name(i) || "(no name)", () => t.reveal(track, i));
    if (parent >= 0) table.append(element("tr", {}, element("th", {}, "within"), element("td", {}, jump(parent))));
    this.fill(track.name(index) || "(no name)", this.stepping(), table, ...this.inner(track, index, jump));
  }

  stepping() {
    const t = this.timeline;
    return element("p", { class: "tools" }, button("zoom to it", () => t.act("fit")),
      button("previous", () => t.act("previous")), button("next", () => t.act("next")));
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

  showMeasured() {
    const t = this.timeline;
    if (!t.measured) { if (!t.selected) this.fill(""); return; }
    const [from, to] = t.measured, rows = [["from", seconds(from, 9) + " s"], ["to", seconds(to, 9) + " s"],
      ["share of all", percent(to - from, t.whole)]];
    if (t.model.spent && to > from) {
      t.model.spent.shares(from, to).forEach((share, kind) => {
        if (share > 0) rows.push([KINDS[kind], `${span(share * (to - from))} (${percent(share, 1)})`]);
      });
    }
    const tools = element("p", { class: "tools" }, button("zoom to it", () => t.act("fit")));
    this.fill(`${span(to - from)} measured`, tools, tableOf(rows), this.within(from, to));
  }

  // What takes most of a stretch, over all tracks; what only holds the stretch is left out.
  within(from, to) {
    const t = this.timeline, found = [];
    for (const track of t.model.tracks) {
      if (track === t.model.phases || AGAIN.includes(track.kind)) continue;
      for (const row of track.rows) {
        for (let k = row.first(from); k < row.start.length && row.start[k] < to; k++) {
          const ns = Math.min(row.end[k], to) - Math.max(row.start[k], from);
          if (ns > 0 && track.colour(row.ids[k]) !== "idle") found.push([ns, track, row.ids[k]]);
        }
      }
    }
    found.sort((a, b) => b[0] - a[0]);
    const rows = found.slice(0, MOST).map(([ns, track, i]) => element("tr", {},
      element("td", {}, button(track.name(i) || "(no name)", () => t.reveal(track, i))),
      element("td", {}, track.title), element("td", {}, span(ns))));
    const words = found.length > MOST ? `the longest ${MOST} of ${found.length.toLocaleString("en")} in it` : "in it";
    return element("table", { class: "inner" }, element("caption", {}, words), ...rows);
  }
}
