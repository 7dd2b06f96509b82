# SPDX-License-Identifier: Apache-2.0
"""Whether a technique applies to a system: whether it changes anything and its conditions are met.

Where the necessary part of the system is unknown, the answer is "unknown".
"""

from __future__ import annotations

import contextlib
import fnmatch
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

import msgspec

from bootscope.changes.impossible import impossible, other_root, prebuilt
from bootscope.core.errors import UserError
from bootscope.inventory.indicators import INDICATORS, indicator_evidence
from bootscope.inventory.inventory import TREE_PARTS, Absent, Inventory, Part
from bootscope.inventory.recorded import Unrecorded
from bootscope.inventory.values import PLACEHOLDER, known_value, put_in, value_if_known
from bootscope.kbuild.kconfig import written
from bootscope.system.changes import TREES, Change, word_name
from bootscope.techniques.model import Applies, Recipe

_MOUNTING = ("rootfstype", "rootflags", "rootwait", "rootdelay")
"""Names of command-line words that say how the root is mounted."""

_ON_THE_CARD = ("file ", "busybox.", "rootfs.", "card.root_")
"""Prefixes of the claims of a change that concern the root file system."""


def with_values(text: str, facts: Inventory) -> str:
    """The text with each `@name@` replaced by its value in this system and this boot.

    Raises UserError when a value is unknown or the system has no such thing.
    """
    return put_in(text, lambda name: known_value(name, facts))


def each_with_values(text: str, facts: Inventory) -> list[str]:
    """The same for a `what-if` change: one text for each pattern of its placeholder, which may have none.

    Raises UserError as :func:`with_values` does.
    """
    kind, _, names = text.partition(":")
    if not PLACEHOLDER.fullmatch(names):
        return [with_values(text, facts)]
    return [f"{kind}:{name}" for name in with_values(names, facts).split()]


def filled(change: Change, facts: Inventory) -> Change:
    """The change with its placeholders replaced by values of this system and this boot. A placeholder stays
    where too little is known of the system to find its value: that does not rule the change out.

    Raises UserError when another value is unknown or the system has no such thing.
    """
    return fill(change, lambda name: value_if_known(name, facts, known_value))


def fill(change: Change, value_of: Callable[[str], str | None]) -> Change:
    """The change with placeholders replaced in every text (see :func:`put_in`). Paths that become empty are
    left out; one placeholder may give several patterns or words of a command line."""

    def text(given: str) -> str:
        return put_in(given, value_of)

    def values(table: Mapping[str, Any]) -> dict[str, Any]:
        return {text(key): value(given) for key, given in table.items()}

    def value(given: Any) -> Any:
        if isinstance(given, str):
            made = text(given)
            return int(made) if PLACEHOLDER.fullmatch(given) and made.isdecimal() else made
        if isinstance(given, tuple):
            return tuple(text(one) if isinstance(one, str) else one for one in given)
        return values(given) if isinstance(given, dict) else given

    def paths(table: Mapping[str, str]) -> dict[str, str]:
        return {path: text(given) for name, given in table.items() if (path := text(name))}

    return msgspec.structs.replace(
        change,
        **{tree: values(getattr(change, tree)) for tree in TREES},
        settings=values(change.settings),
        command_line=tuple(
            word
            for given in change.command_line
            for word in (text(given).split() if PLACEHOLDER.fullmatch(given) else [text(given)])
        ),
        write=paths(change.write),
        link=paths(change.link),
        remove=tuple(
            path
            for pattern in change.remove
            for path in (text(pattern).split() if PLACEHOLDER.search(pattern) else [pattern])
        ),
    )


SO_ALREADY = "already in effect"


def why_not(recipe: Recipe, facts: Inventory) -> str:
    """Why a recipe of a technique is of no use to this system; empty when it applies or too little is known
    to decide (see :func:`not_known`)."""
    return SO_ALREADY if changes_nothing(recipe, facts) else unmet(recipe, facts)


def untried(recipe: Recipe, facts: Inventory) -> str:
    """Why a recipe cannot be tried here: what it changes is prebuilt, or :func:`unmet`. Empty when it can."""
    with contextlib.suppress(UserError):
        if found := next(prebuilt(filled(recipe.change, facts), facts), ""):
            return found
    return unmet(recipe, facts)


