# SPDX-License-Identifier: Apache-2.0
"""From a system to the ordered list of its steps, and running them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import msgspec

from bootscope.arch.model import Architecture
from bootscope.boards.profile import Board, load_board
from bootscope.builder import loader_steps, sources
from bootscope.builder.cache import DEFAULT_LIMIT_BYTES, Cache
from bootscope.builder.filesystems import KINDS
from bootscope.builder.filesystems.mtd import NAME as MTD_UTILS
from bootscope.builder.outlook import UNKNOWN, Outlook
from bootscope.builder.progress import Progress
from bootscope.builder.sources import Resolved, Wanted
from bootscope.builder.step import Runner, Step, read_meta
from bootscope.builder.steps import (
    card,
    configure,
    configured_application,
    device_tree,
    falcon,
    flash,
    initramfs,
    kernel,
    kernel_tree,
    loader_tree,
    mtd_utils,
    nand_flash,
    packaged_application,
    packages,
    payload,
    prebuilt,
    rootfs,
    small_init,
    splash,
    toolchain,
    unpack,
    unpacker_symbols,
    userland,
)
from bootscope.capture.record import Extent, Part, SourceFact
from bootscope.core.errors import UserError
from bootscope.devices import sunxi_boot_rom
from bootscope.devices.model import Media
from bootscope.kbuild import kconfig
from bootscope.loaders.model import FIRMWARE, Loader
from bootscope.system.application import Configured
from bootscope.system.load import LoadedSystem
from bootscope.system.model import (
    Firmware,
    Prebuilt,
    System,
    builds_kernel,
    builds_loader,
    has_bios,
    has_device_tree,
    has_loader,
)
from bootscope.system.named_sources import (
    application_source,
    loader_symbols,
    packaged_root,
    unpacker_sources,
)
from bootscope.system.named_sources import toolchain as compiler_of
from bootscope.system.nand import nand_of
from bootscope.system.placeholders import ADDRESSES, SETTINGS, boot_script


@dataclass(frozen=True)
class Built:
    """A system turned into images: `results` maps step names to folders in the cache of the computer that
    built it; `made`: all files that were made, where that is another computer."""

    build_id: str
    ids: dict[str, str]
    results: dict[str, Path]
    sources: dict[str, SourceFact]
    made: tuple[Part, ...] = ()

    @property
    def card(self) -> Path:
        """The SD card image."""
        return self.results["card"] / card.IMAGE

    def media(self, system: System, loader: Loader) -> Media:
        """The media that a board with this boot loader boots from."""
        there, archive, tree = self.results, self.results.get("initramfs"), self.results.get("device-tree")
        beside = has_loader(system) and not system.card.loader_sector and not loader.boot_images
        first = there["uboot"] / sunxi_boot_rom.IMAGE if beside else None
        bios = there[FIRMWARE] if FIRMWARE in there and not loader.firmware else None
        if loader.first_image:
            first = there[loader.tree] / Path(loader.first_image).name
        elif loader.firmware:
            first = there[FIRMWARE] / loader.firmware.image
        elif bios:
            first = bios / prebuilt.BIOS_IMAGE
        video = bios / prebuilt.VIDEO_IMAGE if bios else None
        chip = there["card"] / nand_flash.IMAGE if nand_of(system.nand) else None
        return Media(
            self.card,
            first,
            there["kernel"] / system.kernel.image,
            archive / initramfs.PACKED if archive else None,
            system.kernel.command_line,
            device_tree=tree / payload.DEVICE_TREE if tree else None,
            video=video if video and video.exists() else None,
            nand=chip,
        )

    def extents(self) -> tuple[Extent, ...]:
        """The extents of the card."""
        data = (self.results["card"] / card.LAYOUT).read_bytes()
        return tuple(msgspec.json.decode(data, type=list[Extent]))

    def parts(self) -> tuple[Part, ...]:
        """All files that were made, with hashes and sizes."""
        if self.made:
            return self.made
        found = []
        for name, path in self.results.items():
            for file, sha256 in read_meta(path).files.items():
                size = (path / file).stat().st_size
                part = Part(name=f"{name}/{file}", step_id=self.ids[name], sha256=sha256, size_bytes=size)
                found.append(part)
        return tuple(found)


def wanted_sources(loaded: LoadedSystem) -> list[Wanted]:
    """The sources that a system is built from."""
    system = loaded.system
    a = system.application
    libc = (a.libc_source,) if userland.MUSL in (a.libc, system.busybox.libc) else ()
    packaged = isinstance(system.prebuilt, Prebuilt) and not builds_kernel(system)
    headers = system.prebuilt.headers if isinstance(system.prebuilt, Prebuilt) and packaged else ()
    below = (system.firmware.source,) if isinstance(system.firmware, Firmware) else ()
    bios = (FIRMWARE,) if has_bios(system) else ()
    loader = (system.uboot.source,) if has_loader(system) else ()
    trees = (*loader, system.kernel.source, system.busybox.source)
    named = (packaged_root(system), loader_symbols(system), compiler_of(system), application_source(system))
    more = [name for name in named if name]
    # The packages of its compiler contain programs that must run here.
    again = unpacker_sources(system) if architecture(loaded).tools.is_host else ()
    flash_tools = [name for name in _flash_tools(system) if name in system.sources]
    used = dict.fromkeys((*trees, *flash_tools, *below, *bios, *libc, *headers, *more, *again))
    return [Wanted(name, system.sources[name], loaded.path.parent) for name in used]


def architecture(loaded: LoadedSystem) -> Architecture:
    """The architecture that a system is built for: its board's. Raises UserError for an unknown board."""
    return load_board(loaded.system.board).arch


