# SPDX-License-Identifier: Apache-2.0
"""The initramfs: an archive as the kernel reads it, and what goes in; steps that come in with it."""

from __future__ import annotations

import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from bootscope.arch.arm import ARM
from bootscope.builder.cache import Cache
from bootscope.builder.plan import outlook
from bootscope.builder.step import Context
from bootscope.builder.steps import initramfs, payload, rootfs
from bootscope.builder.steps.initramfs import Member, archived
from bootscope.core.errors import UserError
from bootscope.system.changes import Change, apply
from bootscope.system.load import LoadedSystem, check_system
from bootscope.system.model import Initramfs, Kernel

from .lab_scenes import stock


def members(archive: bytes) -> dict[str, tuple[int, bytes, tuple[int, int]]]:
    """Reads an archive back as the kernel does: name -> mode, content, numbers of a node."""
    found: dict[str, tuple[int, bytes, tuple[int, int]]] = {}
    at = 0
    while True:
        assert archive[at : at + 6] == b"070701"
        fields = [int(archive[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        size, name_size = fields[6], fields[11]
        name = archive[at + 110 : at + 110 + name_size]
        assert name.endswith(b"\0")
        at = -(-(at + 110 + name_size) // 4) * 4
        data = archive[at : at + size]
        assert len(data) == size
        at = -(-(at + size) // 4) * 4
        if name == b"TRAILER!!!\0":
            assert at == len(archive)
            return found
        found[name[:-1].decode()] = (fields[1], data, (fields[9], fields[10]))


def test_an_archive_is_read_back() -> None:
    made = [
        Member("/dev", 0o040755),
        Member("/dev/console", 0o020600, device=(5, 1)),
        Member("/init", 0o100755, b"#!/bin/sh\n"),
        Member("/sh", 0o120777, b"bin/busybox"),
        Member("/empty", 0o100644),
    ]
    assert members(archived(made)) == {m.path[1:]: (m.mode, m.data, m.device) for m in made}
    assert archived(made) == archived(made)


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    """BusyBox and an application that need no library."""
    monkeypatch.setattr(rootfs, "with_dependencies", lambda _programs, _arch: [])
    for folder in ("busybox", "application", "scratch"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "busybox" / "busybox").write_text("busybox")
    (tmp_path / "busybox" / "busybox.links").write_text("/bin/sh\n/sbin/init\n")
    (tmp_path / "application" / "program").write_text("program")
    results = {name: tmp_path / name for name in ("busybox", "application")}
    return cast(Context, SimpleNamespace(results=results, scratch=tmp_path / "scratch"))


def packed(parts: Context, **fields: Any) -> dict[str, tuple[int, bytes, tuple[int, int]]]:
    loaded = stock()
    wanted = Initramfs(place="built-in", **fields)
    overlay = loaded.beside(loaded.system.rootfs.overlay)
    return members(archived(initramfs.members_of(parts, loaded.system, overlay, wanted, ARM)))


def test_files_of_the_root_and_of_the_archive_stay_apart(parts: Context) -> None:
    loaded = stock()
    texts = {f"/etc/{name}": f"of the root: {name}\n" for name in ("a", "b")}
    system = apply(loaded.system, {"files": Change(write=texts)})
    own = {"/init": "#!/bin/sh\nexec /sbin/init\n", "/etc/c": "of the archive\n"}
    wanted = Initramfs(place="built-in", files=own)
    overlay = loaded.beside(loaded.system.rootfs.overlay)
    found = members(archived(initramfs.members_of(parts, system, overlay, wanted, ARM)))
    for path, text in {**texts, **own}.items():
        assert found[path[1:]][1].decode() == text


def test_the_whole_root_goes_in_with_a_console(parts: Context) -> None:
    found = packed(parts)
    assert found["dev/console"] == (stat.S_IFCHR | 0o600, b"", (5, 1))
    assert found["sbin/init"] == (stat.S_IFLNK | 0o777, b"/bin/busybox", (0, 0))
    assert found["usr/bin/testcard"] == (stat.S_IFREG | 0o755, b"program", (0, 0))
    assert found["etc/init.d/rcS"][0] == stat.S_IFREG | 0o755
    assert found["etc/hostname"][0] == stat.S_IFREG | 0o644
    assert "" not in found


def test_only_what_is_asked_for_goes_in_with_its_folders(parts: Context) -> None:
    found = packed(parts, only=("/usr/bin/testcard",), nodes={"/dev/fb0": "c 29 0"}, links={"/init": "x"})
    assert list(found) == ["dev", "dev/console", "dev/fb0", "init", "usr", "usr/bin", "usr/bin/testcard"]
    assert found["dev/fb0"][2] == (29, 0)
    assert found["init"] == (stat.S_IFLNK | 0o777, b"x", (0, 0))


def test_the_application_alone_is_what_the_whole_root_has_of_it(
    parts: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = packed(parts, only=("/usr/bin/testcard",))
    monkeypatch.setattr(initramfs, "application_alone", lambda _system, _wanted: False)
    assert packed(parts, only=("/usr/bin/testcard",)) == short


def archive_id(only: tuple[str, ...], **change: Any) -> str:
    loaded = changed(initramfs__place="built-in", initramfs__only=only)
    system = apply(loaded.system, {"it": Change(**change)})
    found = initramfs.step(system, loaded.beside(system.rootfs.overlay), ARM)
    return found.step_id({"busybox": change.get("command_line", ("",))[0], "application": "a"})


def test_what_is_not_in_the_archive_does_not_name_it() -> None:
    alone = ("/usr/bin/testcard",)
    for change in (
        {"write": {"/etc/init.d/S01x": "x\n"}},
        {"remove": ("/etc/init.d/S*",)},
        {"link": {"/etc/random-seed": "/tmp/x"}},
        {"command_line": ("another-busybox",)},
    ):
        assert archive_id(alone, **change) == archive_id(alone)
        assert archive_id((*alone, "/bin"), **change) != archive_id((*alone, "/bin"))
    for change in (
        {"write": {"/usr/bin/testcard": "x\n"}},
        {"remove": ("/usr/*",)},
        {"link": {"/usr/bin": "/bin"}},
    ):
        assert archive_id(alone, **change) != archive_id(alone)


def test_files_are_put_over_the_root(parts: Context) -> None:
    found = packed(parts, only=("/bin",), files={"/init": "#!/bin/sh\n", "/etc/mode": "x\n"})
    assert found["init"][:2] == (stat.S_IFREG | 0o755, b"#!/bin/sh\n")
    assert found["etc/mode"][:2] == (stat.S_IFREG | 0o644, b"x\n")
    assert found["bin/busybox"][1] == b"busybox"


@pytest.mark.parametrize("node", ["", "c 5", "x 5 1", "c 5 1 ", "c -1 1", "c 5 1\n", "c 99999 1"])
def test_a_node_that_is_none_is_refused(parts: Context, node: str) -> None:
    with pytest.raises(UserError, match=r"initramfs\.nodes: /dev/x: expected for example 'c 5 1'"):
        packed(parts, nodes={"/dev/x": node})


# ---- in a system ----


def changed(**settings: Any) -> LoadedSystem:
    loaded = stock()
    change = Change(settings={key.replace("__", "."): value for key, value in settings.items()})
    return LoadedSystem(apply(loaded.system, {"it": change}), loaded.path)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"initramfs__place": "somewhere"}, "initramfs.place: expected one of"),
        ({"initramfs__place": "external", "initramfs__compression": "rar"}, "initramfs.compression"),
        ({"kernel__image": "vmlinux.gz"}, "kernel.image: expected one of"),
        ({"application__libc": "newlib"}, "application.libc: expected one of"),
        ({"application__libc": "musl", "application__libc_source": "x"}, "application.libc_source"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, str], words: str) -> None:
    loaded = changed(**settings)
    with pytest.raises(UserError, match=words):
        check_system(loaded.system, loaded.path)


def needs(loaded: LoadedSystem, cache: Path) -> dict[str, tuple[str, ...]]:
    return {p.name: p.needs for p in outlook(loaded, Cache(cache)).planned()}


def test_steps_come_in_where_they_are_needed(tmp_path: Path) -> None:
    plain = needs(stock(), tmp_path)
    assert plain.keys().isdisjoint({"initramfs", "payload", "falcon", "libc", "fetch-musl"})
    built_in = needs(changed(initramfs__place="built-in"), tmp_path)
    assert "initramfs" in built_in["kernel"]
    assert "initramfs" not in built_in["card"]
    external = needs(changed(initramfs__place="external"), tmp_path)
    assert "initramfs" not in external["kernel"]
    assert "initramfs" in external["card"]
    wrapped = needs(changed(kernel__uimage_address=0x41000000), tmp_path)
    assert wrapped["payload"] == ("kernel",)
    assert "payload" in wrapped["card"]
    appended = needs(changed(kernel__append_device_tree=True), tmp_path)
    assert appended["payload"] == ("kernel", "falcon")
    musl = needs(changed(application__libc="musl"), tmp_path)
    assert musl["application"] == ("libc",)
    assert musl["libc"] == ("unpack-musl",)


def test_the_kernel_is_called_by_what_it_is() -> None:
    kernel = stock().system.kernel
    assert payload.file_name(kernel) == "zImage"
    assert payload.file_name(msgspec.structs.replace(kernel, image="Image")) == "Image"
    assert payload.file_name(msgspec.structs.replace(kernel, uimage_address=1)) == "uImage"
    assert not payload.needed(kernel)


@pytest.mark.parametrize("place", ["built-in", "external"])
def test_the_kernel_is_told_of_its_archive(place: str) -> None:
    found = initramfs.symbols(Initramfs(place=place))
    assert found["BLK_DEV_INITRD"] is True
    assert ("INITRAMFS_SOURCE" in found) == (place == "built-in")
    assert "/" not in str(found)


def test_wishes_give_way() -> None:
    kernel: Kernel = stock().system.kernel
    changes = {
        "wish": Change(kernel_wishes={"PRINTK": True, "TTY": True}),
        "want": Change(kernel={"PRINTK": False}),
    }
    for order in (changes, dict(reversed(changes.items()))):
        made = apply(stock().system, order).kernel
        assert made.config == {**kernel.config, "PRINTK": False}
        assert made.wishes == {"PRINTK": True, "TTY": True}