def changes_nothing(recipe: Recipe, facts: Inventory) -> bool:
    """Whether a recipe is known to make no difference to this system."""
    try:
        change = filled(recipe.change, facts)
    except UserError:
        return False
    return not _differs(change, facts) and not any(_blind(change, facts))


def unmet(recipe: Recipe, facts: Inventory) -> str:
    """The first condition of a recipe that this system does not meet; empty when it meets all or too little
    is known to decide."""
    try:
        change = filled(recipe.change, facts)
        found = chain(impossible(change, facts), _unmet(recipe.applies, facts), _out_of_it(change, facts))
        return next(found, "")
    except UserError as error:
        told = facts.knows(Part.BOOT) and not isinstance(error, Unrecorded)
        return error.message if told or isinstance(error, Absent) else ""


def not_known(recipe: Recipe, facts: Inventory) -> str:
    """What must be known to decide whether a recipe applies, given that nothing rules it out; empty when
    it does apply."""
    missing = list(_missing(recipe.applies, facts))
    try:
        change = filled(recipe.change, facts)
    except UserError as error:
        return ", ".join(dict.fromkeys([*missing, error.message]))
    if not _differs(change, facts):
        missing = [*_blind(change, facts), *missing]
    return ", ".join(dict.fromkeys(missing))


def _symbols(wanted: Change | Applies, facts: Inventory) -> list[tuple[str, str, str | None, str]]:
    """The wanted symbols: (tree, name, value now or None where unknown, value wanted)."""
    asked = ((tree, name, value) for tree in TREES for name, value in getattr(wanted, tree).items())
    return [(tree, name, facts.symbol(tree, name), written(value)) for tree, name, value in asked]


def _differs(change: Change, facts: Inventory) -> bool:
    """Whether at least one part of a change is known to differ from what is there now."""
    settings = facts.knows(Part.SETTINGS)
    return (
        any(now not in (None, value) for _, _, now, value in _symbols(change, facts))
        or (facts.knows(Part.COMMAND_LINE) and _words_differ(change, facts.words))
        or (facts.knows(Part.FILES) and _files_differ(change, facts))
        or (settings and _options_differ(change, facts.compiler_options))
        or any(
            (settings or key in facts.settings) and not facts.has_setting(key, value)
            for key, value in change.settings.items()
        )
    )


def _words_differ(change: Change, now: list[str]) -> bool:
    words, added = ({word_name(word): word for word in some} for some in (now, change.command_line))
    dropped = {word_name(word) for word in change.command_line_drop} - added.keys()
    return bool(dropped & words.keys()) or any(words.get(word_name(w)) != w for w in change.command_line)


def _files_differ(change: Change, facts: Inventory) -> bool:
    gone = (path for path in facts.files if path not in change.write and path not in change.link)
    return (
        not all(facts.unread(path) or facts.has_file(path, text) for path, text in change.write.items())
        or any(facts.files.get(path) != f"-> {target}" for path, target in change.link.items())
        or any(fnmatch.fnmatchcase(path, pattern) for path in gone for pattern in change.remove)
    )


def _options_differ(change: Change, now: list[str]) -> bool:
    added = {word_name(option) for option in change.compiler_options}
    dropped = {word_name(option) for option in change.compiler_options_drop} - added
    return not set(change.compiler_options) <= set(now) or any(word_name(option) in dropped for option in now)


def _blind(change: Change, facts: Inventory) -> Iterator[str]:
    """What a change concerns that is unknown."""
    settings = [key for key in change.settings if key not in facts.settings]
    about = {
        Part.COMMAND_LINE: [*change.command_line, *change.command_line_drop],
        Part.FILES: [*change.write, *change.link, *change.remove],
        Part.SETTINGS: [*change.compiler_options, *change.compiler_options_drop, *settings],
    }
    yield from _unknown(change, about, facts)
    yield from (f"the content of {path}" for path in change.write if facts.unread(path))


def _unknown(wanted: Change | Applies, about: dict[Part, list[str]], facts: Inventory) -> Iterator[str]:
    """The unknown parts: trees whose wanted symbols are unknown, and parts that `about` has entries for."""
    yield from dict.fromkeys(TREE_PARTS[tree] for tree, _, now, _ in _symbols(wanted, facts) if now is None)
    yield from (part for part, touched in about.items() if touched and not facts.knows(part))


