# SPDX-License-Identifier: Apache-2.0
"""`bootscope bisect` over files and packages: what differs, what belongs together, what a combination is."""

from __future__ import annotations

import re
import shutil
import tarfile
from pathlib import Path

import pytest

from bootscope.builder.cache import Cache
from bootscope.builder.progress import Progress
from bootscope.builder.step import Runner
from bootscope.capture.store import Store
from bootscope.cli.observers import Quiet
from bootscope.cluster.given import given_of
from bootscope.core.errors import UserError
from bootscope.regression.debs import depends, in_folder
from bootscope.regression.files import Files, files
from bootscope.regression.packages import Packages, packages
from bootscope.regression.roots import listed, opened
from bootscope.regression.units import Chosen
from bootscope.search.bench import Bench
from bootscope.system.load import LoadedSystem, load_system, system_dir
from tests.debs import make_deb

from .conftest import Command
from .image_builders import ext4, tool
from .test_cli import assert_refused
from .tree_builders import put

OLD: dict[str, str | bytes] = {
    "etc/same": "same",
    "etc/changed": "old",
    "etc/gone": "gone",
    "etc/mode": "#!/bin/sh\n",
    "etc/now-a-folder": "a file",
    "usr/lib/deep/only-one": "x",
}
NEW: dict[str, str | bytes] = {
    "etc/same": "same",
    "etc/changed": "new",
    "etc/mode": "#!/bin/sh\n",
    "etc/now-a-folder/inner": "a file in a folder",
    "etc/new/deep/file": "new",
    "opt/tool-2/run": "run",
}


@pytest.fixture
def two(tmp_path: Path, cache: Cache) -> Files:
    """Two trees that differ in all ways there are."""
    old, new = put(tmp_path / "old", OLD), put(tmp_path / "new", NEW)
    (new / "etc/mode").chmod(0o755)
    (new / "opt/tool").symlink_to("tool-2/run")
    (old / "var/empty").mkdir(parents=True)
    (new / "srv").mkdir()
    return files(load_system("debian"), (str(old), str(new)), cache, made(tmp_path / "work"))


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def content(folder: Path) -> dict[str, str]:
    """What is in a folder: path -> kind and content."""
    found = listed(folder)
    return {path: f"{item.kind} {item.content}" for path, item in found.items()}


def folders(loaded: LoadedSystem) -> set[str]:
    """The folders of an overlay."""
    overlay = loaded.beside(loaded.system.rootfs.overlay)
    return {f"/{path.relative_to(overlay)}" for path in overlay.rglob("*") if path.is_dir()}


def place(inputs: Files | Packages, name: str) -> int:
    """The place of the unit that holds a difference."""
    return next(n for n in range(len(inputs.units)) if name in inputs.names(frozenset({n})))


def test_every_difference_is_told(two: Files) -> None:
    assert two.differing == {
        "/etc/changed": "file of 3 B -> file of 3 B",
        "/etc/gone": "file of 4 B -> none",
        "/etc/mode": "file of 10 B -> program of 10 B",
        "/etc/new/deep/file": "none -> file of 3 B",
        "/etc/now-a-folder": "file of 6 B -> folder",
        "/etc/now-a-folder/inner": "none -> file of 18 B",
        "/opt/tool": "none -> link to tool-2/run",
        "/opt/tool-2/run": "none -> file of 3 B",
        "/srv": "none -> folder",
        "/usr/lib/deep/only-one": "file of 1 B -> none",
        "/var/empty": "folder -> none",
    }
    # The link comes after what it leads to; the file goes with the folder that takes its place.
    units = two.units
    assert place(two, "/opt/tool-2/run") in units[place(two, "/opt/tool")].needs
    assert place(two, "/etc/now-a-folder") == place(two, "/etc/now-a-folder/inner")
    assert len(units) == two.count - 1


