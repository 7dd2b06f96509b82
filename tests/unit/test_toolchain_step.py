# SPDX-License-Identifier: Apache-2.0
"""A cross compiler from packages: it compiles and links as where it is installed, and is the one that is
called."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import pytest

from bootscope.arch.registry import ARCHITECTURES
from bootscope.builder.cache import Cache
from bootscope.builder.outlook import UNKNOWN, Outlook
from bootscope.builder.plan import steps_of
from bootscope.builder.progress import Progress
from bootscope.builder.sources import Resolved
from bootscope.builder.step import Context
from bootscope.builder.steps import toolchain, userland
from bootscope.core.errors import UserError
from bootscope.system.changes import Change, apply
from bootscope.system.load import LoadedSystem, check_system, load_system

ARM = ARCHITECTURES["arm"]
TRIPLET = ARM.tools.triplet
PROGRAM = '#include <stdio.h>\n#include <stdarg.h>\nint main(void) { puts("ready"); return 0; }\n'


def packages(tree: Path) -> Path:
    """The computer's own cross compiler and C library, as packages have them."""
    (tree / "lib64").mkdir(parents=True)
    (tree / "lib").mkdir()
    (tree / "usr/bin").mkdir(parents=True)
    (tree / "usr/lib").mkdir()
    loader = next(Path("/lib64").glob("ld-linux-*.so.2"))
    (tree / "lib64" / loader.name).symlink_to(loader)
    for folder in ("lib", "usr/lib"):
        for library in Path("/", folder).glob("*-linux-gnu"):
            (tree / folder / library.name).symlink_to(library)
    (tree / "usr/lib/gcc-cross").symlink_to("/usr/lib/gcc-cross")
    for program in Path("/usr/bin").glob(f"{TRIPLET}-*"):
        (tree / "usr/bin" / program.name).symlink_to(program)
    return tree


def context(tmp_path: Path, **results: Path) -> Context:
    for name in ("scratch", "out"):
        (tmp_path / name).mkdir()
    return Context(
        results, tmp_path / "scratch", tmp_path / "out", Cache(tmp_path / "cache"), Progress(), 1, False
    )


def made_by(compiler: str | Path, folder: Path) -> bytes:
    (folder / "ready.c").write_text(PROGRAM)
    subprocess.run([compiler, "-O2", "-o", "ready", "ready.c"], cwd=folder, check=True)
    return (folder / "ready").read_bytes()


def test_it_compiles_and_links_as_where_it_is_installed(tmp_path: Path) -> None:
    there = context(tmp_path)
    source = Resolved(str(packages(tmp_path / "tree")), "", "", "")
    toolchain.step(source, ARM).work(there)
    ours = there.out / toolchain.PROGRAMS / f"{TRIPLET}-gcc"
    assert made_by(ours, tmp_path) == made_by(f"{TRIPLET}-gcc", tmp_path)


def test_a_step_that_takes_it_calls_it_before_the_computers_own(tmp_path: Path) -> None:
    there = context(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / f"{TRIPLET}-gcc").write_text("#!/bin/sh\necho another\n")
    (tmp_path / "bin" / f"{TRIPLET}-gcc").chmod(0o755)
    assert there.run([f"{TRIPLET}-gcc", "-dumpmachine"]).output == TRIPLET
    there.programs = (tmp_path / "bin",)
    assert there.run([f"{TRIPLET}-gcc", "-dumpmachine"]).output == "another"


def test_packages_without_a_cross_compiler_are_told(tmp_path: Path) -> None:
    tree = packages(tmp_path / "tree")
    for program in tree.glob(f"usr/bin/{TRIPLET}-gcc-[0-9]*"):
        program.unlink()
    with pytest.raises(UserError, match=r"have no files usr/bin/.*-gcc-\[0-9\]\*, expected one"):
        toolchain.step(Resolved(str(tree), "", "", ""), ARM).work(context(tmp_path))


def test_a_compiler_for_another_computer_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = packages(tmp_path / "tree")
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(
        UserError, match=r"does not run on this computer: it needs ld-linux-.*, this is riscv64"
    ):
        toolchain.step(Resolved(str(tree), "", "", ""), ARM).work(context(tmp_path))


def test_each_architecture_has_its_own_result_and_an_unfetched_one_none(tmp_path: Path) -> None:
    source = Resolved(str(tmp_path), "0" * 64, "", "")
    ids = {toolchain.step(source, ARCHITECTURES[name]).step_id({}) for name in ("arm", "arm64")}
    assert len(ids) == 2
    loaded = load_system("stock")
    system = apply(loaded.system, {"compiler": COMPILER})
    found = {name: Resolved("", name, "", "") for name in system.sources}
    found["compiler"] = Resolved("", UNKNOWN, "", "")
    steps = steps_of(LoadedSystem(system, loaded.path), found)
    outlook = Outlook.of(steps, found, Cache(tmp_path / "cache"))
    for name in (toolchain.NAME, "busybox", "application", "card"):
        assert outlook.ids[name] == UNKNOWN
    assert outlook.ids["uboot"] != UNKNOWN