def _unmet(wanted: Applies, facts: Inventory) -> Iterator[str]:
    for tree, symbol, now, value in _symbols(wanted, facts):
        if now not in (None, value):
            yield f"{tree} has {symbol}={now}, it is for {symbol}={value}"
    yield from _unmet_words(wanted, facts)
    if wanted.filesystem and facts.filesystem and facts.filesystem not in wanted.filesystem:
        yield f"the root file system is {facts.filesystem}"
    if facts.knows(Part.SETTINGS):
        yield from _unmet_settings(wanted, facts)
    yield from _unmet_files(wanted, facts)
    if wanted.shows and indicator_evidence(wanted.shows, facts) == "":
        yield f"the boot does not show {INDICATORS[wanted.shows].what}"


def _unmet_settings(wanted: Applies, facts: Inventory) -> Iterator[str]:
    for key, value in wanted.settings.items():
        asked = with_values(value, facts) if isinstance(value, str) else value
        if not facts.has_setting(key, asked):
            yield f"{key} is {facts.settings.get(key) or 'not set'}, it is for {asked or 'none'}"


def _out_of_it(change: Change, facts: Inventory) -> Iterator[str]:
    """Why a change to the root file system has no effect on a boot whose root is in memory."""
    place = facts.settings.get("initramfs.place")
    in_memory = facts.word("rdinit") is not None or place
    if not facts.knows(Part.COMMAND_LINE) or not in_memory or facts.word("root") is not None:
        return
    mounts = any(word_name(word) in _MOUNTING for word in change.command_line)
    if mounts or other_root(change):
        yield "the root is in memory: no file system is mounted for it"
    path = facts.settings.get("application.path")
    alone = place and path and facts.settings.get("initramfs.only") == str((path,))
    claims = change.claims()
    if alone and f"file {path}" not in claims and all(key.startswith(_ON_THE_CARD) for key in claims):
        yield "the root is an archive with only the application"


def _unmet_words(wanted: Applies, facts: Inventory) -> Iterator[str]:
    """Unmet conditions on the kernel's command line."""
    if facts.knows(Part.COMMAND_LINE, Part.SETTINGS):
        needed = (with_values(word, facts) for word in wanted.command_line)
        # For a root in memory, `rdinit=` names the first process in place of `init=`.
        there = {*facts.words, *(word[2:] for word in facts.words if word.startswith("rdinit="))}
        yield from (f"the command line lacks {word}" for word in needed if word not in there)
    for name in wanted.command_line_lacks:
        if any(word_name(word) == name for word in facts.words):
            yield f"the command line has {name}"


def _unmet_files(wanted: Applies, facts: Inventory) -> Iterator[str]:
    """Unmet conditions on the root file system and the application."""
    if facts.knows(Part.FILES):
        files = (with_values(pattern, facts) for pattern in wanted.files)
        yield from (f"there is no {p}" for p in files if not fnmatch.filter(facts.files, p))
    if facts.knows(Part.SETTINGS):
        lacking = (option for option in wanted.compiler_options if option not in facts.compiler_options)
        yield from (f"the application is not compiled with {option}" for option in lacking)
        there = (option for option in wanted.compiler_options_lack if option in facts.compiler_options)
        yield from (f"the application is compiled with {option}" for option in there)


def _missing(wanted: Applies, facts: Inventory) -> Iterator[str]:
    """Conditions that cannot be decided because input is missing."""
    options = wanted.compiler_options + wanted.compiler_options_lack
    about = {
        Part.COMMAND_LINE: [*wanted.command_line, *wanted.command_line_lacks],
        Part.FILES: [*wanted.files],
        Part.SETTINGS: [*wanted.settings, *options, *wanted.command_line],
    }
    yield from _unknown(wanted, about, facts)
    if wanted.filesystem and not facts.filesystem:
        yield "the kind of root file system"
    if wanted.shows and indicator_evidence(wanted.shows, facts) is None:
        yield f"a boot that may show {INDICATORS[wanted.shows].what}"