def steps_of(loaded: LoadedSystem, found: dict[str, Resolved]) -> list[Step]:
    """All steps, each after those that it needs."""
    s, board = loaded.system, load_board(loaded.system.board)
    arch, nor, nand = board.arch, flash.part_of(board), nand_of(s.nand)
    loader_steps.check(s, board)
    flash.check(s, board)
    if nand:
        nand_flash.check(s, nand, board)
    return [
        *(unpack.step(name, source) for name, source in _to_unpack(s, found).items()),
        *([loader_tree.step(s)] if loader_tree.needed(s) else []),
        *([kernel_tree.step(s)] if kernel_tree.is_other(s) and builds_kernel(s) else []),
        *small_init.steps(s, arch),
        *_programs(loaded, found, board),
        *([_device_tree(s)] if has_device_tree(s) else []),
        *splash.steps(s, arch),
        *(mtd_utils.step(_source(s, found, name)) for name in _flash_tools(s)),
        rootfs.step(s, loaded.beside(s.rootfs.overlay), arch, nor.erase_bytes if nor else 0),
        *([falcon.step(s)] if falcon.needed(s) else []),
        *([payload.step(s.kernel, arch)] if payload.needed(s.kernel) else []),
        flash.step(s, _script(s), board)
        if nor
        else card.step(s, _script(s), board, nand_flash.CARD if nand else "card"),
        *(nand_flash.steps(s, nand, board) if nand else ()),
    ]


def _device_tree(s: System) -> Step:
    cells = s.kernel.device_tree_cells
    own = cells if isinstance(cells, dict) else {}
    return device_tree.device_tree_step(s.framebuffer, s.kernel.disabled_nodes, own, nand_of(s.nand))


def _flash_tools(s: System) -> tuple[str, ...]:
    """The sources of programs that make the root file system."""
    return KINDS[s.rootfs.filesystem].needs or ((MTD_UTILS,) if rootfs.on_ubi(s.rootfs) else ())


def _source(s: System, found: Mapping[str, Resolved], name: str) -> Resolved:
    if name not in found:
        raise UserError(
            f"{s.name}: rootfs.filesystem: {s.rootfs.filesystem} needs the source {name}",
            hint="name it under [sources], as the system stock-vexpress does",
        )
    return found[name]


def _to_unpack(system: System, found: Mapping[str, Resolved]) -> dict[str, Resolved]:
    """Sources that are compiled. Packages are unpacked by the steps that use their files."""
    if not isinstance(system.prebuilt, Prebuilt):
        beside = (*_flash_tools(system), compiler_of(system))
        return {name: one for name, one in found.items() if name not in beside}
    compiled = [system.application.libc_source, application_source(system)]
    if builds_loader(system):
        compiled.append(system.uboot.source)
    if builds_kernel(system):
        compiled.append(system.kernel.source)
    if isinstance(system.firmware, Firmware):
        compiled.append(system.firmware.source)
    return {name: one for name, one in found.items() if name in compiled}


def _programs(loaded: LoadedSystem, found: Mapping[str, Resolved], board: Board) -> list[Step]:
    """All programs, in order of need. An initramfs may be part of a kernel that is compiled; a prebuilt
    kernel may have modules for the initramfs."""
    s, arch = loaded.system, board.arch
    compiler = compiler_of(s)
    tools = [toolchain.step(found[compiler], arch)] if compiler else []
    application = _application(loaded, arch, toolchain.NAME if compiler else "")
    archive = [initramfs.step(s, loaded.beside(s.rootfs.overlay), arch)] if s.initramfs else []
    musl = userland.MUSL in (s.application.libc, s.busybox.libc)
    tools += [userland.libc_step(s.application.libc_source, arch)] if musl else []
    last = [*archive, kernel.step(s, arch)] if builds_kernel(s) else []
    if isinstance(s.prebuilt, Prebuilt):
        p = s.prebuilt
        loaders = loader_steps.built(s, board) if builds_loader(s) else loader_steps.taken(s, p, found, board)
        busybox = prebuilt.busybox_step(p, found[s.busybox.source])
        root = [packages.step(found[packaged_root(s)])] if packaged_root(s) else []
        names = unpacker_sources(s)
        again = [unpacker_symbols.step(s, p, found, arch)] if names and set(names) <= found.keys() else []
        last = last or [prebuilt.kernel_step(s, p, found, arch), *again, *archive]
        return [*tools, *loaders, busybox, *root, application, *last]
    busybox = userland.busybox_step(s.busybox, arch, toolchain.NAME if compiler else "")
    return [*tools, *loader_steps.built(s, board), busybox, application, *last]


