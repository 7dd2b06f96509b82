# SPDX-License-Identifier: Apache-2.0
"""`bootscope bisect` finds the commit of a U-Boot tree that costs 200 us, past one that does not build."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from bootscope.builder.cache import Cache
from bootscope.builder.progress import Progress
from bootscope.builder.sources import Wanted, fetch
from bootscope.core.paths import cache_dir
from bootscope.system.load import load_system
from tests.command import ROOT, Bootscope

pytestmark = [pytest.mark.boot, pytest.mark.long]

SYSTEMS = ROOT / "src/bootscope/systems.d"
SPL = "common/spl/spl.c"
BEGIN = "void board_init_r(gd_t *dummy1, ulong dummy2)\n{\n"


def system(to: Path) -> Path:
    """Debian's kernel and programs behind a U-Boot that is built: no kernel has to be compiled."""
    text = (SYSTEMS / "debian.toml").read_text()
    (source,) = re.findall(r"^\[sources\.uboot\]\n.*?\n\n", (SYSTEMS / "stock.toml").read_text(), re.M | re.S)
    text = re.sub(r"^\[sources\.uboot\]\n.*?\n\n", lambda _: source, text, count=1, flags=re.M | re.S)
    text = re.sub(r'^uboot = "usr/lib/.*\n', "", text, count=1, flags=re.M)
    text = text.replace(
        '[uboot]\nsource = "uboot"\n', '[uboot]\nsource = "uboot"\ndefconfig = "Cubieboard_defconfig"\n'
    )
    for folder in ("debian/rootfs", "stock/app"):
        text = text.replace(f'"{folder}"', f'"{SYSTEMS / folder}"')
    to.write_text(text.replace('name = "debian"', 'name = "own-uboot"'))
    return to


@pytest.fixture
def series(tmp_path: Path) -> tuple[Path, list[str]]:
    """A git tree of U-Boot with five commits: the second costs 200 us, the third does not build."""
    tree = tmp_path / "uboot"
    loaded = load_system("stock")
    name = loaded.system.uboot.source
    found = fetch(
        Wanted(name, loaded.system.sources[name], loaded.path.parent), Cache(cache_dir()), Progress()
    )
    tree.mkdir()
    subprocess.run(["tar", "-xf", found.path, "-C", tree, "--strip-components=1"], check=True)
    shutil.rmtree(tree / "doc", ignore_errors=True)
    who = {f"GIT_{role}_{what}": "A Dev" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def git(*words: str) -> str:
        command = ["git", "-C", str(tree), "-c", "gc.auto=0", *words]
        done = subprocess.run(command, env={**os.environ, **who}, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(message: str, old: str = "", new: str = "") -> str:
        path = tree / SPL
        if old:
            assert path.read_text().count(old) == 1
            path.write_text(path.read_text().replace(old, new))
        git("add", "-A", "-f")
        git("commit", "-q", "--allow-empty", "-m", message)
        return git("rev-parse", "HEAD")

    git("init", "-q")
    slow = f"#include <linux/delay.h>\n{BEGIN}\tudelay(200);\n"
    ids = [
        commit("U-Boot"),
        commit("nothing"),
        commit("spl: wait for the supply", BEGIN, slow),
        commit("half of a rework", "\tudelay(200);\n", "\tudelay(200);\n#error not ready\n"),
        commit("the other half", "#error not ready\n", ""),
        commit("nothing more"),
    ]
    return tree, ids


def test_the_commit_that_costs_200_us_is_found_and_what_it_changed_told(
    series: tuple[Path, list[str]], tmp_path: Path
) -> None:
    tree, ids = series
    bootscope = Bootscope(tmp_path / "store")
    words = (
        "bisect",
        system(tmp_path / "own-uboot.toml"),
        "--tree",
        "uboot",
        tree,
        "--milestone",
        "bootloader",
    )
    ends = ("--good", ids[0], "--bad", ids[-1])
    text = tmp_path / "found.md"
    done = bootscope.json(*words, *ends, "--by", "0.1", "-o", text)
    (found,) = done["found"]
    assert (found["commit"], found["before"]) == (ids[2], ids[1])
    assert 195_000 <= found["change_ns"] <= 215_000
    assert found["suspects"] == []
    assert any("udelay" in row["what"] for table in found["tables"] for row in table["rows"])
    tried = {each["commit"]: each for each in done["tried"]}
    assert len(tried) <= 6
    assert {each["state"] for each in tried.values()} <= {"measured", "not built"}
    # What changes nothing is not booted.
    assert tried[ids[1]]["same_as"] == ids[0]
    assert ids[2] in text.read_text()
    # All is in the journal: another question about the same commits builds nothing.
    again = bootscope.json(*words, *ends, "--by", "0.1", "--all", "--resume")
    assert [each["commit"] for each in again["found"]] == [ids[2]]
    assert again["tried"] == done["tried"]
    assert bootscope.run(*words, *ends, "--by", "1", "--resume").returncode == 2
    shown = bootscope.json("history", "--tree", tree)
    assert [change["at"] for change in shown["changes"]] == [ids[2]]
