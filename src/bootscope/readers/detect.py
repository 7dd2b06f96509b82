# SPDX-License-Identifier: Apache-2.0
"""Which format a source is, how sure that is, and what else it might be."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from bootscope.core.errors import UserError, printable
from bootscope.readers import registry
from bootscope.readers.base import WHOLE_FILE_SURE, Reader, Source
from bootscope.readers.encoding import encoding

SURE_ENOUGH = 10
"""Below this a format is not taken for what a file is."""
_SHOWN = 60
_TIMES = re.compile(rb"^.{0,40}?[\[(]([ 0-9T:.,\-]{3,40})[\])]", re.MULTILINE)
_WORDS = ((90, "certain"), (60, "likely"), (30, "probably"), (0, "a guess"))


@dataclass(frozen=True, slots=True)
class Guess:
    """A format that a source may be; `sure` from 1 to 100."""

    reader: Reader
    sure: int


def in_words(sure: int) -> str:
    """How sure that is, in words."""
    return next(word for least, word in _WORDS if sure >= least)


def rank(source: Source) -> list[Guess]:
    """All formats that the source may be, the best first; of two alike, the first by name."""
    found = [Guess(reader, max(0, min(100, reader.sure(source)))) for reader in registry.readers()]
    if all(guess.sure <= WHOLE_FILE_SURE for guess in found):
        found = [_second_look(guess, source) for guess in found]
    return sorted((g for g in found if g.sure), key=lambda g: (-g.sure, g.reader.name))


def _second_look(guess: Guess, source: Source) -> Guess:
    by_whole_file = guess.reader.by_whole_file
    return (
        replace(guess, sure=max(guess.sure, min(WHOLE_FILE_SURE, by_whole_file(source))))
        if by_whole_file
        else guess
    )


def recognised(source: Source) -> list[Guess]:
    """:func:`rank`, empty when no format is sure enough."""
    found = rank(source)
    return found if found and found[0].sure >= SURE_ENOUGH else []


def unrecognised(source: Source) -> UserError:
    """The error for a source of no known format: what it looks like, and what there is."""
    return UserError(
        f"{printable(source.name)} has no known format: {appearance(source)}",
        hint="bootscope import --formats lists what it reads; force one with --format",
    )


def appearance(source: Source) -> str:
    """What a source looks like, in words."""
    if source.members:
        some = ", ".join(printable(name)[:_SHOWN] for name in list(source.members)[:3])
        return f"{len(source.members):,} files, such as {some}"
    if not source.data:
        return "empty"
    kind = encoding(source.data)
    if kind == "binary":
        return f"binary, {len(source.data):,} bytes, beginning {source.data[:16].hex(' ')}"
    first = next((line for line in source.head.splitlines() if line.strip()), b"")
    shown = printable(first[: _SHOWN * 4].decode("utf-8", "backslashreplace"))
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
    lines = source.data.count(b"\n") + (not source.data.endswith(b"\n"))
    return f"text ({kind}), {lines:,} lines, beginning '{shown}', {_brackets(source.head)}"


def _brackets(head: bytes) -> str:
    found = _TIMES.findall(head)
    if not found:
        return "without time stamps in brackets"
    return f"{len(found)} of its first lines with a time stamp in brackets: '[{found[0].decode('ascii')}]'"
