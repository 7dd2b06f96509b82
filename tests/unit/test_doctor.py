# SPDX-License-Identifier: Apache-2.0
"""bootscope doctor: what works here by parts, and the commands for what does not."""

from __future__ import annotations

import json
import os
import platform
import re
from pathlib import Path
from typing import Any

import pytest

from bootscope.arch.arm import ARM
from bootscope.builder import plan
from bootscope.builder.sources import Resolved
from bootscope.core import hints, needs, tools
from bootscope.core.tools import OPTIONAL_TOOLS, TOOLS
from bootscope.system.load import load_system

from .builders import ROOT
from .conftest import Command


def doctor(bootscope: Command, *words: str, status: int = 3) -> dict[str, Any]:
    done = bootscope("doctor", *words, "--json")
    assert done.returncode == status, done.stdout
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["good"] == (status == 0)
    return document


def test_with_no_programs_logs_are_read_and_nothing_else_works(bootscope: Command) -> None:
    """The command runs with an empty PATH."""
    found = doctor(bootscope)
    assert {part["name"]: part["good"] for part in found["parts"]} == {
        "logs": True,
        "emulated": False,
        "building": False,
    }
    checks = {check["name"]: check for check in found["checks"]}
    assert checks["qemu-system-arm"]["found"].startswith("missing")
    assert "make setup" in checks["qemu-system-arm"]["hint"]
    assert (checks["python"]["good"], checks["plugin's sources"]["good"]) == (True, True)
    assert checks["ccache"]["required"] is False


def test_one_part_is_checked_with_what_it_builds_on(bootscope: Command) -> None:
    assert [part["name"] for part in doctor(bootscope, "logs", status=0)["parts"]] == ["logs"]
    assert [part["name"] for part in doctor(bootscope, "emulated")["parts"]] == ["logs", "emulated"]
    assert [part["name"] for part in doctor(bootscope, "building", "logs")["parts"]] == list(needs.PARTS)


def test_what_is_missing_and_not_required_is_told_once_with_its_command_below(bootscope: Command) -> None:
    lines = bootscope("doctor", "building").stdout.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("-- ") and line.endswith("):"))
    assert lines[at + 1].startswith("   ")
    assert not lines[at + 1].startswith("    ")
    libraries = [
        line.split()[4] for line in lines if " C library for " in line and not line.startswith("-- ")
    ]
    assert len(libraries) == len(set(libraries)) > 1


def test_who_lacks_one_tool_is_sent_to_the_list_of_all(bootscope: Command) -> None:
    done = bootscope("record", "debian")
    assert done.returncode == 3
    assert "bootscope: qemu-system-arm is missing (the emulated board)" in done.stderr
    assert done.stderr.endswith("; bootscope doctor names all that is missing\n")


def test_an_unknown_part_is_named_with_those_there_are(bootscope: Command) -> None:
    done = bootscope("doctor", "emulatd")
    assert done.returncode == 2
    assert "did you mean emulated?" in done.stderr


def test_the_last_lines_say_what_works_and_what_to_run(bootscope: Command) -> None:
    text = bootscope("doctor").stdout
    last = text[text.index("logs and real boards: works here") :]
    assert re.search(
        r"^emulated boards: \d+ missing or too old: qemu-system-arm, .*\bcc, ", last, re.MULTILINE
    )
    assert re.search(r"^    (sudo )?apt-get install .*gcc-arm-linux-gnueabihf", last, re.MULTILINE)
    assert last.endswith("or install everything with: make setup\n")


def test_one_command_installs_all_that_a_part_lacks_but_a_qemu_from_elsewhere(
    bootscope: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = doctor(bootscope)["parts"][1]["commands"]
    packages = [command.split(" install ")[1] for command in commands]
    assert "gcc make " in packages[0]
    if hints.newer_suite():
        assert "qemu-system-arm" not in packages[0].split()
        assert "-t bookworm-backports qemu-system-arm" in packages[1]
    else:
        assert "qemu-system-arm" in packages[0].split()


def test_on_debian_12_a_qemu_comes_from_backports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    qemu = TOOLS["qemu-system-arm"]
    with monkeypatch.context() as m:
        m.setattr(platform, "freedesktop_os_release", lambda: {"VERSION_CODENAME": "bookworm"})
        assert "sudo apt-get install -t bookworm-backports qemu-system-arm" in tools.how_to_get(qemu)
    with monkeypatch.context() as m:
        m.setattr(platform, "freedesktop_os_release", lambda: {"VERSION_CODENAME": "trixie"})
        assert "backports" not in tools.how_to_get(qemu)
        assert "sudo apt-get install qemu-system-arm" in tools.how_to_get(qemu)


def test_without_a_checkout_no_hint_asks_for_make_setup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "is_installed", lambda: True)
    for tool in [*TOOLS.values(), *OPTIONAL_TOOLS.values()]:
        assert "make setup" not in tools.how_to_get(tool)
    assert "make" not in hints.python_packages().split()


def test_a_store_that_cannot_be_written_to_is_missing(bootscope: Command, tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file where the folder should be")
    [store] = [check for check in doctor(bootscope, "logs")["checks"] if check["name"] == "store"]
    assert (store["found"], store["good"], store["required"]) == ("cannot be written to", False, True)
    assert "BOOTSCOPE_STORE" in store["hint"]


def test_sources_of_the_plugin_that_are_gone_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(needs, "plugin_source_dir", lambda: tmp_path)
    assert "plugin's sources" in [check.name for check in needs.state("emulated", [ARM]).missing]


def test_every_package_that_doctor_names_is_one_that_setup_installs() -> None:
    """Those that every Debian has are not in the list of the set-up."""
    everywhere = {"apt", "tar", "dpkg", "gzip", "python3", "binutils-arm-linux-gnueabihf"}
    setup = set((ROOT / "tools/setup.sh").read_text().replace('"', " ").split())
    checks = [check for name in needs.PARTS for check in needs.state(name, [ARM]).checks]
    named = {check.package for check in checks if check.package and check.required}
    assert len(named) > 15
    assert named - setup - everywhere == set()


def tools_of(system: str) -> set[str]:
    """The tools that the steps of a system's build ask for."""
    loaded = load_system(system)
    found = {name: Resolved("/nowhere.tar.xz", "0" * 64, "", "1") for name in loaded.system.sources}
    return {tool for step in plan.steps_of(loaded, found) for tool in step.tools}


@pytest.mark.parametrize(("system", "part"), [("debian", "emulated"), ("stock", "building")])
def test_a_part_has_every_tool_that_its_systems_are_built_with(system: str, part: str) -> None:
    state: needs.State | None = needs.state(part, [ARM])
    names: set[str] = set()
    while state:
        names |= {check.name for check in state.checks if check.required}
        state = state.before
    assert len(tools_of(system)) > 5
    assert tools_of(system) - names == set()
