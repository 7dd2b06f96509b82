# SPDX-License-Identifier: Apache-2.0
"""The subject of an audit, as the user names it: a recording, a system, an import, or files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bootscope.analysis.views import View, view
from bootscope.artefacts.file_facts import Piece
from bootscope.artefacts.identify import KINDS, gather, read_pieces, together
from bootscope.artefacts.logs import of_understood
from bootscope.builder.cache import Cache
from bootscope.buildtrees import subject as trees
from bootscope.buildtrees.keep import is_tree, load_tree
from bootscope.buildtrees.model import Tree
from bootscope.capture.store import Store
from bootscope.capture.stored import RECORDED, StoredRun
from bootscope.core.errors import UserError, printable
from bootscope.core.text import listed, seconds
from bootscope.cores.choice import NO_CORE, CoreChoice
from bootscope.emulator.subject import flat
from bootscope.inventory.closure import depends_on
from bootscope.inventory.inventory import Inventory, Part
from bootscope.inventory.planned import planned
from bootscope.inventory.recorded import facts
from bootscope.runs.heard import Measured
from bootscope.runs.run import Recording, run_of
from bootscope.system.load import LoadedSystem, load_system, system_names
from bootscope.timeline.trace import Trace

_NO_BOOT = "no timing data: no boot was given"


@dataclass(frozen=True)
class Subject:
    """What is audited: `title` in words, `pieces` if it came from files, `notes`; `learn` returns what is
    known, `trace` is what logs tell beside their lines; `stored` logs are a run that `show` knows. `seen` is
    the recorded boot if there is one; results depend only on that boot and on what `depends` returns."""

    title: str
    learn: Callable[[], Inventory]
    pieces: tuple[Piece, ...] = ()
    notes: tuple[str, ...] = ()
    seen: View | None = None
    depends: str = ""
    trace: Trace | None = None
    stored: bool = False

    @cached_property
    def known(self) -> Inventory:
        """What is known. For a recording this takes seconds, and may not be needed."""
        return self.learn()

    @property
    def boot(self) -> str | None:
        """The id of the recorded boot, if there is one."""
        return self.seen.boot.info.boot_id if self.seen else None


def subject(store: Store, cache: Cache, names: Sequence[str], core: CoreChoice = None) -> Subject:
    """The subject that `names` name; without names, the last run. A recording is looked at on a `core`, if
    given, or without any.

    Raises UserError for names that are neither a run nor a system nor a readable file, and for a boot that
    did not reach its milestone; for a core that nothing was counted for, or if nothing was emulated.
    """
    found = _subject(store, cache, names)
    now = (found.seen.core if found.seen else None) or NO_CORE
    # A view of the same kind already has the results that were kept for it.
    if core is None or core == now:
        return found
    if found.seen is None or found.seen.on_core is None:
        name = core if core == NO_CORE else core.name
        raise UserError(f"no boot was emulated: nothing was counted for the core {name}")
    return _seen(store, cache, found.seen.on_core(core), found.notes)


def _subject(store: Store, cache: Cache, names: Sequence[str]) -> Subject:
    if names and is_tree(names[0]):
        return _tree(store, load_tree(names[0])[0], names[1:])
    if len(names) == 1 and names[0].endswith(".toml"):
        return _system(store, cache, load_system(names[0]))
    if len(names) <= 1 and not (names and _is_path(store, names[0])):
        return _named(store, cache, names[0] if names else "last")
    return _files(names)


def _tree(store: Store, tree: Tree, names: Sequence[str]) -> Subject:
    """An imported tree, with what tells more of it: a recorded boot, or files such as a boot's log."""
    pieces, notes = trees.pieces(tree)
    for name in names:
        pieces += read_pieces([name]) if _is_path(store, name) else _heard_of(store, name).pieces
    known = together(pieces)
    told = [] if known.knows(Part.LOG) else [_NO_BOOT]
    return Subject(trees.title(tree), lambda: known, tuple(pieces), (*notes, *_notes(pieces), *told))


def _notes(pieces: Iterable[Piece]) -> list[str]:
    return [f"{printable(piece.name)}: {note}" for piece in pieces for note in piece.notes]


def _heard_of(store: Store, name: str) -> Subject:
    """The subject of a recorded boot of a real board, or of an import."""
    run_id, number = _run_and_boot(store, name)
    heard = _heard(store, run_id, number)
    if not heard:
        raise UserError(
            f"{run_id} is a run of the emulated board and cannot be combined with other input",
            hint="an imported system can be combined with boots of its own board, or files",
        )
    return heard


