# SPDX-License-Identifier: Apache-2.0
"""The parsers of the command line: of verbs with their options, and of all verbs by name."""

from __future__ import annotations

import argparse
import importlib
import textwrap
from collections.abc import Iterable

from bootscope import __version__
from bootscope.cli.arguments import Parser, columns, table
from bootscope.cli.common import add_json
from bootscope.cli.verb import Verb
from bootscope.cli.verbs import GROUPS, VERBS


def load(name: str) -> type[Verb]:
    """The verb with that name."""
    module, _, kind = VERBS[name][0].partition(":")
    found: type[Verb] = getattr(importlib.import_module(f"bootscope.cli.{module}"), kind)
    return found


def _top() -> argparse.ArgumentParser:
    """The parser without verbs. An option with a value would break `_parser_for` in main.py."""
    top = Parser(
        prog="bootscope",
        description="Measures, explains and shrinks the boot time of Linux devices.",
        epilog="Start with: bootscope record debian",
    )
    top.add_argument("--version", action="version", version=f"bootscope {__version__}")
    return top


def parser(names: Iterable[str] = VERBS) -> argparse.ArgumentParser:
    """The parser of some verbs, or of all, with their options."""
    top = _top()
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=Parser)
    for name in names:
        verb, summary = load(name)(), VERBS[name][1]
        sub = verbs.add_parser(
            name,
            help=summary,
            description=textwrap.fill(f"{summary[:1].upper()}{summary[1:]}.", columns()),
            epilog=f"example: {verb.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        verb.options(sub)
        add_json(sub)
        sub.set_defaults(do=verb.run)
    return top


def overview() -> argparse.ArgumentParser:
    """A parser that knows the names and summaries of the verbs, and loads none of them."""
    top = _top()
    top.usage = "bootscope [-h] [--version] VERB ..."
    top.formatter_class = argparse.RawDescriptionHelpFormatter
    width = columns()
    top.description = f"{textwrap.fill(top.description or '', width)}\n\n{_grouped(width)}"
    verbs = top.add_subparsers(
        dest="verb", metavar="VERB", required=True, parser_class=Parser, help=argparse.SUPPRESS
    )
    for name in VERBS:
        verbs.add_parser(name)
    return top


def _grouped(width: int) -> str:
    """The verbs with their summaries, grouped by purpose."""
    longest = max(map(len, VERBS))
    groups = (
        f"{group}:\n{table({name: VERBS[name][1] for name in names}, longest, width)}"
        for group, names in GROUPS.items()
    )
    return "\n".join(groups)


def verb_parser(name: str) -> argparse.ArgumentParser:
    """The parser for the arguments of a verb."""
    verbs = next(a for a in parser([name])._actions if isinstance(a, argparse._SubParsersAction))
    found: argparse.ArgumentParser = verbs.choices[name]
    return found