COMPILER = Change(
    settings={
        "toolchain": "compiler",
        "sources.compiler.version": "Debian 13",
        "sources.compiler.packages.suite": "trixie",
        "sources.compiler.packages.architecture": "amd64",
        "sources.compiler.packages.names": ("gcc-14-arm-linux-gnueabihf",),
    }
)


def test_busybox_and_the_application_are_made_by_it_and_nothing_else() -> None:
    loaded = load_system("stock")
    system = apply(loaded.system, {"compiler": COMPILER})
    check_system(system, loaded.path)
    found = {name: Resolved("", name, "", "") for name in system.sources}
    with_it = {step.name: step for step in steps_of(LoadedSystem(system, loaded.path), found)}
    assert {name for name, step in with_it.items() if toolchain.NAME in step.needs} == {
        "busybox",
        "application",
    }
    assert "unpack-compiler" not in with_it
    without = {step.name: step for step in steps_of(loaded, found)}
    assert with_it.keys() - without.keys() == {toolchain.NAME}
    assert with_it["uboot"].needs == without["uboot"].needs


def test_a_compiler_that_is_no_source_is_refused() -> None:
    loaded = load_system("stock")
    with pytest.raises(UserError, match=r"toolchain: expected a name under .sources., got 'gcc-99'"):
        check_system(msgspec.structs.replace(loaded.system, toolchain="gcc-99"), loaded.path)


def test_a_list_of_a_setting_keeps_what_is_in_it() -> None:
    system = load_system("debian-systemd").system
    key = "sources.root.packages.names"

    def names(wanted: tuple[str, ...]) -> list[str]:
        made = apply(system, {"it": Change(settings={key: wanted})})
        return list(msgspec.to_builtins(made.sources["root"])["packages"]["names"])

    there = list(msgspec.to_builtins(system.sources["root"])["packages"]["names"])
    assert len(there) > 1
    assert names(("...", "plymouth")) == [*there, "plymouth"]
    assert names(("plymouth", "...")) == ["plymouth", *there]
    assert names(("plymouth",)) == ["plymouth"]


def test_busybox_with_musl_needs_its_library_and_another_id() -> None:
    loaded = load_system("stock")
    system = apply(loaded.system, {"musl": Change(settings={"busybox.libc": "musl"})})
    check_system(system, loaded.path)
    found = {name: Resolved("", name, "", "") for name in system.sources}
    steps = {step.name: step for step in steps_of(LoadedSystem(system, loaded.path), found)}
    plain = {step.name: step for step in steps_of(loaded, found)}
    assert set(steps["busybox"].needs) - set(plain["busybox"].needs) == {"libc"}
    assert steps["busybox"].inputs != plain["busybox"].inputs
    assert steps["application"].inputs == plain["application"].inputs


def test_joining_objects_adds_no_start_files_of_musl(tmp_path: Path) -> None:
    """BusyBox calls the compiler with -r for that; it links what came of it afterwards."""
    there = context(tmp_path, libc=tmp_path)
    (tmp_path / "musl/lib").mkdir(parents=True)
    parts = {"crt1": "_start", "crti": "begins", "crtn": "ends", "one": "main", "two": "helps"}
    for name, function in parts.items():
        (tmp_path / f"{name}.c").write_text(f"int {function}(void) {{ return 0; }}\n")
        made = tmp_path / "musl/lib" / f"{name}.o"
        there.run([f"{TRIPLET}-gcc", "-c", "-o", made, f"{name}.c"], cwd=tmp_path)
    there.run([f"{TRIPLET}-ar", "rc", "libc.a", "two.o"], cwd=tmp_path / "musl/lib")
    there.programs = (userland.musl_compiler(there, ARM),)
    there.run([f"{TRIPLET}-gcc", "-nostdlib", "-r", "-o", "joined.o", "musl/lib/one.o"], cwd=tmp_path)
    there.run([f"{TRIPLET}-gcc", "-o", "program", "joined.o"], cwd=tmp_path)
    names = there.run([f"{TRIPLET}-nm", "program"], cwd=tmp_path).output.split()
    assert names.count("_start") == names.count("main") == 1


def test_prebuilt_programs_have_the_library_that_they_have() -> None:
    loaded = load_system("debian")
    with pytest.raises(UserError, match=r"busybox\.libc: expected one of \['glibc'\]"):
        check_system(apply(loaded.system, {"it": Change(settings={"busybox.libc": "musl"})}), loaded.path)
