# SPDX-License-Identifier: Apache-2.0
"""What was counted of a boot goes with it to another computer."""

from __future__ import annotations

from pathlib import Path

from bootscope.analysis.timing import find_timing
from bootscope.capture import counted
from bootscope.capture.counted import CountedInfo
from bootscope.capture.loading import load
from bootscope.capture.saving import save
from bootscope.capture.store import Store
from bootscope.cores.profile import load_core
from tests.fixtures import stock_boot

from .test_core_refused import EMPTY


def test_counts_are_saved_and_loaded(tmp_path: Path) -> None:
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    run, core = here.load(stock_boot.unpack(here)), load_core("cortex-a8")
    info = CountedInfo(
        core=core.name,
        geometry={},
        stream_sha256=run.boots[0].info.stream_sha256,
        phases=("spl",),
        size_bytes=len(EMPTY),
        host_ms=1,
    )
    counted.keep(run.boots[0].path, core.geometry_id, info, EMPTY)
    save(here, [run.info.run_id], tmp_path / "run.bsz")
    load(there, tmp_path / "run.bsz")
    loaded = there.load(run.info.run_id)
    timing = find_timing(loaded, loaded.boots[0], core)
    assert timing is not None
    assert timing.counted.info == info