def test_a_combination_has_each_file_of_one_side_and_the_ends_are_what_was_given(two: Files) -> None:
    every = two.units.all
    some = two.units.down({place(two, "/opt/tool"), place(two, "/etc/gone"), place(two, "/etc/now-a-folder")})
    expected: dict[Chosen, dict[str, str]] = {
        frozenset(): content(two.sides[0]),
        every: content(two.sides[1]),
    }
    mixed = dict(content(two.sides[0]))
    for gone in ("/etc/gone", "/etc/now-a-folder"):
        del mixed[gone]
    new = content(two.sides[1])
    mixed |= {p: new[p] for p in ("/opt/tool", "/opt/tool-2/run", "/etc/now-a-folder/inner")}
    expected[some] = mixed
    for chosen, wanted in expected.items():
        with two.system(chosen) as loaded:
            assert content(loaded.beside(loaded.system.rootfs.overlay)) == wanted
            # What is not there is taken out where BusyBox brings it.
            absent = two.differing.keys() - wanted.keys() - folders(loaded)
            assert set(loaded.system.rootfs.remove) == absent
            assert (loaded.beside(loaded.system.application.sources) / "testcard.c").exists()
            # A cluster's workers get both folders.
            assert {Path(path).name for path in given_of(loaded, {}).folders} == {"overlay", "app"}
        assert not loaded.path.parent.exists()


def test_the_key_follows_the_contents(two: Files, tmp_path: Path, cache: Cache) -> None:
    given = (str(tmp_path / "old"), str(tmp_path / "new"))
    again = files(load_system("debian"), given, cache, made(tmp_path / "again"))
    assert again.key == two.key
    put(tmp_path / "new", {"etc/changed": "newer"})
    assert files(load_system("debian"), given, cache, made(tmp_path / "third")).key != two.key


def test_images_and_archives_hold_the_same_as_the_folder(two: Files, tmp_path: Path) -> None:
    folder = two.sides[1]
    with tarfile.open(tmp_path / "root.tar.gz", "w:gz") as archive:
        archive.add(folder, ".")
    tool("mksquashfs", folder, tmp_path / "root.squashfs", "-quiet", "-all-root", "-no-progress")
    ext4(tmp_path / "root.ext4", folder, 8)
    for name in ("root.tar.gz", "root.squashfs", "root.ext4"):
        found = opened(tmp_path / name, made(tmp_path / f"of-{name}"))
        assert {p: c for p, c in content(found).items() if p != "/lost+found"} == content(folder)


