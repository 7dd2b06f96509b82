// SPDX-License-Identifier: Apache-2.0
// Keeps the list of runs as the store is: when it has changed, the parts of the page that show it are taken anew.
"use strict";

(() => {
  const PARTS = [".told", ".found", ".searches"];
  /** @type {HTMLElement} */
  const list = document.querySelector(".found");
  let known = list.dataset.state, busy = false, again = false;

  // What is ticked, and where the keyboard is, as they can be found in the new list.
  function kept() {
    const ticked = [...document.querySelectorAll("input[name=run]:checked")].map((/** @type {HTMLInputElement} */ box) => box.value);
    const at = document.activeElement, inside = at && at.closest(PARTS.join());
    return { ticked: new Set(ticked), href: inside ? at.getAttribute("href") : null, value: inside ? at.getAttribute("value") : null };
  }

  function put(page, { ticked, href, value }) {
    for (const part of PARTS) document.querySelector(part).replaceWith(page.querySelector(part));
    document.querySelectorAll("input[name=run]").forEach((/** @type {HTMLInputElement} */ box) => { box.checked = ticked.has(box.value); });
    const was = [...document.querySelectorAll(".found a, .found input")]
      .find((e) => (href !== null && e.getAttribute("href") === href) || (value !== null && e.getAttribute("value") === value));
    if (was instanceof HTMLElement) was.focus({ preventScroll: true });
  }

  async function refresh() {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(location.href);
      if (answer.ok) put(new DOMParser().parseFromString(await answer.text(), "text/html"), kept());
    } finally {
      busy = false;
      if (again) { again = false; refresh(); }
    }
  }

  new EventSource("/events").onmessage = (event) => {
    const { state } = JSON.parse(event.data);
    if (state && state !== known) { known = state; refresh(); }
  };
})();
