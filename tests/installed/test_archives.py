# SPDX-License-Identifier: Apache-2.0
"""The wheel and the sdist: what is in them, and that they come out the same each time."""

from __future__ import annotations

import email
import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from .conftest import ROOT, built, copied, run

DATA = "bootscope/data/"


def wheel_of(folder: Path) -> Path:
    [found] = folder.glob("*.whl")
    return found


def text_in(wheel: Path, ending: str) -> str:
    """The file of the wheel whose path ends so."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(ending)]
        return archive.read(name).decode()


def test_sdist_and_wheel_come_out_the_same_in_another_folder_at_another_time_with_another_umask(
    dist: Path, tmp_path: Path
) -> None:
    before = os.umask(0o077)
    try:
        other = copied(tmp_path / "another" / "folder")
        for path in [p for p in other.rglob("*") if not p.is_symlink()]:
            program = path.stat().st_mode & 0o100
            path.chmod(0o700 if path.is_dir() or program else 0o600)
            os.utime(path, (1_000_000_000, 1_000_000_000))
        again = built(other, tmp_path / "out", "sdist", "wheel")
    finally:
        os.umask(before)
    first = {path.name: path for path in dist.iterdir()}
    assert len(first) == 2
    assert again.keys() == first.keys()
    assert [name for name in first if first[name].read_bytes() != again[name].read_bytes()] == []


def test_the_wheel_of_the_sdist_is_that_of_the_checkout(dist: Path, tmp_path: Path) -> None:
    [sdist] = dist.glob("*.tar.gz")
    run("tar", "-xf", sdist, "-C", tmp_path)
    [source] = tmp_path.iterdir()
    made = built(source, tmp_path / "out", "wheel")
    assert {name: path.read_bytes() for name, path in made.items()} == {
        wheel_of(dist).name: wheel_of(dist).read_bytes()
    }


@pytest.mark.parametrize(
    "folder", ["native/plugin", "native/agent", "native/analyser", "native/steady", "ci"]
)
def test_the_wheel_has_all_files_of_a_folder_as_they_are(dist: Path, folder: str) -> None:
    with zipfile.ZipFile(wheel_of(dist)) as archive:
        there = {
            name.removeprefix(DATA): archive.read(name)
            for name in archive.namelist()
            if name.startswith(f"{DATA}{folder}/")
        }
    files = [p for p in (ROOT / folder).rglob("*") if p.is_file() and p.suffix not in (".o", ".so", ".pyc")]
    assert there == {str(path.relative_to(ROOT)): path.read_bytes() for path in files}


def test_the_wheel_has_every_file_of_the_package(dist: Path) -> None:
    """Tables, catalogue, templates: whatever git keeps below src."""
    kept = run("git", "ls-files", "src/bootscope", cwd=ROOT).split()
    with zipfile.ZipFile(wheel_of(dist)) as archive:
        there = set(archive.namelist())
    assert {name.removeprefix("src/") for name in kept} <= there


def test_the_wheel_has_every_document_system_and_board(dist: Path) -> None:
    with zipfile.ZipFile(wheel_of(dist)) as archive:
        names = set(archive.namelist())
    documents = {f"{DATA}docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}
    package = ROOT / "src/bootscope"
    data = [p for kind in ("systems.d", "boards.d") for p in (package / kind).rglob("*") if p.is_file()]
    assert len(documents) > 20
    assert documents <= names
    assert {str(path.relative_to(ROOT / "src")) for path in data} <= names


def test_everything_in_the_wheel_lies_where_it_belongs(dist: Path) -> None:
    """Nothing may land beside the package, where it would be somebody else's."""
    with zipfile.ZipFile(wheel_of(dist)) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
        programs = {i.filename for i in archive.infolist() if i.external_attr >> 16 & 0o100}
    version = wheel_of(dist).name.split("-")[1]
    assert tops == {"bootscope", f"bootscope-{version}.dist-info", f"bootscope-{version}.data"}
    scripts = "bootscope/systems.d/stock/rootfs/etc/init.d/"
    expected = {f"{scripts}{p.name}" for p in (ROOT / "src" / scripts).iterdir() if p.stat().st_mode & 0o100}
    assert {name for name in programs if name.startswith(scripts)} == expected


def test_the_wheel_names_both_licences_and_has_their_texts(dist: Path) -> None:
    metadata = email.message_from_string(text_in(wheel_of(dist), ".dist-info/METADATA"))
    assert metadata["License-Expression"] == "Apache-2.0 AND GPL-2.0-or-later"
    assert metadata["Requires-Python"] == ">=3.11"
    for name in ("Apache-2.0.txt", "GPL-2.0-or-later.txt"):
        text = (ROOT / "LICENSES" / name).read_text()
        assert text_in(wheel_of(dist), f".dist-info/licenses/LICENSES/{name}") == text
        assert text_in(wheel_of(dist), f"data/LICENSES/{name}") == text


def man(*words: str | Path) -> str:
    """What mandoc prints."""
    done = subprocess.run(["mandoc", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_man_pages_have_no_faults_in_them(prefix: Path) -> None:
    pages = sorted((prefix / "share/man/man1").iterdir())
    verbs = {"bootscope.1", "bootscope-record.1", "bootscope-what-if.1"}
    assert verbs <= {page.name for page in pages}
    assert man("-Tlint", *pages) == ""


def test_the_man_page_of_a_verb_says_what_help_says(prefix: Path) -> None:
    text = man("-Tutf8", "-Owidth=200", prefix / "share/man/man1/bootscope-record.1")
    text = re.sub(".\b", "", text)
    help_text = subprocess.run(
        [prefix / "bin/bootscope", "record", "--help"], capture_output=True, text=True, check=True
    ).stdout
    options = {word.rstrip(",") for word in help_text.split() if word.startswith("--") and len(word) > 2}
    assert len(options) > 20
    assert [option for option in options if option not in text] == []
    assert "bootscope record stock" in text.split("EXAMPLES")[1]
