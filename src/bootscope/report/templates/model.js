// SPDX-License-Identifier: Apache-2.0
// The tracks as typed columns, laid out in rows in which nothing overlaps.
"use strict";

const MAX_ROWS = 64;
// States of processes, as against programs that are called `sleep`.
const WAITING = /^(waiting|sleeping|asleep|blocked|idle|stopped|ready)\b/i, ON_DISK = /\b(disk|storage|card)\b/i;

// Spans of a track that do not overlap, in order of time: binary search finds any place.
class Row {
  constructor(track, ids) {
    this.dim = false;
    this.ids = Int32Array.from(ids);
    this.start = Float64Array.from(ids, (i) => track.start[i]);
    this.end = Float64Array.from(ids, (i) => track.end[i]);
    // Sums of lengths, and of search hits, before each span: what a stretch holds without a walk through it.
    this.covered = new Float64Array(ids.length + 1);
    this.hits = new Int32Array(ids.length + 1);
    for (let k = 0; k < ids.length; k++) this.covered[k + 1] = this.covered[k] + this.end[k] - this.start[k];
  }

  // Index of the first span that ends after `t`, or starts there when it has no length.
  first(t) {
    let low = 0, high = this.end.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[middle] <= t && this.start[middle] < t) low = middle + 1; else high = middle;
    }
    return low;
  }

  // Index of the first span at or after `k` that starts at `t` or later.
  from(k, t) {
    let low = k, jump = 1;
    while (low + jump < this.start.length && this.start[low + jump] < t) { low += jump; jump *= 2; }
    let high = Math.min(this.start.length, low + jump);
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.start[middle] < t) low = middle + 1; else high = middle;
    }
    return low;
  }

  mark(found) {
    this.dim = Boolean(found);
    for (let k = 0; k < this.ids.length; k++) this.hits[k + 1] = this.hits[k] + (found ? found[this.ids[k]] : 0);
  }
}

class Track {
  constructor(raw, number, texts) {
    this.id = raw.id;
    this.kind = raw.kind;
    this.title = raw.title;
    this.parentId = raw.parent;
    this.number = number;
    this.texts = texts;
    this.overlaps = raw.overlaps;
    // The track it belongs under; its short children, folded into one row; the fold that it is in itself.
    this.up = null;
    this.fold = null;
    this.folded = null;
    this.raw = raw;
    const count = this.count = raw.start.length;
    this.start = new Float64Array(count);
    this.end = new Float64Array(count);
    for (let i = 0, at = 0; i < count; i++) {
      at += raw.start[i];
      this.start[i] = at;
      this.end[i] = at + raw.length[i];
    }
    this.hasState = raw.shapes.some((shape) => shape.includes("$state"));
    this.children = [];
    this.layout();
    this.open = this.rows.length <= 10;
  }

  // Each span into the first row that is free; within a track that nests, that is its depth.
  layout() {
    const { start, end, count } = this, rows = [], last = [];
    this.row = new Int8Array(count);
    this.parent = new Int32Array(count).fill(-1);
    this.self = new Float64Array(count);
    this.hidden = 0;
    for (let i = 0; i < count; i++) {
      let r = 0;
      while (r < last.length && end[last[r]] > start[i]) r++;
      this.self[i] = end[i] - start[i];
      const outer = r && !this.overlaps ? last[r - 1] : -1;
      if (outer >= 0 && end[outer] >= end[i]) {
        this.parent[i] = outer;
        this.self[outer] -= end[i] - start[i];
      }
      if (r >= MAX_ROWS) { this.row[i] = -1; this.hidden++; continue; }
      this.row[i] = r;
      last[r] = i;
      (rows[r] = rows[r] || []).push(i);
    }
    this.rows = rows.map((ids) => new Row(this, ids));
  }

  name(i) { return this.texts[this.raw.name[i]]; }

  // The name where there is little room: the kernel's stamp says what the place says already.
  label(i) {
    if (this.kind === "service" && this.name(i) === "starting") return `${this.title} (${span(this.end[i] - this.start[i])})`;
    return this.kind === "console" ? this.name(i).replace(/^\[ *[0-9.]+\] /, "") : this.name(i);
  }

