# SPDX-License-Identifier: Apache-2.0
"""Names for the code that unpacks a distribution's kernel: its compiler out of packages, what is refused."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from bootscope.arch.model import Architecture
from bootscope.arch.registry import ARCHITECTURES
from bootscope.builder.cache import Cache
from bootscope.builder.plan import outlook, steps_of
from bootscope.builder.progress import Progress
from bootscope.builder.sources import Resolved
from bootscope.builder.step import Context
from bootscope.builder.steps.packaged_compiler import COMPILER, install
from bootscope.builder.steps.unpacker_symbols import NAME, differs, unlike
from bootscope.core.errors import UserError
from bootscope.system.load import load_system, system_dir

DEBIAN = (system_dir() / "debian-amd64.toml").read_text()
SETUP_SECTORS = 3
LINKED = 0x200
RELEASE = "6.12.117+deb13-amd64"


def ours() -> Architecture:
    """The architecture of this computer."""
    return next(arch for arch in ARCHITECTURES.values() if arch.tools.is_host)


def context(tmp_path: Path) -> Context:
    scratch, out = tmp_path / "scratch", tmp_path / "out"
    for folder in (scratch, out):
        folder.mkdir(exist_ok=True)
    return Context({}, scratch, out, Cache(tmp_path / "cache"), Progress(), 1, False)


def asked(*options: str) -> Path:
    done = subprocess.run(["cc", *options], capture_output=True, text=True, check=True)
    return Path(done.stdout.strip()).resolve()


def packages(tree: Path) -> Path:
    """This computer's compiler, laid out as Debian's packages have it."""
    triplet = ours().tools.triplet
    loader = ours().tools.libraries[0]
    headers = asked("-print-file-name=include/stdarg.h").parents[1]
    there = {
        f"usr/lib64/{loader}": asked(f"-print-file-name={loader}"),
        f"usr/lib/{triplet}": asked("-print-file-name=libc.so.6").parent,
        f"usr/lib/gcc/{triplet}/12": headers,
        f"usr/bin/{triplet}-gcc-12": Path("/usr/bin/cc").resolve(),
    }
    itself = asked("-print-prog-name=cc1")
    if itself.parent != headers:
        there[f"usr/libexec/gcc/{triplet}/12"] = itself.parent
    for name in ("as", "ld", "nm", "ar", "objcopy", "objdump", "readelf", "strip"):
        there[f"usr/bin/{triplet}-{name}"] = Path(shutil.which(name) or "").resolve()
    for place, leads_to in there.items():
        (tree / place).parent.mkdir(parents=True, exist_ok=True)
        (tree / place).symlink_to(leads_to)
    return tree


def test_a_compiler_out_of_packages_compiles_as_where_it_is_installed(tmp_path: Path) -> None:
    tree = packages(tmp_path / "it's here")
    tools = install(context(tmp_path), Resolved(str(tree), "", "", ""), ours())
    source = tmp_path / "f.c"
    source.write_text("#include <stdarg.h>\nint f(int n, ...) { return n * 3; }\n")
    made = []
    for number, compiler in enumerate((Path("cc"), tools[COMPILER])):
        subprocess.run([compiler, "-O2", "-c", source, "-o", tmp_path / f"{number}.o"], check=True)
        made.append((tmp_path / f"{number}.o").read_bytes())
    assert made[0] == made[1]
    listed = subprocess.run([tools["NM"], tmp_path / "1.o"], capture_output=True, text=True, check=True)
    assert listed.stdout.endswith(" T f\n")


def test_packages_without_a_compiler_are_told(tmp_path: Path) -> None:
    tree = packages(tmp_path / "tree")
    next(tree.glob("usr/bin/*-gcc-12")).unlink()
    with pytest.raises(UserError, match=r"have no files usr/bin/.*-gcc-\[0-9\]\*, expected one"):
        install(context(tmp_path), Resolved(str(tree), "", "", ""), ours())


def linked(tmp_path: Path, text: str) -> tuple[Path, bytearray]:
    """A program, and an image that holds its code behind that for a PC's first mode."""
    program = tmp_path / "program"
    options = ["-nostdlib", "-static", "-Wl,--build-id=none", f"-Wl,-Ttext={LINKED:#x}", "-Wl,-e,f", "-xc"]
    subprocess.run(["cc", *options, "-", "-o", program], input=text, text=True, check=True)
    code = tmp_path / "code"
    subprocess.run(["objcopy", "-O", "binary", "-j", ".text", program, code], check=True)
    image = bytearray((SETUP_SECTORS + 1) * 512 + LINKED)
    image[0x1F1] = SETUP_SECTORS
    return program, image + code.read_bytes()


