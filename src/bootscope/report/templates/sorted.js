// SPDX-License-Identifier: Apache-2.0
// Tables that are sorted by a click on a heading, filtered by a text, and copied as text for a spreadsheet.
"use strict";

class Sorted {
  constructor(table) {
    this.table = table;
    this.body = table.tBodies[0];
    this.rows = [...this.body.rows];
    this.column = -1;
    this.down = false;
    this.heads = [...table.tHead.rows[0].cells];
    this.heads.forEach((head, column) => this.headed(head, column));
    this.tools();
  }

  headed(head, column) {
    if (head.tagName !== "TH" || head.classList.contains("bar")) return;
    const asked = element("button", { type: "button", class: "sort", onclick: () => this.sort(column) });
    asked.append(...head.childNodes);
    head.append(asked);
  }

  tools() {
    this.count = element("output", { "aria-live": "polite" });
    this.field = element("input", { type: "search", placeholder: "filter", "aria-label": "filter the rows", class: "find",
      oninput: () => this.filter() });
    const copy = element("button", { type: "button", onclick: (e) => this.copy(e.target) }, "copy as text");
    const place = this.table.closest(".scroll") || this.table;
    place.before(element("p", { class: "tools" }, this.field, copy, this.count));
  }

  // Numbers fall first, texts rise first; a third click brings back the order of the page.
  sort(column) {
    const numeric = this.rows.some((row) => valueOf(row.cells[column]) !== null);
    if (this.column !== column) { this.column = column; this.down = numeric; }
    else if (this.down === numeric) this.down = !numeric;
    else this.column = -1;
    const by = this.column < 0 ? this.rows : [...this.rows].sort((a, b) => this.compare(a, b, column, numeric));
    this.body.append(...by);
    this.heads.forEach((head, k) => {
      if (k === this.column) head.setAttribute("aria-sort", this.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }

  // Empty cells come last, whichever way.
  compare(a, b, column, numeric) {
    const sign = this.down ? -1 : 1, [x, y] = [a, b].map((row) => row.cells[column]);
    if (!numeric) return sign * x.textContent.localeCompare(y.textContent, "en", { numeric: true });
    const [m, n] = [valueOf(x), valueOf(y)];
    return m === null || n === null ? Number(m === null) - Number(n === null) : sign * (m - n);
  }

  // Other rows in the place of those that are there.
  take(rows) {
    this.rows = rows;
    this.column = -1;
    this.body.replaceChildren(...rows);
    for (const head of this.heads) head.removeAttribute("aria-sort");
    this.filter();
  }

  filter() {
    const wanted = this.field.value.toLowerCase();
    let shown = 0;
    for (const row of this.rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
      if (!row.hidden) shown++;
    }
    this.count.textContent = wanted ? `${shown} of ${this.rows.length} rows` : "";
  }

  // The rows that are shown, cells apart by tabs.
  text() {
    const line = (row) => [...row.cells].filter((c) => !c.classList.contains("bar")).map((c) => c.textContent.trim().replace(/\s+/g, " ")).join("\t");
    return [this.table.tHead.rows[0], ...[...this.body.rows].filter((row) => !row.hidden)].map(line).join("\n") + "\n";
  }

  copy(asked) {
    navigator.clipboard.writeText(this.text()).then(() => flash(asked, "copied"), () => this.select());
  }

  // Where a page may not write to the clipboard, the rows are selected, for the user's own copying.
  select() { getSelection().selectAllChildren(this.table); }
}

const FACTORS = { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, "%": 1 };

// The number that a cell begins with, times its unit; null where it begins with none.
function valueOf(cell) {
  const found = cell && cell.textContent.trim().match(/^[≥≤±]? ?([-+]?[\d,]+(?:\.\d+)?)(?: (ns|µs|ms|s|B|kB|MB|GB|%))?(?![\w.])/);
  return found ? Number(found[1].replaceAll(",", "")) * (FACTORS[found[2]] || 1) : null;
}
