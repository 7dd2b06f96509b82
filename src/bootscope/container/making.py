# SPDX-License-Identifier: Apache-2.0
"""The step that makes the tools container: packages unpacked, and set up as far as necessary.

root/ the root folder: Debian's files; in opt/bootscope-tools Python packages, commands bootscope and dask
new/ empty: where a root is assembled when something runs (running.py)
"""

from __future__ import annotations

import shutil
from pathlib import Path

from bootscope.builder.ids import file_sha256
from bootscope.builder.step import Context, Step
from bootscope.container import fetching
from bootscope.container.locked import PYTHON_LOCK, Lock, lock_path, read_lock
from bootscope.container.running import COMMANDS, NEW, PROGRAM, PYTHON, ROOT, Inside, environment
from bootscope.container.unpacking import MERGED, unpack

_LINKS = {"usr/bin/cc": "gcc", "usr/bin/awk": "mawk", "usr/bin/which": "which.debianutils"}
"""The links that Debian's alternatives would make."""
_FOLDERS = ("etc/ssl/certs", "var/tmp", f"{PROGRAM[1:]}/src/bootscope", PYTHON[1:], COMMANDS[1:])
_COMMANDS = ("bootscope", "dask")
_COMPILED = ("/usr/lib/python3.11", "/usr/lib/python3", PYTHON)
_NOT_COMPILED = "/(test|tests|lib2to3)/"


def step() -> Step:
    """The step `container`; its id covers the content. Raises ToolError where this machine has no list."""
    lock = read_lock(lock_path())

    def work(context: Context) -> None:
        _unpack(context, lock)
        _set_up(context.out / ROOT)
        (context.out / NEW).mkdir()
        _add_python(context)

    inputs = {"packages": file_sha256(lock_path()), "python": file_sha256(PYTHON_LOCK)}
    return Step("container", f"the tools container ({len(lock.packages)} packages)", 1, work, inputs)


def _unpack(context: Context, lock: Lock) -> None:
    debs, root = context.scratch / "debs", context.out / ROOT
    debs.mkdir()
    fetching.fetch(lock, debs)
    for name in MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for number, package in enumerate(lock.packages, start=1):
        unpack(debs / package.file, root)
        context.progress.update(number, len(lock.packages), "packages")


def _set_up(root: Path) -> None:
    """Does what the packages' scripts would have done."""
    for name in _FOLDERS:
        (root / name).mkdir(parents=True, exist_ok=True)
    for link, target in _LINKS.items():
        (root / link).symlink_to(target)
    authorities = sorted((root / "usr/share/ca-certificates").rglob("*.crt"))
    bundle = b"".join(path.read_bytes() for path in authorities)
    (root / "etc/ssl/certs/ca-certificates.crt").write_bytes(bundle)
    for name in _COMMANDS:
        path = root / COMMANDS[1:] / name
        path.write_text(f'#!/bin/sh\nexec python3 -P -m {name} "$@"\n')
        path.chmod(0o755)


def _add_python(context: Context) -> None:
    """Installs a worker's Python packages with the container's own pip, and compiles all modules, since
    nothing can be written there later."""
    root = context.out / ROOT
    pip = next((root / "usr/share/python-wheels").glob("pip-*.whl"))
    lock = context.scratch / PYTHON_LOCK.name
    shutil.copyfile(PYTHON_LOCK, lock)
    words = [
        "--quiet",
        "--no-deps",
        "--no-compile",
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--no-cache-dir",
    ]
    words += [
        "--disable-pip-version-check",
        "--root-user-action",
        "ignore",
        "--target",
        PYTHON,
        "-r",
        str(lock),
    ]
    _inside(context, "python3", f"/{pip.relative_to(root)}/pip", "install", *words)
    shutil.rmtree(root / PYTHON[1:] / "bin", ignore_errors=True)
    # Marked with the hash of the source, not its time, which differs in each unpacked copy.
    words = ["-q", "-x", _NOT_COMPILED, "--invalidation-mode", "unchecked-hash", *_COMPILED]
    _inside(context, "python3", "-m", "compileall", *words)


def _inside(context: Context, *words: str) -> None:
    inside = Inside(context.out, writable=True)
    inside.check()
    context.run(inside.command(words, [context.out, context.scratch], context.scratch), env=environment())
