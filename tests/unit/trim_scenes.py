# SPDX-License-Identifier: Apache-2.0
"""A bench that only pretends to build and boot: a kernel of a dozen symbols, to be trimmed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bootscope.capture import objects
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredBoot, StoredRun
from bootscope.core.errors import StepError, ToolError
from bootscope.emulator.plugin_config import Limits
from bootscope.kbuild.kconfig import written
from bootscope.system.load import LoadedSystem
from bootscope.system.model import Symbols
from bootscope.trim.search import Goal, Trim
from bootscope.trim.search import trimming as begun

from .lab_scenes import CONFIGS, boot, keep, stock
from .test_usage import usage_file

SIZE = 0x10000
# Symbol -> (selects, what ran: before init, later, for the application)
CODE: dict[str, tuple[str, tuple[int, int, int]]] = {
    "USB": ("", (0, 0, 0)),
    "SOUND": ("", (5, 0, 0)),
    "IIO": ("", (5, 0, 0)),
    "PINS": ("", (9, 0, 0)),
    "NET": ("CRC", (5, 5, 0)),
    "CRC": ("", (1, 0, 0)),
    "TIMERS": ("", (5, 5, 5)),
    "FS": ("", (5, 50, 5)),
    "BUG": ("", (0, 0, 0)),
    "OWN": ("", (0, 8, 8)),
    "SWAP": ("", (5, 5, 1)),
}
OPTIONS = ("QUICK", "ODD", "TESTS_DISABLED")
SMALLER = ("SIZE", "SLOW", "REFUSED")
BASE = 0xC0100000


def tree(path: Path) -> Path:
    """A source tree: a symbol for each object file, and options that are for none."""
    path.mkdir(exist_ok=True)
    blocks = [
        f'config {name}\n\tbool "{name}"\n' + (f"\tselect {selected}\n" if selected else "")
        for name, (selected, _) in CODE.items()
    ] + [f'config {name}\n\tbool "{name}"\n' for name in (*OPTIONS, *SMALLER)]
    (path / "Kconfig").write_text("\n".join(blocks))
    rules = [f"obj-$(CONFIG_{name}) += {name.lower()}/core.o\n" for name in CODE]
    (path / "Makefile").write_text("obj-y += main.o\n" + "".join(rules))
    return path


class Bench:
    """Boots at once. Without what is in `breaks` the boot does; without `links`, the build, naming it."""

    def __init__(self, root: Path, breaks: Mapping[str, str] | None = None, links: str = "") -> None:
        self.store, self.runner, self.progress = Store(root / "store"), None, None
        self.root, self.breaks, self.links = root, breaks or {}, links
        self.booted: list[list[str]] = []
        self.frames = 10
        self.limits = Limits()
        self.failure: ToolError | None = None
        """How a build without what is in `links` fails, if not because of its sources."""

    def with_limits(self, limits: Limits) -> Bench:
        return self

    def on(self, symbols: Symbols) -> dict[str, str]:
        config = {name: written(symbols.get(name, True)) for name in (*CODE, *OPTIONS)}
        config |= {name: written(symbols.get(name, False)) for name in SMALLER}
        config["REFUSED"] = "n"
        for name, (selected, _) in CODE.items():
            if selected and config[name] == "y":
                config[selected] = "y"
        return config

    def source(self, loaded: LoadedSystem, tree: str) -> Path:
        return self.root / "tree"

    def configured(self, loaded: LoadedSystem, tree: str) -> dict[str, str]:
        return self.on(loaded.system.kernel.config)

    def device_tree(self, loaded: LoadedSystem) -> bytes:
        return b""

    def lasting(self, boot: StoredBoot) -> bool:
        return boot.info.ended in ("milestone", "panic")

    def measured(self, loaded: LoadedSystem, until: str = "") -> StoredRun:
        # What is kept for it says `application`.
        assert until in ("app-ready", "application")
        config = self.on(loaded.system.kernel.config)
        off = [name for name, value in config.items() if value == "n" and name not in SMALLER]
        self.booted.append(off)
        if self.links in off:
            log = self.root / "log.txt"
            log.write_text(f"x.c: undefined reference to `{self.links.lower()}_init'\n")
            raise self.failure or StepError("kernel: make failed", str(log))
        broken = next((self.breaks[name] for name in off if name in self.breaks), "")
        there = [name for name in CODE if config[name] == "y"]
        linked = "".join(
            f"{BASE + n * SIZE:x} 2000 .text {name.lower()}/core.o\n" for n, name in enumerate(there)
        )
        symbols = "".join(f"{BASE + n * SIZE:08x} T {name.lower()}_init\n" for n, name in enumerate(there))
        ran = [
            (BASE + n * SIZE, 1, 10, (CODE[name][1][0], CODE[name][1][1], 0), CODE[name][1][2])
            for n, name in enumerate(there)
        ]
        busy = [(0x400100, 100, 20, (0, 0, self.frames), 1 if broken == "slow" else 10)]
        run_id = keep(
            self.store,
            boot(init_ms=10 + len(there) + 50 * (config["SLOW"] == "y")).records,
            loaded.system,
            ended=broken if broken in ("panic", "timeout", "died", "interrupted") else "milestone",
            frame=b"other" if broken == "paints" else b"same",
            configs={**CONFIGS, "kernel": config},
            objects={objects.KERNEL_OBJECTS: linked.encode(), objects.KERNEL_SYMBOLS: symbols.encode()},
            size_bytes=1000 + 100 * len(there) + 9000 * (broken == "grows"),
            usage=usage_file([*busy, *ran]),
        )
        return self.store.load(run_id)


def loaded() -> LoadedSystem:
    """The reference system, whose kernel asks for one of these symbols and one that there is not."""
    base = stock()
    kernel = msgspec.structs.replace(base.system.kernel, config={"TIMERS": True, "LONG_GONE": False})
    return LoadedSystem(msgspec.structs.replace(base.system, kernel=kernel), base.path)


def trimming(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    breaks: Mapping[str, str] | None = None,
    links: str = "",
    bench: Bench | None = None,
    **goal: Any,
) -> tuple[Trim, Bench, list[str]]:
    """A trimming of the kernel that has not begun, its bench, and where it tells what it does."""
    tree(root / "tree")
    made = bench or Bench(root, breaks, links)
    told: list[str] = []
    return begun(made, loaded(), Goal(only=("kernel",), **goal), told.append), made, told  # type: ignore[arg-type]
