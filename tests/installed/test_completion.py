# SPDX-License-Identifier: Apache-2.0
"""Completion in the shells themselves: the Tab key of bash and zsh on a terminal, what fish offers."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from bootscope.cli.verbs import VERBS
from tests.board.conftest import HELLO

from .conftest import Installed

PROMPT = "ready> "
SET_UP = {
    "bash": f"bind 'set enable-bracketed-paste off'; bind 'set bell-style none'; PS1='{PROMPT}'",
    "zsh": f"PS1='{PROMPT}'; unsetopt zle_bracketed_paste; autoload -U compinit; compinit -u -D",
}
COMMANDS = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}
TIMEOUT_S = 60


class Shell:
    """An interactive shell on a terminal."""

    def __init__(self, name: str, installed: Installed) -> None:
        self.master, slave = pty.openpty()
        self.seen = ""
        self.child = subprocess.Popen(
            COMMANDS[name],
            cwd=installed.home,
            env={**installed.env, "TERM": "dumb", "COLUMNS": "200"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.types(f'{SET_UP[name]}; eval "$(bootscope completion {name})"; echo "[begun#]"\n')
        assert self.prints() == "begun"

    def types(self, text: str) -> None:
        """Presses keys."""
        os.write(self.master, text.encode())

    def prints(self) -> str:
        """Reads up to a line of its output that is [TEXT#], and returns TEXT; fails when none comes."""
        end = time.monotonic() + TIMEOUT_S
        while not (found := re.search(r"(?:^|\n)\[([^\n]*)#\]\r?\n", self.seen)):
            ready = select.select([self.master], [], [], max(0.0, end - time.monotonic()))[0]
            assert ready, f"no line came: {self.seen!r}"
            self.seen += os.read(self.master, 65536).decode(errors="replace")
        self.seen = self.seen[found.end() :]
        return found[1]

    def close(self) -> None:
        """Ends it."""
        os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()
        os.close(self.master)


@pytest.fixture
def mine(installed: Installed) -> Installed:
    """The command, with a file in the home folder and a run in the store."""
    log = installed.home / "some-boot.log"
    log.write_bytes(HELLO)
    installed("import", log, "-o", "mine")
    store = installed.home / ".local/share/bootscope"
    [run] = [path.parent for path in store.glob("runs/*/import.json")]
    run.rename(run.with_name("20261123-000000-mine"))
    return installed


@pytest.fixture(params=COMMANDS)
def shell(request: pytest.FixtureRequest, mine: Installed) -> Iterator[Shell]:
    """A shell with our completion."""
    found = Shell(request.param, mine)
    yield found
    found.close()


TABS = {
    "verb": ("bootscope reco", "bootscope record "),
    "option": ("bootscope record --until-te", "bootscope record --until-text "),
    "system": ("bootscope record stoc", "bootscope record stock "),
    "board": ("bootscope record --board cubie", "bootscope record --board cubieboard "),
    "joined": ("bootscope record --board=cubie", "bootscope record --board=cubieboard"),
    "milestone": ("bootscope record stock --until first-f", "bootscope record stock --until first-frame "),
    "view": ("bootscope show --view initc", "bootscope show --view initcalls "),
    "technique": ("bootscope try uboot-bootde", "bootscope try uboot-bootdelay "),
    "topic": ("bootscope help real-b", "bootscope help real-boards "),
    "run": ("bootscope show 20261123-0", "bootscope show 20261123-000000-mine "),
    "file": ("bootscope import some-b", "bootscope import some-boot.log "),
}
"""What is typed before Tab, and the line after it."""


def test_tab_completes_in_bash_and_zsh(shell: Shell) -> None:
    for typed, line in TABS.values():
        # The finished line is printed instead of run.
        shell.types(f'{typed}\t#\x01echo "[\x05]"\n')
        assert shell.prints().rstrip() == line.rstrip()


def offered_by_fish(installed: Installed, line: str) -> dict[str, str]:
    """What fish would list for a line: word -> meaning."""
    script = 'bootscope completion fish | source; complete --do-complete "$argv[1]"'
    done = subprocess.run(
        ["fish", "--no-config", "-c", script, line],
        cwd=installed.home,
        env=installed.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    assert done.stderr == ""
    return dict(f"{row}\t".split("\t")[:2] for row in done.stdout.splitlines())


@pytest.mark.parametrize("name", TABS)
def test_fish_offers_the_same(mine: Installed, name: str) -> None:
    typed, line = TABS[name]
    assert line.split()[-1] in offered_by_fish(mine, typed)


def test_fish_says_what_verbs_and_options_do(mine: Installed) -> None:
    assert offered_by_fish(mine, "bootscope reco") == {"record": VERBS["record"][1]}
    assert offered_by_fish(mine, "bootscope record --until-te") == {
        "--until-text": "a boot ends with the first line that contains TEXT"
    }


def test_what_cannot_be_known_is_left_to_the_user(mine: Installed) -> None:
    found = mine("completion", "--line", "bash", "--", "record", "--until-text", "")
    assert found == ""
    assert mine("completion", "--line", "bash", "--", "nonsense", "") == ""


def test_names_come_as_soon_as_they_are_there(mine: Installed) -> None:
    words = mine("completion", "--line", "bash", "--", "show", "").split()
    assert words == ["last", "last~1", "mine", "20261123-000000-mine"]
