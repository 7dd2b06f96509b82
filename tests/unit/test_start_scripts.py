# SPDX-License-Identifier: Apache-2.0
"""What techniques write in the place of a system's start script, run by a real shell."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bootscope.changes.applies import with_values
from bootscope.inventory.inventory import Inventory, Part
from bootscope.inventory.start_scripts import StartScripts
from bootscope.techniques.model import techniques

RCS = "/etc/init.d/rcS"
NAMES = (
    "S00application",
    "S01mounts",
    "S02mode",
    "S05devices",
    "S08hostname",
    "S10syslog",
    "S40net",
    "S99late",
)
RUNS = {"S00application": "/usr/bin/player &", "S01mounts": "mount -a", "S05devices": "mdev -s"}
SETTINGS = {"application.path": "/usr/bin/player"}
LOOPS = {
    technique.id: text
    for technique in techniques().values()
    for recipe in technique.recipes.values()
    if "for script in" in (text := recipe.change.write.get(RCS, ""))
}


def started(folder: Path, rcs: str) -> list[str]:
    """The scripts that a start script starts, in the order in which they come to their end."""
    log = folder / "started"
    for name in NAMES:
        script = folder / name
        script.write_text(f'#!/bin/sh\n[ "$1" = start ] && echo {name} >>{log}\n')
        script.chmod(0o755)
    (folder / "S50off").write_text(f"#!/bin/sh\necho S50off >>{log}\n")
    texts = {f"/etc/init.d/{name}": RUNS.get(name, "") for name in NAMES}
    known = Inventory(parts=frozenset({Part.SCRIPTS}), scripts=texts, settings=SETTINGS)
    filled = with_values(rcs.lstrip(), known)
    (folder / "rcS").write_text(filled.replace("/etc/init.d", str(folder)))
    subprocess.run(["sh", folder / "rcS"], check=False, timeout=30)
    return log.read_text().split()


def test_there_are_such_techniques() -> None:
    assert {"parallel-init", "postpone-rc-scripts", "init-source-scripts"} <= LOOPS.keys()


@pytest.mark.parametrize("technique", LOOPS)
def test_every_script_is_started_once(technique: str, tmp_path: Path) -> None:
    found = started(tmp_path, LOOPS[technique])
    assert sorted(found) == sorted(NAMES)
    # What `init-app-first` puts before all others stays there.
    assert found[:2] == ["S00application", "S01mounts"]


def test_what_makes_device_nodes_can_come_after_the_application() -> None:
    texts = {f"/etc/init.d/{name}": f"#!/bin/sh\n{line}\n" for name, line in RUNS.items()}
    # The application comes first already: there is nothing to move.
    assert StartScripts.of(texts, "/usr/bin/player").late_devices == ""
    late = {("/etc/init.d/S90player" if "player" in text else path): text for path, text in texts.items()}
    scripts = StartScripts.of(late, "/usr/bin/player")
    assert scripts.late_devices == "/etc/init.d/S90zzdevices"
    first, polite, last = scripts.device_text.splitlines()
    assert (first, last) == ("#!/bin/sh", "mdev -s")
    assert polite.startswith("renice -n 19 ")
    moved = {(scripts.late_devices if "mdev" in text else path): text for path, text in late.items()}
    assert sorted(moved)[-1] == scripts.late_devices
    again = StartScripts.of(moved, "/usr/bin/player")
    assert (again.late_devices, again.roles[scripts.late_devices]) == ("", "devices")
    assert StartScripts.of({}, "/usr/bin/player").late_devices == ""
