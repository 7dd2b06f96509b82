# SPDX-License-Identifier: Apache-2.0
"""A disk that fills up while boots of a board are measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.mounts import own_mounts

from .conftest import HELLO, ROOT, FakeBoard, Make

SCRIPT = """
mount -t tmpfs -o size=400k tmpfs "$1" || exit 99
shift
"$@"
echo "record ended with $?"
for verb in list show; do
    "$1" -m bootscope "$verb" --json > "$OUT/$verb.json" || exit 98
done
mount -o remount,size=4m "$BOOTSCOPE_STORE" || exit 97
"$1" -m bootscope record --board "command:echo here we are" --until-silence 0.5 --json \\
    > "$OUT/again.json" || exit 96
"""


def test_the_boots_made_before_stay_and_the_board_is_left_as_asked(fake: Make, tmp_path: Path) -> None:
    def plan(board: FakeBoard) -> None:
        board.says(HELLO[:60])
        if board.switched_on == 3:
            for _ in range(100):
                board.says(b"a line of a chatty driver\r\n" * 300)
        board.says(HELLO[60:])

    board, store, out = fake(plan), tmp_path / "store", tmp_path / "out"
    store.mkdir()
    out.mkdir()
    command = [sys.executable, "-m", "bootscope", "record", "--board", f"serial:{board.port}", *board.power]
    command += ["-n", "5", "--power-after", "off"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "BOOTSCOPE_STORE": str(store), "OUT": str(out)}
    done = subprocess.run(
        [*own_mounts(), "sh", "-c", SCRIPT, "sh", str(store), *command],
        env=env, text=True, capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "record ended with 3" in done.stdout
    assert "No space left on device" in done.stderr
    assert f"recordings are in {store}" in done.stderr
    assert "Traceback" not in done.stderr
    (run,) = json.loads((out / "list.json").read_text())["runs"]
    assert (run["boots"], run["complete"], run["ended"]) == (3, 2, "partial")
    shown = json.loads((out / "show.json").read_text())
    assert "login" in shown["milestones"]
    assert board.on_file.read_text() == ""
    assert (out / "again.json").stat().st_size > 100
