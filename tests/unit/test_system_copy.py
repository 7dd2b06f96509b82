# SPDX-License-Identifier: Apache-2.0
"""`system copy`, and what `system list`, `show` and `rm` do with the systems that come with bootscope."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from bootscope.cli.complete import candidates
from bootscope.system.load import folders_beside, load_system, system_names
from tests.command import Bootscope


@pytest.fixture
def bootscope(tmp_path: Path) -> Bootscope:
    return Bootscope(tmp_path / "store", tmp_path / "cache")


def refused(bootscope: Bootscope, *arguments: str | Path, status: int = 2) -> str:
    done = bootscope.run(*arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


@pytest.mark.parametrize("name", ["stock", "debian", "debian-riscv64"])
def test_a_copy_is_the_same_system_with_a_name_of_its_own(
    bootscope: Bootscope, tmp_path: Path, name: str
) -> None:
    told = bootscope.json("system", "copy", name, tmp_path / "My Product")
    file = tmp_path / "My Product/my-product.toml"
    assert (told["kind"], told["system"], told["name"]) == ("system-copy", name, "my-product")
    assert told["path"] == told["written"][0] == str(file)
    copied, original = load_system(str(file)), load_system(name)
    assert copied.system == msgspec.structs.replace(original.system, name="my-product")
    for folder in folders_beside(original.system).values():
        assert copied.beside(folder).is_relative_to(tmp_path)
        files = [path for path in original.beside(folder).rglob("*") if path.is_file()]
        assert files
        for path in files:
            same = copied.beside(folder) / path.relative_to(original.beside(folder))
            assert same.read_bytes() == path.read_bytes()
            assert same.stat().st_mode == path.stat().st_mode


def test_a_copy_says_what_it_wrote_and_what_comes_next(bootscope: Bootscope, tmp_path: Path) -> None:
    done = bootscope.run("system", "copy", "stock", tmp_path / "mine", "--as", "gateway")
    assert done.returncode == 0
    assert "gateway.toml" in done.stdout
    assert f"next: bootscope build {tmp_path}/mine/gateway.toml --plan" in done.stdout


def test_nothing_is_overwritten(bootscope: Bootscope, tmp_path: Path) -> None:
    (tmp_path / "mine/stock").mkdir(parents=True)
    told = refused(bootscope, "system", "copy", "stock", tmp_path / "mine")
    assert f"{tmp_path}/mine/stock exists already hint: nothing was written" in told
    assert not (tmp_path / "mine/mine.toml").exists()
    (tmp_path / "file").write_text("")
    told = refused(bootscope, "system", "copy", "stock", tmp_path / "file", status=3)
    assert "cannot write" in told


def test_wrong_words_are_refused_with_what_to_do(bootscope: Bootscope, tmp_path: Path) -> None:
    assert "did you mean stock?" in refused(bootscope, "system", "copy", "stokc", tmp_path / "x")
    for words in (["copy"], ["copy", "stock"], ["copy", "stock", "a", "b"]):
        assert "hint: bootscope system copy stock my-product" in refused(bootscope, "system", *words)
    assert "choose another with --as" in refused(bootscope, "system", "copy", "stock", tmp_path / "debian")
    assert "--build is for import" in refused(bootscope, "system", "copy", "stock", "x", "--build", "make")
    assert "stock comes with bootscope" in refused(bootscope, "system", "rm", "stock")


def test_what_comes_with_bootscope_is_listed_and_shown(bootscope: Bootscope) -> None:
    listed = bootscope.json("system", "list")
    assert listed["systems"] == []
    assert [row["name"] for row in listed["included"]] == system_names()
    text = bootscope.run("system", "list").stdout
    assert "no imported systems" in text
    assert "bootscope system copy stock my-product" in text
    shown = bootscope.json("system", "show", "debian")
    assert (shown["made_by"], shown["board"]) == ("bootscope", "cubieboard")
    assert "bootscope system copy debian my-product" in bootscope.run("system", "show", "debian").stdout


def test_names_are_completed() -> None:
    assert [word for word, _ in candidates(["system", "copy", "stock-q"])] == ["stock-qt"]
    assert [word for word, _ in candidates(["system", "show", "stock-q"])] == ["stock-qt"]
    assert candidates(["system", "copy", "stock", "s"]) == []
    assert candidates(["system", "rm", "stock-q"]) == []
