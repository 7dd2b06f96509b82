// SPDX-License-Identifier: Apache-2.0
// Follows a recording: what the server tells becomes text, never markup.
"use strict";

const LIVE_ROWS = 2000;

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

function listPhases(phases) {
  the(".phase-list").replaceChildren(...phases.map(([name, start, end], at) => {
    const group = document.createElement("div");
    const length = `${(start / 1000).toFixed(3)} s, ${((end - start) / 1000).toFixed(3)} s long${at + 1 === phases.length ? " so far" : ""}`;
    group.append(made("dt", "", name), made("dd", "", length));
    return group;
  }));
}

// The report's timeline of a boot that goes on: phases, and a mark for each console line.
class LiveTimeline {
  constructor() {
    this.lines = [];
    this.timeline = null;
    this.search = null;
  }

  // The same columns as the report's (columns.py); moments come as milliseconds or as seconds in words.
  take(told) {
    if (told.fresh || told.from > this.lines.length) this.lines = [];
    this.lines.length = Math.min(told.from, this.lines.length);
    this.lines.push(...told.lines.map(([time, , text]) => ({ name: text, start: Math.round(Number(time) * 1e9), end: Math.round(Number(time) * 1e9) })));
    const phases = told.phases.map(([name, start, end]) => ({ name, start: start * 1e6, end: end * 1e6 }));
    const texts = new Map(), tracks = [rawTrack("phase", "phases", phases, texts), rawTrack("line", "lines", this.lines, texts)];
    const milestones = told.milestones.map(([name, time]) => [name, Math.round(Number(time) * 1e9)]);
    const total_ns = Math.max(told.now * 1e6, ...milestones.map(([, ns]) => ns));
    const model = new Model({ texts: [...texts.keys()], total_ns, milestones, tracks });
    if (!this.timeline) this.begin(model); else this.timeline.take(model);
    if (this.search.wanted) this.search.mark();
  }

  begin(model) {
    const section = the("section.tracks");
    this.timeline = new Timeline(section.parentElement, model);
    this.search = new Search(section, this.timeline, new Panel(section, this.timeline));
  }
}

function rawTrack(kind, title, spans, texts) {
  const number = (text) => { if (!texts.has(text)) texts.set(text, texts.size); return texts.get(text); };
  const start = spans.map((span, k) => span.start - (k ? spans[k - 1].start : 0)), length = spans.map((span) => span.end - span.start);
  return { id: kind, kind, title, parent: "", overlaps: false, start, length, name: spans.map((span) => number(span.name)), shapes: [[]], shape: [], values: [] };
}

function listMilestones(milestones) {
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

function heard(told, shown, timeline) {
  if (told.gone) return stateIs("this run was deleted", "off");
  tell(".trouble", told.trouble || "");
  if (told.boot === undefined) return stateIs("cannot be followed", "off");
  if (told.fresh) shown.clear();
  the(".boot").textContent = told.boot ? `boot ${told.boot}, ${(told.now / 1000).toFixed(3)} s` : "before the first boot";
  the(".clock").textContent = told.clock;
  shown.take(told.from, told.total, told.lines);
  timeline.take(told);
  listPhases(told.phases);
  listMilestones(told.milestones);
  the(".ended").replaceChildren(...told.ended.map((words) => made("li", "", words)));
  stateIs(told.over ? "recorded" : "recording", told.over ? "" : "on");
  the(".finished").hidden = !told.over;
}

function follow() {
  const source = new EventSource(the(".live").dataset.events), shown = new LiveConsole(), timeline = new LiveTimeline();
  source.onmessage = (event) => {
    const told = JSON.parse(event.data);
    heard(told, shown, timeline);
    if (told.over) source.close();
  };
  // The browser connects again by itself, and is told everything anew.
  source.onerror = () => stateIs("the server does not answer", "off");
}

follow();