def _application(loaded: LoadedSystem, arch: Architecture, compiler: str) -> Step:
    application = loaded.system.application
    if isinstance(application.configured, Configured):
        return configured_application.step(application, application.configured, arch, compiler)
    if not application.sources:
        return packaged_application.step(application.path)
    return userland.application_step(application, loaded.beside(application.sources), arch, compiler)


def _script(system: System) -> str:
    keys = (*SETTINGS.values(), *ADDRESSES.values())
    there = [key for key in keys if system.framebuffer or not key.startswith("framebuffer.")]
    return boot_script(system.uboot.script, {key: str(attrgetter(key)(system)) for key in there})


def outlook(loaded: LoadedSystem, cache: Cache) -> Outlook:
    """What a build would do. Fetches and builds nothing."""
    return _outlook(loaded, cache, _there(loaded, cache))


def _outlook(loaded: LoadedSystem, cache: Cache, found: dict[str, Resolved | None]) -> Outlook:
    wanted = loaded.system.sources
    known = {n: s or Resolved("", UNKNOWN, "", wanted[n].version) for n, s in found.items()}
    return Outlook.of(steps_of(loaded, known), found, cache)


def _there(loaded: LoadedSystem, cache: Cache) -> dict[str, Resolved | None]:
    """The sources that a system needs, None for those that have not been fetched."""
    return {wanted.name: sources.resolved(wanted, cache) for wanted in wanted_sources(loaded)}


def build(loaded: LoadedSystem, runner: Runner, progress: Progress) -> Built:
    """Builds a system; cached steps are not built again.

    Raises ToolError when a source or a step fails, UserError for settings that cannot be met.
    """
    there = _there(loaded, runner.cache)
    ahead = _outlook(loaded, runner.cache, there)
    expected = ahead.workload(runner.jobs)
    progress.expect(expected)
    missing = [wanted for wanted in wanted_sources(loaded) if not there[wanted.name]]
    if missing:
        there.update(sources.fetch_all(missing, runner.cache, progress))
        # Only now the ids of steps built from them are known, and some may be cached.
        ahead = _outlook(loaded, runner.cache, there)
        left = ahead.workload(runner.jobs)
        if left.works != expected.works[len(missing) :]:
            progress.expect(left)
    ids, results = ahead.ids, ahead.run(runner)
    runner.cache.prune(DEFAULT_LIMIT_BYTES, frozenset(ids.values()))
    kept = {name: path for name, path in results.items() if not name.startswith("unpack-")}
    return Built(ids["card"], ids, kept, facts(there))


def facts(found: Mapping[str, Resolved | None]) -> dict[str, SourceFact]:
    """What a run records about the sources that it was built from."""
    return {
        name: SourceFact(version=source.version, origin=source.origin, sha256=source.sha256)
        for name, source in found.items()
        if source
    }


def ahead(loaded: LoadedSystem, cache: Cache, progress: Progress) -> Outlook:
    """The steps of a build after its sources are fetched where needed. Builds nothing.

    Raises ToolError when a source is unavailable, UserError for settings that cannot be met.
    """
    there = _there(loaded, cache)
    missing = [wanted for wanted in wanted_sources(loaded) if not there[wanted.name]]
    if missing:
        there.update(sources.fetch_all(missing, cache, progress))
    return _outlook(loaded, cache, there)


def source_tree(loaded: LoadedSystem, tree: str, runner: Runner, progress: Progress) -> Path:
    """The unpacked sources of `kernel`, `uboot` or `busybox`. Raises ToolError when there is no source."""
    return unpacked(loaded, tree, runner, progress)[1] / unpack.TREE


def unpacked(loaded: LoadedSystem, tree: str, runner: Runner, progress: Progress) -> tuple[Step, Path]:
    """The step that unpacks the sources of a tree, and its result."""
    name = getattr(loaded.system, tree).source
    wanted = next(w for w in wanted_sources(loaded) if w.name == name)
    step = unpack.step(name, sources.fetch(wanted, runner.cache, progress))
    return step, runner.run(step, step.step_id({}), {})


def configured(loaded: LoadedSystem, tree: str, runner: Runner, progress: Progress) -> dict[str, str]:
    """The resulting configuration of `kernel`, `uboot` or `busybox`, without building it: symbol ->
    value as written. Raises ToolError when the tree's own tools fail."""
    first, path = unpacked(loaded, tree, runner, progress)
    step = configure.step(loaded.system, tree, architecture(loaded))
    result = runner.run(step, step.step_id({first.name: first.step_id({})}), {first.name: path})
    return kconfig.parse((result / configure.CONFIG).read_text())
