# SPDX-License-Identifier: Apache-2.0
"""Packages import in one direction, as pyproject.toml says. (That every module can be imported alone takes a
minute to see: tests/lab/test_alone.py.)"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from .builders import ROOT, environment

SOURCES = ROOT / "src"
LINT = str(Path(sys.executable).with_name("lint-imports"))
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
LAYERS: list[str] = PROJECT["tool"]["importlinter"]["contracts"][0]["layers"]
PACKAGES = {name.strip() for layer in LAYERS for name in layer.split("|")}


def run(*command: str, **extra: str) -> subprocess.CompletedProcess[str]:
    env = environment(PYTHONPATH=str(SOURCES), **extra)
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def test_packages_import_in_one_direction() -> None:
    done = run(LINT, "--no-cache")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Contracts: 1 kept, 0 broken." in done.stdout


def test_nothing_lies_beside_the_packages() -> None:
    loose = {path.name for path in (SOURCES / "bootscope").glob("*.py")}
    assert loose == {"__init__.py", "__main__.py"}


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_the_map_tells_of_each_package(package: str) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert re.search(rf"^      {package}/ +\S", text, re.M), (
        f"CONTRIBUTING.md does not say what {package}/ is for"
    )


def test_the_map_is_in_the_order_of_the_layers() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    told = [name for name in re.findall(r"^      (\w+)/ ", text, re.M) if name in PACKAGES]
    place = {name.strip(): at for at, layer in enumerate(LAYERS) for name in layer.split("|")}
    assert [place[name] for name in told] == sorted(place[name] for name in told)
