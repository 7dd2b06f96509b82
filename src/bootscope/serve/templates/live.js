// SPDX-License-Identifier: Apache-2.0
// Follows a recording: what the server tells becomes text, never markup.
"use strict";

const LIVE_ROWS = 2000, LIVE_COLOURS = 8;
const SVG = "http://www.w3.org/2000/svg";

/** The first element of the page that fits. @param {string} selector @returns {HTMLElement} */
function the(selector) { return document.querySelector(selector); }

/** An element with a class and a text. @param {string} tag @param {string} kind @param {string} text */
function made(tag, kind, text) {
  const found = document.createElement(tag);
  if (kind) found.className = kind;
  found.textContent = text;
  return found;
}

class LiveConsole {
  constructor() {
    this.body = the(".live .console tbody");
    this.box = the(".live .scroll");
    this.first = 0;
    this.follows = /** @type {HTMLInputElement} */ (the(".follow"));
  }

  clear() { this.body.replaceChildren(); this.first = 0; }

  // Lines from number `from` on replace those that are there; older ones give way.
  take(from, total, lines) {
    if (!this.body.childElementCount) this.first = from;
    while (this.first + this.body.childElementCount > from && this.body.lastElementChild) this.body.lastElementChild.remove();
    if (from > this.first + this.body.childElementCount) this.clear(), this.first = from;
    this.body.append(...lines.map((line) => this.row(line)));
    while (this.body.childElementCount > LIVE_ROWS) { this.body.firstElementChild.remove(); this.first++; }
    the(".counted").textContent = this.first ? `${total} lines, the last ${total - this.first} of them here` : `${total} lines`;
    if (lines.length && this.follows.checked) this.box.scrollTop = this.box.scrollHeight;
  }

  row([time, phase, text]) {
    const row = document.createElement("tr"), cell = made("td", "text", "");
    cell.append(made("code", "", text));
    row.append(made("td", "", time), made("td", "text", phase), cell);
    return row;
  }
}

// The phases as bars on one scale of time, and a tick for each line.
function paintPhases(phases, now) {
  const svg = the("svg.phases"), list = the(".phase-list"), whole = Math.max(1, now, ...phases.map((p) => p[2]));
  svg.replaceChildren(...phases.map(([, start, end], at) => bar(`p${at % LIVE_COLOURS}`, start / whole, (end - start) / whole, 8, 48)));
  list.replaceChildren(...phases.map(([name, start, end], at) => {
    const group = document.createElement("div"), head = made("dt", "", "");
    head.append(made("i", `p${at % LIVE_COLOURS}`, ""), name);
    group.append(head, made("dd", "", `${(start / 1000).toFixed(3)} s, ${((end - start) / 1000).toFixed(3)} s long${at + 1 === phases.length ? " so far" : ""}`));
    return group;
  }));
}

function bar(kind, left, width, top, height) {
  const rect = document.createElementNS(SVG, "rect");
  const places = { class: kind, x: 1000 * left, width: Math.max(1, 1000 * width), y: top, height };
  for (const [name, value] of Object.entries(places)) rect.setAttribute(name, String(value));
  return rect;
}

function paintMilestones(milestones) {
  the(".reached").replaceChildren(...milestones.map(([name, time]) => {
    const group = document.createElement("div");
    group.append(made("dt", "", name), made("dd", "", `${time} s`));
    return group;
  }));
}

function stateIs(words, kind) {
  const what = the(".state .what");
  what.textContent = words;
  what.className = `what ${kind}`;
}

function tell(selector, words) {
  const place = the(selector);
  place.textContent = words;
  place.hidden = !words;
}

function heard(told, shown) {
  if (told.gone) return stateIs("this run was deleted", "off");
  tell(".trouble", told.trouble || "");
  if (told.boot === undefined) return stateIs("cannot be followed", "off");
  if (told.fresh) shown.clear();
  the(".boot").textContent = told.boot ? `boot ${told.boot}, ${(told.now / 1000).toFixed(3)} s` : "before the first boot";
  the(".clock").textContent = told.clock;
  shown.take(told.from, told.total, told.lines);
  paintPhases(told.phases, told.now);
  paintMilestones(told.milestones);
  the(".ended").replaceChildren(...told.ended.map((words) => made("li", "", words)));
  stateIs(told.over ? "recorded" : "recording", told.over ? "" : "on");
  the(".finished").hidden = !told.over;
}

function follow() {
  const source = new EventSource(the(".live").dataset.events), shown = new LiveConsole();
  source.onmessage = (event) => {
    const told = JSON.parse(event.data);
    heard(told, shown);
    if (told.over) source.close();
  };
  // The browser connects again by itself, and is told everything anew.
  source.onerror = () => stateIs("the server does not answer", "off");
}

follow();
