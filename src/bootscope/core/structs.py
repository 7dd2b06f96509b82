# SPDX-License-Identifier: Apache-2.0
"""Types of msgspec, made ready for threads."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import msgspec


def ready() -> None:
    """Has msgspec work out the fields of every type that is imported by now; called before threads start.

    msgspec does that when a type is first used, and leaves the unfinished result where other threads find
    it: two that used a type for the first time at the same moment ended the process with a segmentation
    fault (msgspec 0.22.0).
    """
    for kind in set(_kinds(msgspec.Struct)):
        # What cannot be read at all says so to those who try.
        with contextlib.suppress(TypeError, NameError):
            msgspec.json.Decoder(kind)


def _kinds(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for below in kind.__subclasses__():
        yield below
        yield from _kinds(below)
