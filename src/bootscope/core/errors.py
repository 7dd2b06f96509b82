# SPDX-License-Identifier: Apache-2.0
"""The one error tree.

Library code raises; only :func:`bootscope.cli.main.main` turns an error into an exit code.
Anything outside this tree is a bug and shows its traceback.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable


class BootscopeError(Exception):
    """Base of all expected errors: a message in one line and, if there is one, a hint."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UserError(BootscopeError):
    """A request or setting of the user that cannot be carried out as it is."""

    exit_code = 2


class BoardError(BootscopeError):
    """The board (or the emulator that stands for it) did not do what it should."""

    exit_code = 3


class ToolError(BootscopeError):
    """A program, a file system or a download outside of bootscope failed."""

    exit_code = 3


class CommandError(ToolError):
    """A program failed after it was started; `status` is negative for a signal."""

    def __init__(self, message: str, status: int, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class SpaceError(ToolError):
    """A disk is full: nothing more can be done until there is room."""


class LostClusterError(ToolError):
    """A cluster's scheduler is gone: nothing can be built or booted until it is back."""


class StepError(ToolError):
    """A build step that cannot be done as requested, and would fail again.

    `log` is the path of its full output, if there is any.
    """

    def __init__(self, message: str, log: str = "", *, hint: str | None = None) -> None:
        super().__init__(message, hint=f"full log: {log}" if log else hint)
        self.log = log


class SymbolError(UserError):
    """Kconfig symbols (`names`) that did not get the requested values."""

    def __init__(self, message: str, names: tuple[str, ...], *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.names = names


_MOST_LISTED = 50
"""The number of names in a hint; nobody reads more."""

_LIKE, _NEAR = 0.65, 0.1
"""The minimum similarity of a suggested name (1 is equal), and its maximum distance from the best one."""


def unknown(what: str, name: str, known: list[str], lists: str = "") -> UserError:
    """The error for a name that does not exist: it suggests what was probably meant, and lists the existing
    names; of many only some, with the command `lists` that shows all."""
    like = similar(name, known)
    listed = ", ".join(sorted(known)[:5] if len(known) > _MOST_LISTED else sorted(known))
    if len(known) > _MOST_LISTED:
        there = f"there are {len(known)}" + (
            f": {lists}" if lists else "" if like else f", such as: {listed}"
        )
    else:
        there = f"there are: {listed}" if known else "there are: none yet"
    meant = f"did you mean {' or '.join(like)}? " if like else ""
    return UserError(f"unknown {what} '{printable(name)}'", hint=f"{meant}{there}")


def similar(name: str, known: Iterable[str]) -> list[str]:
    """Up to three of the known names that are similar to a typed one, the most similar first; names that are
    much less similar than the first are left out."""
    # Only after a typing error is this module loaded.
    from difflib import SequenceMatcher, get_close_matches

    lower, typed = {other.lower(): other for other in known}, name.lower()[:100]
    found = get_close_matches(typed, lower, cutoff=_LIKE)
    likeness = [SequenceMatcher(None, other, typed).ratio() for other in found]
    return [lower[other] for other, r in zip(found, likeness, strict=True) if r > likeness[0] - _NEAR]


def printable(text: str) -> str:
    """`text` with everything escaped that a terminal might act on."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def to_stderr(text: str) -> None:
    """Shows a person a message that is not a result."""
    print(f"bootscope: {printable(text)}", file=sys.stderr, flush=True)
