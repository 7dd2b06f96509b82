# SPDX-License-Identifier: Apache-2.0
"""Switching a real board on and off: by commands, or by hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from bootscope import process
from bootscope.errors import BoardError, CommandError, ToolError, printable


class Power(Protocol):
    """How a board is switched. Each call returns when it is done, and raises BoardError when it fails."""

    @property
    def words(self) -> str:
        """How that is done, for people."""

    @property
    def tells_when(self) -> bool:
        """Whether power comes on between call and return of :meth:`on`."""

    def on(self) -> None:
        """Switches the board on."""

    def off(self) -> None:
        """Switches the board off."""


@dataclass(frozen=True)
class Commands:
    """Commands switch the board, each a list of words that is run without a shell.

    Nothing that comes from a board gets into them.
    """

    on_words: Sequence[str]
    off_words: Sequence[str]
    timeout_s: float = 60
    tells_when: bool = True

    @property
    def words(self) -> str:
        """How that is done, for people."""
        return f"by the command {printable(self.on_words[0])}"

    def on(self) -> None:
        """Switches the board on."""
        self._run("on", self.on_words)

    def off(self) -> None:
        """Switches the board off."""
        self._run("off", self.off_words)

    def _run(self, what: str, words: Sequence[str]) -> None:
        try:
            process.run(words, timeout_s=self.timeout_s)
        except CommandError as error:
            raise BoardError(
                f"the board cannot be switched {what}: {error.message}",
                hint=f"the board file says: {' '.join(printable(w) for w in words)}",
            ) from error
        except ToolError as error:
            raise BoardError(
                f"the board cannot be switched {what}: {error.message}", hint=error.hint
            ) from error


@dataclass(frozen=True)
class ByHand:
    """A person switches the board; `ask` shows a text and returns when the person says that it is done.

    The listener hears the board at once, so that the moment of the answer does not matter much.
    """

    ask: Callable[[str], None]
    words: str = "by hand"
    tells_when: bool = False

    def on(self) -> None:
        """Asks for the board to be switched on."""
        self.ask("switch the board on now")

    def off(self) -> None:
        """Asks for the board to be switched off, and for the answer."""
        self.ask("switch the board off, then press Enter")


@dataclass(frozen=True)
class Already:
    """Nobody is asked: the board is switched by somebody else, some time after listening began."""

    words: str = "by somebody else"
    tells_when: bool = False

    def on(self) -> None:
        """Does nothing."""

    def off(self) -> None:
        """Does nothing."""


def switched(turn: Callable[[], None]) -> tuple[int, int]:
    """Switches; returns the moments of call and return on the monotonic clock, in ns."""
    called = time.monotonic_ns()
    turn()
    return called, time.monotonic_ns()
