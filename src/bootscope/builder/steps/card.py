# SPDX-License-Identifier: Apache-2.0
"""The SD card image: partition table, boot loader, boot partition (FAT), root partition.

Also writes a map (layout.json), so that a sector that was read can be named.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
from pathlib import Path

import msgspec

from bootscope.boards.profile import Board
from bootscope.builder.step import EPOCH, Context, Step
from bootscope.builder.steps import falcon, fit, initramfs, nand_loader, payload, rootfs, seed_sector
from bootscope.capture.record import Extent
from bootscope.core.errors import StepError, ToolError, UserError
from bootscope.devices import sd_card, sunxi_boot_rom
from bootscope.devices.model import SECTOR_BYTES
from bootscope.image.uboot_env import default_environment, stored
from bootscope.loaders.model import FIRMWARE, Loader
from bootscope.system.model import Card, Environment, System, has_device_tree, has_firmware, has_loader
from bootscope.system.nand import nand_of

IMAGE, LAYOUT = "sd.img", "layout.json"
STORED_ENVIRONMENT = "uboot.env"
"""The default of CONFIG_ENV_FAT_FILE."""

_CODE_BYTES = 0x1B8
"""Room for code in a card's first sector, before the card's identity and the partition table."""
_TOOLS = ("mkimage", "sfdisk", "mkfs.vfat", "mcopy")
_FAT_NAMES = {
    "zImage": "kernel",
    "Image": "kernel",
    "uImage": "kernel",
    "board.dtb": "device tree",
    "boot.scr": "boot script",
    "grub.cfg": "boot script",
    "bzImage": "kernel",
    "initrd": "initramfs",
    "falcon.dtb": "device tree",
    "boot.bin": "SPL",
    "u-boot.img": "U-Boot",
    "uboot.env": "U-Boot's environment",
}


def step(system: System, script: str, board: Board, name: str = "card") -> Step:
    """The step `card`: the image that the board boots from, with `script` for its boot loader. Where the root
    file system is in a NAND chip, its partition on the card is empty."""
    card, loader, on_card = system.card, board.boot_loader, not nand_of(system.nand)
    external = system.initramfs is not None and system.initramfs.place == initramfs.EXTERNAL

    def work(context: Context) -> None:
        image = context.out / IMAGE
        files = _boot_files(context, system, script, board)
        boot = _fat(context, card, files)
        _partition(context, image, card)
        if card.loader_sector:
            _put_loader(context, image, card, loader)
        copy_sparse(boot, image, card.boot_sector * SECTOR_BYTES)
        if on_card:
            copy_sparse(context.results["rootfs"] / rootfs.IMAGE, image, card.root_sector * SECTOR_BYTES)
        layout = [
            *_fixed_extents(context, card, loader),
            *seed_sector.put(image, card),
            *_fat_extents(context, boot, card.boot_sector, files),
        ]
        if card.raw_sector:
            layout += _raw(context, image, system, board)
        (context.out / LAYOUT).write_bytes(msgspec.json.encode(layout))

    inputs: dict[str, object] = {"card": card, "script": script}
    if not has_loader(system):
        # The emulator passes it on, separately from the card.
        inputs["command_line"] = system.kernel.command_line
    if system.uboot.falcon and not has_device_tree(system):
        inputs["kernel"] = [system.kernel.load_address, system.kernel.packed]
    if fit.wanted(system):
        fit.check(system.kernel)
        inputs["fit"] = fit.SOURCE
    if nand := nand_loader.wanted(system):
        inputs["nand"] = [nand.partitions, nand.erase_bytes]
    if isinstance(system.uboot.environment, Environment):
        inputs["environment"] = system.uboot.environment
    needs = (
        *(("uboot",) if has_loader(system) else ()),
        *("kernel", *(("device-tree",) if has_device_tree(system) else ())),
        *(("rootfs",) if on_card else ()),
        *(("falcon",) if (system.uboot.falcon or card.raw_sector) and has_device_tree(system) else ()),
        # Also where it is not on the card: other firmware makes another build.
        *((FIRMWARE,) if has_firmware(system) else ()),
        *(("payload",) if payload.needed(system.kernel) else ()),
        *(("initramfs",) if external else ()),
    )
    return Step(name, "SD card image", 1, work, inputs, needs, _TOOLS)


def _put_loader(context: Context, image: Path, card: Card, loader: Loader) -> None:
    whole = context.results["uboot"] / (loader.card_image or sunxi_boot_rom.IMAGE)
    room = (card.boot_sector - card.loader_sector) * SECTOR_BYTES
    if whole.stat().st_size > room:
        raise StepError(f"the boot loader has {whole.stat().st_size:,} bytes, there is room for {room:,}")
    copy_sparse(whole, image, card.loader_sector * SECTOR_BYTES)
    if loader.sector_image:
        with image.open("r+b") as f:
            f.write((context.results["uboot"] / loader.sector_image).read_bytes()[:_CODE_BYTES])


def _raw(context: Context, image: Path, system: System, board: Board) -> list[Extent]:
    """Puts device tree and kernel outside of the partitions, where Falcon mode expects them."""
    card, found = system.card, list[Extent]()
    kernel, pieces = payload.path_of(context, system.kernel), list[tuple[Path, str, int]]()
    if has_device_tree(system):
        pieces.append((context.results["falcon"] / falcon.ARGUMENTS, "device tree", card.raw_sector))
    elif fit.wanted(system):
        bare, kernel = kernel, context.scratch / "linux.itb"
        fit.write(context, system, board, bare, kernel)
    elif system.uboot.falcon:
        # The file keeps the form that U-Boot takes.
        bare, kernel = kernel, context.scratch / payload.WRAPPED
        payload.wrap(context, board.arch, system.kernel, system.kernel.load_address, bare, kernel)
    pieces.append((kernel, "kernel", card.raw_sector + falcon.ARGUMENT_SECTORS))
    for path, name, sector in pieces:
        if name == "kernel" and not card.raw_kernel:
            continue
        sectors = _sectors(path.stat().st_size)
        whole = card.size_bytes // SECTOR_BYTES - sector
        room = falcon.read_sectors(card) if name == "device tree" else whole
        if sectors > room:
            raise StepError(f"the {name} has {sectors} sectors, there is room for {room} at {sector}")
        copy_sparse(path, image, sector * SECTOR_BYTES)
        found.append(Extent(name=name, sector=sector, sectors=sectors))
    return found


def _boot_files(context: Context, system: System, script: str, board: Board) -> list[Path]:
    """The files for the boot partition, with the build's time."""
    folder = context.scratch / "boot"
    folder.mkdir()
    loader = board.boot_loader
    wrapped = folder / loader.script_file
    text = folder.with_name("boot.cmd") if loader.wrapped_script else wrapped
    kernel_sectors = _sectors(payload.path_of(context, system.kernel).stat().st_size)
    chip = nand_loader.content(context, system)
    script = nand_loader.put_in(script, system, lambda name: chip[name].stat().st_size)
    text.write_text(script.replace("{kernel_sectors}", hex(kernel_sectors)))
    files = [wrapped] if script else []
    if files and loader.wrapped_script:
        wrap_script(context, board, text, wrapped)
    on_card, built = not nand_loader.holds_kernel(system), dict[str, Path]()
    if on_card:
        built[payload.file_name(system.kernel)] = payload.path_of(context, system.kernel)
    if on_card and has_device_tree(system):
        built[payload.DEVICE_TREE] = context.results["device-tree"] / payload.DEVICE_TREE
    if on_card and falcon.by_spl(system) and not system.card.raw_sector:
        built[falcon.ARGUMENTS] = context.results["falcon"] / falcon.ARGUMENTS
        built[falcon.WAY_BACK] = context.results["uboot"] / falcon.WAY_BACK
    if system.initramfs and system.initramfs.place == initramfs.EXTERNAL:
        built[initramfs.PACKED] = context.results["initramfs"] / initramfs.PACKED
    for name in (Path(image).name for image in loader.card_files):
        built[name] = context.results["uboot"] / name
    for name, path in built.items():
        shutil.copy(path, folder / name)
    files += [folder / name for name in built]
    environment = system.uboot.environment
    if isinstance(environment, Environment):
        files.append(folder / STORED_ENVIRONMENT)
        files[-1].write_bytes(_environment(context, environment))
    for path in files:
        os.utime(path, (EPOCH, EPOCH))
    return files


