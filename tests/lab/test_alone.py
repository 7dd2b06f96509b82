# SPDX-License-Identifier: Apache-2.0
"""Every module can be imported alone, whatever was imported before it or not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import ROOT

SOURCES = ROOT / "src"
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


def modules() -> list[str]:
    """Every module of the package, but for the one that is the program."""
    paths = [p.relative_to(SOURCES).with_suffix("") for p in (SOURCES / "bootscope").rglob("*.py")]
    names = (".".join(path.parts).removesuffix(".__init__") for path in paths)
    return sorted(name for name in names if name != "bootscope.__main__")


@pytest.mark.parametrize("part", [0, 1])
def test_every_module_can_be_imported_alone(part: int, tmp_path: Path) -> None:
    names = modules()
    assert len(names) > 500
    # Compiled once, not for each.
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", ALONE, *names[part::2]],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(SOURCES), **compiled},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
