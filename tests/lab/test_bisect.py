# SPDX-License-Identifier: Apache-2.0
"""`bootscope bisect` finds the commit of Trusted Firmware-A that costs 200 us, past one that cannot build."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bootscope.builder.cache import Cache
from bootscope.builder.progress import Progress
from bootscope.builder.sources import Wanted, fetch
from bootscope.core.paths import cache_dir
from bootscope.system.load import load_system
from tests.command import Bootscope

pytestmark = [pytest.mark.boot, pytest.mark.long, pytest.mark.campaign]

MAIN = "bl1/bl1_main.c"
BEGIN = "void bl1_main(void)\n{\n\tunsigned int image_id;\n"
WAIT = """static void settle(unsigned long n)
{
	__asm__ volatile("1: subs %0, %0, #1\\n\\tb.ne 1b" : "+r"(n) : : "cc");
}

"""
# Before the first message: a wait beside the serial line, which is slow, would cost nothing.
SLOW = f"{WAIT}{BEGIN}\n\tsettle(50000UL);\n"
ERROR = "#error not ready\n"


@pytest.fixture
def series(tmp_path: Path) -> tuple[Path, list[str]]:
    """A git tree with five commits after the first: the second costs 200 us, the third does not build."""
    tree = tmp_path / "firmware"
    loaded = load_system("debian-arm64")
    wanted = Wanted("firmware", loaded.system.sources["firmware"], loaded.path.parent)
    found = fetch(wanted, Cache(cache_dir()), Progress())
    tree.mkdir()
    subprocess.run(["tar", "-xf", found.path, "-C", tree, "--strip-components=1"], check=True)
    who = {f"GIT_{role}_{what}": "A Dev" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def git(*words: str) -> str:
        command = ["git", "-C", str(tree), "-c", "gc.auto=0", *words]
        done = subprocess.run(command, env={**os.environ, **who}, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(message: str, old: str = "", new: str = "") -> str:
        path = tree / MAIN
        if old:
            assert path.read_text().count(old) == 1
            path.write_text(path.read_text().replace(old, new))
        git("add", "-A", "-f")
        git("commit", "-q", "--allow-empty", "-m", message)
        return git("rev-parse", "HEAD")

    git("init", "-q")
    ids = [
        commit("Trusted Firmware-A"),
        commit("a comment", "void bl1_main(void)", "/* begins here */ void bl1_main(void)"),
        commit("bl1: let the supply settle", f"/* begins here */ {BEGIN}", SLOW),
        commit("half of a rework", WAIT, ERROR + WAIT),
        commit("the other half", ERROR, ""),
        commit("nothing more"),
    ]
    return tree, ids


def test_the_commit_that_costs_200_us_is_found_and_what_it_changed_told(
    series: tuple[Path, list[str]], tmp_path: Path
) -> None:
    tree, ids = series
    bootscope = Bootscope(tmp_path / "store")
    words = ("bisect", "debian-arm64", "--tree", "firmware", tree, "--milestone", "bootloader")
    ends = ("--good", ids[0], "--bad", ids[-1])
    text = tmp_path / "found.md"
    done = bootscope.json(*words, *ends, "--by", "0.05", "-o", text)
    (found,) = done["found"]
    assert (found["commit"], found["before"], found["suspects"]) == (ids[2], ids[1], [])
    # 50,000 turns of two instructions of 2 ns.
    assert 200_000 <= found["change_ns"] <= 201_000
    rows = [row for table in found["tables"] for row in table["rows"]]
    assert max(row["change_ns"] for row in rows) == pytest.approx(found["change_ns"], rel=0.5)
    tried = {each["commit"]: each for each in done["tried"]}
    assert {each["state"] for each in tried.values()} <= {"measured", "not built"}
    # What changes nothing is not booted.
    assert tried[ids[1]]["same_as"] == ids[0]
    assert ids[2] in text.read_text()
    # All is in the journal: another question about the same commits builds nothing.
    again = bootscope.json(*words, *ends, "--by", "0.05", "--all", "--resume")
    assert [each["commit"] for each in again["found"]] == [ids[2]]
    assert again["tried"] == done["tried"]
    assert bootscope.run(*words, *ends, "--by", "1", "--resume").returncode == 2
