# SPDX-License-Identifier: Apache-2.0
"""From the store to the evidence that the views of :mod:`bootscope.analysis` work on."""

from __future__ import annotations

import msgspec

from bootscope.analysis.blocks import BlockMap
from bootscope.analysis.cpu_accounting import Ledger
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.names import Names, UserPrograms
from bootscope.analysis.replay import Replay
from bootscope.boards.profile import Board
from bootscope.capture import objects
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredBoot, StoredRun
from bootscope.image.symbols import Symbols
from bootscope.timeline.build import timeline_of


def evidence(store: Store, run: StoredRun, boot: StoredBoot, board: Board | None = None) -> Evidence:
    """Everything about one boot; with `board`, as that profile's devices would have had it.

    Raises UserError when the stream cannot be read. What an older recording lacks is empty.
    """
    kept = run.info.system.symbols

    def load(name: str) -> bytes:
        return objects.unpacked(store.object(kept[name])) if name in kept else b""

    recorded = boot.records()
    made = timeline_of(boot.info.boot_id, recorded, run.info, board)
    scene = Replay(made.records, made.run, made.clock, made.timeline.total_ns).scene
    tables = {
        name: Symbols.parse(load(name).decode("utf-8", "replace"), made.run.board.arch)
        for name in objects.SYMBOL_TABLES
    }
    users = UserPrograms.parse(load(objects.PROGRAMS) or b"{}")
    return Evidence(
        run=made.run,
        records=made.records,
        recorded=recorded,
        timeline=made.timeline,
        events=made.events,
        costs=made.costs,
        clock=made.clock,
        scene=scene,
        ledger=Ledger(scene.slices, made.costs),
        names=Names(
            made.run.board.arch,
            {name: table for name, table in tables.items() if len(table)},
            run.info.board.boot_loader,
            made.timeline.loader_offset,
            users,
            made.timeline.kernel_image,
        ),
        blocks=BlockMap.make(run.info.system.extents, load(objects.BLOCKS).decode("utf-8", "replace")),
        levels=msgspec.json.decode(load(objects.INITCALLS) or b"{}", type=dict[int, str]),
        scripts=msgspec.json.decode(load(objects.SCRIPTS) or b"{}", type=dict[str, str]),
        load=load,
    )
