// SPDX-License-Identifier: Apache-2.0
// The console of any boot of a run: the choice of a boot fills the table of the one that is shown in full.
"use strict";

class Consoles {
  constructor(section, sorted) {
    this.boots = JSON.parse(section.querySelector("script.consoles").textContent);
    this.sorted = sorted;
    this.own = sorted.rows;
    this.told = section.querySelector(".console-cut");
    this.choice = section.querySelector(".console-boot");
    this.boots.forEach((boot, k) => this.choice.append(element("option", { value: String(k) }, boot.name)));
    this.choice.addEventListener("change", () => this.show(this.choice.value));
  }

  show(choice) {
    const boot = choice === "" ? null : this.boots[Number(choice)];
    this.told.textContent = boot && boot.cut ? `${boot.cut.toLocaleString("en")} more lines of this boot are not in the page` : "";
    this.sorted.take(boot ? boot.lines.map(([time, text]) => this.row(time, text)) : this.own);
  }

  // In other boots nothing tells the phase of a line; the time since the line before is in the times.
  row(time, text) {
    return element("tr", {}, element("td", {}, time), element("td", {}), element("td", {}),
      element("td", { class: "text" }, element("code", {}, text)));
  }
}
