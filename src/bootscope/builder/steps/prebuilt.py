# SPDX-License-Identifier: Apache-2.0
"""Prebuilt U-Boot, kernel and BusyBox: the files that other steps would have built from sources.

Each step has the name and the files of the one that compiles, as far as a package has them. Files that a
package does not have are left out, and the views that need them say so.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from bootscope.arch.model import Architecture
from bootscope.builder.sources import Resolved
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import kernel, kernel_headers, rootfs, userland
from bootscope.core.errors import UserError, printable
from bootscope.devices import sunxi_boot_rom
from bootscope.image import kallsyms, module_file, vmlinux
from bootscope.loaders.model import FIRMWARE
from bootscope.system.model import Prebuilt, System
from bootscope.system.named_sources import packaged_root

DPKG = "dpkg-deb"
BIOS_IMAGE, VIDEO_IMAGE = "bios.img", "video.rom"
MODULE_FORMS = {"unpacked": module_file.unpacked, "unsigned": module_file.unsigned}
_LARGEST_TABLE_BYTES = 0x10000


def uboot_step(prebuilt: Prebuilt, source: Resolved, *, on_card: bool) -> Step:
    """The step `uboot`: the image, and the SPL at the beginning of an image for the card."""

    def work(context: Context) -> None:
        image = only(unpacked(context, source), prebuilt.uboot)
        shutil.copy(image, context.out / sunxi_boot_rom.IMAGE)
        if on_card:
            (context.out / sunxi_boot_rom.FIRST_STAGE_IMAGE).write_bytes(_spl(image))

    inputs: dict[str, object] = {"prebuilt": prebuilt.uboot, "source": source.sha256}
    if not on_card:
        inputs["on_card"] = on_card
    return Step("uboot", "taking U-Boot out of its package", 1, work, inputs, (), (DPKG,))


def firmware_step(prebuilt: Prebuilt, source: Resolved) -> Step:
    """The step `firmware`: a PC's BIOS, and that of its graphics card if it has one."""
    wanted = {BIOS_IMAGE: prebuilt.firmware, VIDEO_IMAGE: prebuilt.video}
    paths = {name: path for name, path in wanted.items() if isinstance(path, str)}

    def work(context: Context) -> None:
        tree = unpacked(context, source)
        for name, path in paths.items():
            shutil.copy(only(tree, path), context.out / name)

    inputs = {"paths": paths, "source": source.sha256}
    return Step(FIRMWARE, "taking the firmware out of its package", 1, work, inputs, (), (DPKG,))


def _spl(image: Path) -> bytes:
    """The SPL at the beginning of an image."""
    found = sunxi_boot_rom.first_stage(image.read_bytes())
    if found is None:
        raise UserError(f"prebuilt.uboot: {image.name} does not begin with an SPL for {sunxi_boot_rom.TITLE}")
    return found


def kernel_step(
    system: System, prebuilt: Prebuilt, found: Mapping[str, Resolved], arch: Architecture
) -> Step:
    """The step `kernel`: image, modules, configuration, device tree, and what can be derived from the image:
    its program with symbols, and from its headers the layout of its structures."""
    source, headers = found[system.kernel.source], [found[name] for name in prebuilt.headers]

    def work(context: Context) -> None:
        tree = unpacked(context, source)
        image = only(tree, prebuilt.kernel)
        shutil.copy(image, context.out / system.kernel.image)
        shutil.copy(only(tree, prebuilt.kernel_config), context.out / "config")
        if prebuilt.device_tree:
            shutil.copy(only(tree, prebuilt.device_tree), context.out / "unchanged.dtb")
        program = vmlinux.unpacked(image.read_bytes())
        symbols = kallsyms.read(program, arch.word_bytes)
        laid = vmlinux.laid_out(program, symbols, arch)
        linked = vmlinux.elf(laid.data, laid.base, symbols, arch, laid.entry)
        (context.out / kernel.PROGRAM).write_bytes(linked)
        (context.out / kernel.SYMBOLS).write_text(vmlinux.symbol_map(symbols, arch))
        trees = [unpacked(context, one) for one in headers]
        kernel_headers.write(context, arch, trees, vmlinux.version(program), bool(packaged_root(system)))
        _modules(context, tree, prebuilt)

    inputs: dict[str, object] = {
        # Without the setting that only adds names to the code of the image.
        "prebuilt": msgspec.structs.replace(prebuilt, unpacker_symbols=msgspec.UNSET),
        "image": system.kernel.image,
        "sources": [one.sha256 for one in (source, *headers)],
    }
    if packaged_root(system):
        inputs["sockets"] = True
    tools = (DPKG, *((arch.tools.tool("gcc"),) if headers else ()))
    return Step("kernel", "taking the kernel out of its package", 1, work, inputs, (), tools)


def _modules(context: Context, tree: Path, prebuilt: Prebuilt) -> None:
    """Puts modules, by file name, as they come or in the form asked for, under lib/modules."""
    form = prebuilt.module_form
    for name in prebuilt.modules:
        found = only(tree, f"**/modules/*/kernel/**/{name}.ko*")
        parts = found.parts
        place = Path(*parts[len(parts) - 1 - parts[::-1].index("modules") :])
        target = context.out / rootfs.MODULES / "lib" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(form, str):
            data = MODULE_FORMS[form](found.name, found.read_bytes())
            target.with_name(f"{name}.ko").write_bytes(data)
        else:
            shutil.copy(found, target)


def busybox_step(prebuilt: Prebuilt, source: Resolved) -> Step:
    """The step `busybox`: the program, and a path in /bin for each of its applets."""

    def work(context: Context) -> None:
        program = only(unpacked(context, source), prebuilt.busybox)
        for name in ("busybox", userland.BUSYBOX_WHOLE):
            shutil.copy(program, context.out / name)
        links = "".join(f"/bin/{applet}\n" for applet in applets(program.read_bytes()))
        (context.out / "busybox.links").write_text(links)

    inputs = {"prebuilt": prebuilt.busybox, "source": source.sha256}
    return Step("busybox", "taking BusyBox out of its package", 1, work, inputs, (), (DPKG,))


def applets(program: bytes) -> list[str]:
    """The names of a BusyBox's applets, from its own table: names in order, each followed by a 0.

    Raises UserError when the file is not a BusyBox with a shell.
    """
    start = program.find(b"[\0[[\0")
    found: list[str] = []
    for name in program[start : start + _LARGEST_TABLE_BYTES].split(b"\0") if start >= 0 else ():
        text = name.decode("ascii", "replace")
        if not text.isprintable() or not text or "/" in text or (found and text <= found[-1]):
            break
        found.append(text)
    if "sh" not in found:
        raise UserError("prebuilt.busybox: the file has no table of applets with 'sh' in it; is it BusyBox?")
    return found


def unpacked(context: Context, source: Resolved) -> Path:
    """The content of a package, in the scratch folder of a step; a folder of the user's is used in place."""
    if source.is_tree:
        return Path(source.path)
    tree = context.scratch / f"package-{source.sha256[:16]}"
    context.run([DPKG, "--extract", source.path, tree])
    return tree


def only(tree: Path, pattern: str) -> Path:
    """The only file of a package that matches. Raises UserError when there is none, or more than one."""
    found = sorted(path for path in tree.glob(pattern.lstrip("/")) if path.is_file())
    if len(found) != 1 or ".." in Path(pattern).parts:
        raise UserError(
            f"the package has {len(found) or 'no'} files that fit {printable(pattern)}, expected one",
            hint="correct it under [prebuilt] in the system file",
        )
    return found[0]
