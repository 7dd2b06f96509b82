// SPDX-License-Identifier: Apache-2.0
// Painting of rows. What falls on one pixel is one bar whose strength tells how much of the pixel's time
// is covered, so the cost of a row is its pixels and not its spans.
"use strict";

const SHADES = 4, THIN = 4, MOST_BESIDE = 3;
// How strong what was not found is drawn while something is searched for.
const DIM = 0.35;

// The stretch of time that is shown and where it lies on the canvas.
class View {
  constructor(from, to, left, width) {
    this.from = from;
    this.to = to;
    this.left = left;
    this.width = width;
    this.scale = width / (to - from);
  }

  x(t) { return this.left + (t - this.from) * this.scale; }
  time(x) { return this.from + (x - this.left) / this.scale; }
}

// Paints the spans of a row; `colour(id)` names a span's colour, `label(id)` is its text, or null for none.
function paintRow(g, row, view, y, height, colour, label) {
  const shades = colours(), right = view.left + view.width, pixel = 1 / view.scale;
  let run = null;
  const flush = () => {
    if (!run) return;
    g.globalAlpha = run.shade / SHADES * (row.dim && run.colour !== shades.hit ? DIM : 1);
    g.fillStyle = run.colour;
    g.fillRect(run.x, y, run.end - run.x, height);
    run = null;
  };
  for (let k = row.first(view.from); k < row.start.length && row.start[k] < view.to;) {
    const a = view.x(row.start[k]), b = view.x(row.end[k]);
    if (b - a >= 2) {
      flush();
      g.globalAlpha = 1;
      paintSpan(g, row, k, Math.max(view.left, a), Math.min(right, b), y, height, colour, label);
      k++;
      continue;
    }
    // All that starts on this pixel, without a last one that reaches far out of it.
    const x = Math.floor(Math.max(view.left, a)), until = view.time(x + 1);
    let next = Math.max(k + 1, row.from(k, until));
    if (next - 1 > k && (row.end[next - 1] - row.start[next - 1]) * view.scale >= 2) next--;
    const share = (row.covered[next] - row.covered[k]) / pixel;
    const hit = row.hits[next] > row.hits[k];
    const shade = hit ? SHADES : Math.max(1, Math.min(SHADES, Math.round(share * SHADES + 0.3)));
    const paint = hit ? shades.hit : shades[colour(row.ids[k])];
    if (!run || run.shade !== shade || run.colour !== paint || run.end < x) {
      flush();
      run = { x, end: x + 1, shade, colour: paint };
    } else run.end = x + 1;
    k = next;
  }
  flush();
  g.globalAlpha = 1;
}

function paintSpan(g, row, k, a, b, y, height, colour, label) {
  const shades = colours(), name = colour(row.ids[k]), hit = row.hits[k + 1] > row.hits[k];
  g.fillStyle = hit ? shades.hit : shades[name];
  g.globalAlpha = row.dim && !hit ? DIM : 1;
  // What waits is a thin bar: what is at work stands out. A gap tells neighbours apart.
  const thin = name === "idle" && !hit, wide = b - a > 4 ? b - a - 1 : b - a;
  g.fillRect(a, thin ? y + height - THIN : y, wide, thin ? THIN : height);
  const text = label && b - a > 28 ? fitted(label(row.ids[k]), b - a - 8) : "";
  if (!text) return;
  g.fillStyle = thin ? shades.quiet : row.dim && !hit ? shades.ink : shades.on[hit ? "hit" : name];
  g.globalAlpha = 1;
  g.fillText(text, a + 4, y + height / 2 + (thin ? -1 : 0.5));
}

// The names of spans that are too short to hold them, beside them: as a chart of units has them.
function paintBeside(g, row, view, y, height, label) {
  if (row.start.length > MOST_BESIDE) return;
  const end = view.left + view.width;
  for (let k = row.first(view.from); k < row.start.length && row.start[k] < view.to; k++) {
    const a = view.x(row.start[k]), b = view.x(row.end[k]), text = label(row.ids[k]), wide = text.length * LETTER;
    if (b - a > 28 && fitted(text, b - a - 8) === text) continue;
    const left = b + 5 + wide <= end ? b + 5 : a - 5 - wide;
    if (left < view.left) continue;
    g.fillStyle = colours().quiet;
    g.fillText(text, left, y + height / 2 + 0.5);
  }
}

function paintRuler(g, view, height, marks) {
  const shades = colours(), distance = step(view.to - view.from, view.width / 110);
  const digits = Math.max(0, Math.min(9, Math.ceil(9 - Math.log10(distance))));
  const first = Math.ceil(view.from / distance);
  for (let n = first; n * distance <= view.to; n++) {
    const x = Math.round(view.x(n * distance));
    g.fillStyle = shades.line;
    g.fillRect(x, marks ? height - 5 : 0, 1, height);
    if (!marks || x > view.left + view.width - 30) continue;
    g.fillStyle = shades.quiet;
    g.fillText(seconds(n * distance, digits) + " s", x + 3, height / 2);
  }
}

// A phase is drawn as a whole with its name; below it stays room for what its moments went into.
function paintPhases(g, phases, view, y, height) {
  if (phases) for (const row of phases.rows) paintPhaseRow(g, phases, row, view, y, height);
}

