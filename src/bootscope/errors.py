# SPDX-License-Identifier: Apache-2.0
"""The one error tree.

Library code raises; only :func:`bootscope.cli.main.main` turns an error into an exit code.
Whatever is not in this tree is a bug and shows its trace.
"""

from __future__ import annotations

import sys


class BootscopeError(Exception):
    """Base of all expected errors: a message in one line and, if there is one, a way out."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UserError(BootscopeError):
    """Something the user asked for or wrote that cannot be done as it stands."""

    exit_code = 2


class BoardError(BootscopeError):
    """The board (or the emulator that stands for it) did not do what it should."""

    exit_code = 3


class ToolError(BootscopeError):
    """A program, a file system or a download of the world outside failed."""

    exit_code = 3


class CommandError(ToolError):
    """A program that was started and ended with a failure; `status` is below 0 for a signal."""

    def __init__(self, message: str, status: int, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class SpaceError(ToolError):
    """A disk is full: nothing more can be done until there is room."""


class StepError(ToolError):
    """A step of a build that cannot be done as it was asked for, and would fail again.

    `log` is the path of its full output, if there is any.
    """

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message, hint=f"full log: {log}" if log else None)
        self.log = log


class SymbolError(UserError):
    """Kconfig symbols (`names`) that did not come out as they were asked for."""

    def __init__(self, message: str, names: tuple[str, ...], *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.names = names


_MOST_LISTED = 50
"""Names that a hint lists; more than that nobody reads."""


def unknown(what: str, name: str, known: list[str]) -> UserError:
    """The error for a name that does not exist, naming those that do; of very many, those like it."""
    if len(known) > _MOST_LISTED:
        import difflib

        like = difflib.get_close_matches(name[:100], known, n=5)
        hint = f"there are {len(known)}, such as: {', '.join(like or sorted(known)[:5])}"
    else:
        hint = f"there are: {', '.join(sorted(known)) if known else 'none yet'}"
    return UserError(f"unknown {what} '{printable(name)}'", hint=hint)


def printable(text: str) -> str:
    """`text` with everything a terminal might act on made visible."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def to_stderr(text: str) -> None:
    """Tells a person something that is no result."""
    print(f"bootscope: {printable(text)}", file=sys.stderr, flush=True)
