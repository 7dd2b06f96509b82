# SPDX-License-Identifier: Apache-2.0
"""What a user does with bootscope from its wheel: nothing of it needs a checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from bootscope.audit.pitfalls.model import pitfalls
from bootscope.techniques.model import techniques
from tests.board.conftest import HELLO

from .conftest import ROOT, FakeBoard, Installed, Make, run

BOOTED = "stock"
"""The emulated system whose recording is begun. Here it ends when its sources cannot be fetched."""
LOG = ROOT / "tests/fixtures/readers/grabserial/initcall.log"


def test_it_runs_from_its_own_folder_and_no_checkout(installed: Installed) -> None:
    python = installed.prefix / "bin/python"
    where = run(python, "-c", "import bootscope; print(bootscope.__file__)", cwd=installed.home)
    assert Path(where.strip()).is_relative_to(installed.prefix)
    assert installed("--version").startswith("bootscope ")
    assert installed("help", "--folder").strip().startswith(str(installed.prefix))


def test_doctor_tells_what_works_where_the_tools_are(installed: Installed) -> None:
    """Compiling systems needs more than the tests of this tier install."""
    compiles = all(shutil.which(name) for name in ("bison", "flex", "bc", "swig"))
    found = installed.json("doctor", status=0 if compiles else 3)
    assert [(part["name"], part["good"]) for part in found["parts"]] == [
        ("logs", True), ("emulated", True), ("building", compiles),
    ]  # fmt: skip


def test_doctor_says_without_a_compiler_what_does_not_work_and_what_to_run(
    installed: Installed, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    without = Installed(installed.prefix, installed.home, {"PATH": f"{installed.prefix / 'bin'}:{bare}"})
    found = without.json("doctor", status=3)
    assert [(part["name"], part["good"]) for part in found["parts"]] == [
        ("logs", True), ("emulated", False), ("building", False),
    ]  # fmt: skip
    text = without("doctor", status=3)
    # Debian 12 gets its QEMU by another line; in Debian 13 it is the first of this one.
    advice = re.findall(r"apt-get install (?:qemu-system-arm )?gcc make (.*)", text)
    assert advice
    assert {"gcc-arm-linux-gnueabihf", "u-boot-tools"} <= set(advice[0].split())
    assert "make setup" not in text
    assert without("doctor", "logs").endswith("logs and real boards: works here\n")


def test_a_recording_builds_the_plugin_into_the_cache_from_the_wheels_sources(installed: Installed) -> None:
    done = installed.run("record", BOOTED, status=3)
    assert "done: plugin" in done.stderr + done.stdout
    plugins = list((installed.home / ".cache/bootscope").rglob("bootscope-plugin.so"))
    assert len(plugins) == 1
    # The same bytes as from a checkout: no path of either is in it.
    assert str(installed.prefix).encode() not in plugins[0].read_bytes()


def test_the_plugin_is_that_of_a_checkout(installed: Installed, tmp_path: Path) -> None:
    """The same step with the same id, so that one cache serves both."""
    code = "from bootscope.builder.steps.plugin import step; print(step().step_id({}))"
    python = installed.prefix / "bin/python"
    theirs = run(python, "-c", code, cwd=installed.home)
    ours = run(python, "-c", code, cwd=installed.home, env={**os.environ, "PYTHONPATH": str(ROOT / "src")})
    assert theirs == ours != ""


def test_a_log_is_imported_shown_reported_exported_and_audited(installed: Installed) -> None:
    log = installed.home / "boot.log"
    shutil.copy(LOG, log)
    imported = installed.json("import", log)
    assert imported["kind"] == "import"
    assert installed.json("show")["kind"] == "show-imported"
    assert installed("show", "last").strip()
    installed("report", "-o", "boot.html")
    page = (installed.home / "boot.html").read_text()
    assert "<html" in page
    assert "</html>" in page
    installed("export", "last", "--format", "csv", "-o", "boot.csv")
    assert installed.json("audit", log)["kind"] == "audit"
    assert installed("audit", log).strip()


def test_a_board_on_a_serial_port_is_measured(installed: Installed, fake: Make) -> None:
    board: FakeBoard = fake(lambda b: b.says(HELLO, 0.01))
    found = installed.json("record", "--board", f"serial:{board.port}", *board.power, "-n", "2")
    assert found["complete"]
    assert [boot["ended"] for boot in found["boots"]] == ["milestone"] * 2
    shown = installed.json("show")
    assert shown["milestones"]["spl"] < shown["milestones"]["login"]
    assert "2 of 2 boots" in installed("show")


@pytest.mark.parametrize("topic", ["real-boards", "time-model", "news"])
def test_documents_come_along(installed: Installed, topic: str) -> None:
    assert installed("help", topic).startswith("# ")


def test_systems_boards_techniques_and_pitfalls_come_along(installed: Installed) -> None:
    steps = installed.json("build", "stock", "--plan")["steps"]
    assert steps[-1]["name"] == "card"
    assert len(installed.json("techniques")["techniques"]) == len(techniques())
    assert len(installed.json("pitfalls")["pitfalls"]) == len(pitfalls())


def test_the_collector_is_compiled_from_the_wheels_sources(installed: Installed) -> None:
    sources = Path(installed("help", "--folder").strip()) / "native/agent"
    run("make", "-C", sources, f"OUT={installed.home}", env=installed.env)
    said = subprocess.run([installed.home / "bootscope-agent", "--help"], capture_output=True, check=False)
    assert b"bootscope-agent" in said.stdout + said.stderr


def test_the_ci_script_checks_logs_with_the_installed_command(installed: Installed) -> None:
    shutil.copy(ROOT / "tests/fixtures/boots/same.log", installed.home)
    (installed.home / "bootscope-check.toml").write_text('[budget]\n"app-ready" = "5.2 s"\n')
    folder = Path(installed("help", "--folder").strip())
    job = {"BOOTSCOPE_LOGS": "same.log", "BOOTSCOPE_MILESTONES": "app-ready=app: ready"}
    said = run("sh", folder / "ci/check.sh", cwd=installed.home, env={**installed.env, **job})
    assert "10 of 10 boots reached app-ready" in said
    assert (installed.home / "boot.xml").exists()
    assert not (folder / ".venv").exists()
