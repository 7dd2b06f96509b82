# SPDX-License-Identifier: Apache-2.0
"""An order of the kernel's functions, and drivers that can put off their probe: edits of its sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootscope.boards.profile import load_board
from bootscope.builder.plan import steps_of
from bootscope.builder.sources import Resolved
from bootscope.builder.steps import function_order, kernel, kernel_tree, probe_later, self_tests
from bootscope.builder.steps.edits import Edit, edited
from bootscope.buildtrees import kernel_code
from bootscope.changes.impossible import prebuilt
from bootscope.core.errors import UserError
from bootscope.inventory.inventory import Inventory
from bootscope.system.changes import Change, apply
from bootscope.system.load import LoadedSystem, load_system
from bootscope.system.model import System

LINKER_SCRIPT = "include/asm-generic/vmlinux.lds.h"
CODE = {
    LINKER_SCRIPT: "#define TEXT_TEXT\t\\\n"
    "\t\t*(.text.hot .text.hot.*)\t\t\t\t\\\n"
    "\t\t*(TEXT_MAIN .text.fixup)\t\t\t\t\\\n"
    "\t\t*(.ref.text)\n",
    "drivers/base/dd.c": "static int really_probe(struct device *dev, const struct device_driver *drv)\n{\n"
    "\tint ret;\n\n\tif (defer_all_probes) {\n\t\t/*\n\t\t * all of them */\n\t}\n}\n",
    "drivers/base/base.h": "void driver_deferred_probe_trigger(void);\n",
    "drivers/base/Makefile": "obj-y\t:= component.o core.o bus.o dd.o syscore.o \\\n\t driver.o\n",
}


def changed(**settings: object) -> System:
    told = {f"kernel.{name}": value for name, value in settings.items()}
    return apply(load_system("stock").system, {"it": Change(settings=told)})  # type: ignore[arg-type]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The places of a kernel that are edited."""
    for name, text in CODE.items():
        path = tmp_path / "linux" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "linux"


def test_an_edit_is_made_once_and_where_its_text_is(tree: Path) -> None:
    found = edited(tree, {}, [Edit("drivers/base/base.h", "(void)", "(int)")], "it")
    assert found == {"drivers/base/base.h": "void driver_deferred_probe_trigger(int);\n"}
    # A file that the system puts over the tree is the one that is edited.
    assert edited(
        tree, {"drivers/base/base.h": "x (void)"}, [Edit("drivers/base/base.h", "(void)", "")], "it"
    ) == {"drivers/base/base.h": "x "}
    # What must be there and stays is no other file.
    assert edited(tree, {}, [Edit("drivers/base/base.h", "(void)", "(void)")], "it") == {}


@pytest.mark.parametrize("path", CODE)
def test_other_sources_are_refused_by_name(tree: Path, path: str) -> None:
    work = function_order.files if path == LINKER_SCRIPT else probe_later.files
    for other in (None, "", CODE[path] * 2):
        (tree / path).unlink(missing_ok=True)
        if other is not None:
            (tree / path).write_text(other)
        with pytest.raises(UserError, match=path) as told:
            work(tree, {})
        assert "leave kernel." in str(told.value.hint)


def test_the_list_is_included_before_all_other_code(tree: Path) -> None:
    script = function_order.files(tree, {})[LINKER_SCRIPT]
    parts = ["INCLUDE function-order.lds", ".text.hot", ".text.unlikely", "*(.text .text.[0-9a-zA-Z_]*)"]
    places = [script.index(part) for part in parts]
    assert places == sorted(places)
    assert "TEXT_MAIN" not in script
    assert all(line.endswith("\\") for line in script.splitlines()[:-1])


def test_another_order_is_another_link(tmp_path: Path) -> None:
    (tmp_path / "vmlinux").touch()
    function_order.prepare(tmp_path, ("start_kernel", "vfs_read.part.0"))
    assert (tmp_path / function_order.LIST).read_text() == "*(.text.start_kernel)\n*(.text.vfs_read.part.0)\n"
    assert not (tmp_path / "vmlinux").exists()
    (tmp_path / "vmlinux").touch()
    function_order.prepare(tmp_path, ("start_kernel", "vfs_read.part.0"))
    assert (tmp_path / "vmlinux").exists()
    function_order.prepare(tmp_path, ("vfs_read.part.0", "start_kernel"))
    assert not (tmp_path / "vmlinux").exists()


def test_names_are_those_of_functions_and_each_counts_once() -> None:
    assert function_order.names(changed().kernel) == ()
    assert function_order.names(changed(function_order=" \n ").kernel) == ()
    assert function_order.names(changed(function_order="b a.isra.0\nb c").kernel) == ("b", "a.isra.0", "c")
    for bad in ("a) *(.init.text", "1st", "a-b", "/DISCARD/", "*"):
        with pytest.raises(UserError, match=r"kernel\.function_order"):
            function_order.names(changed(function_order=bad).kernel)


