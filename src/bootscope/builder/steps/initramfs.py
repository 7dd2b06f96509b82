# SPDX-License-Identifier: Apache-2.0
"""The initramfs: files of the root file system as an archive (cpio, "newc"), written here.

This way device nodes need no root, and the archive contains no times, owners or numbers of the host.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bootscope.arch.model import Architecture
from bootscope.builder.filesystems.model import Entry
from bootscope.builder.ids import tree_id
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import root_files, rootfs, small_init
from bootscope.builder.steps.packing import COMPRESSORS, pack
from bootscope.core.errors import UserError, printable
from bootscope.system.changes import matches
from bootscope.system.load import INITRAMFS_PLACES
from bootscope.system.model import Initramfs, Prebuilt, RootFs, Symbols, System
from bootscope.system.small_init import SmallInit

ARCHIVE, PACKED = "root.cpio", "initrd"
BUILT_IN, EXTERNAL = INITRAMFS_PLACES
_FOLDER, _FILE, _LINK, _CHARACTER, _BLOCK = 0o040000, 0o100000, 0o120000, 0o020000, 0o060000
_NODE = re.compile(r"([cb]) (\d{1,4}) (\d{1,7})")
_ALIGNED = 4
_NODES = {"/dev/console": "c 5 1"}
"""Without it the first program has neither input nor output."""


@dataclass(frozen=True)
class Member:
    """A member of the archive: `mode` with its kind, content, and a node's numbers."""

    path: str
    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


def step(system: System, overlay: Path, arch: Architecture) -> Step:
    """The step `initramfs`: the plain archive, and the compressed one where that is wanted."""
    wanted = system.initramfs
    assert wanted

    def work(context: Context) -> None:
        archive = context.out / ARCHIVE
        archive.write_bytes(archived(members_of(context, system, overlay, wanted, arch)))
        if wanted.place == EXTERNAL and wanted.compression != "none":
            pack(context, COMPRESSORS[wanted.compression], archive, context.out / PACKED)
        else:
            (context.out / PACKED).write_bytes(archive.read_bytes())

    tools = (COMPRESSORS[wanted.compression][0],) if wanted.compression != "none" else ()
    inputs: dict[str, object] = {"initramfs": wanted, "application_path": system.application.path}
    needs: tuple[str, ...] = ("application",)
    if not application_alone(system, wanted):
        r = system.rootfs
        inputs |= {"libraries": rootfs.library_hashes(arch), "overlay": tree_id(overlay)}
        inputs["rootfs"] = [r.folders, r.files, r.links, r.remove]
        if wanted.files and any(not wanted.only or matches(path, wanted.only) for path in r.files):
            # Until November 2026 some of the archive's own files were replaced by these.
            inputs["files_apart"] = True
        if r.library_cache is True:
            inputs["library_cache"] = True
        if r.font_cache is True:
            inputs["font_cache"] = True
            tools = (*tools, arch.tools.qemu_user)
        needs = ("busybox", "application")
        if isinstance(system.prebuilt, Prebuilt) and system.prebuilt.modules:
            needs = (*needs, "kernel")
        if isinstance(system.small_init, SmallInit):
            inputs["small_init"] = system.small_init.path
            needs = (*needs, small_init.NAME)
    return Step("initramfs", "initramfs", 1, work, inputs, needs, (*tools, arch.tools.tool("strip")))


def application_alone(system: System, wanted: Initramfs) -> bool:
    """Whether the root file system contributes only the application, as compiled.

    Then no other part of it can change the archive, or the kernel that may contain it, and a search that
    changes start scripts need not build a kernel to find that out.
    """
    path, r = system.application.path, system.rootfs
    above = {path, *(str(folder) for folder in PurePosixPath(path).parents[:-1])}
    replaced = matches(path, r.remove) or path in r.files or above & r.links.keys()
    return set(wanted.only) == {path} and not replaced


def symbols(wanted: Initramfs) -> Symbols:
    """The symbols that the kernel must be configured with."""
    # The name is relative to the build folder, so that the image does not contain that.
    built_in: Symbols = {"INITRAMFS_SOURCE": ARCHIVE} if wanted.place == BUILT_IN else {}
    return {"BLK_DEV_INITRD": True, **built_in}


def members_of(
    context: Context, system: System, overlay: Path, wanted: Initramfs, arch: Architecture
) -> list[Member]:
    """The members of the archive."""
    if application_alone(system, wanted):
        program = PurePosixPath(system.application.path.lstrip("/"))
        entries = {program: Entry(program, context.results["application"] / "program", program=True)}
    else:
        entries = rootfs.collect(context, system.rootfs, overlay, system.application.path, arch)
        for entry in rootfs.first_program(context, system.small_init):
            entries[entry.path] = entry
    chosen = {f"/{p}": e for p, e in entries.items() if not wanted.only or matches(f"/{p}", wanted.only)}
    own = RootFs(overlay="", filesystem="", uuid="", label="", files=wanted.files, links=wanted.links)
    chosen.update({f"/{entry.path}": entry for entry in root_files.written(context, own)})
    members: dict[str, Member] = {path: _member(path, entry) for path, entry in chosen.items()}
    for path, node in {**_NODES, **wanted.nodes}.items():
        members[path] = _node(path, node)
    for path in list(members):
        for folder in Path(path).parents:
            members.setdefault(str(folder), Member(str(folder), _FOLDER | 0o755))
    # The archive itself is unpacked into the root.
    members.pop("/", None)
    return [members[path] for path in sorted(members)]


def _member(path: str, entry: Entry) -> Member:
    if entry.target is not None:
        return Member(path, _LINK | 0o777, entry.target.encode())
    if entry.source is None:
        return Member(path, _FOLDER | 0o755)
    return Member(path, _FILE | (0o755 if entry.program else 0o644), entry.source.read_bytes())


def _node(path: str, node: str) -> Member:
    found = _NODE.fullmatch(node)
    if not found:
        raise UserError(
            f"initramfs.nodes: {printable(path)}: expected for example 'c 5 1', got '{printable(node)}'"
        )
    kind = _CHARACTER if found[1] == "c" else _BLOCK
    return Member(path, kind | 0o600, device=(int(found[2]), int(found[3])))


def archived(members: list[Member]) -> bytes:
    """The members, in order, as an archive that the kernel can read."""
    parts: list[bytes] = []
    for number, member in enumerate([*members, Member("/TRAILER!!!", 0)], start=1):
        name = member.path.lstrip("/").encode() + b"\0"
        links = 2 if member.mode & 0o170000 == _FOLDER else 1
        fields = (number, member.mode, 0, 0, links, 0, len(member.data), 0, 0, *member.device, len(name), 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name
        parts += [_padded(head), _padded(member.data)]
    return b"".join(parts)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % _ALIGNED)
