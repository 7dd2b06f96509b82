# SPDX-License-Identifier: Apache-2.0
"""Packages and modules import in one direction, packages as pyproject.toml says; so every module can be
imported alone, whatever was imported before it or not."""

from __future__ import annotations

import graphlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import grimp
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


IMPORT_ALL = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def modules() -> list[str]:
    """Every module of the package, but for the one that is the program."""
    paths = [p.relative_to(SOURCES).with_suffix("") for p in (SOURCES / "bootscope").rglob("*.py")]
    names = (".".join(path.parts).removesuffix(".__init__") for path in paths)
    return sorted(name for name in names if name != "bootscope.__main__")


def test_modules_import_in_one_direction() -> None:
    """Without a circle of imports it does not matter which module is imported first. Imports within functions
    count as well."""
    graph = grimp.build_graph("bootscope", exclude_type_checking_imports=True, cache_dir=None)
    assert set(modules()) <= graph.modules
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    assert sum(len(found) for found in imports.values()) > 3000
    graphlib.TopologicalSorter(imports).prepare()  # a CycleError tells the circle


def test_every_module_can_be_imported() -> None:
    names = modules()
    assert len(names) > 500
    done = run(sys.executable, "-c", IMPORT_ALL, *names)
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
