# SPDX-License-Identifier: Apache-2.0
"""What is known of a system that some changes were made to, without building it.

What a change says of a setting is known then. What follows from it in a kernel's configuration is told by
the kernel's sources where these are at hand, and is not known otherwise.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from bootscope.core.errors import UserError
from bootscope.inventory.inventory import Inventory
from bootscope.inventory.recorded import Recorded
from bootscope.kbuild.kconfig import written
from bootscope.system.changes import TREES, Change, matches, with_words

_KERNEL = "kernel"
_OPTIONS, _WORDS = "application.compiler_options", "kernel.command_line"

K = TypeVar("K", bound=Inventory)


def changed(known: K, changes: Sequence[Change]) -> K:
    """What is known of a system with changes, all of whose placeholders are filled in. What its boot showed
    stays what it was."""
    if not changes:
        return known
    configs, partial = dict(known.configs), set(known.partial)
    for tree in TREES:
        asked = _asked(tree, changes)
        follows = _follows(known, changes, asked) if tree == _KERNEL else {}
        if follows is None:
            partial.add(tree)
        # What is not named may have gone with what is.
        there = known.configs.get(tree, {}) if follows is not None else {}
        configs[tree] = {**there, **(follows or {}), **asked}
    line, options = known.command_line, " ".join(known.compiler_options)
    settings, files = dict(known.settings), dict(known.files)
    for change in changes:
        line = with_words(line.split(), change.command_line, change.command_line_drop)
        options = with_words(options.split(), change.compiler_options, change.compiler_options_drop)
        settings = _with_settings(settings, change.settings)
        files = _with_files(files, change)
    settings |= {_WORDS: line, _OPTIONS: str(options.split())}
    return replace(
        known,
        configs=configs,
        partial=frozenset(partial),
        command_line=line,
        settings=settings,
        files=files,
    )


def _asked(tree: str, changes: Sequence[Change]) -> dict[str, str]:
    """The symbols that changes ask for, as written; wishes give way to the rest."""
    wishes = [c.kernel_wishes for c in changes] if tree == _KERNEL else []
    tables = (*wishes, *(getattr(c, tree) for c in changes))
    return {name: written(value) for symbols in tables for name, value in symbols.items()}


def _follows(known: Inventory, changes: Sequence[Change], asked: Mapping[str, str]) -> dict[str, str] | None:
    """The kernel's symbols that go with those that are switched off; None where that cannot be told."""
    if any(change.from_nothing for change in changes):
        return None
    off = [name for name, value in asked.items() if value == "n"]
    if not off:
        return {}
    closures = known.closures if isinstance(known, Recorded) else None
    with contextlib.suppress(UserError):
        return dict.fromkeys(closures.lost(off).symbols, "n") if closures else None
    return None


def _with_settings(settings: dict[str, str], new: Mapping[str, Any]) -> dict[str, str]:
    """Settings as texts (see recording.flat) with those of a change."""
    for key, value in new.items():
        kept = {k: text for k, text in settings.items() if not k.startswith(f"{key}.")}
        table = {f"{key}.{name}": text for name, text in value.items()} if isinstance(value, dict) else {}
        settings = {**kept, **(table or {key: str(value)})}
    return settings


def _with_files(files: dict[str, str], change: Change) -> dict[str, str]:
    """A list of contents as a change makes it."""
    kept = {path: told for path, told in files.items() if not matches(path, change.remove)}
    texts = {path: hashlib.sha256(text.encode()).hexdigest()[:16] for path, text in change.write.items()}
    made = {path: f"file {digest}" for path, digest in texts.items()}
    return {**kept, **made, **{path: f"-> {target}" for path, target in change.link.items()}}