def wrap_script(context: Context, board: Board, text: Path, wrapped: Path) -> None:
    """Puts the header with a checksum in front of a boot loader's script."""
    options = ["-A", board.arch.tools.mkimage, "-T", "script", "-C", "none", "-n", "boot"]
    context.run(["mkimage", *options, "-d", text, wrapped])


def _environment(context: Context, wanted: Environment) -> bytes:
    """All variables: a stored environment replaces U-Boot's whole built-in one."""
    defaults = default_environment((context.results["uboot"] / sunxi_boot_rom.IMAGE).read_bytes())
    if not defaults:
        raise UserError("uboot.environment: the U-Boot has no default environment that bootscope can find")
    return stored({**defaults, **wanted.variables}, wanted.size_bytes)


def _fat(context: Context, card: Card, files: list[Path]) -> Path:
    image = context.scratch / "boot.img"
    with image.open("wb") as f:
        f.truncate(card.boot_sectors * SECTOR_BYTES)
    volume = f"{card.boot_volume_id:08x}"
    context.run(["mkfs.vfat", "--invariant", "-F", "16", "-i", volume, "-n", "BOOT", image])
    for path in files:
        context.run(["mcopy", "-m", "-i", image, path, f"::/{path.name}"])
    return image


def _partition(context: Context, image: Path, card: Card) -> None:
    with image.open("wb") as f:
        f.truncate(card.size_bytes)
    table = (
        f"label: dos\nlabel-id: 0x{card.disk_id:08x}\n"
        f"start={card.boot_sector}, size={card.boot_sectors}, type=c, bootable\n"
        f"start={card.root_sector}, size={card.root_sectors}, type=83\n"
    )
    script = context.scratch / "table"
    script.write_text(table)
    context.run(["sh", "-c", 'exec sfdisk -q --no-tell-kernel "$1" < "$2"', "sfdisk", image, script])


