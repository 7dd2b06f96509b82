# SPDX-License-Identifier: Apache-2.0
"""The outcome of building and booting a system once, in the few figures by which variants are judged."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from bootscope.analysis.views import View
from bootscope.capture.record import FRAME, Screen
from bootscope.core.errors import BootscopeError, SymbolError
from bootscope.system.load import PIXEL_BYTES

NOT_BUILT = "not built"
"""The end of a variant that could not be built; the others end as boots do."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a system. `what` are the techniques in it; `key` is the bench's name for its boot.

    `ended`, `message`: how the boot ended, or NOT_BUILT and why. `log`: the full output of a failed build.
    `symbols`: those that did not get their value. `reached`: the boot reached `until`. `total_ns`, `phases`,
    `milestones`: board time, only if it did. `picture`: a hash of the screen. `sizes`: image -> bytes.
    `limit_ns`: the virtual time after which the boot would have been given up. `lasting`: it would end in the
    same way again. `host_ms`: what building and booting took. `unanswered`: required milestones that it does
    not reach, and why; `asked`: they were checked, which takes boots of their own and is skipped for what is
    refused anyway.
    """

    key: str
    what: tuple[str, ...]
    run_id: str = ""
    ended: str = NOT_BUILT
    message: str = ""
    reached: bool = False
    until: str = ""
    total_ns: int = 0
    phases: dict[str, int] = {}
    milestones: dict[str, int] = {}
    picture: str = ""
    sizes: dict[str, int] = {}
    log: str = ""
    symbols: tuple[str, ...] = ()
    limit_ns: int = 0
    lasting: bool = True
    host_ms: int = 0
    unanswered: tuple[str, ...] = ()
    asked: bool = True


def outcome_of(view: View, key: str = "", what: tuple[str, ...] = (), lasting: bool = True) -> Outcome:
    """The outcome of a system that was booted."""
    info, timeline = view.boot.info, view.timeline
    reached = info.complete
    return Outcome(
        key=key,
        what=what,
        run_id=view.run.info.run_id,
        ended=info.ended,
        message=info.message,
        reached=reached,
        until=view.run.info.until,
        total_ns=timeline.total_ns if reached else 0,
        phases={p.name: p.duration_ns for p in timeline.phases} if reached else {},
        milestones=timeline.milestones if reached else {},
        picture=_picture(view),
        sizes={part.name: part.size_bytes for part in view.run.info.parts},
        lasting=lasting,
    )


def failed(key: str, what: tuple[str, ...], error: BootscopeError, lasting: bool) -> Outcome:
    """The outcome of a system that could not be built or booted; `lasting` as in :class:`Outcome`."""
    return Outcome(
        key=key,
        what=what,
        message=error.message,
        log=getattr(error, "log", ""),
        symbols=error.names if isinstance(error, SymbolError) else (),
        lasting=lasting,
    )


def _picture(view: View) -> str:
    path, screen = view.boot.path / FRAME, view.run.info.system.screen
    if not path.exists():
        return ""
    data = path.read_bytes()
    return hashlib.sha256(steady(data, screen) if screen else data).hexdigest()


def steady(data: bytes, screen: Screen) -> bytes:
    """A picture without the parts that may change from boot to boot."""
    found, pixel = bytearray(data), PIXEL_BYTES[screen.format]
    for x, y, width, height in screen.changing if isinstance(screen.changing, tuple) else ():
        for line in range(y, y + height):
            start = line * screen.stride_bytes + x * pixel
            found[start : start + width * pixel] = bytes(width * pixel)
    return bytes(found)


def faults(base: Outcome, variant: Outcome) -> tuple[str, ...]:
    """What no longer works in a variant, compared with a base that works."""
    if not variant.reached:
        return (variant.message,)
    found = []
    # Milestones other than the one waited for may be missing: what is not needed may come later.
    if base.until in base.milestones and base.until not in variant.milestones:
        found.append(f"{base.until} is no longer reached")
    if variant.picture != base.picture:
        found.append("the picture on the screen differs")
    return (*found, *variant.unanswered)


def changed_sizes(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Image -> (bytes in one, bytes in the other) of those that differ in size; 0 where there is none."""
    names = sorted({*one, *other})
    return {n: (one.get(n, 0), other.get(n, 0)) for n in names if one.get(n) != other.get(n)}
