# SPDX-License-Identifier: Apache-2.0
"""The console on which results are printed."""

from __future__ import annotations

from rich.console import Console


class Terminal(Console):
    """A console that leaves it to main() to handle a reader that has closed the pipe."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError
