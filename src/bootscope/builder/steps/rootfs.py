# SPDX-License-Identifier: Apache-2.0
"""The root file system: its content, and the image made of it (builder/filesystems).

Content, later over earlier: folders, the C library, BusyBox with its links, the overlay, the
application.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath

import msgspec
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.segments import InterpSegment

from bootscope.arch.model import Architecture
from bootscope.builder import font_cache, library_cache
from bootscope.builder.filesystems import KINDS, mtd, steady, ubi
from bootscope.builder.filesystems.model import Entry, FileSystem, Order, Piece, write_map
from bootscope.builder.ids import file_sha256, tree_id
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import packages, programs, root_files, small_init, splash, userland
from bootscope.core.errors import ToolError
from bootscope.devices.model import SECTOR_BYTES
from bootscope.system.changes import matches
from bootscope.system.model import RootFs, System, has_modules
from bootscope.system.named_sources import packaged_root
from bootscope.system.nand import nand_of
from bootscope.system.small_init import SmallInit
from bootscope.system.splash import DRAWN, Splash

IMAGE, CONTENTS, UNITS = "root.img", "contents.txt", "units.json.gz"
MODULES = "modules"
"""Folder among the kernel's results with lib/modules in it, where the system has modules."""
_BASE_FOLDERS = (
    "bin",
    "dev",
    "etc",
    "lib",
    "proc",
    "root",
    "run",
    "sbin",
    "sys",
    "tmp",
    "usr/bin",
    "usr/sbin",
)


def step(system: System, overlay: Path, arch: Architecture, erase_bytes: int = 0) -> Step:
    """The step `rootfs`: an image that fits its partition and the list of its content; with the kernel's
    modules if it has some. `erase_bytes`: of an erase block, for flash; 0 for a card."""
    rootfs, application_path, nand = system.rootfs, system.application.path, nand_of(system.nand)
    place = _place(system, erase_bytes)
    sectors, erase_bytes, *in_chip = place
    kind, extra = KINDS[rootfs.filesystem], (mtd.NAME,) if on_ubi(rootfs) else ()

    def work(context: Context) -> None:
        make = packaged if packaged_root(system) else collect
        entries = make(context, rootfs, overlay, application_path, arch)
        tree = packages.Merged(entries)
        for entry in (*_splash(context, system.splash), *first_program(context, system.small_init)):
            tree.add(entry)
        order = Order(context, rootfs, entries, context.out / IMAGE, *place)
        _make(kind, order)
        (context.out / CONTENTS).write_text("".join(content_line(entries[path]) for path in sorted(entries)))
        # The content of a chip is in no sector of the card.
        write_map(context.out, () if nand else _pieces(kind, order))
        files = {f"/{entry.path}": entry.source for entry in entries.values() if entry.source}
        programs.write(context.out, files, _with_symbols(context, files, application_path, arch), arch)
        if units := packages.unit_texts(entries.values()):
            programs.write_json(context.out / UNITS, units)

    inputs: dict[str, object] = {
        "rootfs": rootfs,
        "overlay": tree_id(overlay),
        "application_path": application_path,
        "sectors": sectors,
        "libraries": library_hashes(arch),
    }
    if kind.revision:
        inputs["filesystem"] = kind.revision
    if erase_bytes:
        inputs["erase_bytes"] = erase_bytes
    if nand:
        inputs["nand"] = in_chip
    if kind.steady:
        inputs["steady"] = steady.source_id()
    base = packages.NAME if packaged_root(system) else "busybox"
    shown = isinstance(system.splash, Splash)
    if shown:
        inputs["splash"] = system.splash
    more = (*(("kernel",) if has_modules(system) else ()), *((splash.NAME,) if shown else ()))
    if isinstance(system.small_init, SmallInit):
        inputs["small_init"] = system.small_init.path
        more = (*more, small_init.NAME)
    needs = (base, "application", *more, *(kind.needs or extra))
    return Step("rootfs", "root file system", 4, work, inputs, needs, _tools(kind, rootfs, arch))


def _tools(kind: FileSystem, rootfs: RootFs, arch: Architecture) -> tuple[str, ...]:
    """The programs that make it."""
    fonts = (arch.tools.qemu_user,) if rootfs.font_cache is True else ()
    return (*kind.tools, *(steady.TOOLS if kind.steady else ()), arch.tools.tool("strip"), *fonts)


def _place(system: System, erase_bytes: int) -> tuple[int, int, int, int]:
    """The fields of an Order for its place: sectors, bytes of an erase block and a page, spare blocks."""
    nand = nand_of(system.nand)
    if not nand:
        return system.card.root_sectors, erase_bytes, 0, 0
    return nand.root_bytes // SECTOR_BYTES, nand.erase_bytes, nand.page_bytes, nand.ubi_spare_blocks


def on_ubi(rootfs: RootFs) -> bool:
    """Whether a file system that does not need UBI is in a volume of it."""
    return rootfs.volume == "ubi"


def _make(kind: FileSystem, order: Order) -> None:
    if not on_ubi(order.rootfs):
        kind.make(order)
        return
    inside = replace(order, image=order.context.scratch / "volume.img")
    kind.make(inside)
    ubi.wrap(order, inside.image)


def _pieces(kind: FileSystem, order: Order) -> Iterable[Piece]:
    if not on_ubi(order.rootfs):
        return kind.pieces(order)
    return ubi.placed(order, kind.pieces(replace(order, image=order.context.scratch / "volume.img")))


def _with_symbols(
    context: Context, files: Mapping[str, Path], application_path: str, arch: Architecture
) -> dict[str, Path]:
    """The unstripped versions of files on the target."""
    whole = {application_path: context.results["application"] / userland.APPLICATION_WHOLE}
    if "busybox" in context.results:
        whole["/bin/busybox"] = context.results["busybox"] / userland.BUSYBOX_WHOLE
    libraries = {path: _library(arch, PurePosixPath(path).name) for path in files if path.startswith("/lib/")}
    return {**{path: here for path, here in libraries.items() if here.exists()}, **whole}


def content_line(entry: Entry) -> str:
    """A line of the list of contents: path, then hash, target or kind."""
    if entry.target is not None:
        return f"/{entry.path}\t-> {entry.target}\n"
    if entry.source is None:
        return f"/{entry.path}\tfolder\n"
    mode = "program" if entry.program else "file"
    return f"/{entry.path}\t{mode} {file_sha256(entry.source)[:16]}\n"


def library_hashes(arch: Architecture) -> dict[str, str]:
    """Hashes of the C library's files, by name: those that any dynamic program may need, as far as they
    exist."""
    paths = [_library(arch, name) for name in arch.tools.libraries]
    return {path.name: file_sha256(path) for path in paths if path.exists()}


def _library(arch: Architecture, name: str) -> Path:
    places = [Path("/", folder, name) for folder in arch.tools.library_folders]
    return next((path for path in places if path.exists()), places[0])


def needed_libraries(program: Path) -> list[str]:
    """The shared libraries that a program names, and its loader; empty for a static one."""
    with program.open("rb") as f:
        elf = ELFFile(f)
        interpreter = [s.get_interp_name() for s in elf.iter_segments() if isinstance(s, InterpSegment)]
        dynamic = elf.get_section_by_name(".dynamic")
        tags = dynamic.iter_tags() if isinstance(dynamic, DynamicSection) else ()
        needed = [str(getattr(tag, "needed", "")) for tag in tags if tag.entry.d_tag == "DT_NEEDED"]
    return [Path(name).name for name in interpreter] + needed


def with_dependencies(programs: list[Path], arch: Architecture) -> list[Path]:
    """All libraries that `programs` need, directly or indirectly."""
    found: dict[str, Path] = {}
    queue = [name for program in programs for name in needed_libraries(program)]
    while queue:
        name = queue.pop()
        if name in found:
            continue
        path = _library(arch, name)
        if not path.exists():
            raise ToolError(f"the cross compiler has no {name}", hint=f"install {arch.tools.library_package}")
        found[name] = path
        queue += needed_libraries(path)
    return [found[name] for name in sorted(found)]


def collect(
    context: Context, rootfs: RootFs, overlay: Path, application_path: str, arch: Architecture
) -> dict[PurePosixPath, Entry]:
    """The content of the root file system, by path without the leading slash."""
    busybox, program = context.results["busybox"] / "busybox", context.results["application"] / "program"
    entries: dict[PurePosixPath, Entry] = {}
    add = partial(add_to, entries)

    for name in (*_BASE_FOLDERS, *rootfs.folders):
        add(Entry(PurePosixPath(name)))
    for library in with_dependencies([busybox, program], arch):
        stripped = context.scratch / library.name
        context.run([arch.tools.tool("strip"), "--strip-unneeded", "-o", stripped, library.resolve()])
        add(Entry(PurePosixPath("lib") / library.name, source=stripped, program=True))
    for entry in _busybox(context.results["busybox"]):
        add(entry)
    for entry in _own(context, overlay, application_path):
        add(entry)
    fonts = font_cache.tools(entries)
    for path in [path for path in entries if matches(f"/{path}", rootfs.remove)]:
        del entries[path]
    for entry in root_files.written(context, rootfs):
        _make_room(entries, entry)
        add(entry)
    for entry in _cached(context, rootfs, entries, arch, fonts):
        add(entry)
    return entries


def add_to(entries: dict[PurePosixPath, Entry], entry: Entry) -> None:
    """Puts an entry with its parent folders into a root file system, replacing one with the same path."""
    for parent in reversed(entry.path.parents[:-1]):
        entries.setdefault(parent, Entry(parent))
    entries[entry.path] = entry


def packaged(
    context: Context, rootfs: RootFs, overlay: Path, application_path: str, arch: Architecture
) -> dict[PurePosixPath, Entry]:
    """The content of a root file system of packages; the C library is theirs, whatever `arch` has."""
    tree = packages.Merged()
    base = (Entry(PurePosixPath(name)) for name in rootfs.folders)
    own = _own(context, overlay, application_path)
    for entry in chain(packages.entries(context.results[packages.NAME]), base, own):
        tree.add(entry)
    entries = tree.entries
    fonts = font_cache.tools(entries)
    for path in [path for path in entries if matches(f"/{path}", rootfs.remove)]:
        del entries[path]
    for entry in root_files.written(context, rootfs):
        _make_room(entries, entry)
        tree.add(entry)
    for entry in [entry for entry in packages.set_up(context, entries) if entry.path not in entries]:
        tree.add(entry)
    for entry in _cached(context, rootfs, entries, arch, fonts):
        tree.add(entry)
    return entries


def _cached(
    context: Context,
    rootfs: RootFs,
    entries: Mapping[PurePosixPath, Entry],
    arch: Architecture,
    fonts: Mapping[PurePosixPath, Entry],
) -> Iterator[Entry]:
    """The loader's cache of libraries, and fontconfig's, made with the files in `fonts`, where wanted."""
    if rootfs.library_cache is True:
        source = context.scratch / library_cache.PATH.name
        source.write_bytes(library_cache.content(entries, arch))
        yield Entry(library_cache.PATH, source=source)
    if rootfs.font_cache is True:
        yield from font_cache.entries(context, entries, arch, fonts)


def _own(context: Context, overlay: Path, application_path: str) -> Iterator[Entry]:
    """The system's own files: modules, the overlay, the application."""
    modules = [context.results["kernel"] / MODULES] if "kernel" in context.results else []
    for folder in (*modules, overlay):
        yield from overlay_entries(folder)
    program = context.results["application"] / "program"
    yield Entry(PurePosixPath(application_path.lstrip("/")), source=program, program=True)


def _splash(context: Context, wanted: Splash | msgspec.UnsetType) -> Iterator[Entry]:
    """The picture that is shown before the application's, or the program that draws it."""
    if isinstance(wanted, Splash):
        picture = context.results[splash.NAME] / splash.RESULT
        yield Entry(root_files.entry_name(wanted.path), source=picture, program=wanted.form == DRAWN)


def first_program(context: Context, wanted: SmallInit | msgspec.UnsetType) -> Iterator[Entry]:
    """The first program, if it is built here."""
    if isinstance(wanted, SmallInit):
        program = context.results[small_init.NAME] / small_init.PROGRAM
        yield Entry(root_files.entry_name(wanted.path), source=program, program=True)


def _make_room(entries: dict[PurePosixPath, Entry], entry: Entry) -> None:
    """Before a link is added: removes a folder at its path with everything in it."""
    if entry.target is not None:
        for path in [path for path in entries if entry.path in path.parents]:
            del entries[path]


def _busybox(result: Path) -> Iterator[Entry]:
    yield Entry(PurePosixPath("bin/busybox"), source=result / "busybox", program=True)
    for line in (result / "busybox.links").read_text().split():
        path = PurePosixPath(line.lstrip("/"))
        if path.name != "busybox":
            yield Entry(path, target="/bin/busybox")


def overlay_entries(overlay: Path) -> Iterator[Entry]:
    """The files of a folder beside the system file. Raises UserError for a name that cannot be listed."""
    for path in sorted(overlay.rglob("*")):
        name = PurePosixPath(path.relative_to(overlay).as_posix())
        target = str(path.readlink()) if path.is_symlink() else None
        for text in (str(name), target or ""):
            root_files.printable_name(text)
        if target is not None:
            yield Entry(name, target=target)
        elif path.is_dir():
            yield Entry(name)
        else:
            yield Entry(name, source=path, program=bool(path.stat().st_mode & 0o100))
