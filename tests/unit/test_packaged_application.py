# SPDX-License-Identifier: Apache-2.0
"""An application that is a program of the packages of the root file system."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest

from bootscope.builder.plan import steps_of, wanted_sources
from bootscope.builder.sources import Resolved
from bootscope.builder.step import Context
from bootscope.builder.steps import packaged_application, packages
from bootscope.core.errors import UserError
from bootscope.system.load import check_system, folders_beside, load_system
from bootscope.system.model import has_device_tree

CLOCK = "/usr/bin/clock"


def taken(tmp_path: Path, path: str) -> bytes:
    """What the step takes out of a tree of packages with one program, one folder and two links."""
    tree, out = tmp_path / "packages" / packages.TREE, tmp_path / "out"
    (tree / "usr/bin").mkdir(parents=True)
    out.mkdir()
    (tree / "usr/bin/clock").write_bytes(b"\x7fELF")
    (tree / "usr/bin/watch").symlink_to("clock")
    (tree / "elsewhere").symlink_to(tmp_path)
    (tmp_path / "secret").write_bytes(b"of this computer")
    context = SimpleNamespace(results={packages.NAME: tree.parent}, out=out)
    packaged_application.step(path).work(cast(Context, context))
    return (out / "program").read_bytes()


def test_a_program_is_taken_as_the_packages_have_it(tmp_path: Path) -> None:
    assert taken(tmp_path, CLOCK) == b"\x7fELF"
    assert (tmp_path / "out" / "program-whole").read_bytes() == b"\x7fELF"


@pytest.mark.parametrize(
    "path", ["/usr/bin/nothing", "/usr/bin", "/usr/bin/watch", "/elsewhere/secret", "/../../secret"]
)
def test_what_is_no_program_of_theirs_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(UserError, match=r"application\.path: the packages have no program at"):
        taken(tmp_path, path)


def test_such_a_system_has_a_root_of_packages_and_no_folder_of_sources() -> None:
    loaded = load_system("stock-qt")
    assert list(folders_beside(loaded.system)) == ["rootfs.overlay"]
    # Its kernel is compiled, so that the device tree is that kernel's.
    assert has_device_tree(loaded.system)
    found = {wanted.name: Resolved("", "0" * 64, "here", "1") for wanted in wanted_sources(loaded)}
    steps = [step.name for step in steps_of(loaded, found)]
    assert steps.index("packages") < steps.index("application") < steps.index("rootfs")
    assert {"kernel", "device-tree", "uboot"} <= set(steps)


def test_without_a_root_of_packages_there_must_be_sources() -> None:
    loaded = load_system("stock")
    bare = msgspec.structs.replace(loaded.system.application, sources="")
    with pytest.raises(UserError, match=r"application\.sources: expected a folder with C files"):
        check_system(msgspec.structs.replace(loaded.system, application=bare), loaded.path)
