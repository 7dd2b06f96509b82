# SPDX-License-Identifier: Apache-2.0
"""Trimming on a bench that only pretends to build and boot: a kernel of a dozen symbols."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bootscope.build.kconfig import written
from bootscope.capture import objects
from bootscope.capture.store import Store, StoredRun
from bootscope.errors import ToolError, UserError
from bootscope.lab import trim as trim_module
from bootscope.lab.trim import Goal, Trim
from bootscope.system.load import LoadedSystem
from bootscope.system.model import Symbols

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
    "FS": ("", (5, 5, 5)),
    "BUG": ("", (0, 0, 0)),
    "SWAP": ("", (5, 5, 1)),
}
OPTIONS = ("QUICK", "ODD")
BASE = 0xC0100000


def tree(path: Path) -> Path:
    """A source tree: a symbol for each object file, and options that are for none."""
    path.mkdir()
    blocks = [
        f'config {name}\n\tbool "{name}"\n' + (f"\tselect {selected}\n" if selected else "")
        for name, (selected, _) in CODE.items()
    ] + [f'config {name}\n\tbool "{name}"\n' for name in OPTIONS]
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

    def on(self, symbols: Symbols) -> dict[str, str]:
        config = {name: written(symbols.get(name, True)) for name in (*CODE, *OPTIONS)}
        for name, (selected, _) in CODE.items():
            if selected and config[name] == "y":
                config[selected] = "y"
        return config

    def device_tree(self, loaded: LoadedSystem) -> bytes:
        return b""

    def measured(self, loaded: LoadedSystem, until: str = "") -> StoredRun:
        # What is kept for it says `application`.
        assert until in ("app-ready", "application")
        config = self.on(loaded.system.kernel.config)
        off = [name for name, value in config.items() if value == "n"]
        self.booted.append(off)
        if self.links in off:
            log = self.root / "log.txt"
            log.write_text(f"x.c: undefined reference to `{self.links.lower()}_init'\n")
            raise ToolError("kernel: make failed", hint=f"full log: {log}")
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
            boot(init_ms=10 + len(there)).records,
            loaded.system,
            ended="panic" if broken == "panic" else "milestone",
            frame=b"other" if broken == "paints" else b"same",
            configs={**CONFIGS, "kernel": config},
            objects={objects.KERNEL_OBJECTS: linked.encode(), objects.KERNEL_SYMBOLS: symbols.encode()},
            size_bytes=1000 + 100 * len(there),
            usage=usage_file([*busy, *ran]),
        )
        return self.store.load(run_id)


def loaded() -> LoadedSystem:
    """The reference system, whose kernel asks for one of these symbols and one that there is not."""
    base = stock()
    kernel = msgspec.structs.replace(base.system.kernel, config={"TIMERS": True, "LONG_GONE": False})
    return LoadedSystem(msgspec.structs.replace(base.system, kernel=kernel), base.path)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """trimming(breaks, links, **goal) -> (Trim, Bench, what it told)."""
    source = tree(tmp_path / "tree")

    def trimming(
        breaks: Mapping[str, str] | None = None, links: str = "", bench: Bench | None = None, **goal: Any
    ) -> tuple[Trim, Bench, list[str]]:
        bench = bench or Bench(tmp_path, breaks, links)
        monkeypatch.setattr(trim_module, "source_tree", lambda *_: source)
        monkeypatch.setattr(trim_module, "configured", lambda given, *_: bench.on(given.system.kernel.config))
        told: list[str] = []
        found = Trim(bench, loaded(), Goal(only=("kernel",), **goal), told.append)  # type: ignore[arg-type]
        return found, bench, told

    return trimming


def off(trim: Trim) -> set[str]:
    return {name for name, value in trim.trees["kernel"].off.items() if value is False}


def test_everything_that_is_not_needed_goes(made: Any) -> None:
    trim, _, told = made()
    trim.run()
    assert off(trim) >= {"USB", "SOUND", "IIO", "PINS", "NET", "FS", "SWAP", "QUICK", "ODD"}
    assert trim.trees["kernel"].config["TIMERS"] == "y"
    assert trim.ended == "nothing is left to try"
    stays = trim.trees["kernel"].stays
    assert stays["TIMERS"].reason == "TIMERS needs it (the system asks for that)"
    assert stays["BUG"].reason.startswith("for errors")
    assert "kernel: LONG_GONE does not exist in this version of the sources" in told
    assert trim.groups[0].bytes_before > trim.groups[-1].bytes_after
    assert sum(group.attempts for group in trim.groups) == trim.attempts


def test_what_breaks_something_stays_with_the_reason(made: Any) -> None:
    trim, bench, _ = made({"PINS": "panic", "FS": "paints", "SWAP": "slow"})
    trim.run()
    assert not off(trim) & {"PINS", "FS", "SWAP"}
    assert off(trim) >= {"USB", "SOUND", "IIO", "NET"}
    stays = trim.trees["kernel"].stays
    assert stays["PINS"].reason == "the kernel panicked" or "panic" in stays["PINS"].reason
    assert stays["FS"].reason == "the picture on the screen is another one"
    assert stays["SWAP"].reason == "the application does 10 % of what it did in the same time"
    assert len(bench.booted) == len({tuple(b) for b in bench.booted})


def test_a_build_that_names_its_culprit_is_believed(made: Any) -> None:
    trim, bench, _ = made(links="IIO")
    trim.run()
    assert "undefined reference to `iio_init'" in trim.trees["kernel"].stays["IIO"].reason
    assert [b for b in bench.booted if "IIO" in b] == [b for b in bench.booted[:2] if "IIO" in b]


def test_what_is_selected_goes_with_its_holder_or_stays(made: Any) -> None:
    trim, _, _ = made({"NET": "panic"})
    trim.run()
    config = trim.trees["kernel"].config
    assert (config["NET"], config["CRC"]) == ("y", "y")


def test_symbols_can_be_kept(made: Any) -> None:
    trim, _, _ = made(keep=("USB",))
    trim.run()
    assert trim.trees["kernel"].config["USB"] == "y"
    assert trim.trees["kernel"].stays["USB"].reason == "it was asked for"
    with pytest.raises(UserError, match="unknown symbol 'USBB'"):
        made(keep=("USBB",))[0].run()


def test_sure_takes_only_what_never_ran(made: Any) -> None:
    trim, bench, _ = made(sure=True)
    trim.run()
    assert off(trim) == {"USB"}
    assert len(bench.booted) == 2


def test_bare_takes_the_safety_net_too(made: Any) -> None:
    trim, _, _ = made(bare=True)
    trim.run()
    assert "BUG" in off(trim)


def test_quiet_comes_last(made: Any) -> None:
    trim, _, _ = made(quiet=True)
    trim.run()
    assert trim.system().kernel.command_line.endswith(" quiet")
    assert trim.groups[-1].title.endswith("quiet")


def test_it_stops_when_the_time_is_over_and_says_how_to_go_on(made: Any) -> None:
    trim, bench, _ = made(budget_s=-1)
    trim.run()
    assert trim.ended.startswith("the time allowed is over")
    assert len(bench.booted) == 1
    assert off(trim) == set()


def test_failed_builds_are_remembered(made: Any, tmp_path: Path) -> None:
    trim, bench, _ = made({"PINS": "panic"}, links="IIO")
    trim.run()
    again, _, _ = made(bench=bench)
    before = len(bench.booted)
    again.run()
    new = bench.booted[before:]
    assert not any("IIO" in booted or "PINS" in booted for booted in new)
    assert off(again) == off(trim)
    assert again.trees["kernel"].stays["IIO"].reason == trim.trees["kernel"].stays["IIO"].reason


def test_services_must_go_on_when_they_are_to(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from bootscope.lab import trim_trial

    def say(view: Any) -> list[str]:
        there = view.run.info.system.settings.get("kernel.config.NET") != "False"
        return ["Starting network: OK" if there else "Starting network: FAIL"]

    monkeypatch.setattr(trim_trial, "programs_say", say)
    trim, _, _ = made(services=True)
    trim.run()
    stays = trim.trees["kernel"].stays
    assert stays["NET"].reason == "init's programs say something else: Starting network: FAIL"
    other, _, _ = made()
    other.run()
    assert "NET" in off(other)


def test_a_system_that_does_not_boot_is_the_users_to_mend(made: Any) -> None:
    trim, bench, _ = made()
    bench.measured = lambda given, until="": bench.store.load(keep(bench.store, ended="hang"))
    with pytest.raises(UserError, match="itself does not boot"):
        trim.run()
