# SPDX-License-Identifier: Apache-2.0
"""What boots, as the recorder sees it: what is watched, what the board boots from, what is kept of it.

:func:`of_build` makes it from a system that was built here; `imageboot` from an image that the user has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from bootscope.boards.profile import Board
from bootscope.builder import linkmap
from bootscope.builder.filesystems.model import BLOCK_MAP
from bootscope.builder.plan import Built
from bootscope.builder.steps import kernel, kernel_layout, programs, rootfs, unpacker_symbols
from bootscope.capture import objects
from bootscope.capture.record import Part, Screen, SourceFact, SystemFacts
from bootscope.devices.model import Media
from bootscope.image.code import Code
from bootscope.loaders.model import Loader
from bootscope.system.framebuffer import FrameBuffer
from bootscope.system.load import milestones
from bootscope.system.model import UNPACKING_IMAGES, XIP_IMAGE, System
from bootscope.system.splash import Splash

Layout = Mapping[str, int]
Kept = Path | bytes
"""A file, or its content."""

# Kept with a run: name -> (step, file).
_OBJECTS = {
    objects.KERNEL_SYMBOLS: ("kernel", kernel.SYMBOLS),
    objects.DECOMPRESSOR_SYMBOLS: ("kernel", kernel.DECOMPRESSOR_SYMBOLS),
    objects.KERNEL: ("kernel", kernel.PROGRAM),
    objects.PROGRAMS: ("rootfs", programs.PROGRAMS),
    objects.SCRIPTS: ("rootfs", programs.SCRIPTS),
    objects.BLOCKS: ("rootfs", BLOCK_MAP),
    objects.ROOT_CONTENTS: ("rootfs", rootfs.CONTENTS),
    objects.UNITS: ("rootfs", rootfs.UNITS),
    **{kept: (tree, linkmap.OBJECTS) for tree, kept in objects.OBJECTS_OF.items()},
    **{kept: (tree, "config") for tree, kept in objects.CONFIG_OF.items()},
}


@dataclass(frozen=True)
class Programs:
    """The programs of a build whose code is watched, and the layout of the kernel's structures.

    `loader`: the boot loader's programs, by name; `pieces`: those of programs that are not in one place, by
    name. `units`: whether the root file system has units of systemd.
    """

    loader: Mapping[str, Code]
    kernel: Code
    layout: Layout
    units: bool = False
    pieces: Mapping[str, objects.Pieces] = field(default_factory=dict)


@dataclass(frozen=True)
class Reached:
    """A milestone that is a call in the kernel: to the first of `functions` that the kernel has, with this
    text.

    `argument`: which argument points to the text, from 0; `path`: pointers to follow from there, as structure
    members; `why`: the message when the kernel has none of the functions.
    """

    functions: tuple[str, ...]
    argument: int
    text: bytes
    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class Watched:
    """What is looked for in a boot, beside what every boot has.

    `process`: the application's; its start begins the phase `application`; empty for none. `texts`: milestone
    -> texts on the console; the first to appear is the milestone. `calls`: milestone -> a call in the kernel.
    `journal`: milestone -> fields of its record in the journal. `image_at`: the start of a self-extracting
    kernel; None for an unpacked one. `starts_at`: the first instruction of a kernel that runs in place; None
    for one in memory. `milestones`: all that a recording can wait for. `late_entry`: the address of the
    kernel's first instruction is unknown, so its first one after the MMU is on counts. `splash`: something
    shows a picture before the application does; it is not the first frame.
    """

    process: str
    texts: Mapping[str, tuple[bytes, ...]]
    milestones: tuple[str, ...]
    image_at: int | None = None
    starts_at: int | None = None
    screen: FrameBuffer | None = None
    calls: Mapping[str, Reached] = field(default_factory=dict)
    late_entry: bool = False
    splash: bool = False
    journal: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Subject:
    """What boots. `facts` describe what is kept of it by name; recording fills in `symbols`.

    `kept`: name in capture.objects -> what is kept. `build_id` is a hash of all that boots.
    """

    build_id: str
    facts: SystemFacts
    watched: Watched
    programs: Programs
    media: Media
    kept: Mapping[str, Kept]
    parts: tuple[Part, ...]
    sources: Mapping[str, SourceFact] = field(default_factory=dict)


def of_build(system: System, board: Board, built: Built) -> Subject:
    """A system that was built."""
    loader = board.boot_loader
    files = dict(_OBJECTS)
    for program in loader.programs:
        files[program.symbols] = loader.tree_of(program), program.symbols_file
        files[program.code] = loader.tree_of(program), program.code_file
        if program.pieces:
            files[program.pieces] = loader.tree_of(program), program.pieces_file
    if unpacker_symbols.NAME in built.results:
        files[objects.DECOMPRESSOR_SYMBOLS] = unpacker_symbols.NAME, kernel.DECOMPRESSOR_SYMBOLS
    found = {
        name: built.results[step] / file for name, (step, file) in files.items() if step in built.results
    }
    return Subject(
        build_id=built.build_id,
        facts=_facts(system, built),
        watched=watched(system, board),
        programs=_programs(board, built),
        media=built.media(system, loader),
        # A prebuilt system has fewer files than one that is compiled here.
        kept={name: path for name, path in found.items() if path.exists()},
        parts=built.parts(),
        sources=built.sources,
    )


def watched(system: System, board: Board) -> Watched:
    """What is looked for in the boots of a system."""
    kernel, declared = system.kernel, system.milestones
    return Watched(
        system.application.process,
        {name: (milestone.console.encode(),) for name, milestone in declared.items() if milestone.console},
        tuple(milestones(system, board.boot_loader)),
        # An uncompressed image begins with the kernel itself.
        (kernel.uimage_address or kernel.load_address) if kernel.image in UNPACKING_IMAGES else None,
        (kernel.uimage_address or kernel.load_address) if kernel.image == XIP_IMAGE else None,
        system.framebuffer,
        splash=isinstance(system.splash, Splash),
        journal={
            name: milestone.journal
            for name, milestone in declared.items()
            if isinstance(milestone.journal, tuple)
        },
    )


def _programs(board: Board, built: Built) -> Programs:
    """The code that is watched, read once for all boots of a run."""
    results = built.results

    def code(step: str, file: str) -> Code:
        path = results[step] / file
        return Code(path.read_bytes()) if path.exists() else Code.empty(board.arch)

    layout = msgspec.json.decode((results["kernel"] / kernel_layout.LAYOUT).read_bytes(), type=dict[str, int])
    loader = board.boot_loader
    return Programs(
        {program.name: code(loader.tree_of(program), program.code_file) for program in loader.programs},
        code(*_OBJECTS[objects.KERNEL]),
        layout,
        (results["rootfs"] / rootfs.UNITS).exists(),
        dict(_pieces(loader, results)),
    )


def _pieces(loader: Loader, results: Mapping[str, Path]) -> Iterator[tuple[str, objects.Pieces]]:
    for program in loader.programs:
        path = results.get(loader.tree_of(program), Path()) / program.pieces_file
        if program.pieces and path.exists():
            yield program.name, msgspec.json.decode(path.read_bytes(), type=objects.Pieces)


def _facts(s: System, built: Built) -> SystemFacts:
    return SystemFacts(
        name=s.name,
        title=s.title,
        application=s.application.process,
        screen=screen_of(s.framebuffer),
        card_bytes=s.card.size_bytes,
        extents=built.extents(),
        symbols={},
        command_line=s.kernel.command_line,
        settings=flat(s),
    )


def screen_of(fb: FrameBuffer | None) -> Screen | None:
    """The frame buffer, in the form that a recording describes it."""
    if fb is None:
        return None
    return Screen(
        width=fb.width,
        height=fb.height,
        stride_bytes=fb.stride_bytes,
        format=fb.format,
        changing=fb.changing,
    )


def flat(system: System) -> dict[str, str]:
    """The settings of a system as `section.key` -> text, for comparing two systems."""
    result: dict[str, str] = {}

    def walk(prefix: str, value: object) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(f"{prefix}.{key}" if prefix else str(key), inner)
        else:
            result[prefix] = str(value)

    walk("", msgspec.to_builtins(system))
    return result