// Phases that overlap by a rounding are in rows of their own, and painted on one line.
function paintPhaseRow(g, phases, row, view, y, height) {
  const shades = colours();
  for (let k = row.first(view.from); k < row.start.length && row.start[k] < view.to; k++) {
    const id = row.ids[k], from = row.start[k], to = row.end[k];
    const a = Math.max(view.left, view.x(from)), b = Math.min(view.left + view.width, view.x(to));
    g.globalAlpha = id % 2 ? 0.28 : 0.16;
    g.fillStyle = row.hits[k + 1] > row.hits[k] ? shades.hit : shades.ink;
    g.fillRect(a, y, Math.max(1, b - a), height - 12);
    g.globalAlpha = 1;
    g.fillStyle = shades.ink;
    const text = fitted(`${phases.name(id)} ${phases.length(id)}`, b - a - 8) || fitted(phases.name(id), b - a - 4);
    if (text) g.fillText(text, a + 4, y + (height - 12) / 2);
  }
}

// What each moment went into. A column of pixels is divided as the time that it stands for was, from the bottom up.
function paintSpent(g, spent, view, y, height) {
  const shades = colours(), left = Math.round(view.left), right = Math.round(view.left + view.width);
  let since = left, last = null;
  const flush = (until) => {
    let low = y + height;
    for (let kind = 0; last && kind < KINDS.length; kind++) {
      const high = last[kind] * height;
      g.fillStyle = shades[KINDS[kind]];
      if (high > 0) g.fillRect(since, low - high, until - since, high);
      low -= high;
    }
    since = until;
  };
  for (let x = left; x < right; x++) {
    const shares = spent.shares(Math.max(view.from, view.time(x)), Math.min(view.to, view.time(x + 1)));
    if (last && shares.every((share, kind) => Math.abs(share - last[kind]) < 0.01)) continue;
    flush(x);
    last = shares;
  }
  flush(right);
}

// Console lines: hatched while a line is begun and not ended, solid where the boot waited for the serial line.
function paintLines(g, row, waits, view, y, height, label) {
  paintRow(g, row, view, y, height, () => "open", null);
  waits.dim = row.dim;
  paintRow(g, waits, view, y, height, () => "console", null);
  g.fillStyle = colours().ink;
  g.strokeStyle = colours().paper;
  g.lineWidth = 3;
  for (let k = row.first(view.from); k < row.start.length && row.start[k] < view.to; k++) {
    const a = Math.max(view.left, view.x(row.start[k])), b = Math.min(view.left + view.width, view.x(row.end[k]));
    const text = b - a > 28 ? fitted(label(row.ids[k]), b - a - 8) : "";
    if (!text) continue;
    g.strokeText(text, a + 4, y + height / 2 + 0.5);
    g.fillText(text, a + 4, y + height / 2 + 0.5);
  }
}

// Lines through all rows, with those names that have room beside their own line.
function paintMilestones(g, milestones, view, y, height, names) {
  g.fillStyle = colours().good;
  for (const [, ns] of milestones) if (ns >= view.from && ns <= view.to) g.fillRect(view.x(ns) - 0.75, y, 1.5, height);
  if (names) for (const { name, left } of milestoneNames(milestones, view)) g.fillText(name, left, y + 8);
}

const SAME_PLACE = 14;

// Where names stand, as { name, left, width, x }: right of their line, else left of it, never across another name or
// the line of another moment. The last milestone matters most. A name without room is left out: elsewhere it would
// name another moment.
function milestoneNames(milestones, view) {
  const seen = milestones.filter(([, ns]) => ns >= view.from && ns <= view.to).map(([name, ns]) => ({ name, x: view.x(ns) }));
  const found = [], end = view.left + view.width + 6;
  for (const { name, x } of seen.reverse()) {
    const width = name.length * LETTER + 4;
    const free = (left) => left >= view.left && left + width <= end
      && !seen.some((other) => Math.abs(other.x - x) > SAME_PLACE && other.x > left - 4 && other.x < left + width)
      && !found.some((other) => left < other.left + other.width + 4 && other.left < left + width + 4);
    const left = [x + 4, x - 2 - width].find(free);
    if (left !== undefined) found.push({ name, left, width, x });
  }
  return found;
}

// Flags: a numbered pennant on the ruler; between two, how far they are apart.
function paintFlags(g, flags, view, y, height, named) {
  const shades = colours();
  flags.forEach((ns, k) => {
    if (ns < view.from || ns > view.to) return;
    const x = view.x(ns);
    g.fillStyle = shades.hit;
    g.fillRect(x - 0.75, y, 1.5, height);
    if (!named) return;
    const text = k ? `${k + 1}: +${span(ns - flags[k - 1])}` : `1: ${seconds(ns, 6)} s`, wide = text.length * LETTER + 8;
    const left = Math.min(x, view.left + view.width - wide);
    g.fillRect(left, y, wide, 15);
    g.fillStyle = shades.on.hit;
    g.fillText(text, left + 4, y + 8);
  });
}

// A measured stretch: shaded, with its ends as lines.
function paintMeasured(g, [from, to], view, y, height) {
  const a = Math.max(view.left, view.x(from)), b = Math.min(view.left + view.width, view.x(to));
  if (b < view.left || a > view.left + view.width) return;
  g.fillStyle = colours().link;
  g.globalAlpha = 0.14;
  g.fillRect(a, y, b - a, height);
  g.globalAlpha = 1;
  g.fillRect(a - 0.75, y, 1.5, height);
  g.fillRect(b - 0.75, y, 1.5, height);
}
