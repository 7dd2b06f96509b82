# SPDX-License-Identifier: Apache-2.0
"""How an image boots: the steps from the boot ROM to init, each with its evidence, and the boards that fit.

Steps that are only likely are marked so: an image does not say which boot loader its board runs, or what a
user chooses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bootscope.arch import in_files
from bootscope.boards.profile import board_names, load_board
from bootscope.bootimage.found import Found
from bootscope.bootimage.menus import SCRIPT
from bootscope.bootimage.records import DeviceTree, Entry, Fit, Initramfs, Kernel, Place, Root, Step
from bootscope.core.errors import UserError
from bootscope.loaders import in_images


def chosen_entry(found: Found) -> Entry | None:
    """The menu entry that boots by default: the one that its file marks as such, else the first."""
    marked = [entry for entry in found.entries if entry.menu.chosen]
    return next(iter(marked or found.entries), None)


def chosen_kernel(found: Found) -> Kernel | None:
    """The kernel that boots: the one in the chosen entry, else the only one, or the first of a FIT."""
    entry = chosen_entry(found)
    if entry and entry.menu.kernel:
        name = entry.menu.kernel.rpartition("/")[2]
        for kernel in found.kernels:
            if name and _stem(kernel.place.path) == name:
                return kernel
    versions = {kernel.version for kernel in found.kernels}
    newest = sorted(found.kernels, key=lambda k: (not k.version, k.place.path.count(":")))
    return newest[0] if newest and (len(versions) == 1 or not entry or not entry.menu.kernel) else None


def _stem(path: str) -> str:
    """The last component of a path, without the part of a package."""
    return path.rpartition("/")[2].partition(":")[0]


def architecture(found: Found) -> str:
    """The image's architecture; empty where unknown, or where its parts contradict one another."""
    kernel = chosen_kernel(found)
    if kernel and kernel.architecture:
        return kernel.architecture
    named = {k.architecture for k in found.kernels} | {r.architecture for r in found.roots}
    named -= {""}
    return next(iter(named)) if len(named) == 1 else ""


def command_line(found: Found) -> tuple[str, str]:
    """(the kernel's command line, its source); empty texts where it is unknown."""
    entry, kernel = chosen_entry(found), chosen_kernel(found)
    if entry and entry.menu.command_line:
        return entry.menu.command_line, f"{entry.menu.path} ({entry.menu.kind})"
    if kernel and kernel.command_line:
        return kernel.command_line, "CONFIG_CMDLINE of the kernel"
    if found.environment.get("bootargs"):
        return found.environment["bootargs"], "bootargs of the environment that is built into U-Boot"
    told = {tree.command_line for tree in found.device_trees if tree.command_line}
    if len(told) == 1:
        tree = next(tree for tree in found.device_trees if tree.command_line)
        return tree.command_line, f"/chosen of the device tree {tree.place.path or tree.place.volume}"
    return "", ""


def steps(found: Found) -> list[Step]:
    """The steps of the boot."""
    made = [*_first_stages(found), *_loaders(found)]
    entry, kernel = chosen_entry(found), chosen_kernel(found)
    if entry:
        marked = entry.menu.chosen or len(found.entries) == 1
        what = f"{entry.menu.kind}: {entry.menu.title}" if entry.menu.title else entry.menu.kind
        made.append(Step(what, f"{entry.volume}, {entry.menu.path}", marked and entry.menu.kind != SCRIPT))
    if kernel:
        where = f"{kernel.place.volume} {kernel.place.path}".strip()
        told = (
            f"Linux {kernel.version or 'of an unknown version'} for {kernel.architecture or 'an unknown CPU'}"
        )
        made.append(Step(told, where, len(found.kernels) == 1 or bool(entry and entry.menu.kernel)))
    early = _initramfs(found)
    if early:
        made.append(early)
    made += [
        Step(f"{r.init} ({r.system or r.kind})", _init_why(found, r), len(found.roots) == 1)
        for r in _roots(found)
    ]
    return made