def test_what_holds_no_files_is_refused(two: Files, tmp_path: Path, cache: Cache) -> None:
    debian, work = load_system("debian"), tmp_path / "refused"
    text = tmp_path / "text"
    text.write_text("not an image\n" * 500)
    with pytest.raises(UserError, match="neither an ext or SquashFS image nor a tar"):
        opened(text, made(work))
    with pytest.raises(UserError, match="neither a folder nor a file"):
        opened(tmp_path / "none", work)
    damaged = tmp_path / "damaged.squashfs"
    damaged.write_bytes(b"hsqs" + b"\xff" * 4096)
    with pytest.raises(UserError, match=r"cannot unpack .*damaged\.squashfs"):
        opened(damaged, made(tmp_path / "w2"))
    side = str(two.sides[0])
    with pytest.raises(UserError, match="hold the same files"):
        files(debian, (side, side), cache, made(tmp_path / "w3"))
    with tarfile.open(tmp_path / "out.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("../outside"))
    with pytest.raises(UserError, match="outside"):
        opened(tmp_path / "out.tar", made(tmp_path / "w4"))


# ---- packages ----


@pytest.fixture
def lists(tmp_path: Path, cache: Cache) -> Packages:
    """Two lists of packages that need one another in all ways there are."""
    old, new = made(tmp_path / "old"), made(tmp_path / "new")
    for side, version in ((old, "1"), (new, "2")):
        make_deb(side, "base", "1")
        make_deb(side, "libc", version)
        # The two of one source want each other in one version.
        make_deb(side, "tool", version, Depends="tool-data (= 1) | other, libc (>= 1)")
        make_deb(side, "tool-data", version)
    make_deb(old, "logger", "5", Depends="liblog")
    make_deb(old, "liblog", "5")
    make_deb(new, "journal", "9", Pre_Depends="libc:any (>= 2), mail-agent")
    make_deb(new, "postman", "3", Provides="mail-agent (= 3), letters")
    return Packages(load_system("debian-systemd"), "old", "new", (in_folder(old), in_folder(new)), cache)


def test_packages_that_differ_and_what_they_need(lists: Packages) -> None:
    assert lists.differing == {
        "journal": "none -> 9",
        "libc": "1 -> 2",
        "liblog": "5 -> none",
        "logger": "5 -> none",
        "postman": "none -> 3",
        "tool": "1 -> 2",
        "tool-data": "1 -> 2",
    }
    at = {name: place(lists, name) for name in lists.differing}
    needs = {name: lists.units[at[name]].needs for name in at}
    assert at["tool"] == at["tool-data"]
    assert needs["journal"] == {at["libc"], at["postman"]}
    # The library goes after what needs it.
    assert needs["liblog"] == {at["logger"]}
    assert needs["logger"] == needs["postman"] == needs["libc"] == frozenset()
    assert needs["tool"] == {at["libc"]}


def test_a_combination_of_packages_is_an_archive_of_them(lists: Packages) -> None:
    some = lists.units.down({place(lists, "journal"), place(lists, "liblog")})
    wanted = {
        frozenset[int](): {"base_1", "libc_1", "tool_1", "tool-data_1", "logger_5", "liblog_5"},
        lists.units.all: {"base_1", "libc_2", "tool_2", "tool-data_2", "journal_9", "postman_3"},
        some: {"base_1", "libc_2", "tool_1", "tool-data_1", "journal_9", "postman_3"},
    }
    for chosen, expected in wanted.items():
        with lists.system(chosen) as loaded:
            source = loaded.system.sources["root"]
            with tarfile.open(str(source.path)) as archive:
                names = archive.getnames()
            assert names == sorted(names)
            assert {name.removesuffix(".deb") for name in names} == expected
            # Compiled from, and laid over it, is what the system has.
            assert loaded.beside(loaded.system.rootfs.overlay).is_dir()


def test_a_dependency_is_met_by_name_or_by_what_provides_it(lists: Packages) -> None:
    _, new = lists.sides
    found = {(each.name, each.exactly) for each in depends(new["journal"], new)}
    assert found == {("libc", False), ("postman", False)}
    assert {(each.name, each.exactly) for each in depends(new["tool"], new)} == {
        ("tool-data", True), ("libc", False),
    }  # fmt: skip


def product(folder: Path, kernel: str, headers: str, busybox: str) -> str:
    """A system file like that of `debian`, all of whose packages are files of one's own."""
    for name in ("debian", "stock"):
        shutil.copytree(system_dir() / name, folder / name)
    text = re.sub(r"\[sources\..*?(?=\[prebuilt)", "", (system_dir() / "debian.toml").read_text(), flags=re.S)
    versions = {"uboot": "1", "linux": kernel, "linux-headers": headers, "linux-headers-common": headers}
    for name, version in {**versions, "busybox": busybox}.items():
        make_deb(folder, name, version)
        text += f'\n[sources.{name}]\nversion = "{version}"\npath = "{name}_{version}.deb"\n'
    (folder / "product.toml").write_text(text)
    return str(folder / "product.toml")


def test_packages_of_two_systems_are_compared_and_a_kernel_goes_with_its_headers(
    tmp_path: Path, store: Store, cache: Cache
) -> None:
    old = product(tmp_path / "old", "6.1", "6.1", "1.36")
    new = product(tmp_path / "new", "6.12", "6.12", "1.37")
    bench = Bench(store, Runner(cache, Progress()), Progress(), Quiet())
    found = packages(load_system(old), (old, new), bench, made(tmp_path / "work"))
    assert found.differing == {
        "sources.busybox": "1.36 -> 1.37",
        "sources.linux": "6.1 -> 6.12",
        "sources.linux-headers": "6.1 -> 6.12",
        "sources.linux-headers-common": "6.1 -> 6.12",
    }
    kernel = place(found, "sources.linux")
    assert found.names(frozenset({kernel})) == found.differing.keys() - {"sources.busybox"}
    with found.system(frozenset({kernel})) as loaded:
        paths = {name: str(source.path) for name, source in loaded.system.sources.items()}
    assert paths["linux"].endswith("/new/linux_6.12.deb")
    assert paths["linux-headers-common"].endswith("/new/linux-headers-common_6.12.deb")
    assert paths["busybox"].endswith("/old/busybox_1.36.deb")
    assert paths["uboot"].endswith("/old/uboot_1.deb")
    with pytest.raises(UserError, match="are the same packages"):
        packages(load_system(old), (old, old), bench, made(tmp_path / "again"))


def test_damaged_packages_and_two_of_one_name_are_refused(tmp_path: Path) -> None:
    made(tmp_path / "twice")
    for version in ("1", "2"):
        make_deb(tmp_path / "twice", "a", version)
    with pytest.raises(UserError, match="are the same package"):
        in_folder(tmp_path / "twice")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "x.deb").write_bytes(b"!<arch>\nrubbish")
    with pytest.raises(UserError, match=r"x\.deb is no Debian package, or damaged"):
        in_folder(tmp_path / "bad")


