# SPDX-License-Identifier: Apache-2.0
"""From a system to the ordered list of its steps, and the running of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bootscope.build import kconfig, sources
from bootscope.build.cache import DEFAULT_LIMIT_BYTES, Cache
from bootscope.build.progress import Progress
from bootscope.build.sources import Resolved, Wanted
from bootscope.build.step import Runner, Step, read_meta
from bootscope.build.steps import (
    card,
    configure,
    falcon,
    initramfs,
    kernel,
    payload,
    prebuilt,
    rootfs,
    uboot,
    unpack,
    userland,
)
from bootscope.capture.record import Extent, Part, SourceFact
from bootscope.system.load import LoadedSystem
from bootscope.system.model import Prebuilt, System, has_modules

UNKNOWN = ""
"""The id of a step whose source has not been fetched yet."""


@dataclass(frozen=True)
class Planned:
    """A step of a plan: its id (UNKNOWN when a source is missing), and whether the cache has it."""

    name: str
    title: str
    step_id: str
    cached: bool
    needs: tuple[str, ...]


@dataclass(frozen=True)
class Built:
    """A system turned into images: `results` maps step names to folders in the cache."""

    build_id: str
    ids: dict[str, str]
    results: dict[str, Path]
    sources: dict[str, SourceFact]

    @property
    def card(self) -> Path:
        """The SD card image."""
        return self.results["card"] / card.IMAGE

    def extents(self) -> tuple[Extent, ...]:
        """What lies where on the card."""
        data = (self.results["card"] / card.LAYOUT).read_bytes()
        return tuple(msgspec.json.decode(data, type=list[Extent]))

    def parts(self) -> tuple[Part, ...]:
        """Everything that was made, with hashes and sizes."""
        found = []
        for name, path in self.results.items():
            for file, sha256 in read_meta(path).files.items():
                size = (path / file).stat().st_size
                part = Part(name=f"{name}/{file}", step_id=self.ids[name], sha256=sha256, size_bytes=size)
                found.append(part)
        return tuple(found)


def _wanted(loaded: LoadedSystem) -> list[Wanted]:
    system = loaded.system
    a = system.application
    libc = (a.libc_source,) if a.libc == userland.MUSL else ()
    headers = system.prebuilt.headers if isinstance(system.prebuilt, Prebuilt) else ()
    trees = (system.uboot.source, system.kernel.source, system.busybox.source)
    used = dict.fromkeys((*trees, *libc, *headers))
    return [Wanted(name, system.sources[name], loaded.path.parent) for name in used]


def _steps(loaded: LoadedSystem, found: dict[str, Resolved]) -> list[Step]:
    """All steps in an order in which each comes after what it needs."""
    s = loaded.system
    return [
        *(unpack.step(name, source) for name, source in _to_unpack(s, found).items()),
        *([falcon.tree_step(s.uboot)] if s.uboot.falcon else []),
        *_programs(loaded, found),
        kernel.device_tree_step(s.framebuffer, s.kernel.disabled_nodes),
        rootfs.step(
            s.rootfs,
            loaded.beside(s.rootfs.overlay),
            s.application.path,
            s.card.root_sectors,
            has_modules(s),
        ),
        *([falcon.step(s)] if falcon.needed(s) else []),
        *([payload.step(s.kernel)] if payload.needed(s.kernel) else []),
        card.step(s, boot_script(loaded)),
    ]


def _to_unpack(system: System, found: Mapping[str, Resolved]) -> dict[str, Resolved]:
    """Sources that are compiled. Packages are unpacked by the steps that take something out of them."""
    if not isinstance(system.prebuilt, Prebuilt):
        return dict(found)
    return {name: one for name, one in found.items() if name == system.application.libc_source}


def _programs(loaded: LoadedSystem, found: Mapping[str, Resolved]) -> list[Step]:
    """All programs, in order of need. An initramfs may be a part of a kernel that is compiled; a
    kernel that is built already may have modules for the initramfs."""
    s = loaded.system
    application = userland.application_step(s.application, loaded.beside(s.application.sources))
    archive = [initramfs.step(s, loaded.beside(s.rootfs.overlay))] if s.initramfs else []
    if isinstance(s.prebuilt, Prebuilt):
        p = s.prebuilt
        first = prebuilt.uboot_step(p, found[s.uboot.source])
        busybox = prebuilt.busybox_step(p, found[s.busybox.source])
        return [first, busybox, application, prebuilt.kernel_step(s, p, found), *archive]
    libc = [userland.libc_step(s.application.libc_source)] if s.application.libc == userland.MUSL else []
    return [uboot.step(s), userland.busybox_step(s.busybox), *libc, application, *archive, kernel.step(s)]


def boot_script(loaded: LoadedSystem) -> str:
    """U-Boot's script with the kernel's addresses and command line filled in."""
    k = loaded.system.kernel
    values = {
        "command_line": k.command_line,
        "kernel_address": f"{k.load_address:#x}",
        "device_tree_address": f"{k.device_tree_address:#x}",
        "initramfs_address": f"{k.initramfs_address:#x}",
        "raw_sector": f"{loaded.system.card.raw_sector:#x}",
    }
    script = loaded.system.uboot.script
    for name, value in values.items():
        script = script.replace("{" + name + "}", value)
    return script


def plan(loaded: LoadedSystem, cache: Cache) -> list[Planned]:
    """What a build would do. Fetches and builds nothing."""
    found: dict[str, Resolved] = {}
    missing: set[str] = set()
    result: list[Planned] = []
    for wanted in _wanted(loaded):
        source = sources.resolved(wanted, cache)
        found[wanted.name] = source or Resolved("", UNKNOWN, "", wanted.source.version)
        if not source:
            missing.add(f"unpack-{wanted.name}")
        sha256 = source.sha256 if source else UNKNOWN
        title = f"source of {wanted.name}"
        result.append(Planned(f"fetch-{wanted.name}", title, sha256, bool(source), ()))
    ids: dict[str, str] = {}
    for step in _steps(loaded, found):
        if step.name in missing or any(ids[need] == UNKNOWN for need in step.needs):
            ids[step.name] = UNKNOWN
        else:
            ids[step.name] = step.step_id(ids)
        cached = ids[step.name] != UNKNOWN and cache.find(ids[step.name]) is not None
        result.append(Planned(step.name, step.title, ids[step.name], cached, step.needs))
    return result


def build(loaded: LoadedSystem, runner: Runner, progress: Progress) -> Built:
    """Builds a system; what the cache has is not built again.

    Raises ToolError when a source or a step fails, UserError for settings that cannot be met.
    """
    found = sources.fetch_all(_wanted(loaded), runner.cache, progress)
    steps = _steps(loaded, found)
    ids: dict[str, str] = {}
    results: dict[str, Path] = {}
    for step in steps:
        ids[step.name] = step.step_id(ids)
    needed = _needed(steps, ids, runner.cache)
    for step in steps:
        if step.name in needed:
            results[step.name] = runner.run(step, ids[step.name], results)
    runner.cache.prune(DEFAULT_LIMIT_BYTES, frozenset(ids.values()))
    kept = {name: path for name, path in results.items() if not name.startswith("unpack-")}
    facts = {n: SourceFact(version=r.version, origin=r.origin, sha256=r.sha256) for n, r in found.items()}
    return Built(ids["card"], ids, kept, facts)


def source_tree(loaded: LoadedSystem, tree: str, runner: Runner, progress: Progress) -> Path:
    """The unpacked sources of `kernel`, `uboot` or `busybox`. Raises ToolError when there is no source."""
    return unpacked(loaded, tree, runner, progress)[1] / unpack.TREE


def unpacked(loaded: LoadedSystem, tree: str, runner: Runner, progress: Progress) -> tuple[Step, Path]:
    """The step that unpacks the sources of a tree, and its result."""
    name = getattr(loaded.system, tree).source
    wanted = next(w for w in _wanted(loaded) if w.name == name)
    step = unpack.step(name, sources.fetch(wanted, runner.cache, progress))
    return step, runner.run(step, step.step_id({}), {})


def configured(loaded: LoadedSystem, tree: str, runner: Runner, progress: Progress) -> dict[str, str]:
    """What the configuration of `kernel`, `uboot` or `busybox` comes to, without building it: symbol ->
    value as written. Raises ToolError when the tree's own tools fail."""
    first, path = unpacked(loaded, tree, runner, progress)
    step = configure.step(loaded.system, tree)
    result = runner.run(step, step.step_id({first.name: first.step_id({})}), {first.name: path})
    return kconfig.parse((result / configure.CONFIG).read_text())


def _needed(steps: list[Step], ids: dict[str, str], cache: Cache) -> set[str]:
    """Steps to run or look up: everything but the unpacking of sources whose build is there already."""
    needed = {step.name for step in steps if not step.name.startswith("unpack-")}
    # From the end, so that what a needed step needs is seen too. A source may be a view of another one.
    for step in reversed(steps):
        view = step.name.startswith("unpack-") and bool(step.needs)
        if step.name in needed and (view or cache.find(ids[step.name]) is None):
            needed.update(step.needs)
    return needed
