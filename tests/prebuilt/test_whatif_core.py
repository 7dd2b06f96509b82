# SPDX-License-Identifier: Apache-2.0
"""What-ifs of the core, on a short real boot: from counts alone where these tell, else by another pass."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from bootscope.capture import counted
from bootscope.cores.profile import core_dir
from tests.command import Bootscope

pytestmark = pytest.mark.boot
RECORD = ("record", "debian", "--until", "bootloader")
TIMING = (*RECORD, "--timing", "--core")


@pytest.fixture(scope="module")
def boot(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bootscope, dict[str, Any]]:
    """A boot with its pass for the Cortex-A8, and what `record --json` said of it."""
    bootscope = Bootscope(tmp_path_factory.mktemp("whatif"))
    return bootscope, bootscope.json(*TIMING, "cortex-a8")


def profile(folder: Path, *changes: tuple[str, str]) -> str:
    """The Cortex-A8's profile with figures changed; returns its path."""
    text = (core_dir() / "cortex-a8.toml").read_text()
    for old, new in changes:
        text, times = re.subn(old, new, text, flags=re.MULTILINE)
        assert times
    path = folder / "mine.toml"
    path.write_text(text)
    return str(path)


def passes(recorded: dict[str, Any]) -> int:
    """How many passes are kept beside a run's first boot."""
    return len(counted.kept(Path(recorded["boots"][0]["path"])))


def test_other_memory_is_told_from_the_counts(boot: tuple[Bootscope, dict[str, Any]], tmp_path: Path) -> None:
    bootscope, recorded = boot
    run, before = recorded["run_id"], passes(recorded)
    now = bootscope.json("show", run, "--core", "cortex-a8")["total_ns"]
    told = bootscope.json("what-if", run, "dram=92ns")
    mine = profile(
        tmp_path,
        (r"^((?:stream_)?read_ns = \{ value =) 184", r"\1 92"),
        (r"^(uncached_\w+ = \{ value =) 187", r"\1 94"),
    )
    assert told["core"] == "cortex-a8" and told["now_ns"] == now
    assert told["predicted_ns"] == bootscope.json("show", run, "--core", mine)["total_ns"] < now
    phases = {phase["name"]: phase for phase in told["phases"]}
    spl = phases["spl"]
    saved = spl["memory_ns"] - spl["predicted_memory_ns"]
    assert spl["issue_ns"] == pytest.approx(spl["predicted_issue_ns"], abs=1000)
    assert saved == pytest.approx(told["saving_ns"], rel=0.01)
    assert passes(recorded) == before


def test_caches_that_were_not_counted_are_counted_by_another_pass(
    boot: tuple[Bootscope, dict[str, Any]], tmp_path: Path
) -> None:
    bootscope, recorded = boot
    run, before = recorded["run_id"], passes(recorded)
    told = bootscope.json("what-if", run, "dcache=on-in-spl")
    assert passes(recorded) == before + 1
    # The SPL moves U-Boot into memory with its caches off.
    assert told["saving_ns"] > 50_000_000
    assert any("data cache is on all through spl" in text for text in told["assumptions"])
    again = bootscope.json("what-if", run, "dcache=on-in-spl")
    assert again == told and passes(recorded) == before + 1
    # A core whose profile says so is another boot, and the same figure.
    switched = '\n[switched.spl]\ndata = { value = true, source = "a question" }\n'
    mine = Path(profile(tmp_path))
    mine.write_text(mine.read_text() + switched)
    other = bootscope.json(*TIMING, str(mine))["run_id"]
    assert bootscope.json("show", other, "--core", str(mine))["total_ns"] == told["predicted_ns"]


def refused(bootscope: Bootscope, *arguments: str) -> str:
    """What a command says that is refused as the user's mistake."""
    done = bootscope.run(*arguments)
    assert done.returncode == 2, done.stderr
    return done.stderr


def test_what_cannot_be_counted_is_refused(boot: tuple[Bootscope, dict[str, Any]], tmp_path: Path) -> None:
    shutil.copytree(boot[0].store, tmp_path / "store")
    bootscope, run = Bootscope(tmp_path / "store"), boot[1]["run_id"]
    assert "unknown phase with counts 'kernel'" in refused(bootscope, "what-if", run, "dcache=on-in-kernel")
    assert "is of architecture arm64" in refused(bootscope, "what-if", run, "--core", "cortex-a53", "dram=2x")
    plain = bootscope.json(*RECORD)["run_id"]
    without = refused(bootscope, "what-if", plain, "dram=2x")
    assert "needs counts" in without and "record debian --timing --core" in without
    # Counts of one boot beside another one: a stream that is another.
    folder = next((bootscope.store / "runs").glob(f"{run}/boots/001/timing"))
    info = next(folder.glob("*.json"))
    said = json.loads(info.read_text())
    for path in folder.glob("*.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "stream_sha256": "0" * 64}))
    assert "is another boot than that" in refused(bootscope, "show", run, "--core", "cortex-a8")
    assert said["stream_sha256"] != "0" * 64


def test_a_system_that_is_another_build_now_is_not_counted_again(
    boot: tuple[Bootscope, dict[str, Any]], tmp_path: Path
) -> None:
    shutil.copytree(boot[0].store, tmp_path / "store")
    bootscope, run = Bootscope(tmp_path / "store"), boot[1]["run_id"]
    told = bootscope.store / "runs" / run / "run.json"
    told.write_text(json.dumps({**json.loads(told.read_text()), "build_id": "f" * 64}))
    said = refused(bootscope, "what-if", run, "l2=512K")
    assert "is of build ffffffffffff, but debian is build" in said
    assert "bootscope record debian --timing --core cortex-a8" in said
