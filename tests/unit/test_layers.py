# SPDX-License-Identifier: Apache-2.0
"""Packages import in one direction, as pyproject.toml says, and every module can be imported alone."""

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

ALONE = """
import contextlib, gc, importlib, os, sys, traceback

def others():
    # What all of them import of others: loaded once, as that takes most of the time.
    read, write = os.pipe()
    if not os.fork():
        with contextlib.suppress(BaseException):
            for name in sys.argv[1:]:
                importlib.import_module(name)
        with open(write, "w") as f:
            f.write(" ".join(name for name in sys.modules if name.split(".")[0] != "bootscope"))
        os._exit(0)
    os.close(write)
    with open(read) as f:
        return f.read().split()

for name in others():
    with contextlib.suppress(Exception):
        importlib.import_module(name)
assert not any(name.split(".")[0] == "bootscope" for name in sys.modules)
gc.freeze()
bad = 0
for name in sys.argv[1:]:
    child = os.fork()
    if not child:
        try:
            importlib.import_module(name)
        except BaseException:
            print(name, traceback.format_exc(), flush=True)
            os._exit(1)
        os._exit(0)
    bad += os.waitpid(child, 0)[1] != 0
sys.exit(bad > 0)
"""
"""Imports each module in a process that has imported nothing of ours before."""


def run(*command: str, **extra: str) -> subprocess.CompletedProcess[str]:
    env = environment(PYTHONPATH=str(SOURCES), **extra)
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def modules() -> list[str]:
    """Every module of the package, but for the one that is the program."""
    paths = [p.relative_to(SOURCES).with_suffix("") for p in (SOURCES / "bootscope").rglob("*.py")]
    names = (".".join(path.parts).removesuffix(".__init__") for path in paths)
    return sorted(name for name in names if name != "bootscope.__main__")


def test_packages_import_in_one_direction() -> None:
    done = run(LINT, "--no-cache")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Contracts: 1 kept, 0 broken." in done.stdout


@pytest.mark.parametrize("part", [0, 1])
def test_every_module_can_be_imported_alone(part: int, tmp_path: Path) -> None:
    names = modules()
    assert len(names) > 500
    # Compiled once, not for each.
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path)}
    done = run(sys.executable, "-c", ALONE, *names[part::2], **compiled)
    assert done.returncode == 0, done.stdout + done.stderr


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
