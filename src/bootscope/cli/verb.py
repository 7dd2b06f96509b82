# SPDX-License-Identifier: Apache-2.0
"""The base of all verbs: a class with an example, options and a run; the table of verbs has the rest."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from rich.console import Console

JSON_SCHEMA = 1
"""Version of all --json output (docs/json.md)."""


class Verb:
    """One verb of the command line. Subclasses parse and print; the work is done elsewhere."""

    example: ClassVar[str]

    def options(self, parser: argparse.ArgumentParser) -> None:
        """Adds the verb's own options."""

    def run(self, args: argparse.Namespace) -> int:
        """Runs the verb; returns the exit code."""
        raise NotImplementedError


TABLES, PROSE = 200, 80
"""The columns of output that does not go to a terminal: a table that is not cut can be searched; texts are as
wide as those of `--help`."""


def terminal(columns: int = TABLES) -> Console:
    """Where results go: coloured and as wide as the terminal on one, plain and `columns` wide elsewhere."""
    # Verbs that print JSON or list verbs need not load the library that draws tables.
    from bootscope.cli.terminal import Terminal

    return Terminal(highlight=False, width=None if sys.stdout.isatty() else columns)


def print_json(kind: str, value: dict[str, object]) -> None:
    """Prints one JSON document: `schema`, `kind`, and the fields of `value`."""
    import msgspec

    document = {"schema": JSON_SCHEMA, "kind": kind, **value}
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n")
