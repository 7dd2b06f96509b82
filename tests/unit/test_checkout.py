# SPDX-License-Identifier: Apache-2.0
"""bin/bootscope of a checkout that cannot be used says why: not set up, somebody else's, or broken."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from .builders import ROOT

OTHER = 65534
"""A user who owns nothing."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the script in it and nothing else."""
    root = tmp_path / "checkout"
    (root / "bin").mkdir(parents=True)
    shutil.copy(ROOT / "bin" / "bootscope", root / "bin")
    return root


def said(checkout: Path, *before: str, **env: str) -> str:
    done = subprocess.run(
        [*before, str(checkout / "bin" / "bootscope"), "list"],
        capture_output=True, text=True, check=False, env={**os.environ, **env},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "")
    return done.stderr


def test_what_was_never_set_up_says_so(checkout: Path) -> None:
    assert said(checkout) == f"bootscope: not set up yet\n  hint: make -C {checkout} setup\n"


@pytest.mark.parametrize("target", ["gone", "/nowhere/at/all"])
def test_a_python_that_is_gone_is_named(checkout: Path, target: str) -> None:
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "bin" / "python").symlink_to(target)
    where = target if target.startswith("/") else checkout / ".venv" / "bin" / target
    told = said(checkout)
    assert f"{checkout}/.venv was set up with cannot be run any more: {where}\n" in told
    assert f"hint: rm -r {checkout}/.venv && make -C {checkout} setup" in told
    assert "not set up yet" not in told


def test_a_checkout_of_somebody_else_says_whose_it_is(checkout: Path) -> None:
    """Where nobody can be somebody else, the checkout belongs to who is called another name."""
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "bin" / "python").write_text("")
    names = checkout / "names"
    names.mkdir()
    (names / "id").write_text("#!/bin/sh\necho alice\n")
    (names / "id").chmod(0o755)
    told = said(checkout, PATH=f"{names}:{os.environ['PATH']}")
    owner = getpass.getuser() if os.geteuid() else "root"
    assert f"{checkout}/.venv belongs to {owner}, and alice cannot run the Python in it: " in told
    assert f"hint: use a checkout of your own: git clone {checkout} bootscope" in told


def test_another_user_is_told_in_truth(checkout: Path) -> None:
    """As root by being nobody; as a user by a folder that is closed to oneself."""
    (checkout / ".venv" / "bin").mkdir(parents=True)
    python = checkout / ".venv" / "bin" / "python"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    os.chmod(checkout / ".venv" / "bin", 0o700 if os.geteuid() == 0 else 0)  # noqa: PTH101
    for folder in (checkout, *checkout.parents):
        if os.geteuid() == 0 and folder.stat().st_uid == 0 and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    (checkout / "bin" / "bootscope").chmod(0o755)
    nobody = [f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups"]
    told = said(checkout, *(["setpriv", *nobody] if os.geteuid() == 0 else []))
    (checkout / ".venv" / "bin").chmod(0o755)
    assert "not set up yet" not in told
    assert f"cannot be run any more: {python}" in told or ".venv belongs to root, and nobody cannot" in told
