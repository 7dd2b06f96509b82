// SPDX-License-Identifier: Apache-2.0
// Follows a search: what the server tells becomes text, never markup.
"use strict";

(() => {
  /** @param {string} selector @returns {HTMLElement} */
  const find = (selector) => document.querySelector(selector);
  const rows = new Map();

  function cell(tag, kind, text) {
    const found = document.createElement(tag);
    if (kind) found.className = kind;
    found.textContent = text;
    return found;
  }

  function variant([key, what, time, change, how, run]) {
    const row = document.createElement("tr"), recording = cell("td", "text", "");
    if (run) {
      const link = document.createElement("a");
      link.href = "/run/" + encodeURIComponent(run);
      link.textContent = run;
      recording.append(link);
    }
    row.append(cell("th", "", what), cell("td", "time", time), cell("td", "", change), cell("td", "text", how), recording);
    if (rows.has(key)) rows.get(key).replaceWith(row);
    else find(".search tbody").append(row);
    rows.set(key, row);
  }

  function state(words, kind) {
    find(".state .what").textContent = words;
    find(".state .what").className = `what ${kind}`;
  }

  function heard(told) {
    if (told.gone) return state("its journal was deleted", "off");
    find(".trouble").textContent = told.trouble || "";
    find(".trouble").hidden = !told.trouble;
    if (!told.rows) return state("cannot be followed", "off");
    if (told.fresh) {
      rows.clear();
      find(".search tbody").replaceChildren();
      find(".options").replaceChildren(...told.options.map((words) => cell("li", "", words)));
    }
    told.rows.forEach(variant);
    const open = told.alive ? "running" : told.alive === false ? "its process ended without a result" : "its end is not recorded";
    state(told.ended ? `ended: ${told.ended}` : open, told.ended ? "" : told.alive === false ? "off" : "on");
    find(".last").textContent = `began ${told.begun}, last entry ${told.last}, ${rows.size} variants`;
    find(".best").textContent = told.best ? `fastest so far: ${told.best}` : "";
  }

  const source = new EventSource(find(".search").dataset.events);
  source.onmessage = (event) => {
    const told = JSON.parse(event.data);
    heard(told);
    if (told.over) source.close();
  };
  source.onerror = () => state("the server does not answer", "off");
})();
