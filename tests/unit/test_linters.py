# SPDX-License-Identifier: Apache-2.0
"""The rules of the house, as far as programs can check them."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bootscope.core.paths import cache_dir

from .builders import ROOT, environment

pytestmark = pytest.mark.long

PYTHON_FOLDERS = ("src", "tests", "benchmarks", "tools", "native")
INIT_SCRIPTS = "src/bootscope/systems.d/stock/rootfs/etc/init.d"
MAX_LINES, MAX_FILE_LINES, MAX_FUNCTION_LINES = 500, 350, 50
# Files and functions that are still too long; who shortens one takes it out.
LONG_C_FILES = {
    # A driver of one file, as its neighbours in the kernel's tree.
    "src/bootscope/builder/steps/nand/bootscope_nand.c",
}
LONG_FUNCTIONS = {"tests/unit/test_watch.py test_the_whole_file_for_the_stock_system"}
# Written so that this file does not hold what it looks for.
PRIVATE_PATHS = [f"/{'/'.join(parts)}".encode() for parts in (("work", ""), ("tmp", "scratch"))]


def check(*command: str | Path) -> None:
    """Runs a linter in the root of the checkout; its words are the failure."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def needed(program: str) -> None:
    """Skips the test when `program` is not there; in CI that is a failure."""
    if not shutil.which(program):
        if os.environ.get("CI"):
            pytest.fail(f"{program} is missing")
        pytest.skip(f"{program} is not installed")


def tracked() -> list[Path]:
    """The files of the project: what git tracks, and what it would be asked to."""
    needed("git")
    done = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"not a git checkout: {done.stderr.strip()}")
    paths = [ROOT / name for name in done.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def named(paths: list[Path]) -> str:
    return "\n".join(str(path.relative_to(ROOT)) for path in paths)


def python_folders() -> list[str]:
    return [name for name in PYTHON_FOLDERS if list((ROOT / name).rglob("*.py"))]


def test_ruff_finds_nothing() -> None:
    check(sys.executable, "-m", "ruff", "check", "--quiet", *python_folders())


def test_python_is_formatted() -> None:
    check(sys.executable, "-m", "ruff", "format", "--check", "--quiet", *python_folders())


def test_mypy_finds_nothing() -> None:
    # Beside the cache of builds: a clean clone need not look at everything again, which takes minutes.
    check(sys.executable, "-m", "mypy", "--cache-dir", cache_dir().with_name("bootscope-mypy"))


def test_shell_scripts_are_clean() -> None:
    needed("shellcheck")
    scripts = [ROOT / name for name in ("tools/setup.sh", "bin/bootscope", ".ci/run", "ci/check.sh")]
    check("shellcheck", "--shell=sh", *scripts, *sorted((ROOT / INIT_SCRIPTS).iterdir()))


def test_no_source_file_is_longer_than_it_should_be() -> None:
    sources = [path for path in tracked() if path.suffix in (".py", ".c", ".js")]
    assert len(sources) > 50
    found = [path for path in sources if len(path.read_text().splitlines()) > MAX_LINES]
    assert not found, named(found)


def python_files() -> list[Path]:
    return [path for name in PYTHON_FOLDERS for path in sorted((ROOT / name).rglob("*.py"))]


def too_long(paths: list[Path]) -> set[str]:
    lengths = {path: len(path.read_text().splitlines()) for path in paths}
    return {str(path.relative_to(ROOT)) for path, lines in lengths.items() if lines > MAX_FILE_LINES}


def test_no_python_file_is_too_long() -> None:
    assert not too_long(python_files())


def test_no_c_file_is_too_long() -> None:
    sources = [path for path in tracked() if path.suffix in (".c", ".h")]
    assert len(sources) > 100
    assert too_long(sources) == LONG_C_FILES


def test_no_function_is_too_long() -> None:
    found = {
        f"{path.relative_to(ROOT)} {node.name}"
        for path in python_files()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION_LINES
    }
    assert found == LONG_FUNCTIONS


def test_every_source_file_names_its_licence() -> None:
    suffixes = (".py", ".c", ".h", ".sh", ".js")
    sources = [path for path in tracked() if path.suffix in suffixes and path.stat().st_size]
    missing = [
        path
        for path in sources
        if not any("SPDX-License-Identifier:" in line for line in path.read_text().splitlines()[:3])
    ]
    assert not missing, named(missing)


def test_no_file_names_a_folder_of_the_machine_it_was_written_on() -> None:
    found = [path for path in tracked() if any(name in path.read_bytes() for name in PRIVATE_PATHS)]
    assert not found, named(found)
