# SPDX-License-Identifier: Apache-2.0
"""How start scripts start an application that needs an environment or arguments, run by a real shell."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bootscope.changes.applies import unmet
from bootscope.core.errors import UserError
from bootscope.inventory import application_program
from bootscope.inventory.application_start import commands, script
from bootscope.inventory.inventory import Absent
from bootscope.inventory.start_scripts import StartScripts, expanded
from bootscope.techniques.model import technique

from .known_builders import inventory_of

PATH = "/opt/player/bin/player"
SIMPLE = f"""#!/bin/sh
case "$1" in
start) {PATH} & ;;
esac
"""
QT = """#!/bin/sh
# Fills the screen.
echo "Starting"
export QT_QPA_PLATFORM=linuxfb
home='/opt/player'
$home/bin/player -geometry "800x480+0+0" &
"""


def of(text: str) -> StartScripts:
    return StartScripts.of(
        {"/etc/init.d/S99player": text, "/etc/init.d/S01net": "#!/bin/sh\nifup -a\n"}, PATH
    )


def test_what_needs_nothing_but_its_path_has_no_script_of_its_own() -> None:
    assert script(of(SIMPLE), PATH) == ""
    assert commands(of(SIMPLE), PATH) == ""
    assert script(of(QT), "/usr/bin/other") == ""
    # Where its output goes is no argument.
    assert script(of(f"#!/bin/sh\n{PATH} < /dev/null >> /tmp/log 2>&1 &\n"), PATH) == ""
    assert script(of(f"#!/bin/sh\n{PATH} --full > /tmp/log &\n"), PATH) != ""


def test_a_variable_stands_for_the_one_text_that_it_holds() -> None:
    assert expanded('a=/opt\n"$a/bin" ${a}x $b') == 'a=/opt\n"/opt/bin" /optx $b'
    assert expanded("a=1\na=2\n$a") == "a=1\na=2\n$a"
    assert expanded("a=$(date)\n$a") == "a=$(date)\n$a"
    for changed in (
        "a=$(date)",
        "a=$a:/more",
        "a+=/more",
        "read a",
        "read -r a",
        "for a in 1 2; do",
        "local a=$1",
    ):
        assert expanded(f"a=/opt\n{changed}\n$a").endswith("\n$a"), changed


def test_environment_and_arguments_stay(tmp_path: Path) -> None:
    assert script(of(QT), PATH) == QT
    told = commands(of(QT), PATH)
    assert "echo" not in told
    assert not told.rstrip().endswith("&")
    player = tmp_path / "opt/player/bin/player"
    player.parent.mkdir(parents=True)
    player.write_text('#!/bin/sh\necho $PPID "$QT_QPA_PLATFORM" "$@"\n')
    player.chmod(0o755)
    run = subprocess.run(
        ["sh", "-c", told.replace("/opt/player/bin", str(player.parent))],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split()[1:] == ["linuxfb", "-geometry", "800x480+0+0"]
    # The shell has become the program: its parent is this process.
    assert run.stdout.split()[0] == str(os.getpid())


@pytest.mark.parametrize(
    "line",
    [
        "if [ -e /dev/fb0 ]; then echo; fi",
        "x=$(cat /proc/cmdline)",
        "cat <<E\nE",
        "trap '' INT",
        "start() { :; }",
        f"{PATH} --probe",
    ],
)
def test_what_does_more_than_one_command_after_the_other_is_left_alone(line: str) -> None:
    assert commands(of(QT.replace("# Fills", f"{line}\n# Fills")), PATH) == ""


@pytest.mark.parametrize(("text", "fits"), [(SIMPLE, "first"), (QT, "script")])
def test_such_an_application_is_started_by_its_script_only(text: str, fits: str) -> None:
    known = inventory_of(
        scripts={"/etc/init.d/S99player": text},
        settings={"application.path": PATH, "application.process": "player"},
    )
    ways = technique("init-app-first").recipes
    assert {name for name, way in ways.items() if not unmet(way, known)} == {fits}


def test_what_only_sets_variables_is_told_as_a_program_does_it() -> None:
    def started(text: str) -> dict[str, str]:
        known = inventory_of(scripts={"/etc/init.d/S99player": text}, settings={"application.path": PATH})
        return {name: find(known) for name, find in application_program.FOUND.items()}

    told = {"environment": "QT_QPA_PLATFORM=linuxfb", "command": f"{PATH} -geometry 800x480+0+0"}
    assert started(QT) == {"application_mounts": "", **{f"application_{key}": v for key, v in told.items()}}
    mounts = started(QT.replace("# Fills", "mount -t proc proc /proc\nHOME=/root\n# Fills"))
    assert mounts["application_mounts"] == "proc /proc proc defaults"
    both = started(QT.replace("=linuxfb", "=linuxfb A='b c'"))
    assert both["application_environment"] == "QT_QPA_PLATFORM=linuxfb\nA=b c"
    for line in ("cd /tmp", "LANG=C", "export A", "ifup eth0"):
        with pytest.raises(Absent):
            started(QT.replace("# Fills", f"{line}\n# Fills"))
    with pytest.raises(Absent):
        started(SIMPLE)
    with pytest.raises(UserError, match="not known"):
        application_program.FOUND["application_command"](inventory_of())


def test_a_variable_of_the_kernels_is_one_of_all_programs() -> None:
    known = inventory_of(
        scripts={"/etc/init.d/S99player": QT.replace("home", "HOME")}, settings={"application.path": PATH}
    )
    found = application_program.application_program(known)
    assert found
    assert found.environment == "QT_QPA_PLATFORM=linuxfb\nHOME=/opt/player"


CASES = f"""#!/bin/sh
# The product.
export SCREEN=1
case "$1" in
stop)
	killall player
	;;
start|restart)
	echo "Starting the player"
	export DEPTH=32
	{PATH} --full-screen &
	;;
*)
	echo "usage: $0 start|stop"
	exit 1
	;;
esac

exit 0
"""


@pytest.mark.parametrize(
    "text",
    [
        CASES,
        CASES.replace('"$1"', "$1").replace("start|restart)", '("start")'),
        CASES.replace('"$1"', '"${1}"').replace("\n\t;;\n*)", " ;;\n*)"),
    ],
)
def test_a_script_for_start_and_stop_does_what_it_does_at_a_start(text: str) -> None:
    told = ["export SCREEN=1", "export DEPTH=32", f"exec {PATH} --full-screen"]
    assert commands(of(text), PATH).splitlines() == told


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("exit 0\n", "ifup eth0\n"),  # something behind it
        ("\texport DEPTH", "\tif true; then export DEPTH"),
        ("start|restart)", "begin)"),
        ('case "$1" in', 'case "$2" in'),
        ("stop)\n", 'stop)\n\tcase "$1" in\n\tesac\n'),
    ],
)
def test_a_script_that_does_more_is_not_taken_apart(old: str, new: str) -> None:
    assert old in CASES
    assert commands(of(CASES.replace(old, new)), PATH) == ""
