# SPDX-License-Identifier: Apache-2.0
"""The tools container's packages: fetched by hash, unpacked; damaged, hostile, missing ones are refused."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from bootscope.builder.archive import HELPER, MIRROR
from bootscope.builder.ids import file_sha256
from bootscope.cli.parsers import verb_parser
from bootscope.container import fetching, locked, running
from bootscope.container.locked import Lock, Package
from bootscope.container.unpacking import unpack
from bootscope.core.errors import ToolError, UserError

from .conftest import Command

PATH = "pool/main/t/tool/tool_1.0+b1_all.deb"


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mirror that has one package, made by dpkg."""
    tree = tmp_path / "tree"
    for name, text in (("DEBIAN/control", "Package: tool\nVersion: 1.0\nArchitecture: all\nMaintainer: we\n"
                        "Description: a tool\n"), ("bin/tool", "#!/bin/sh\necho tool\n"),
                       ("usr/share/man/man1/tool.1", "page"), ("usr/share/doc/tool/copyright", "licence"),
                       ("usr/share/doc/tool/changelog", "long"), ("etc/tool.conf", "yes\n")):  # fmt: skip
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tree / "bin/tool").chmod(0o755)
    (tree / "usr/lib").mkdir()
    (tree / "usr/lib/tool.so").symlink_to("tool.so.1")
    deb = tmp_path / "mirror" / PATH
    deb.parent.mkdir(parents=True)
    build = ["dpkg-deb", "-Zxz", "--root-owner-group", "--build", str(tree), str(deb)]
    subprocess.run(build, check=True, capture_output=True)
    monkeypatch.setenv(MIRROR, f"file://{tmp_path}/mirror")
    return tmp_path / "mirror"


def lock_of(mirror: Path) -> Lock:
    path = mirror / PATH
    return Lock("2026-11-25", (Package(file_sha256(path), path.stat().st_size, PATH),))


HELPERS = pytest.mark.parametrize("helper", [HELPER, Path("/none")], ids=["apt", "without apt"])


@HELPERS
def test_a_package_is_fetched_and_unpacked(mirror: Path, tmp_path: Path, helper: Path) -> None:
    (tmp_path / "debs").mkdir()
    fetching.fetch(lock_of(mirror), tmp_path / "debs", helper)
    root = tmp_path / "root"
    unpack(tmp_path / "debs" / "tool_1.0+b1_all.deb", root)
    files = sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())
    assert files == ["etc/tool.conf", "usr/bin/tool", "usr/lib/tool.so", "usr/share/doc/tool/copyright"]
    assert (root / "usr/bin/tool").stat().st_mode & 0o777 == 0o755
    assert (root / "usr/lib/tool.so").readlink() == Path("tool.so.1")


@HELPERS
def test_a_package_that_is_another_one_now_is_refused(mirror: Path, tmp_path: Path, helper: Path) -> None:
    lock = lock_of(mirror)
    (mirror / PATH).write_bytes((mirror / PATH).read_bytes()[:-1] + b"x")
    with pytest.raises(ToolError, match="cannot be fetched") as told:
        fetching.fetch(lock, tmp_path, helper)
    assert "2026-11-25" in (told.value.hint or "")
    (mirror / PATH).unlink()
    with pytest.raises(ToolError, match="cannot be fetched"):
        fetching.fetch(lock, tmp_path, helper)


def packed(*members: tuple[str, str]) -> bytes:
    """A package of files (name, where a link leads to; empty for a file)."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w:xz") as archive:
        for name, target in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = (tarfile.SYMTYPE, target) if target else (tarfile.REGTYPE, "")
            archive.addfile(member)
    data = tar.getvalue()
    head = f"{'data.tar.xz/':<16}{'0':<12}{'0':<6}{'0':<6}{'100644':<8}{len(data):<10}`\n".encode()
    return b"!<arch>\n" + head + data


@pytest.mark.parametrize(
    "data",
    [
        b"", b"!<arch>\n", b"no package", b"!<arch>\n" + b"x" * 60,
        packed(("../out", "")), packed(("/out", "")), packed(("a/../../out", "")),
        packed(("a", ".."), ("a/out", "")), packed(("usr", ".."), ("bin/out", "")),
        packed(("a", ""))[:-9],
    ],
)  # fmt: skip
def test_a_damaged_or_hostile_package_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.deb").write_bytes(data)
    (tmp_path / "root").mkdir()
    with pytest.raises(ToolError):
        unpack(tmp_path / "a.deb", tmp_path / "root")
    assert not list(tmp_path.rglob("out"))


def test_the_list_names_each_tool_once() -> None:
    lock = locked.read_lock(locked.lock_path())
    names = [package.file.partition("_")[0] for package in lock.packages]
    assert len(set(names)) == len(names) > 200
    assert {"gcc-12", "make", "qemu-system-arm", "squashfs-tools", "python3.11"} <= set(names)


@pytest.mark.parametrize("text", ["", "# 2026-11-25\n", "# 2026-11-25\nno line\n", "x\n"])
def test_a_damaged_list_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.lock").write_text(text)
    with pytest.raises(ToolError, match="is damaged in line"):
        locked.read_lock(tmp_path / "a.lock")


def test_a_machine_without_a_list_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "ppc64le")
    with pytest.raises(ToolError, match="no tools container for ppc64le"):
        locked.lock_path()


def test_a_folder_that_is_the_containers_own_cannot_be_shown(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot show /usr"):
        running.Inside(tmp_path).command(["true"], [Path("/usr/share")], tmp_path)


def test_a_computer_without_user_namespaces_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "unshare").write_text("#!/bin/sh\necho unshare: Operation not permitted >&2\nexit 1\n")
    (tmp_path / "unshare").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(ToolError, match=r"needs user namespaces.*Operation not permitted") as told:
        running.Inside(tmp_path).check()
    assert "bootscope help cluster" in (told.value.hint or "")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run",), "name a program to run in the container"),
        (("run", "--"), "name a program to run in the container"),
        (("run", "--jsn", "sh"), "container run takes a program first, not --jsn"),
        (("run", "--", "-n", "sh"), "container run takes a program first, not -n"),
        (("make", "sh"), "container make takes no program"),
        (("fly",), "unknown word after container"),
    ],
)
def test_words_that_make_no_sense_are_refused(bootscope: Command, words: tuple[str, ...], told: str) -> None:
    done = bootscope("container", *words)
    assert done.returncode == 2
    assert told in done.stderr


@pytest.mark.parametrize("words", [("run", "--help"), ("run", "-h"), ("path", "--help"), ("--help",)])
def test_help_makes_no_container(main_here: Command, words: tuple[str, ...], tmp_path: Path) -> None:
    done = main_here("container", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: bootscope container ")
    assert not (tmp_path / "cache").exists()


def test_the_help_of_a_program_is_its_own() -> None:
    asked = verb_parser("container").parse_args(["run", "dask", "--help"])
    assert asked.words == ["dask", "--help"]
