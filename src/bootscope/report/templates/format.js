// SPDX-License-Identifier: Apache-2.0
// Times, sizes and colours, as the whole page shows them. No libraries: it must work without a network.
"use strict";

function seconds(ns, digits) { return (ns / 1e9).toFixed(digits); }

/** A length of time with a unit that fits. @param {number} ns @returns {string} */
function span(ns) {
  const size = Math.abs(ns);
  if (size >= 1e9) return (ns / 1e9).toFixed(3) + " s";
  if (size >= 1e6) return (ns / 1e6).toFixed(3) + " ms";
  if (size >= 1e3) return (ns / 1e3).toFixed(2) + " µs";
  return Math.round(ns) + " ns";
}

function bytes(count) {
  const units = ["GB", "MB", "kB"], at = [1e9, 1e6, 1e3].findIndex((factor) => Math.abs(count) >= factor);
  if (at >= 0) return (count / 1000 ** (3 - at)).toFixed(1) + " " + units[at];
  return count + " B";
}

// A detail's label and value for people: the unit stands in the label.
function told(label, value) {
  if (typeof value !== "number") return [label, value];
  if (label.endsWith("_ns")) return [label.slice(0, -3).replaceAll("_", " "), span(value)];
  if (label === "bytes" || label.endsWith("_bytes")) return [label.replaceAll("_", " "), bytes(value)];
  return [label.replaceAll("_", " "), value.toLocaleString("en")];
}

// The distance between ruler marks: 1, 2 or 5 times a power of ten.
function step(visible, marks) {
  const raw = Math.max(1, visible / Math.max(1, marks)), power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((n) => n * power).find((s) => s >= raw * 0.999999);
}

// `text` cut to fit into `room` pixels; "" when hardly anything would be left. Letters of the page's
// font are taken as 6.2 pixels wide, which costs nothing to know.
const LETTER = 6.2;
function fitted(text, room) {
  const letters = Math.floor(room / LETTER);
  if (text.length <= letters) return text;
  return letters < 4 ? "" : text.slice(0, letters - 1) + "…";
}

// The colours of the style sheet, read once for each painting at most.
const COLOURS = ["paper", "ink", "quiet", "line", "card", "good", "hit", "link", "cpu", "storage", "console", "idle", "fixed",
  "initcall", "probe", "service", "function", "pin", "irq", "other", "flame1", "flame2", "flame3", "flame4", "flame5"];
/** @type {Object<string, any> | null} */
let palette = null;
function colours() {
  if (!palette) {
    const style = getComputedStyle(document.documentElement);
    palette = { on: {} };
    for (const name of COLOURS) {
      palette[name] = style.getPropertyValue("--" + name).trim();
      palette.on[name] = luminance(palette[name]) > 0.18 ? DARK : LIGHT;
    }
    palette.open = hatched(palette.console);
  }
  return palette;
}

// Text on a colour is the one of the two that stands out by 4.5:1 (WCAG 2.2, relative luminance).
const DARK = "#000000", LIGHT = "#ffffff";
function luminance(colour) {
  const [r, g, b] = colour.slice(1).match(/../g).map((hex) => {
    const c = parseInt(hex, 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// Slanting lines of a colour on nothing.
function hatched(colour) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const g = tile.getContext("2d");
  g.strokeStyle = colour;
  g.lineWidth = 1.6;
  for (const x of [-8, 0, 8]) { g.moveTo(x, 8); g.lineTo(x + 8, 0); }
  g.stroke();
  return g.createPattern(tile, "repeat");
}

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// A canvas of the size it has on the page, sharp on every screen; everything on it is painted anew.
function surface(canvas, width, height) {
  const scale = devicePixelRatio || 1;
  const wide = Math.round(width * scale), high = Math.round(height * scale);
  const g = canvas.getContext("2d");
  if (canvas.width !== wide || canvas.height !== high) { canvas.width = wide; canvas.height = high; }
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.clearRect(0, 0, width, height);
  g.font = "12px system-ui, sans-serif";
  g.textBaseline = "middle";
  return g;
}