def _heard(store: Store, run_id: str, number: int | None) -> Subject | None:
    """The subject of a run that consists of logs only; None for one of the emulator."""
    run = run_of(store, run_id)
    if isinstance(run, Recording):
        return None
    if isinstance(run, Measured):
        boot = run.boot(number)
        title = f"{boot.boot_id}: a real board's console"
    else:
        boot = run.boot(number)
        title = f"{run_id}: {printable(store.summary(run_id).system)}, imported"
    pieces = tuple(of_understood(boot.understood, boot.boots, boot.index))
    return Subject(title, lambda: together(pieces), pieces, trace=boot.trace(lines=False), stored=True)


def _run_and_boot(store: Store, name: str) -> tuple[str, int | None]:
    """The run that a name means, and the boot if it names one. Raises UserError when it means none."""
    bare, _, number = name.partition("/")
    try:
        return store.find_id(bare), int(number) if number else None
    except UserError as error:
        if bare != "last" and not error.message.startswith("no boot"):
            raise UserError(error.message, hint=f"{error.hint}; or the path of a file: {KINDS}") from error
        raise


def _is_path(store: Store, name: str) -> bool:
    """Whether a name is that of a file; the exact name of a run or a system takes precedence."""
    if _RUN.fullmatch(name) or name in system_names() or name in store.run_ids():
        return False
    return "/" in name or "\0" in name or Path(name).exists()


_RUN = re.compile(r"last(?:~\d*)?|(?:last(?:~\d*)?|\d{8}-\d{6}-[^/\s]+|[^/.\s]+)/\d{1,6}")


def _files(names: Sequence[str]) -> Subject:
    systems = [name for name in names if name.endswith(".toml")]
    if systems:
        raise UserError(
            f"{printable(systems[0])} is a system and cannot be combined with other input",
            hint="or name loose files only",
        )
    known, pieces = gather(names)
    count = f"{len(pieces)} file{'s' if len(pieces) != 1 else ''}"
    trace = next((piece.trace for piece in pieces if piece.trace), None)
    return Subject(count, lambda: known, pieces, tuple(_notes(pieces)), trace=trace)


def _named(store: Store, cache: Cache, name: str) -> Subject:
    if name in system_names():
        return _system(store, cache, load_system(name))
    run_id, number = _run_and_boot(store, name)
    return _heard(store, run_id, number) or _recording(store, cache, store.load(run_id), number)


def _recording(
    store: Store, cache: Cache, run: StoredRun, number: int | None, notes: tuple[str, ...] = ()
) -> Subject:
    return _seen(store, cache, view(store, run, number, indexed=True), notes)


def _seen(store: Store, cache: Cache, v: View, notes: tuple[str, ...]) -> Subject:
    """The subject of a recorded boot."""
    if not v.boot.info.complete:
        raise UserError(f"boot {v.boot.info.boot_id} did not reach its milestone: {v.boot.info.message}")
    title = f"{v.boot.info.boot_id}: {v.run.info.until} after {seconds(v.timeline.total_ns)} s"
    title += f" on core {v.core.name}" if v.core else ""
    depends = depends_on(store, cache, v.run.info)
    return Subject(title, lambda: facts(store, v, cache), (), notes, v, depends)


def _system(store: Store, cache: Cache, loaded: LoadedSystem) -> Subject:
    """The subject of a system: by its last recorded boot, or without one by its file and its build."""
    system, now = loaded.system, flat(loaded.system)
    runs = [s for s in store.summaries() if s.system == system.name and s.kind == RECORDED]
    # Failed runs are used only if there are no others: they say what to do about the failure.
    runs = [s for s in runs if s.complete] or runs[-1:]
    for summary in reversed(runs):
        run = store.load(summary.run_id)
        if run.info.system.settings == now:
            return _recording(store, cache, run, None)
    if runs:
        run = store.load(runs[-1].run_id)
        then = run.info.system.settings
        changed = sorted(key for key in {*then, *now} if then.get(key) != now.get(key))
        note = f"the system has changed since this recording: {listed(changed, 5)}"
        return _recording(store, cache, run, None, (note,))
    known, told = planned(loaded, cache)
    return Subject(f"{system.name}: never recorded; {told}", lambda: known, (), (_NO_BOOT,))
