// SPDX-License-Identifier: Apache-2.0
// Puts the page together: a timeline and a flame graph for each boot, the tables that act on them.
"use strict";

const timelines = [], flames = [], searches = [], links = [];

function wire(main, at) {
  const data = JSON.parse(main.querySelector("script.data").textContent);
  const section = main.querySelector("section.tracks");
  const timeline = new Timeline(main, new Model(data));
  timelines.push(timeline);
  const search = new Search(section, timeline, new Panel(section, timeline));
  searches.push(search);
  links.push(new Link(at + 1, timeline, search));
  section.querySelector("[data-copy]").addEventListener("click", (e) => copyLink(e.target, links[at]));
  const flame = main.querySelector("section.flames");
  if (flame) flames.push(new Flame(flame, data));
  main.querySelectorAll(".goto, .phases tbody tr").forEach((asked) => {
    const go = () => {
      timeline.show(Number(asked.dataset.start), Number(asked.dataset.end));
      section.scrollIntoView({ block: "start" });
    };
    asked.addEventListener("click", go);
    if (asked.tagName === "TR") asked.addEventListener("keydown", (e) => { if (e.key === "Enter") go(); });
  });
}

function copyLink(asked, link) {
  const address = location.href.split("#")[0] + "#" + link.text();
  navigator.clipboard.writeText(address).then(() => flash(asked, "copied"), () => flash(asked, "the address has it"));
  history.replaceState(null, "", "#" + link.text());
}

// Other words on a button, for a moment.
function flash(asked, words) {
  const before = asked.textContent;
  asked.textContent = words;
  setTimeout(() => { asked.textContent = before; }, 1200);
}

document.querySelectorAll(".boot").forEach(wire);
document.querySelectorAll("table.sorts").forEach((table) => {
  const sorted = new Sorted(table), section = table.closest("section");
  if (section.querySelector("script.consoles")) new Consoles(section, sorted);
});
function restore() { if (location.hash.startsWith("#view=")) links.some((link) => link.restore(location.hash.slice(1))); }
addEventListener("hashchange", restore);
restore();

// On paper all is light, whatever the screen is.
function printing(now) {
  document.documentElement.classList.toggle("printing", now);
  palette = null;
  for (const drawn of [...timelines, ...flames]) drawn.paint(now);
}
addEventListener("beforeprint", () => printing(true));
addEventListener("afterprint", () => printing(false));
