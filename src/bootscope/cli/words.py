# SPDX-License-Identifier: Apache-2.0
"""The names that a shell can complete, by kind.

Somebody waits at a prompt: only what is asked for is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable


def _runs() -> list[str]:
    from bootscope.capture.naming import names_of
    from bootscope.capture.store import Store
    from bootscope.core.paths import store_dir

    ids = Store(store_dir()).run_ids()
    return ["last", "last~1", *names_of(ids), *ids]


def _trees() -> list[str]:
    from bootscope.buildtrees.keep import tree_names

    return tree_names()


def _systems() -> list[str]:
    from bootscope.system.load import system_names

    return system_names()


def _boards() -> list[str]:
    from bootscope.boards.profile import board_names

    return board_names()


def _techniques() -> list[str]:
    from bootscope.techniques.model import technique_ids

    return technique_ids()


def _pitfalls() -> list[str]:
    from bootscope.audit.pitfalls.model import pitfalls

    return list(pitfalls())


def _tables() -> list[str]:
    from bootscope.published.tables import table_ids

    return table_ids()


def _milestones() -> list[str]:
    """Those of the systems that come with bootscope."""
    from bootscope.system.load import load_system, milestones, system_names

    return [milestone for name in system_names() for milestone in milestones(load_system(name).system)]


def _topics() -> list[str]:
    from bootscope.cli.documents import topics
    from bootscope.cli.verbs import VERBS

    return [*topics(), *VERBS]


def _formats() -> list[str]:
    from bootscope.export.registry import EXPORTERS

    return [exporter.name for exporter in EXPORTERS]


def _changes() -> list[str]:
    """What can be said as it stands: a form such as console=BAUD up to what is to be filled in."""
    from bootscope.analysis.whatif import KNOWN

    return [name.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ") if name[-1].isupper() else name for name in KNOWN]


def _phases() -> list[str]:
    from bootscope.loaders.registry import PHASES

    return list(PHASES)


def _parts() -> list[str]:
    from bootscope.core.needs import PARTS

    return list(PARTS)


def _build_systems() -> list[str]:
    from bootscope.buildtrees.applying import WRITERS

    return list(WRITERS)


KINDS: dict[str, Callable[[], list[str]]] = {
    "runs": _runs,
    "trees": _trees,
    "systems": _systems,
    "boards": _boards,
    "techniques": _techniques,
    "pitfalls": _pitfalls,
    "tables": _tables,
    "milestones": _milestones,
    "topics": _topics,
    "formats": _formats,
    "changes": _changes,
    "phases": _phases,
    "parts": _parts,
    "build systems": _build_systems,
}


def words(kinds: Iterable[str]) -> list[str]:
    """The names of some kinds, each once."""
    return list(dict.fromkeys(name for kind in kinds for name in KINDS[kind]()))
