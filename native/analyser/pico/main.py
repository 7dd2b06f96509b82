# SPDX-License-Identifier: Apache-2.0
"""Turns a Raspberry Pi Pico (or Pico 2) with MicroPython into a small logic analyser.

Watches pins GP2 to GP7 and writes a line for each edge over USB; docs/pins.md says how to wire it. One of its
two cores does nothing but look at the pins, again and again; the other one writes.
"""

import array
import gc
import os
import sys
import time

import micropython

PINS = (2, 3, 4, 5, 6, 7)
TICK_NS, RESOLUTION_NS, PPM = 1000, 2000, 50
PREFIX = "GP"
SIZE = micropython.const(4096)
_SECOND = 1000000
_WRAP = 1 << 32


def edge(ticks, pin, level):
    """The line of an edge."""
    return f"bs1 {ticks} {PREFIX}{pin} {level}\n"


def lost(ticks, count):
    """So many edges came too fast to be written."""
    return f"bs1 {ticks} lost {count}\n"


def state(ticks, levels):
    """What the stamps are worth, and the levels now: bit n is pin GPn."""
    names = ",".join(PREFIX + str(pin) for pin in PINS)
    bits = "".join(str(levels >> pin & 1) for pin in PINS)
    worth = f"tick_ns={TICK_NS} resolution_ns={RESOLUTION_NS} ppm={PPM} wrap={_WRAP}"
    return f"bs1 {ticks} state {worth} pins={names} levels={bits}\n"


def edges(ticks, before, levels):
    """The lines of what changed between two looks."""
    changed = before ^ levels
    return "".join(edge(ticks, pin, levels >> pin & 1) for pin in PINS if changed >> pin & 1)


@micropython.viper
def watch(ring: ptr32, inputs: ptr32, timer: ptr32, mask: int, last: int):  # noqa: F821
    """Never returns: notes time and levels of each change in a ring, and before it how many there were."""
    count = 0
    while True:
        now = inputs[0] & mask
        if now != last:
            last = now
            at = 1 + ((count & (SIZE - 1)) << 1)
            ring[at] = timer[0]
            ring[at + 1] = now
            count += 1
            ring[0] = count


def taken(ring, done, before, write):
    """Writes what came since `done`; returns how many came until now, and the levels after that."""
    count = ring[0]
    if count - done > SIZE // 2:
        # The other core may be about to write over what is left: begin anew in the middle.
        missed = count - done - SIZE // 4
        done = count - SIZE // 4
        write(lost(ring[1 + 2 * (done % SIZE)], missed))
    while done < count:
        at = 1 + 2 * (done % SIZE)
        write(edges(ring[at], before, ring[at + 1]))
        before = ring[at + 1]
        done += 1
    return done, before


def main():
    """Watches until it is switched off."""
    import _thread

    import machine

    for pin in PINS:
        machine.Pin(pin, machine.Pin.IN)
    mask = sum(1 << pin for pin in PINS)
    # The registers of the chip: all inputs at once, and a counter of microseconds.
    inputs, timer = 0xD0000004, 0x40054028
    if "RP2350" in os.uname().machine:
        timer = 0x400B0028
    ring = array.array("I", bytearray(4 * (1 + 2 * SIZE)))
    before = machine.mem32[inputs] & mask
    _thread.start_new_thread(watch, (ring, inputs, timer, mask, before))
    done, beat = 0, time.ticks_us() - _SECOND
    while True:
        now = machine.mem32[timer] % _WRAP
        if ring[0] != done:
            done, before = taken(ring, done, before, sys.stdout.write)
        elif time.ticks_diff(time.ticks_us(), beat) >= _SECOND:
            # Nothing came before `now` that was not told: stamps never go back.
            beat = time.ticks_us()
            sys.stdout.write(state(now, before))
            gc.collect()


if __name__ == "__main__":
    main()
