# SPDX-License-Identifier: Apache-2.0
"""The tools container: made of Debian's packages, with all tools, and builds in it as on the same Debian."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bootscope.builder import plan
from bootscope.builder.cache import Cache
from bootscope.builder.progress import Progress
from bootscope.builder.step import read_meta
from bootscope.core.paths import cache_dir
from bootscope.core.tools import OPTIONAL_TOOLS, TOOLS, versions
from bootscope.system.load import load_system
from tests.command import Bootscope, environment

pytestmark = pytest.mark.campaign

SYSTEM = "debian"
VERSIONS = """
import json
from bootscope.core.tools import OPTIONAL_TOOLS, TOOLS, versions
print(json.dumps(versions(*TOOLS, *OPTIONAL_TOOLS)))
"""


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Bootscope:
    """The command, with this user's cache, in which the container is made if need be."""
    bootscope = Bootscope(tmp_path_factory.mktemp("outside") / "store")
    made = bootscope.json("container", "make")
    assert Path(made["root"]).is_dir()
    assert bootscope.json("container", "path") == made
    return bootscope


def inside(outside: Bootscope, *words: str) -> str:
    """What a program prints in the container."""
    done = outside.run("container", "run", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_everything_works_in_it(outside: Bootscope) -> None:
    found = json.loads(inside(outside, "bootscope", "doctor", "--json"))
    assert found["good"]
    assert len(found["parts"]) > 2


def test_it_shows_this_computers_files_and_keeps_its_own(outside: Bootscope, tmp_path: Path) -> None:
    (tmp_path / "note").write_text("here")
    script = f"cat {tmp_path}/note; touch {tmp_path}/new; touch /usr/new || echo kept"
    told = inside(outside, "sh", "-c", script)
    assert told == "herekept\n"
    assert (tmp_path / "new").exists()
    words = ("sh", "-c", "pwd; for name in bootscope dask cc awk; do command -v $name; done")
    told = inside(outside, *words)
    own = [f"/opt/bootscope-tools/bin/{name}" for name in ("bootscope", "dask")]
    assert told.split() == [str(Path.cwd()), *own, "/usr/bin/cc", "/usr/bin/awk"]
    failed = outside.run("container", "run", "sh", "-c", "exit 7")
    assert failed.returncode == 7


def test_its_python_is_its_own(outside: Bootscope) -> None:
    script = "import sys, msgspec, distributed, bootscope; print(sys.version_info[:2], msgspec.__file__)"
    told = inside(outside, "python3", "-c", script)
    assert told == "(3, 11) /opt/bootscope-tools/python/msgspec/__init__.py\n"


def test_a_build_in_it_has_the_ids_and_bytes_of_the_same_debian(outside: Bootscope, tmp_path: Path) -> None:
    """A step whose tools have the same versions has the same id, and then its files are the same."""
    here = outside.json("build", SYSTEM)["steps"]
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "sources").symlink_to(cache_dir() / "sources")
    words = ("env", f"BOOTSCOPE_CACHE={cache}", "bootscope", "build", SYSTEM, "--json")
    there = json.loads(inside(outside, *words))["steps"]
    same = of_the_same_tools(json.loads(inside(outside, "python3", "-P", "-c", VERSIONS)))
    assert {name for name in here if here[name]["id"] == there[name]["id"]} == same & here.keys()
    for name in same & here.keys():
        assert files(there[name]) == files(here[name]), name
    if platform.freedesktop_os_release().get("VERSION_CODENAME") == "bookworm":
        # Compiled, and linked with the C library.
        assert "application" in same
    assert {path.name for path in (cache / "steps").iterdir()} >= {step["id"] for step in there.values()}


def of_the_same_tools(there: dict[str, str]) -> set[str]:
    """Steps for which all tools, also of the steps that they need, have the versions that are there."""
    ours = versions(*TOOLS, *OPTIONAL_TOOLS)
    ahead = plan.ahead(load_system(SYSTEM), Cache(cache_dir()), Progress())
    found: set[str] = set()
    for step in ahead.steps:
        if all(ours[tool] == there[tool] for tool in step.tools) and found >= set(step.needs):
            found.add(step.name)
    return found


def files(step: dict[str, Any]) -> dict[str, str]:
    return read_meta(Path(step["path"])).files


def test_it_needs_no_rights(outside: Bootscope) -> None:
    """Run by root, the tests put all capabilities away first, but for one that only root's number needs."""
    command = [sys.executable, "-P", "-m", "bootscope", "container", "run", "cat", "/proc/self/uid_map"]
    env = environment(outside.store)
    away = ["setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all"]
    command = [*away, *command] if os.geteuid() == 0 else command
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["0", str(os.geteuid()), "1"], done.stderr