  // [label, value] of each detail of a span; text is text, a number a number.
  details(i) {
    const shape = (k) => this.raw.shapes[this.raw.shape.length ? this.raw.shape[k] : 0] || [];
    if (!this.offsets) {
      this.offsets = new Int32Array(this.count + 1);
      for (let k = 0; k < this.count; k++) this.offsets[k + 1] = this.offsets[k] + shape(k).length;
    }
    return shape(i).map((label, k) => {
      const value = this.raw.values[this.offsets[i] + k];
      return [label.slice(1), label[0] === "#" ? value : this.texts[value]];
    });
  }

  // A span's length in words: of phases it may be only a bound, or not known.
  length(i) {
    const bound = this.kind === "phase" ? this.detail(i, "length") : undefined;
    if (bound === "not known") return bound;
    return (BOUNDS[bound] || "") + span(this.end[i] - this.start[i]);
  }

  detail(i, label) { return (this.details(i).find(([l]) => l === label) || [])[1]; }

  // The name of the colour of a span.
  colour(i) {
    if (this.kind === "spent") return this.name(i);
    if (this.kind === "path") return this.detail(i, "how") === "runs" ? "cpu" : "idle";
    if (this.kind !== "process" && this.kind !== "cpu") return KIND_COLOUR[this.kind] || "other";
    const key = (this.hasState && this.detail(i, "state")) || this.name(i);
    const cached = this.colourOf = this.colourOf || new Map();
    if (!cached.has(key)) {
      const name = key, waits = WAITING.test(name);
      cached.set(key, waits ? (ON_DISK.test(name) ? "storage" : "idle") : "cpu");
    }
    return cached.get(key);
  }

  childrenOf(i) {
    const found = [];
    for (let k = i + 1; k < this.count && this.start[k] < this.end[i]; k++) if (this.parent[k] === i) found.push(k);
    return found;
  }
}

const BOUNDS = { "or more": "≥ ", "or less": "≤ " };
const KINDS = ["cpu", "storage", "console", "idle", "fixed"];
const KIND_COLOUR = { phase: "fixed", storage: "storage", console: "console", wait: "idle", irq: "irq", pin: "pin",
  initcall: "initcall", probe: "probe", service: "service", function: "function", line: "console" };
const KIND_NAME = { cpu: "CPU", path: "critical path", wait: "waiting", initcall: "initcalls", probe: "probes", process: "processes",
  service: "services", function: "functions", irq: "interrupts", pin: "pins", line: "lines", mark: "marks" };
const KIND_ORDER = ["cpu", "path", "process", "service", "wait", "storage", "console", "initcall", "probe", "function", "irq"];

// Several tracks of one kind; shut, it shows when any of them was at work.
class Group {
  constructor(kind, tracks, title = "") {
    this.kind = kind;
    this.tracks = tracks;
    this.title = title || `${KIND_NAME[kind] || kind} (${tracks.length})`;
    this.open = !title && (FOLDED_KINDS.includes(kind) || tracks.length <= 12);
    this.fold = null;
    this.hidden = 0;
    this.made = null;
  }

  get union() {
    if (!this.made) {
      const starts = [], ends = [], order = [];
      for (const track of this.tracks) {
        const row = track.rows[0];
        if (row) row.ids.forEach((i, k) => { if (track.colour(i) !== "idle") order.push([row.start[k], row.end[k]]); });
      }
      order.sort((a, b) => a[0] - b[0]);
      for (const [s, e] of order) {
        if (starts.length && s <= ends[ends.length - 1]) ends[ends.length - 1] = Math.max(ends[ends.length - 1], e);
        else { starts.push(s); ends.push(e); }
      }
      this.made = new Row({ start: starts, end: ends }, starts.map((_, k) => k));
    }
    return this.made;
  }
}

// What each moment went into: stretches of CPU, storage, console, idle and fixed, from the first to the last.
class Spent {
  constructor(track) {
    this.start = track.start;
    this.end = track.end;
    this.kind = Array.from(track.start, (_, i) => KINDS.indexOf(track.name(i)));
    // Sums of each kind before each stretch; what a console stretch holds of the CPU's time is the CPU's.
    this.sums = KINDS.map(() => new Float64Array(track.count + 1));
    const add = (kind, i, ns) => { this.sums[kind][i + 1] += ns; };
    for (let i = 0; i < track.count; i++) {
      for (const sums of this.sums) sums[i + 1] = sums[i];
      const cpu = track.detail(i, "cpu_ns") || 0;
      if (this.kind[i] >= 0) add(this.kind[i], i, track.end[i] - track.start[i] - cpu);
      add(0, i, cpu);
    }
    this.console = new Row(track, this.kind.flatMap((kind, i) => KINDS[kind] === "console" ? [i] : []));
  }

