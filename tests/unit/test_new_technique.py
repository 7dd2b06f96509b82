# SPDX-License-Identifier: Apache-2.0
"""A technique is one file: put into the catalogue, it is listed, audited, checked and documented."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bootscope.core.paths import package_dir
from bootscope.techniques.model import techniques

from .builders import ROOT

NEW = """
schema = 1
id = "kernel-no-swap"
phase = "kernel"
status = "runs-here"
title = "A kernel that cannot swap"
what = "Nothing is set up for swapping."
detect = "CONFIG_SWAP is set."
apply = "Leave out CONFIG_SWAP."
conflicts = ["kernel-quiet"]

[recipes.off]
change = { kernel = { SWAP = false } }
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program and of what makes the page, with one file more."""
    folder = tmp_path_factory.mktemp("checkout")
    package = folder / "src" / "bootscope"
    shutil.copytree(package_dir(), package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "techniques" / "catalogue" / "kernel-no-swap.toml").write_text(NEW)
    (folder / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "techniques_page.py", folder / "tools")
    (folder / "docs").mkdir()
    return folder


def run(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What Python says when it runs this with the copy."""
    environment = {"PYTHONPATH": str(checkout / "src"), "HOME": str(checkout), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_is_listed_and_explained(checkout: Path) -> None:
    listed = run(checkout, "-m", "bootscope", "techniques").stdout
    assert "kernel-no-swap" in listed
    assert f"{len(techniques()) + 1} techniques: " in listed
    assert (
        "A kernel that cannot swap" in run(checkout, "-m", "bootscope", "techniques", "kernel-no-swap").stdout
    )


@pytest.mark.parametrize(("value", "where"), [("y", "techniques"), ("is not set", "not_applicable")])
def test_it_is_audited(checkout: Path, value: str, where: str) -> None:
    swap = "CONFIG_SWAP=y" if value == "y" else "# CONFIG_SWAP is not set"
    head = "#\n# Automatically generated file; DO NOT EDIT.\n# Linux/arm 6.12.80 Kernel Configuration\n#\n"
    (checkout / "config").write_text(f"{head}CONFIG_MODULES=y\n{swap}\n")
    told = json.loads(run(checkout, "-m", "bootscope", "audit", "./config", "--json").stdout)
    assert "kernel-no-swap" in json.dumps(told[where])


def test_it_is_checked_for_conflicts_with_those_that_do_not_name_it(checkout: Path) -> None:
    for pair in (("kernel-quiet", "kernel-no-swap"), ("kernel-no-swap", "kernel-quiet")):
        done = run(checkout, "-m", "bootscope", "try", *pair)
        assert done.returncode == 2
        assert f"{pair[0]} and {pair[1]} exclude each other" in done.stderr
    told = json.loads(run(checkout, "-m", "bootscope", "techniques", "kernel-quiet", "--json").stdout)
    assert told["conflicts"] == ["kernel-no-swap"]


def test_the_page_has_it(checkout: Path) -> None:
    assert run(checkout, "tools/techniques_page.py").returncode == 0
    page = (checkout / "docs" / "techniques.md").read_text()
    assert "### kernel-no-swap" in page
    assert f"The {len(techniques()) + 1} known ways" in page
    assert page.count("[kernel-no-swap](#kernel-no-swap)") == 1, "it stands beside kernel-quiet"