def test_names_are_those_of_an_image_with_the_same_code(tmp_path: Path) -> None:
    program, image = linked(tmp_path, "int f(int n) { return n * 3; } int g(int n) { return f(n) + 1; }")
    assert differs(program, bytes(image)) == ""
    image[-1] ^= 1
    said = "compiled again, its section .text is not that of the image"
    assert differs(program, bytes(image)) == said
    assert differs(program, bytes(image[:-1])) == said


def kernel(tmp_path: Path, sublevel: int, compiler: str) -> tuple[Path, Path]:
    """The beginning of a kernel's sources, and what was generated for one."""
    tree, out = tmp_path / "tree", tmp_path / "out"
    tree.mkdir(exist_ok=True)
    (out / "include/generated").mkdir(parents=True, exist_ok=True)
    (tree / "Makefile").write_text(f"VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = {sublevel}\nEXTRAVERSION =\n")
    (out / "include/generated/utsrelease.h").write_text(f'#define UTS_RELEASE "{RELEASE}"\n')
    (out / ".config").write_text(f'CONFIG_CC_VERSION_TEXT="{compiler}"\nCONFIG_GCC_VERSION=1\n')
    return tree, out


def test_sources_and_compiler_of_another_kernel_are_refused(tmp_path: Path) -> None:
    compiler = Path("/usr/bin/cc")
    done = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    has = done.stdout.partition("\n")[0]

    def why(sublevel: int, wanted: str) -> str:
        return unlike(context(tmp_path), *kernel(tmp_path, sublevel, wanted), {COMPILER: compiler})

    assert why(117, has) == ""
    assert why(11, has) == f"the kernel is {RELEASE}, its sources are 6.12.11"
    assert why(117, "gcc 1.0") == f"it was compiled with gcc 1.0, this is {has}"


def planned(tmp_path: Path, name: str) -> set[str]:
    return {one.name for one in outlook(load_system(name), Cache(tmp_path / "cache")).planned()}


def test_only_a_computer_that_can_run_the_compiler_gets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = {NAME, "fetch-linux-source", "fetch-linux-compiler"}
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    with_it = planned(tmp_path, "debian-amd64")
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert with_it - planned(tmp_path, "debian-amd64") == more


def changed(tmp_path: Path, old: str, new: str) -> Path:
    text = DEBIAN
    for name in ("debian/rootfs", "stock/app"):
        text = text.replace(f'"{name}"', f'"{system_dir() / name}"')
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new))
    return path


def test_a_source_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = changed(tmp_path, '["linux-source", "linux-compiler"]', '["linux-source", "gcc"]')
    with pytest.raises(UserError, match=r"prebuilt\.unpacker_symbols: expected names under .*'gcc'"):
        load_system(str(path))


def test_names_for_what_unpacks_it_leave_kernel_and_card_as_they_are(tmp_path: Path) -> None:
    """A recording before and after is of the same build."""

    def ids(old: str, new: str) -> dict[str, str]:
        loaded = load_system(str(changed(tmp_path, old, new)))
        found = {name: Resolved("", "00", "", "") for name in loaded.system.sources}
        known: dict[str, str] = {}
        for step in steps_of(loaded, found):
            known[step.name] = step.step_id(known)
        return known

    line = 'unpacker_symbols = ["linux-source", "linux-compiler"]\n'
    whole, less = ids(line, line), ids(line, "")
    assert whole.keys() - less.keys() == {NAME}
    assert {name: whole[name] for name in less} == less