def test_drivers_are_asked_before_anything_else(tree: Path) -> None:
    found = probe_later.files(tree, {})
    assert found.keys() == {f"drivers/base/{name}" for name in ("dd.c", "Makefile", "probe_later.c")}
    code = found["drivers/base/dd.c"]
    assert code.index("bool probe_is_put_off(") < code.index("static int really_probe")
    assert code.index("if (probe_is_put_off(drv))\n\t\treturn -EPROBE_DEFER;") < code.index(
        "defer_all_probes"
    )
    assert "probe_later.o" in found["drivers/base/Makefile"]
    assert "SPDX-License-Identifier: GPL-2.0-or-later" in found["drivers/base/probe_later.c"]


def test_only_who_asks_gets_another_kernel() -> None:
    arch = load_board("cubieboard").arch
    first = kernel.step(changed(), arch).inputs
    for same in (changed(function_order=""), changed(probe_later=False)):
        assert kernel_tree.source_of(same) == "linux"
        assert kernel.step(same, arch).inputs == first
    one, other, later = (
        changed(function_order="b a"),
        changed(function_order="a b"),
        changed(probe_later=True),
    )
    assert all("unpack-linux-files" in steps(system) for system in (one, other, later))
    assert "unpack-linux-files" not in steps(changed())
    inputs = [kernel.step(system, arch).inputs for system in (one, other, later)]
    assert inputs[0] != inputs[1]
    assert inputs[2] == first
    # Kernels that differ in the order alone are linked from the same objects.
    trees = [kernel_tree.step(system).step_id({"unpack-linux": "0"}) for system in (one, other, later)]
    assert trees[0] == trees[1] != trees[2]


def steps(system: System) -> set[str]:
    """The steps by which a system is built."""
    loaded = LoadedSystem(system, load_system("stock").path)
    return {step.name for step in steps_of(loaded, {n: _source(n) for n in ("uboot", "linux", "busybox")})}


def _source(name: str) -> Resolved:
    return Resolved("", name, "", "1")


def test_for_other_build_systems_there_are_files_and_what_to_do_with_them() -> None:
    settings: dict[str, object] = {"kernel.function_order": "b a", "kernel.probe_later": True, "board": "x"}
    files, told = kernel_code.by_hand(settings)
    assert settings == {"board": "x"}
    assert files[kernel_code.ORDER] == "b\na\n"
    assert "probe_is_put_off" in files[kernel_code.LATER]
    assert [path in line for path, line in zip(files, told, strict=True)] == [True, True]
    assert kernel_code.by_hand({"kernel.function_order": "", "kernel.probe_later": False}) == ({}, [])


@pytest.mark.parametrize("name", ["function_order", "probe_later"])
def test_a_prebuilt_kernel_stays_as_it_is(name: str) -> None:
    change = Change(settings={f"kernel.{name}": "a" if name == "function_order" else True})
    found = list(prebuilt(change, Inventory(settings={"prebuilt.kernel": "boot/vmlinuz"})))
    assert found == ["its kernel is prebuilt: what is compiled of it stays as it is"]
    assert not list(prebuilt(change, Inventory(settings={"kernel.source": "linux"})))


def test_self_tests_of_the_library_are_left_out_by_words_for_make() -> None:
    arch = load_board("cubieboard").arch
    first = kernel.step(changed(), arch).inputs
    assert kernel.step(changed(library_self_tests=True), arch).inputs == first
    without = kernel.step(changed(library_self_tests=False), arch).inputs
    assert without == {**first, "self_tests": self_tests.OPTIONS}
    settings: dict[str, object] = {self_tests.SETTING: False, "kernel.image": "zImage"}
    files, told = kernel_code.by_hand(settings)
    assert (files, settings) == ({}, {"kernel.image": "zImage"})
    assert told == [
        "compile the kernel's lib/crypto without self-tests: make CONFIG_CRYPTO_MANAGER_DISABLE_TESTS=y "
        "CFLAGS_blake2s.o=-DCONFIG_CRYPTO_MANAGER_DISABLE_TESTS=1 "
        "CFLAGS_chacha20poly1305.o=-DCONFIG_CRYPTO_MANAGER_DISABLE_TESTS=1 "
        "CFLAGS_curve25519.o=-DCONFIG_CRYPTO_MANAGER_DISABLE_TESTS=1"
    ]
    assert kernel_code.by_hand({self_tests.SETTING: True}) == ({}, [])