def copy_sparse(source: Path, image: Path, offset: int) -> None:
    """Copies a file into an image, leaving out blocks of zeros so that the image stays sparse."""
    block = 1 << 16
    with source.open("rb") as f, image.open("r+b") as g:
        position = offset
        while data := f.read(block):
            if data.count(0) != len(data):
                g.seek(position)
                g.write(data)
            position += len(data)


def _sectors(size_bytes: int) -> int:
    return (size_bytes + SECTOR_BYTES - 1) // SECTOR_BYTES


def _fixed_extents(context: Context, card: Card, loader: Loader) -> list[Extent]:
    programs: list[Extent] = []
    if card.loader_sector and loader.card_image:
        built = context.results["uboot"]
        whole = _sectors((built / loader.card_image).stat().st_size)
        held = " and ".join(program.title for program in loader.programs[1:])
        programs = [Extent(name=held, sector=card.loader_sector, sectors=whole)]
    elif card.loader_sector:
        built = context.results["uboot"]
        spl = _sectors((built / sunxi_boot_rom.FIRST_STAGE_IMAGE).stat().st_size)
        whole = _sectors((built / sunxi_boot_rom.IMAGE).stat().st_size)
        programs = [
            Extent(name="SPL", sector=card.loader_sector, sectors=spl),
            Extent(name="U-Boot", sector=card.loader_sector + spl, sectors=whole - spl),
        ]
    return [
        Extent(name="partition table", sector=0, sectors=1),
        *programs,
        Extent(name=sd_card.BOOT_TABLES, sector=card.boot_sector, sectors=card.boot_sectors),
        Extent(name="root file system", sector=card.root_sector, sectors=card.root_sectors),
    ]


def _fat_extents(context: Context, image: Path, start: int, files: list[Path]) -> list[Extent]:
    """The places of each file's clusters, from mshowfat."""
    with image.open("rb") as f:
        boot = f.read(64)
    per_cluster, reserved, fats, root_entries = struct.unpack_from("<BHBH", boot, 13)
    (fat_sectors,) = struct.unpack_from("<H", boot, 22)
    data = reserved + fats * fat_sectors + root_entries * 32 // SECTOR_BYTES
    found: list[Extent] = []
    for path in files:
        output = context.run(["mshowfat", "-i", image, f"::/{path.name}"]).output
        runs = re.findall(r"<(\d+)(?:-(\d+))?>", output)
        if not runs:
            raise ToolError(f"mshowfat does not tell where {path.name} lies: {output}")
        for first, last in runs:
            clusters = int(last or first) - int(first) + 1
            sector = start + data + (int(first) - 2) * per_cluster
            found.append(Extent(name=_FAT_NAMES[path.name], sector=sector, sectors=clusters * per_cluster))
    return found
