# SPDX-License-Identifier: Apache-2.0
"""The plugin by itself: what it says when it is used wrongly, and that a watch file means what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bootscope.boards.emulated import QEMU, machine_arguments
from bootscope.boards.profile import load_board
from bootscope.capture import stream

from .conftest import environment

pytestmark = pytest.mark.boot
GOOD = "tick 2\nio 1 0x01c28000 0x400\nlimit 20000000\n"
BUILD_PLUGIN = """
from bootscope.build.cache import Cache
from bootscope.build.progress import Silent
from bootscope.build.step import Runner
from bootscope.build.steps import plugin
from bootscope.paths import cache_dir
step = plugin.step()
print(Runner(Cache(cache_dir()), Silent()).run(step, step.step_id({}), {}) / plugin.PLUGIN)
"""


@pytest.fixture(scope="module")
def library() -> str:
    done = subprocess.run(
        [sys.executable, "-c", BUILD_PLUGIN], env=environment(), capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def boot(
    built: dict[str, Any], library: str, tmp_path: Path, watch: str, options: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs QEMU with the plugin and this watch file; the stream goes to tmp_path/stream.bin."""
    (tmp_path / "watch.txt").write_text(watch)
    arguments = machine_arguments(load_board("cubieboard"), Path(built["card"]))
    given = options or f"watch={tmp_path / 'watch.txt'},out={tmp_path / 'stream.bin'}"
    command = [QEMU, *arguments, "-plugin", f"{library},{given}"]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize(
    "wrong",
    [
        "nonsense 1",
        "io 1 2",
        "io -1 2 3",
        "hook 1 0x60 sometimes",
        "hook 1 0x60 once str",
        "hook 1 0x60 once is 00",
        "text 1 1 0 abc",
        "text 1 1 0 zz",
        "frame 1 0x5f000000 0x100 0 /x",
        "stop hook 7",
        "limit soon",
        "tick 0",
        "sample 99999999999999999999999",
    ],
)
def test_a_wrong_line_is_named(built: dict[str, Any], library: str, tmp_path: Path, wrong: str) -> None:
    done = boot(built, library, tmp_path, f"{GOOD}{wrong}\n")
    assert done.returncode == 1
    assert "watch.txt:4: not understood: " + wrong in done.stderr


def test_a_missing_option_or_file_is_named(built: dict[str, Any], library: str, tmp_path: Path) -> None:
    assert "needs watch=FILE" in boot(built, library, tmp_path, GOOD, "out=/dev/null").stderr
    done = boot(built, library, tmp_path, GOOD, f"watch={tmp_path}/gone,out={tmp_path}/s")
    assert "gone: No such file or directory" in done.stderr
    assert "no 'tick' line" in boot(built, library, tmp_path, "limit 1\n").stderr


def test_a_limit_ends_the_boot_and_the_reason_is_kept(
    built: dict[str, Any], library: str, tmp_path: Path
) -> None:
    assert boot(built, library, tmp_path, GOOD).returncode == 0
    records = stream.read(tmp_path / "stream.bin")
    end = records[-1]
    assert isinstance(end, stream.Ended)
    assert end.reason == stream.End.LIMIT
    assert 20_000_000 <= end.time_ns < 21_500_000
    assert all(isinstance(record, stream.Io | stream.Clock | stream.Ended) for record in records)


def test_hooks_count_capture_and_stop(built: dict[str, Any], library: str, tmp_path: Path) -> None:
    watch = f"{GOOD}hook 3 0x60 once reg 0 reg 13\nhook 4 0x60 every\nstop hook 4\n"
    assert boot(built, library, tmp_path, watch).returncode == 0
    hooks = [r for r in stream.read(tmp_path / "stream.bin") if isinstance(r, stream.Hook)]
    assert [hook.hook for hook in hooks] == [3, 4]
    assert len(hooks[0].registers) == 2
    assert hooks[0].time_ns == hooks[1].time_ns


def test_a_text_stops_at_its_last_byte(built: dict[str, Any], library: str, tmp_path: Path) -> None:
    watch = f"{GOOD}text 5 1 0 {b'U-Boot SPL'.hex()}\nstop text 5\n"
    assert boot(built, library, tmp_path, watch).returncode == 0
    records = stream.read(tmp_path / "stream.bin")
    assert any(isinstance(r, stream.Text) and r.text == 5 for r in records)
    stored = bytes(r.value & 0xFF for r in records if isinstance(r, stream.Io) and r.offset == 0)
    assert stored.endswith(b"U-Boot SPL")


def test_samples_come_at_their_period(built: dict[str, Any], library: str, tmp_path: Path) -> None:
    assert boot(built, library, tmp_path, f"{GOOD}sample 100000\n").returncode == 0
    samples = [r for r in stream.read(tmp_path / "stream.bin") if isinstance(r, stream.Sample)]
    assert 190 <= len(samples) <= 201
    assert [s.time_ns for s in samples] == sorted(s.time_ns for s in samples)