# ---- what the command refuses before anything is built ----


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["debian"], "nothing to search is given"),
        (
            ["debian", "--files", "a", "b", "--packages", "a", "b"],
            "--packages and --files cannot be searched",
        ),
        (["debian", "--files", "a", "b", "--good", "x"], "--good is for --tree; --files already names both"),
        (["stock", "--tree", "uboot", ".", "--good", "a"], "--tree needs two commits"),
        (["debian", "--files", "none", "none"], "none is neither a folder nor a file"),
        (["debian", "--files", "a", "a"], "a and a hold the same files"),
        (["debian", "--packages", "a", "b"], "the root file system of debian is not made of packages"),
        (["debian-systemd", "--packages", "empty", "empty"], "empty is no list of packages: it is empty"),
        (["debian-systemd", "--packages", "wrong", "wrong"], "'Not A Name' is not the name of a package"),
        (["debian-systemd", "--packages", "a", "a"], "there are no packages (.deb) in a"),
        (["debian-systemd", "--packages", "debian", "a"], "the root file system of debian is not made of"),
        (["debian", "--packages", "debian.toml", "a"], "debian.toml"),
        (["debian", "--config", "a", "b"], "debian takes its kernel prebuilt"),
        (["stock", "--config", "wrong", "wrong"], "the line 'Not A Name' sets no symbol"),
        (["stock", "--config", "empty", "wrong"], "empty is no kernel configuration: it sets no symbol"),
        (["stock", "--config", "debian", "wrong"], "debian takes its kernel prebuilt"),
        (
            ["stock", "--config", "20200101-000000-stock", "wrong"],
            "20200101-000000-stock is neither a file, a system nor a run",
        ),
        (["debian", "--files", "a", "a", "--milestone", "inti"], "did you mean init?"),
        (["nonsense", "--files", "a", "a"], "nonsense"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    main_here: Command, tmp_path: Path, words: list[str], said: str
) -> None:
    put(tmp_path / "a", {"etc/x": "x"})
    (tmp_path / "empty").write_text("# nothing\n")
    (tmp_path / "wrong").write_text("# text\nNot A Name\n")
    assert_refused(main_here("bisect", *words), said)
