// SPDX-License-Identifier: Apache-2.0
// Call paths as a tree, and the three ways to lay it out as bars: left heavy, in order of time, and around one function.
// A layout gives bars { i, x, width, row }: a node, its place in pixels, its row.
"use strict";

// Below a phase and who was at work stand calls and functions.
const MOST_ROWS = 48, NARROWEST = 0.4, FUNCTIONS = 3;

// Node 0 stands for all paths; its children are the phases.
class FlameTree {
  constructor(data, texts) {
    const count = this.count = data.parent.length + 1;
    this.texts = texts;
    this.name = (i) => (i ? texts[data.name[i - 1]] : "all");
    this.text = (i) => (i ? data.name[i - 1] : -1);
    this.parent = Int32Array.from({ length: count }, (_, i) => (i ? data.parent[i - 1] + 1 : -1));
    this.self = Float64Array.from({ length: count }, (_, i) => (i ? data.self[i - 1] : 0));
    this.total = Float64Array.from(this.self);
    this.depth = new Int32Array(count);
    // Parents come before their children.
    for (let i = count - 1; i > 0; i--) this.total[this.parent[i]] += this.total[i];
    this.children = Array.from({ length: count }, () => []);
    for (let i = 1; i < count; i++) {
      this.depth[i] = this.depth[this.parent[i]] + 1;
      this.children[this.parent[i]].push(i);
    }
    for (let i = 1; i < count; i++) this.children[i].sort((a, b) => this.total[b] - this.total[a]);
    this.x = new Float64Array(count);
    for (let i = 0; i < count; i++) {
      let at = this.x[i];
      for (const child of this.children[i]) { this.x[child] = at; at += this.total[child]; }
    }
  }

  // From the phase down to a node.
  path(i) {
    const found = [];
    for (let at = i; at > 0; at = this.parent[at]) found.unshift(at);
    return found;
  }

  within(i, root) {
    for (let at = i; at >= 0; at = this.parent[at]) if (at === root) return true;
    return false;
  }

  // Each function once, with its own time and that of all paths in which it is: [{ text, node, self, total, count }].
  functions() {
    const found = new Map();
    for (let i = 1; i < this.count; i++) {
      if (this.depth[i] < FUNCTIONS) continue;
      const text = this.text(i), one = found.get(text) || { text, node: i, self: 0, total: 0, count: 0 };
      one.self += this.self[i];
      if (this.outermost(i)) { one.total += this.total[i]; one.count++; }
      found.set(text, one);
    }
    return [...found.values()].sort((a, b) => b.self - a.self || b.total - a.total);
  }

  // Whether no frame around a node is of the same function.
  outermost(i) {
    for (let at = this.parent[i]; this.depth[at] >= FUNCTIONS; at = this.parent[at]) if (this.text(at) === this.text(i)) return false;
    return true;
  }
}

// The frames around the root take the whole width; below it all that is wide enough to be seen, the longest first.
function leftHeavy(tree, root, width) {
  const above = root ? [0, ...tree.path(root)] : [0], bars = above.map((i, row) => ({ i, x: 0, width, row }));
  const scale = width / (tree.total[root] || 1), base = tree.x[root], left = tree.children[root].slice();
  while (left.length) {
    const i = left.pop(), wide = tree.total[i] * scale, row = above.length + tree.depth[i] - tree.depth[root] - 1;
    if (wide < NARROWEST || row >= MOST_ROWS) continue;
    bars.push({ i, x: (tree.x[i] - base) * scale, width: wide, row });
    left.push(...tree.children[i]);
  }
  return bars;
}

// Who called a function, upwards, and what it called, downwards; in the middle the function itself.
function sandwich(tree, chosen, width) {
  const text = tree.text(chosen), nodes = [];
  for (let i = 1; i < tree.count; i++) {
    if (tree.depth[i] >= FUNCTIONS && tree.text(i) === text && tree.outermost(i)) nodes.push(i);
  }
  const total = nodes.reduce((sum, i) => sum + tree.total[i], 0) || 1, scale = width / total;
  const callers = spread(tree, nodes, (i) => (tree.parent[i] > 0 ? [tree.parent[i]] : []), scale);
  const callees = spread(tree, nodes, (i) => tree.children[i], scale);
  const deepest = callers.reduce((most, bar) => Math.max(most, bar.row), 0);
  return [...callers.map((bar) => ({ ...bar, row: deepest - bar.row })), { i: chosen, x: 0, width, row: deepest, ns: total },
    ...callees.map((bar) => ({ ...bar, row: deepest + bar.row }))];
}

// One side of a sandwich: nodes of one name under one another become one bar, as wide as their time.
function spread(tree, nodes, next, scale) {
  const bars = [];
  // Going up, a node brings the time of the function that it called; going down, its own total.
  const left = [{ members: nodes.map((i) => ({ i, ns: tree.total[i] })), x: 0, row: 0 }];
  while (left.length) {
    const { members, x, row } = left.pop(), groups = new Map();
    if (row >= MOST_ROWS / 2) continue;
    for (const { i, ns } of members) {
      for (const to of next(i)) {
        const key = tree.text(to), part = tree.parent[i] === to ? ns : tree.total[to];
        if (!groups.has(key)) groups.set(key, { members: [], ns: 0 });
        groups.get(key).members.push({ i: to, ns: part });
        groups.get(key).ns += part;
      }
    }
    let at = x;
    for (const group of [...groups.values()].sort((a, b) => b.ns - a.ns)) {
      const width = group.ns * scale;
      if (width >= NARROWEST) {
        bars.push({ i: group.members[0].i, x: at, width, row: row + 1, ns: group.ns });
        left.push({ members: group.members, x: at, row: row + 1 });
      }
      at += width;
    }
  }
  return bars;
}

// When samples were in which path: neighbours in the same frame are one bar. A gap is time without code.
class FlameTime {
  constructor(tree, samples) {
    this.tree = tree;
    this.rows = [];
    let start = 0;
    const open = [];
    const close = (from) => { while (open.length > from) { const bar = open.pop(); this.rows[open.length].push(bar); } };
    samples.start.forEach((delta, k) => {
      start += delta;
      const end = start + samples.length[k], path = tree.path(samples.node[k] + 1);
      if (open.length && open[0].end !== start) close(0);
      let same = 0;
      while (same < open.length && same < path.length && open[same].i === path[same]) open[same++].end = end;
      close(same);
      for (let d = same; d < path.length; d++) {
        open.push({ i: path[d], start, end });
        this.rows[d] = this.rows[d] || [];
      }
    });
    close(0);
    this.end = start + (samples.length[samples.length.length - 1] || 0);
    this.begin = samples.start[0] || 0;
  }

  // Bars of the stretch [from, to]; what is too narrow to be seen is passed over, not painted.
  bars(from, to, width) {
    const scale = width / (to - from), bars = [];
    this.rows.slice(0, MOST_ROWS).forEach((row, depth) => {
      let k = firstEndingAfter(row, from), painted = -1;
      for (; k < row.length && row[k].start < to; k++) {
        const { i, start, end } = row[k], x = Math.max(0, (start - from) * scale), right = Math.min(width, (end - from) * scale);
        if (right - painted < NARROWEST) continue;
        bars.push({ i, x, width: Math.max(NARROWEST, right - x), row: depth, ns: end - start, start, end });
        painted = right;
      }
    });
    return bars;
  }
}

function firstEndingAfter(row, t) {
  let low = 0, high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row[middle].end <= t) low = middle + 1; else high = middle;
  }
  return low;
}
