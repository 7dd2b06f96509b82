# SPDX-License-Identifier: Apache-2.0
"""Files of a system over the kernel's sources, and options for what unpacks the kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootscope.boards.profile import load_board
from bootscope.builder.cache import Cache
from bootscope.builder.plan import outlook
from bootscope.builder.steps import kernel, kernel_tree, tree_view
from bootscope.system.changes import Change, apply
from bootscope.system.load import LoadedSystem, load_system
from bootscope.system.model import System

FILES = {"init/calibrate.c": "int ours;\n", "init/new/other.c": "int new;\n"}


def changed(**settings: object) -> System:
    told = {f"kernel.{name}": value for name, value in settings.items()}
    return apply(load_system("stock").system, {"it": Change(settings=told)})  # type: ignore[arg-type]


def steps(system: System, cache: Path) -> dict[str, tuple[str, ...]]:
    loaded = LoadedSystem(system, load_system("stock").path)
    return {step.name: step.needs for step in outlook(loaded, Cache(cache)).planned()}


def test_files_lie_over_a_tree_that_stays_as_it_was(tmp_path: Path) -> None:
    tree, view = tmp_path / "linux", tmp_path / "view"
    (tree / "init").mkdir(parents=True)
    (tree / "init/calibrate.c").write_text("int theirs;\n")
    (tree / "init/main.c").write_text("int main;\n")
    (tree / "init/link.c").symlink_to("main.c")
    tree_view.write(tree, view, FILES)
    made = {str(path.relative_to(view)): path.read_text() for path in view.rglob("*.c")}
    assert made == {**FILES, "init/main.c": "int main;\n", "init/link.c": "int main;\n"}
    assert (tree / "init/calibrate.c").read_text() == "int theirs;\n"
    assert not (tree / "init/new").exists()


def test_only_a_kernel_with_files_has_a_tree_of_its_own(tmp_path: Path) -> None:
    assert kernel_tree.source_of(changed()) == "linux"
    plain = steps(changed(files={}), tmp_path)
    assert "unpack-linux-files" not in plain
    assert "unpack-linux" in plain["kernel"]
    found = steps(changed(files=FILES), tmp_path)
    assert found["unpack-linux-files"] == ("unpack-linux",)
    assert "unpack-linux-files" in found["kernel"]
    assert "unpack-linux" not in found["kernel"]


@pytest.mark.parametrize("options", [("-Da=b",), ("-Da=c",)])
def test_options_make_another_kernel_and_none_the_same(options: tuple[str, ...]) -> None:
    arch = load_board("cubieboard").arch
    first = kernel.step(changed(), arch)
    assert kernel.step(changed(unpacker_options=()), arch).inputs == first.inputs
    assert kernel.step(changed(unpacker_options=options), arch).inputs == {
        **first.inputs,
        "unpacker_options": options,
    }
