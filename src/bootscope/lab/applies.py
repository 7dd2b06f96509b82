# SPDX-License-Identifier: Apache-2.0
"""Whether a technique applies to a system: would its change change anything, and are its conditions met?"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from bootscope.build.kconfig import written
from bootscope.errors import UserError
from bootscope.lab.facts import Facts
from bootscope.lab.signs import SIGNS
from bootscope.system.changes import TREES, Change, word_name
from bootscope.techniques.model import Applies, Way

PLACEHOLDER = re.compile(r"@(\w+)@")


def with_values(text: str, facts: Facts) -> str:
    """A text with the values of this system and this boot in the place of `@name@`.

    Raises UserError when the boot does not tell one.
    """
    return PLACEHOLDER.sub(lambda match: facts.value(match[1]), text)


def filled(change: Change, facts: Facts) -> Change:
    """The change with the values of this system and this boot put in for its placeholders.

    Raises UserError when the boot does not tell one.
    """

    return fill(change, lambda text: with_values(text, facts))


def fill(change: Change, put_in: Callable[[str], str]) -> Change:
    """The change with every text in it that may have placeholders made another one by `put_in`."""

    def values(table: Mapping[str, Any]) -> dict[str, Any]:
        return {put_in(key): value_of(value) for key, value in table.items()}

    def value_of(value: Any) -> Any:
        if isinstance(value, str):
            return put_in(value)
        if isinstance(value, tuple):
            return tuple(put_in(item) for item in value)
        return values(value) if isinstance(value, dict) else value

    return msgspec.structs.replace(
        change,
        **{tree: values(getattr(change, tree)) for tree in TREES},
        settings=values(change.settings),
        command_line=tuple(put_in(word) for word in change.command_line),
        write={put_in(path): put_in(text) for path, text in change.write.items()},
        link={put_in(path): put_in(target) for path, target in change.link.items()},
    )


def why_not(way: Way, facts: Facts) -> str:
    """Why a way of a technique need not be tried on this system; empty when it applies."""
    try:
        change = filled(way.change, facts)
    except UserError as error:
        return error.message
    if not any(_differences(change, facts)):
        return "it is so already"
    return next(_unmet(way.applies, facts), "")


def _differences(change: Change, facts: Facts) -> Iterator[str]:
    """What of a change is not so already."""
    for tree in TREES:
        for symbol, value in getattr(change, tree).items():
            if facts.configs[tree].get(symbol, "n") != written(value):
                yield f"{tree} {symbol}"
    words = {word_name(word): word for word in facts.words}
    yield from (word for word in change.command_line if words.get(word_name(word)) != word)
    dropped_words = {word_name(word) for word in change.command_line_drop}
    yield from dropped_words & (words.keys() - {word_name(word) for word in change.command_line})
    yield from (path for path, text in change.write.items() if not facts.has_file(path, text))
    yield from (path for path, target in change.link.items() if facts.files.get(path) != f"-> {target}")
    kept = {*change.write, *change.link}
    for pattern in change.remove:
        yield from (path for path in facts.files if path not in kept and fnmatch.fnmatchcase(path, pattern))
    options = facts.compiler_options
    yield from (option for option in change.compiler_options if option not in options)
    dropped = {word_name(o) for o in change.compiler_options_drop} - {
        word_name(o) for o in change.compiler_options
    }
    yield from (option for option in options if word_name(option) in dropped)
    yield from (key for key, value in change.settings.items() if not facts.has_setting(key, value))


def _unmet(wanted: Applies, facts: Facts) -> Iterator[str]:
    for tree in TREES:
        for symbol, value in getattr(wanted, tree).items():
            now = facts.configs[tree].get(symbol, "n")
            if now != written(value):
                yield f"{tree} has {symbol}={now}, it is for {symbol}={written(value)}"
    yield from _unmet_words(wanted, facts)
    filesystem = facts.settings.get("rootfs.filesystem", "")
    if wanted.filesystem and filesystem not in wanted.filesystem:
        yield f"the root file system is {filesystem}"
    for key, value in wanted.settings.items():
        now = facts.settings.get(key, "")
        if not facts.has_setting(key, value):
            yield f"{key} is {now or 'not set'}, it is for {value}"
    yield from _unmet_files(wanted, facts)
    if wanted.shows and not SIGNS[wanted.shows].evidence(facts):
        yield f"the boot does not show {SIGNS[wanted.shows].what}"


def _unmet_words(wanted: Applies, facts: Facts) -> Iterator[str]:
    """What is not met of the kernel's command line."""
    for word in wanted.command_line:
        needed = with_values(word, facts)
        if needed not in facts.words:
            yield f"the command line lacks {needed}"
    for name in wanted.command_line_lacks:
        if any(word_name(word) == name for word in facts.words):
            yield f"the command line has {name}"


def _unmet_files(wanted: Applies, facts: Facts) -> Iterator[str]:
    """What is not met of the root file system and the application."""
    for pattern in wanted.files:
        if not fnmatch.filter(facts.files, pattern):
            yield f"there is no {pattern}"
    for option in wanted.compiler_options:
        if option not in facts.compiler_options:
            yield f"the application is not compiled with {option}"
