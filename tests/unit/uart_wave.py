# SPDX-License-Identifier: Apache-2.0
"""A serial line as it is sent, and as a logic analyser samples it."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence

NS = 1_000_000_000
Level = tuple[int, int]
"""From when on (ns), at which level."""


def sent(pieces: Iterable[tuple[int, bytes]], rate: int, idle: int = 1, seed: int = 0) -> list[Level]:
    """The line while texts are sent at `rate` baud, each from its moment on (ns), with pauses of up to two
    bits between bytes where `seed` is not 0."""
    rng, wave, free_ns = random.Random(seed), [(0, idle)], 0
    for moment_ns, text in pieces:
        free_ns = max(free_ns, moment_ns)
        for byte in text:
            for number, bit in enumerate([0, *(byte >> n & 1 for n in range(8)), 1]):
                level = bit if idle else 1 - bit
                if wave[-1][1] != level:
                    wave.append((free_ns + number * NS // rate, level))
            free_ns += 10 * NS // rate + (rng.randrange(2 * NS // rate) if seed else 0)
    return wave


def jittered(wave: Sequence[Level], most_ns: int, seed: int) -> list[Level]:
    """Each edge up to `most_ns` early or late."""
    rng = random.Random(seed)
    return [wave[0], *((max(0, at_ns + rng.randint(-most_ns, most_ns)), level) for at_ns, level in wave[1:])]


def sampled(wave: Iterable[Level], rate_hz: int) -> Iterator[Level]:
    """What a logic analyser of `rate_hz` samples a second makes of it: each change at the next sample."""
    last = None
    for at_ns, level in wave:
        sample = -(-at_ns * rate_hz // NS)
        if level != last:
            yield sample * NS // rate_hz, level
        last = level


def vcd(channels: Mapping[str, Sequence[Level]], end_ns: int, tick_ns: int = 1_000) -> bytes:
    """A value change dump as sigrok writes them."""
    idents = {name: chr(33 + n) for n, name in enumerate(channels)}
    unit = {1: "1 ns", 1_000: "1 us"}[tick_ns]
    lines = ["$version libsigrok 0.5.2 $end", f"$timescale {unit} $end", "$scope module libsigrok $end"]
    lines += [f"$var wire 1 {ident} {name} $end" for name, ident in idents.items()]
    lines += ["$upscope $end", "$enddefinitions $end"]
    changes = sorted(
        (-(-at // tick_ns), ident, level) for name, ident in idents.items() for at, level in channels[name]
    )
    lines += [f"#{tick} {level}{ident}" for tick, ident, level in changes]
    return "\n".join([*lines, f"#{end_ns // tick_ns}", ""]).encode()


def session(channels: Mapping[str, Sequence[Level]], end_ns: int, rate_hz: int) -> bytes:
    """A session file of sigrok's (.sr)."""
    samples = bytearray(end_ns * rate_hz // NS)
    for bit, wave in enumerate(channels.values()):
        edges = list(wave)
        for index, (at_ns, level) in enumerate(edges):
            until_ns = edges[index + 1][0] if index + 1 < len(edges) else end_ns
            if level:
                first, last = -(-at_ns * rate_hz // NS), min(len(samples), -(-until_ns * rate_hz // NS))
                samples[first:last] = bytes(s | 1 << bit for s in samples[first:last])
    probes = "".join(f"probe{n}={name}\n" for n, name in enumerate(channels, 1))
    metadata = (
        "[global]\nsigrok version=0.5.2\n\n[device 1]\ncapturefile=logic-1\n"
        f"samplerate={rate_hz // 1000} kHz\n{probes}unitsize=1\n"
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as box:
        for name, data in (("version", b"2"), ("metadata", metadata.encode()), ("logic-1-1", bytes(samples))):
            # Of no date: the same capture is the same bytes, whenever it is made.
            box.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()
