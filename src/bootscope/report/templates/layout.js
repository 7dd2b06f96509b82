// SPDX-License-Identifier: Apache-2.0
// Where each track lies on the sheet: open groups and tracks below each other, pinned ones in the head.
"use strict";

const RULER = 20, MARKS = 16, PHASES = 40, GAP = 3;
const ROW = 15, FIRST = 20, PINNED_ROWS = 4;

// `blocks` are { item, y, height, rows, depth } in order of y; `pinned` the same, of the head.
class Layout {
  constructor(model) {
    this.model = model;
    this.pins = new Set();
    this.blocks = [];
    this.pinned = [];
    this.height = 0;
    this.head = RULER + MARKS + PHASES + 4;
  }

  arrange() {
    this.blocks = [];
    this.height = 6;
    for (const group of this.model.groups) {
      const depth = group.tracks.length > 1 || group.fold ? 1 : 0;
      if (depth) this.place(group, [group.open ? null : group.union], 0);
      if (!depth || group.open) {
        for (const track of group.tracks) this.placeTrack(track, depth);
        this.placeFold(group.fold, depth);
      }
      this.height += 5;
    }
    this.arrangePins();
  }

  arrangePins() {
    let y = RULER + MARKS + PHASES + 4;
    this.pinned = [];
    for (const item of this.pins) {
      const rows = item.rows.slice(0, PINNED_ROWS), height = FIRST + Math.max(0, rows.length - 1) * ROW;
      this.pinned.push({ item, y, height, rows, depth: 0 });
      y += height + GAP;
    }
    this.head = y;
  }

  // Without recursion: a chain of parents may be as long as a boot has processes.
  placeTrack(root, depth) {
    const left = [[root, depth]];
    while (left.length) {
      const [item, at] = left.pop();
      if (item instanceof Group) { this.placeFold(item, at); continue; }
      this.place(item, item.open ? item.rows : item.rows.slice(0, 1), at);
      if (!item.open) continue;
      if (item.fold) left.push([item.fold, at + 1]);
      for (const child of [...item.children].reverse()) if (!child.folded) left.push([child, at + 1]);
    }
  }

  placeFold(fold, depth) {
    if (!fold) return;
    this.place(fold, [fold.open ? null : fold.union], depth);
    if (fold.open) for (const track of fold.tracks) this.placeTrack(track, depth + 1);
  }

  place(item, rows, depth) {
    const height = FIRST + Math.max(0, rows.length - 1) * ROW;
    this.blocks.push({ item, y: this.height, height, rows, depth });
    this.height += height + GAP;
  }

  // Index of the first block that reaches below `y`.
  blockAt(y) {
    let low = 0, high = this.blocks.length;
    while (low < high) {
      const middle = (low + high) >> 1, block = this.blocks[middle];
      if (block.y + block.height + GAP <= y) low = middle + 1; else high = middle;
    }
    return low;
  }

  // The block and the row in it at `y` of the sheet below the head, as { block, row }; null for none.
  rowAt(y) { return inBlock(this.blocks[this.blockAt(y)], y); }

  pinnedAt(y) { return inBlock(this.pinned.find((b) => y >= b.y && y < b.y + b.height), y); }

  openAll(open) {
    for (const group of this.model.groups) for (const one of [group, group.fold]) if (one) one.open = open;
    for (const track of this.model.tracks) {
      track.open = open;
      if (track.fold) track.fold.open = open;
    }
    this.arrange();
  }

  // Opens all that a track is in; whether something was shut.
  openTo(track) {
    let shut = false;
    const open = (item) => { if (item && !item.open) { item.open = true; shut = true; } };
    let top = track;
    for (let at = track; at; at = at.up) {
      if (at !== track || at.rows.length > 1) open(at);
      if (at.folded) open(at.folded);
      top = at;
    }
    open(this.model.groups.find((g) => g.tracks.includes(top) || (g.fold && g.fold.tracks.includes(top))));
    if (shut) this.arrange();
    return shut;
  }
}

function inBlock(block, y) {
  if (!block || y < block.y) return null;
  const below = y - block.y, row = below < FIRST ? 0 : 1 + Math.floor((below - FIRST) / ROW);
  return row < block.rows.length ? { block, row } : null;
}
