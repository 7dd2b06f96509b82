// SPDX-License-Identifier: Apache-2.0
// Puts the page together: a timeline and a flame graph for each boot, the tables that act on them.
"use strict";

const timelines = [], flames = [], searches = [];

function wire(main) {
  const data = JSON.parse(main.querySelector("script.data").textContent);
  const section = main.querySelector("section.tracks");
  const timeline = new Timeline(main, new Model(data));
  timelines.push(timeline);
  new Details(section, timeline);
  searches.push(new Search(section, timeline));
  const flame = main.querySelector("section.flames");
  if (flame) flames.push(new Flame(flame, data));
  main.querySelectorAll(".phases tbody tr").forEach((row) => {
    const go = () => timeline.show(Number(row.dataset.start), Number(row.dataset.end));
    row.addEventListener("click", go);
    row.addEventListener("keydown", (e) => { if (e.key === "Enter") go(); });
  });
  const find = main.querySelector(".find");
  if (find) find.addEventListener("input", () => filter(main, find.value.toLowerCase()));
}

// Hides the lines of the console that do not hold the text.
function filter(main, wanted) {
  const rows = [...main.querySelectorAll(".console tbody tr")];
  let shown = 0;
  for (const row of rows) {
    row.hidden = !row.lastElementChild.textContent.toLowerCase().includes(wanted);
    if (!row.hidden) shown++;
  }
  main.querySelector(".found").textContent = wanted ? `${shown} of ${rows.length} lines` : "";
}

document.querySelectorAll("main").forEach(wire);

// On paper all is light, whatever the screen is.
function printing(now) {
  document.documentElement.classList.toggle("printing", now);
  palette = null;
  for (const drawn of [...timelines, ...flames]) drawn.paint();
}
addEventListener("beforeprint", () => printing(true));
addEventListener("afterprint", () => printing(false));
