// SPDX-License-Identifier: Apache-2.0
// Boots after the first are carried compressed, and unpacked one after the other when the browser has time.
"use strict";

// The text of a packed part; a boot that is the same as an earlier one refers to it.
async function unpacked(boot, part) {
  const own = boot.querySelector(`script.packed[data-part=${part}]`);
  const from = own.dataset.same ? document.querySelector(`#boot${own.dataset.same} script.packed[data-part=${part}]`) : own;
  const bytes = Uint8Array.from(atob(from.textContent), (c) => c.charCodeAt(0));
  const Unzip = window["DecompressionStream"];
  return new Response(new Blob([bytes]).stream().pipeThrough(new Unzip("gzip"))).text();
}

// Puts the rest of a boot into the page; returns the data of its timeline. The rest was escaped when the page was made.
async function unpack(boot) {
  const [data, rest] = await Promise.all([unpacked(boot, "data"), unpacked(boot, "rest")]);
  const holder = document.createElement("template");
  holder.innerHTML = rest;
  boot.querySelector(".later").replaceWith(holder.content);
  return JSON.parse(data);
}

// Resolves when nothing else is to be done, at the latest after a moment.
function idle() {
  return new Promise((done) => {
    if ("requestIdleCallback" in window) requestIdleCallback(() => done(undefined), { timeout: 500 });
    else setTimeout(() => done(undefined), 50);
  });
}
