# SPDX-License-Identifier: Apache-2.0
"""What may come next on a command line: the verbs, then the options of a verb and their values, taken from
the parser itself. The shells' scripts (completion.py) only call this."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Iterable, Sequence

from bootscope.cli.verbs import VERBS

KINDS: dict[str, tuple[str, ...]] = {
    "run": ("runs",),
    "a": ("runs",),
    "b": ("runs",),
    "like": ("runs",),
    "board": ("boards",),
    "until": ("milestones",),
    "milestone": ("milestones",),
    "to": ("milestones",),
    "technique": ("techniques",),
    "phase": ("phases",),
    "part": ("parts",),
    "topic": ("topics",),
    "change": ("changes",),
    "table": ("tables",),
    "system": ("systems", "trees"),
    "record system": ("systems",),
    "trim system": ("systems",),
    "apply system": ("trees",),
    "apply what": ("techniques",),
    "apply to": ("build systems",),
    "load run": (),
    "debug recording": ("runs",),
    "debug run": (),
    "debug at": ("milestones",),
    "schema name": ("schemas",),
    "audit what": ("runs", "systems", "trees"),
    "optimize only": ("techniques",),
    "techniques id": ("techniques",),
    "techniques phase": (),
    "techniques for": ("kinds of systems",),
    "pitfalls id": ("pitfalls",),
    "export format": ("formats",),
    "import milestone": (),
    "system of": ("trees", "systems"),
}
"""Argument, or verb and argument, by the parser's names -> kinds of names."""

Found = list[tuple[str, str]]
"""Words, each with a short description."""


def candidates(line: Sequence[str]) -> Found:
    """What may replace the last word of `line`, which is the command line after `bootscope`. Empty if only
    the user or the file system can know."""
    *before, current = line
    if not before:
        return _beginning(current, [(name, summary) for name, (_, summary) in VERBS.items()])
    if before[0] not in VERBS:
        return []
    # Listing the verbs needs none of their parsers.
    from bootscope.cli.parsers import verb_parser

    return _of_verb(before[0], verb_parser(before[0]), before[1:], current)


def _beginning(current: str, found: Found) -> Found:
    return [(word, meaning) for word, meaning in found if word.startswith(current)]


def _of_verb(verb: str, parser: argparse.ArgumentParser, before: list[str], current: str) -> Found:
    """What may follow the arguments of a verb."""
    name, joined, value = current.partition("=")
    if joined and name in parser._option_string_actions:
        values = _values(verb, parser._option_string_actions[name], before)
        return [(f"{name}={word}", meaning) for word, meaning in _beginning(value, values)]
    if current.startswith("-"):
        return _beginning(current, _options(parser))
    action = _expected(parser, before)
    return _beginning(current, _values(verb, action, before)) if action else []


def _options(parser: argparse.ArgumentParser) -> Found:
    shown = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    return [(name, action.help or "") for action in shown for name in action.option_strings]


def _expected(parser: argparse.ArgumentParser, before: list[str]) -> argparse.Action | None:
    """The argument that the next word belongs to."""
    positionals = [action for action in parser._actions if not action.option_strings]
    option: argparse.Action | None = None
    given, left = 0, 0
    for word in before:
        if word.startswith("-") and len(word) > 1:
            option, left = parser._option_string_actions.get(word), 0
            left = _takes(option) if option else 0
        elif left:
            left -= 1
        else:
            given += 1
    if option and left:
        return option
    if not positionals:
        return None
    last = positionals[-1]
    if given < len(positionals):
        return positionals[given]
    return last if last.nargs in ("*", "+") else None


def _takes(option: argparse.Action) -> int:
    """How many words an option takes; a very large number if there is no limit."""
    if option.nargs is None:
        return 1
    if isinstance(option.nargs, int):
        return option.nargs
    return 1 if option.nargs == "?" else 1_000_000


def _values(verb: str, action: argparse.Action, before: list[str]) -> Found:
    """The values of an argument, if they can be listed."""
    if action.choices is not None:
        return [(str(choice), "") for choice in action.choices]
    if verb == "system" and action.dest == "of":
        return _of_system(before)
    if action.nargs == 2 and before and not before[-1].startswith("-"):
        return []  # the first of the two is given
    kinds = KINDS.get(f"{verb} {action.dest}", KINDS.get(action.dest, ()))
    return [(word, "") for word in names(kinds)]


def _of_system(before: list[str]) -> Found:
    """What may follow the action of `system`, and the words after that."""
    if before[:1] == ["import"] or (before[:1] == ["copy"] and len(before) > 1):
        return []  # a folder
    kinds = {"copy": ("systems",), "rm": ("trees",)}.get(before[0], KINDS["system of"])
    return [(word, "") for word in names(kinds)]


# ---- names by kind ----


def _runs() -> list[str]:
    from bootscope.capture.naming import names_of
    from bootscope.capture.store import Store
    from bootscope.core.paths import store_dir

    ids = Store(store_dir()).run_ids()
    return ["last", "last~1", *names_of(ids), *ids]


def _milestones() -> list[str]:
    """The milestones of the systems that come with bootscope."""
    from bootscope.boards.profile import load_board
    from bootscope.system.load import load_system, milestones, system_names

    systems = [load_system(name).system for name in system_names()]
    found = [m for system in systems for m in milestones(system, load_board(system.board).boot_loader)]
    return list(dict.fromkeys(found))


def _topics() -> list[str]:
    from bootscope.cli.documents import topics

    return [*topics(), *VERBS]


def _formats() -> list[str]:
    from bootscope.export.registry import EXPORTERS

    return [exporter.name for exporter in EXPORTERS]


def _changes() -> list[str]:
    """Changes as they can be typed: of a form such as console=BAUD only the part before the placeholder."""
    from bootscope.analysis.whatif import KNOWN

    return [name.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ") if name[-1].isupper() else name for name in KNOWN]


NAMES: dict[str, str | Callable[[], list[str]]] = {
    "runs": _runs,
    "trees": "buildtrees.keep:tree_names",
    "systems": "system.load:system_names",
    "boards": "boards.profile:board_names",
    "techniques": "techniques.model:technique_ids",
    "pitfalls": "audit.pitfalls.model:pitfalls",
    "tables": "published.tables:table_ids",
    "milestones": _milestones,
    "topics": _topics,
    "formats": _formats,
    "changes": _changes,
    "phases": "loaders.registry:PHASES",
    "parts": "core.needs:PARTS",
    "schemas": "cli.schema:KINDS",
    "kinds of systems": "inventory.machine:KINDS",
    "build systems": "buildtrees.applying:WRITERS",
}
"""Kind -> a function that returns its names, or module:name below bootscope: the user waits at a prompt, so
only what is needed is loaded."""


def names(kinds: Iterable[str]) -> list[str]:
    """The names of these kinds, each once."""
    return list(dict.fromkeys(name for kind in kinds for name in _names(kind)))


def _names(kind: str) -> Iterable[str]:
    where = NAMES[kind]
    if isinstance(where, str):
        module, _, name = where.partition(":")
        where = getattr(importlib.import_module(f"bootscope.{module}"), name)
    return where() if callable(where) else where