def _first_stages(found: Found) -> Iterable[Step]:
    for loader in found.loaders:
        if loader.program.place:
            yield Step(loader.program.what, f"at {loader.program.at_bytes:#x}, {loader.program.place}", True)


def _loaders(found: Found) -> Iterable[Step]:
    named = [loader for loader in found.loaders if not loader.program.place]
    firmware = sorted(named, key=lambda loader: in_images.order(loader.program.what))
    removable = {known.efi.lower() for known in in_files.NAMES if known.efi}
    started = [loader for loader in named if _stem(loader.place.path).lower() in removable]
    if started:
        # U-Boot starts such programs, too.
        alone = not any(loader.program.what == in_images.UBOOT for loader in named)
        yield Step("EFI firmware", f"{_where(started[0].place)} is for one", alone)
    told: set[str] = set()
    for loader in firmware:
        name = f"{loader.program.what} {loader.program.version}".strip()
        if name not in told:
            told.add(name)
            at = "" if loader.place.path else f" at {loader.program.at_bytes:#x}"
            yield Step(name, f"{_where(loader.place)}{at}", loader in started)


def _where(place: Place) -> str:
    return f"{place.volume} {place.path}".strip()


def _initramfs(found: Found) -> Step | None:
    one = chosen_initramfs(found)
    if one is None:
        return None
    entry = chosen_entry(found)
    sure = ":" in one.place.path or bool(entry and entry.menu.initramfs)
    return Step(f"initramfs: {one.init}", f"{one.place.volume} {one.place.path}".strip(), sure)


def chosen_initramfs(found: Found) -> Initramfs | None:
    """The kernel's initramfs: the one in the chosen entry, else the one in the same package, else the only
    one."""
    entry = chosen_entry(found)
    names = {name.rpartition("/")[2] for name in entry.menu.initramfs} if entry else set()
    named = [one for one in found.initramfs if _stem(one.place.path) in names]
    inner = [one for one in found.initramfs if ":" in one.place.path]
    alone = found.initramfs if len(found.initramfs) == 1 else []
    return next(iter(named or inner or alone), None)


def chosen_device_tree(found: Found) -> DeviceTree | None:
    """The kernel's device tree: the one in the chosen entry, else the one in the kernel's package, else the
    only one."""
    entry, kernel = chosen_entry(found), chosen_kernel(found)
    name = entry.menu.device_tree.rpartition("/")[2] if entry else ""
    named = [tree for tree in found.device_trees if name and _stem(tree.place.path) == name]
    inner = [tree for tree in found.device_trees if kernel and _together(tree.place, kernel.place)]
    alone = found.device_trees if len(found.device_trees) == 1 else []
    return next(iter(named or inner or alone), None)


def _together(one: Place, other: Place) -> bool:
    """Whether two places are parts of one package."""
    package, sign, _ = one.path.rpartition(":")
    theirs, other_sign, _ = other.path.rpartition(":")
    return bool(sign and other_sign) and (one.volume, package) == (other.volume, theirs)


def _roots(found: Found) -> Sequence[Root]:
    return [root for root in found.roots if root.init]


def _init_why(found: Found, root: Root) -> str:
    return f"{root.place.volume}, {root.init_path}"


def boards(found: Found) -> list[Fit]:
    """Which of bootscope's boards can boot it, by architecture."""
    wanted = architecture(found)
    made: list[Fit] = []
    for name in board_names():
        try:
            theirs = load_board(name).architecture
        except UserError:
            continue
        if not wanted:
            made.append(Fit(name, None, f"it is for {theirs}; nothing tells what the image is for"))
        elif theirs != wanted:
            made.append(Fit(name, False, f"it is for {theirs}, the image for {wanted}"))
        else:
            made.append(
                Fit(name, None, f"it is for {theirs}, too; whether the kernel has its drivers, a boot tells")
            )
    return made
