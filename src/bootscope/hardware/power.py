# SPDX-License-Identifier: Apache-2.0
"""Switching a real board on and off: by commands, or by hand."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bootscope.core import process
from bootscope.core.errors import BoardError, CommandError, ToolError, UserError, printable

_NOT_THERE = (
    "--power-{what}, or power.{what} in the board's file, must start with a program in PATH, or a "
    "path relative to this folder, such as ./{what}.sh"
)


class Power(Protocol):
    """How a board is switched. Each call returns when it is done, and raises BoardError on failure."""

    @property
    def words(self) -> str:
        """How the board is switched, in words for people."""

    @property
    def tells_when(self) -> bool:
        """Whether power comes on between the call and the return of :meth:`on`."""

    def on(self) -> None:
        """Switches the board on."""

    def off(self) -> None:
        """Switches the board off."""


@dataclass(frozen=True)
class Commands:
    """Commands that switch the board, each a list of words that is run without a shell.

    Nothing that comes from a board gets into them.
    """

    on_words: Sequence[str]
    off_words: Sequence[str]
    timeout_s: float = 60
    tells_when: bool = True

    @property
    def words(self) -> str:
        return f"by the command {printable(self.on_words[0])}"

    def on(self) -> None:
        self._run("on", self.on_words)

    def off(self) -> None:
        self._run("off", self.off_words)

    def _run(self, what: str, words: Sequence[str]) -> None:
        try:
            process.run(words, timeout_s=self.timeout_s)
        except ToolError as error:
            told = f"the board file says: {' '.join(printable(w) for w in words)}"
            hint = told if isinstance(error, CommandError) else error.hint
            raise BoardError(f"the board cannot be switched {what}: {error.message}", hint=hint) from error

    def check(self) -> None:
        """Raises UserError for a command that cannot be run, before anything is switched."""
        for what, words in (("on", self.on_words), ("off", self.off_words)):
            if shutil.which(words[0], path=process.search_path()) is None:
                name, there = printable(words[0]), Path(words[0]).exists()
                why = "is not executable" if there else "is not there"
                hint = f"chmod +x {name}" if there else _NOT_THERE.format(what=what)
                raise UserError(f"power {what}: {name} {why}", hint=hint)


@dataclass(frozen=True)
class ByHand:
    """A person switches the board; `ask` shows a text and returns when the person confirms.

    The listener is running by then, so the moment of the answer hardly matters.
    """

    ask: Callable[[str], None]
    words: str = "by hand"
    tells_when: bool = False

    def on(self) -> None:
        self.ask("switch the board on now")

    def off(self) -> None:
        self.ask("switch the board off, then press Enter")


@dataclass(frozen=True)
class Already:
    """No switching here: somebody else switches the board, some time after listening began."""

    words: str = "by somebody else"
    tells_when: bool = False

    def on(self) -> None: ...

    def off(self) -> None: ...