  // How much of a kind lies before `t`.
  before(kind, t) {
    let low = 0, high = this.start.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[middle] <= t) low = middle + 1; else high = middle;
    }
    const sums = this.sums[kind];
    if (low >= this.start.length || t <= this.start[low]) return sums[low];
    return sums[low] + (sums[low + 1] - sums[low]) * (t - this.start[low]) / (this.end[low] - this.start[low]);
  }

  // The shares of the kinds in a stretch, in the order of KINDS.
  shares(from, to) { return this.sums.map((_, kind) => (this.before(kind, to) - this.before(kind, from)) / (to - from)); }
}

class Model {
  constructor(data) {
    this.texts = data.texts;
    this.total = Math.max(1, data.total_ns);
    this.milestones = data.milestones;
    this.tracks = data.tracks.map((raw, number) => new Track(raw, number, data.texts));
    const phases = this.phases = this.tracks.find((t) => t.kind === "phase") || null;
    const spent = this.tracks.find((t) => t.kind === "spent");
    this.spent = spent ? new Spent(spent) : null;
    const byId = new Map();
    for (const track of this.tracks) if (!byId.has(track.id)) byId.set(track.id, track);
    const roots = [];
    for (const track of this.tracks) {
      if (track === phases || track === spent) continue;
      const parent = byId.get(track.parentId);
      if (parent && parent !== phases && !circular(track, byId)) {
        parent.children.push(track);
        track.up = parent;
      } else roots.push(track);
    }
    this.groups = grouped(roots);
    for (const group of this.groups) foldShort(group, this.total);
  }
}

const FOLDED_KINDS = ["process", "service"], SHORT = 0.005, FEWEST = 4;

// How long each track, or the busiest of those below it, was at work: track -> nanoseconds.
function busy(roots) {
  const order = [...roots], found = new Map();
  for (let at = 0; at < order.length; at++) order.push(...order[at].children);
  for (const track of order.reverse()) {
    let ns = 0;
    for (let i = 0; i < track.count; i++) if (track.row[i] === 0 && track.colour(i) !== "idle") ns += track.end[i] - track.start[i];
    found.set(track, Math.max(ns, ...track.children.map((child) => found.get(child))));
  }
  return found;
}

// Tracks of a group, and of each track in it, that were hardly at work are one row that opens.
function foldShort(group, total) {
  if (!FOLDED_KINDS.includes(group.kind)) return;
  const atWork = busy(group.tracks), short = (track) => atWork.get(track) < total * SHORT;
  const fold = (tracks) => {
    const found = tracks.filter(short);
    if (found.length < FEWEST) return null;
    const made = new Group(group.kind, found, `${found.length} short ones`);
    for (const track of found) track.folded = made;
    return made;
  };
  group.fold = fold(group.tracks);
  if (group.fold) group.tracks = group.tracks.filter((track) => !track.folded);
  const left = [...group.tracks];
  while (left.length) {
    const track = left.pop();
    track.fold = fold(track.children);
    left.push(...track.children.filter((child) => !child.folded));
  }
}

function circular(track, byId) {
  const seen = new Set([track]);
  for (let at = byId.get(track.parentId); at; at = byId.get(at.parentId)) {
    if (seen.has(at)) return true;
    seen.add(at);
  }
  return false;
}

function grouped(roots) {
  const kinds = new Map();
  for (const track of roots) {
    if (!kinds.has(track.kind)) kinds.set(track.kind, []);
    kinds.get(track.kind).push(track);
  }
  const place = (kind) => (KIND_ORDER.indexOf(kind) + 1 || KIND_ORDER.length + 1);
  return [...kinds].sort((a, b) => place(a[0]) - place(b[0])).map(([kind, tracks]) => new Group(kind, tracks));
}
