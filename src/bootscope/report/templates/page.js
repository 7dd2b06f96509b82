// SPDX-License-Identifier: Apache-2.0
// Puts the page together: a timeline and a flame graph for each boot, the tables that act on them.
"use strict";

const timelines = [], flames = [], searches = [], links = [];

function wire(main, at, data) {
  const section = main.querySelector("section.tracks");
  const timeline = new Timeline(main, new Model(data));
  timelines.push(timeline);
  const search = new Search(section, timeline, new Panel(section, timeline));
  searches.push(search);
  links.push(new Link(at + 1, timeline, search));
  section.querySelector("[data-copy]").addEventListener("click", (e) => copyLink(e.target, links[at]));
  main.querySelectorAll("section.flames").forEach((flame) => flames.push(new Flame(flame, data)));
  main.querySelectorAll(".goto, .phases tbody tr").forEach((asked) => leadsTo(asked, at));
  sortTables(main);
}

// Shows the stretch that an element is about in the timeline of boot `at`, as soon as that is there.
function leadsTo(asked, at) {
  const go = () => {
    const timeline = timelines[at];
    if (!timeline) return;
    timeline.show(Number(asked.dataset.start), Number(asked.dataset.end));
    timeline.section.scrollIntoView({ block: "start" });
  };
  asked.addEventListener("click", go);
  if (asked.tagName === "TR") asked.addEventListener("keydown", (e) => { if (e.key === "Enter") go(); });
}

function sortTables(part) {
  part.querySelectorAll("table.sorts").forEach((table) => {
    const sorted = new Sorted(table), section = table.closest("section");
    if (section.querySelector("script.consoles")) new Consoles(section, sorted);
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

function restore() { if (location.hash.startsWith("#view=")) links.some((link) => link.restore(location.hash.slice(1))); }

// The first boot is there at once, the others follow; a link into one of them works as soon as it is there.
async function start(first, ...others) {
  document.querySelectorAll("section.runs").forEach(sortTables);
  document.querySelectorAll(".runs .first").forEach((/** @type {HTMLElement} */ of) => {
    of.querySelectorAll(".goto").forEach((asked) => leadsTo(asked, Number(of.dataset.boot) - 1));
  });
  const texts = first.texts;
  wire(document.querySelector("#boot1"), 0, first);
  addEventListener("hashchange", restore);
  restore();
  for (const [at, boot] of others.entries()) {
    await idle();
    const wanted = location.hash.startsWith(`#view=${at + 2}`);
    try {
      wire(boot, at + 1, { ...await unpack(boot), texts });
    } catch (error) {
      boot.querySelector(".later").textContent = `This browser cannot unpack the rest of this boot (${error.message}); report it alone.`;
    }
    if (wanted) restore();
  }
}

const [, ...others] = document.querySelectorAll(".boot");
start(JSON.parse(document.querySelector("#boot1 script.data").textContent), ...others);

// On paper all is light, whatever the screen is.
function printing(now) {
  document.documentElement.classList.toggle("printing", now);
  palette = null;
  for (const drawn of [...timelines, ...flames]) drawn.paint(now);
}
addEventListener("beforeprint", () => printing(true));
addEventListener("afterprint", () => printing(false));
