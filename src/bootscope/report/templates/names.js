// SPDX-License-Identifier: Apache-2.0
// The names at the left of a timeline: real buttons, so that keys and screen readers find them. Only those in sight exist.
"use strict";

class Names {
  // `box` is for the names of tracks, `pins` for those of pinned ones, which stay where they are.
  constructor(timeline, box, pins) {
    this.timeline = timeline;
    this.boxes = [{ box, made: new Map(), pinned: false }, { box: pins, made: new Map(), pinned: true }];
  }

  show(blocks, pinned) {
    const width = this.timeline.left - 6 + "px", { head } = this.timeline.layout;
    for (const into of this.boxes) {
      const wanted = into.pinned ? pinned : blocks;
      into.box.style.width = width;
      if (into.pinned) Object.assign(into.box.style, { height: head + "px", marginBottom: -head + "px" });
      this.keep(into.made, wanted);
      for (const block of wanted) this.place(into, block, into.pinned ? block.y : head + block.y);
    }
  }

  keep(made, blocks) {
    const seen = new Set(blocks.map((b) => b.item));
    for (const [item, name] of made) {
      if (seen.has(item) || name.contains(document.activeElement)) continue;
      name.remove();
      made.delete(item);
    }
  }

  place({ box, made, pinned }, { item, depth }, top) {
    if (!made.has(item)) {
      const name = this.make(item, pinned);
      made.set(item, name);
      box.append(name);
    }
    const name = made.get(item);
    name.style.top = top + "px";
    name.style.paddingLeft = 8 + Math.min(4, depth) * 9 + "px";
    const opens = name.querySelector(".opens"), pin = name.querySelector(".pin");
    if (opens) opens.setAttribute("aria-expanded", String(item.open));
    if (pin) pin.setAttribute("aria-pressed", String(this.timeline.layout.pins.has(item)));
  }

  make(item, pinned) {
    const more = !pinned && (item instanceof Group || item.rows.length > 1 || item.children.length);
    const note = item.hidden ? `${item.title}: ${item.hidden} spans lie deeper than ${MAX_ROWS} rows` : item.title;
    const text = more
      ? element("button", { type: "button", class: "opens", title: note, onclick: () => this.toggle(item) }, item.title)
      : element("span", { title: note }, item.title);
    const name = element("div", { class: "name" }, text);
    if (item instanceof Track) name.append(this.pinOf(item));
    return name;
  }

  pinOf(item) {
    const about = { type: "button", class: "pin", "aria-label": `pin ${item.title}`, title: "pin at the top" };
    return element("button", { ...about, onclick: () => this.timeline.pin(item) }, "\u2605");
  }

  toggle(item) {
    item.open = !item.open;
    this.timeline.arrange();
  }
}
