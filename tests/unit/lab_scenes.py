# SPDX-License-Identifier: Apache-2.0
"""Recordings of a made-up boot of the stock system, as if it had been built and booted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from functools import cache

import msgspec

from bootscope.analysis.views import View, view
from bootscope.boards.profile import Board
from bootscope.capture import objects, record
from bootscope.capture.record import BootInfo, Part, RunInfo, WatchNames
from bootscope.capture.store import Store
from bootscope.capture.stream import Record
from bootscope.emulator.subject import flat
from bootscope.inventory.recorded import Recorded, facts
from bootscope.loaders.uboot import UBOOT
from bootscope.system.changes import matches
from bootscope.system.load import LoadedSystem, load_system, system_dir
from bootscope.system.model import System
from bootscope.techniques.model import Recipe

from .builders import KERNEL_SECTOR, boot_info, run_info, stream_file
from .scenes import Story

MS = 1_000_000
UBOOT_MAP = b"4a001000 T autoboot_command\n4a002000 T mmc_go_idle\n4a003000 t twsi_i2c_init\n"
COUNTDOWN, CARD_IDLE, I2C_RESET = 0x4A001010, 0x4A002010, 0x4A003010
PTY_INIT = 0xC0100000
USB_INIT = 0xC0200000
SLOW_DRIVERS = {
    objects.KERNEL_SYMBOLS: f"{PTY_INIT:x} t pty_init\n{PTY_INIT + 64:x} t end\n".encode(),
    objects.KERNEL_OBJECTS: f"{USB_INIT:x} 40 .init.text drivers/usb/host/ehci.o\n".encode(),
}
CALIBRATION = b"Calibrating delay loop... 996.14 BogoMIPS (lpj=4980736)\r\n"
CONFIGS = {
    "kernel": {"MODULES": "y", "SMP": "y", "KERNEL_GZIP": "y", "PRINTK": "y", "LOG_BUF_SHIFT": "14"},
    "uboot": {"BOOTDELAY": "2", "PREBOOT": '""'},
    "busybox": {"FEATURE_PREFER_APPLETS": "n"},
}
FILES = {
    **{f"/usr/{name}": "-> /bin/busybox" for name in ("bin/killall", "bin/wc", "sbin/arping", "sbin/crond")},
    "/etc": "folder",
    "/etc/init.d": "folder",
    "/etc/init.d/rcS": "program 0123456789abcdef",
    "/etc/init.d/S99application": "program 0123456789abcdef",
    "/bin/sh": "-> /bin/busybox",
}


@cache
def stock() -> LoadedSystem:
    """The reference system."""
    return load_system("stock")


SYSTEMS = {
    "cubieboard": "stock",
    "vexpress-a9": "stock-vexpress",
    "virt-arm64": "debian-arm64",
    "virt-riscv64": "debian-riscv64",
}


def home(recipe: Recipe) -> System:
    """A system that a recipe is for, where it names its board, what comes before its boot loader or where its
    application comes from; else the reference system."""
    wanted = recipe.applies.settings
    if "application.configured.source" in wanted:
        return load_system("stock-player").system
    board = "virt-arm64" if wanted.get("firmware.platform") == "qemu" else "cubieboard"
    return load_system(SYSTEMS[str(wanted.get("board", board))]).system


def start_scripts(system: System) -> dict[str, str]:
    """The scripts of a system that comes with bootscope, as a build keeps them."""
    top = system_dir() / system.rootfs.overlay
    found = {f"/etc/init.d/{p.name}": p.read_text() for p in sorted((top / "etc/init.d").iterdir())}
    written = {p: text for p, text in system.rootfs.files.items() if text.lstrip().startswith("#!")}
    return {
        p: text
        for p, text in {**found, **written}.items()
        if p in written or not matches(p, system.rootfs.remove)
    }


def listed(text: str, kind: str = "program") -> str:
    """What the list of contents says of a file with this text."""
    return f"{kind} {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def boot(
    *,
    countdown: bool = True,
    calibration: bool = True,
    info: bool = True,
    init_ms: int = 50,
    slow_loader: bool = False,
) -> Story:
    """A boot in small, with the signs that techniques look for; each can be left out. `slow_loader`: its
    first stage has much to say, and the boot loader waits for devices longer than need be."""
    story = Story().hook("spl.start").work(2 * MS).typed(b"U-Boot SPL\r\n", 100)
    story.typed(b"It says a lot, more than the port can hold of it\r\n" if slow_loader else b"", 100)
    story.hook("uboot.start").typed(b"U-Boot 2025.01\r\n", 100).work(5 * MS)
    for caller, ms in ((I2C_RESET, 20), (CARD_IDLE, 1), (CARD_IDLE, 2)) if slow_loader else ():
        story.enter("uboot.delay", 1000 * ms, caller).work(ms * MS).leave("uboot.delay").work(MS)
    if countdown:
        for _ in range(3):
            story.enter("uboot.delay", 10_000, COUNTDOWN).work(10 * MS).leave("uboot.delay")
    story.read(KERNEL_SECTOR, 50_000).work(9 * MS).hook("kernel.image").work(8 * MS).hook("kernel.start")
    if calibration:
        story.typed(CALIBRATION, 100).work(40 * MS)
    story.typed(b"[    0.000000] devtmpfs: initialized\r\n" if info else b"", 100).work(30 * MS)
    story.hook("kernel.init", text=b"/init").work(init_ms * MS)
    return story.hook("application.start").work(3 * MS).sample()


def boot_with_slow_driver(took_ms: int = 5) -> Story:
    """Such a boot, in which a driver with a parameter takes long, and one that nothing uses;
    :data:`SLOW_DRIVERS` names them."""
    story = boot()
    story.enter("initcall", PTY_INIT).work(took_ms * MS).leave("initcall").sample()
    story.enter("initcall", USB_INIT).hook("driver", text=b"ehci")
    story.enter("probe", text=b"usb1").hook("probe.driver", text=b"ehci").work(20 * MS)
    return story.leave("probe").leave("initcall").sample()


def run_of_stock(store: Store, run_id: str, system: System, **fields: object) -> RunInfo:
    """The description of a run of a system whose build is made up."""
    configs = fields.pop("configs", CONFIGS)
    files = fields.pop("files", FILES)
    more = fields.pop("objects", {})
    size_bytes = fields.pop("size_bytes", 4_000_000)
    assert isinstance(configs, Mapping)
    assert isinstance(files, Mapping)
    assert isinstance(more, Mapping)
    assert isinstance(size_bytes, int)
    kept = {
        objects.CONFIG_OF[tree]: "".join(
            f"# CONFIG_{name} is not set\n" if value == "n" else f"CONFIG_{name}={value}\n"
            for name, value in symbols.items()
        ).encode()
        for tree, symbols in configs.items()
    }
    kept[objects.ROOT_CONTENTS] = "".join(f"{path}\t{what}\n" for path, what in files.items()).encode()
    kept[UBOOT.main.symbols] = UBOOT_MAP
    kept[objects.SCRIPTS] = json.dumps(start_scripts(system)).encode()
    kept |= more
    base = run_info(run_id)
    told = msgspec.structs.replace(
        base.system,
        name=system.name,
        command_line=system.kernel.command_line,
        settings=flat(system),
        symbols={name: store.keep_object(objects.packed(data)) for name, data in kept.items()},
    )
    image = Part(name="kernel/zImage", step_id="s" * 64, sha256="0" * 64, size_bytes=size_bytes)
    given = {"system": told, "parts": (image,), "until": "application", **fields}
    return msgspec.structs.replace(base, **given)


def keep(
    store: Store,
    records: list[Record] | None = None,
    system: System | None = None,
    ended: str = "milestone",
    frame: bytes = b"",
    watch: str = "",
    watch_names: WatchNames | None = None,
    usage: bytes = b"",
    **fields: object,
) -> str:
    """Puts a run of one boot into the store; `fields` are of its description, `watch` is its watch file."""
    if watch_names:
        fields["watch"] = watch_names
    system = system or stock().system
    run_id = store.new_run_id(system.name, datetime(2026, 11, 21, 12, 0, 0))
    with store.recording(run_id) as path:
        record.write_json(path / "run.json", run_of_stock(store, run_id, system, **fields))
        folder = path / "boots" / "001"
        folder.mkdir()
        (folder / record.STREAM).write_bytes(stream_file(boot().records if records is None else records))
        if frame:
            (folder / record.FRAME).write_bytes(frame)
        if usage:
            (folder / record.USAGE).write_bytes(usage)
        if watch:
            (folder / record.WATCH).write_text(watch)
        info: BootInfo = boot_info(run_id, ended=ended)
        record.write_json(folder / record.BOOT, info)
    return run_id


def kept_view(store: Store, *arguments: object, **fields: object) -> View:
    """The view of a run that :func:`keep` puts into the store."""
    return view(store, store.load(keep(store, *arguments, **fields)))  # type: ignore[arg-type]


def known(store: Store, *arguments: object, **fields: object) -> Recorded:
    """What is known of such a run."""
    return facts(store, kept_view(store, *arguments, **fields))


def on_another(board: Board) -> Board:
    """A board that differs in its title only."""
    return msgspec.structs.replace(board, title=f"{board.title}, another one")
