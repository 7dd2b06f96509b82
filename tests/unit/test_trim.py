# SPDX-License-Identifier: Apache-2.0
"""Trimming on a bench that only pretends to build and boot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bootscope.core.errors import LostClusterError, SpaceError, ToolError, UserError
from bootscope.trim.search import Trim

from .lab_scenes import keep
from .trim_scenes import trimming


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """made(breaks, links, **goal) -> (Trim, Bench, what it told)."""
    return lambda *given, **goal: trimming(tmp_path, monkeypatch, *given, **goal)


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
    assert sum(group.attempts for group in trim.groups) == trim.state.attempts


def test_what_breaks_something_stays_with_the_reason(made: Any) -> None:
    trim, bench, _ = made({"PINS": "panic", "FS": "paints", "SWAP": "slow"})
    trim.run()
    assert not off(trim) & {"PINS", "FS", "SWAP"}
    assert off(trim) >= {"USB", "SOUND", "IIO", "NET"}
    stays = trim.trees["kernel"].stays
    assert stays["PINS"].reason == "the kernel panicked" or "panic" in stays["PINS"].reason
    assert stays["FS"].reason == "the picture on the screen differs"
    assert stays["SWAP"].reason == "the application does 10 % of its former work in the same time"
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


def test_what_ran_for_the_application_alone_is_not_tried(made: Any) -> None:
    trim, bench, _ = made()
    trim.run()
    reason = "own/core.o ran almost only for the application"
    assert trim.trees["kernel"].stays["OWN"].reason == reason
    assert not any("OWN" in booted for booted in bench.booted)


def test_symbols_can_be_kept(made: Any) -> None:
    trim, _, _ = made(keep=("USB",))
    trim.run()
    assert trim.trees["kernel"].config["USB"] == "y"
    assert trim.trees["kernel"].stays["USB"].reason == "requested"
    with pytest.raises(UserError, match="unknown symbol 'USBB'"):
        made(keep=("USBB",))


def test_sure_takes_only_what_never_ran(made: Any) -> None:
    trim, bench, _ = made(sure=True)
    trim.run()
    assert off(trim) == {"USB"}
    assert len(bench.booted) == 2


def test_bare_takes_the_safety_net_too(made: Any) -> None:
    trim, _, _ = made(bare=True)
    trim.run()
    assert "BUG" in off(trim)


def test_quiet_comes_after_the_first_pass(made: Any) -> None:
    trim, _, _ = made(quiet=True)
    trim.run()
    assert trim.state.system().kernel.command_line.endswith(" quiet")
    titles = [group.title for group in trim.groups]
    at = titles.index("messages on the console: quiet")
    # What is gone through once more at the end was gone through before.
    assert titles[0] in titles[1:at] + titles[at + 1 :]
    assert at > titles.index("no code of their own")


def test_it_stops_when_the_time_is_over_and_says_how_to_go_on(made: Any) -> None:
    trim, bench, _ = made(budget_s=-1)
    trim.run()
    assert trim.ended.startswith("the time limit is reached")
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
    from bootscope.trim import trial

    def say(view: Any) -> list[str]:
        there = view.run.info.system.settings.get("kernel.config.NET") != "False"
        return ["Starting network: OK" if there else "Starting network: FAIL"]

    monkeypatch.setattr(trial, "programs_say", say)
    trim, _, _ = made(services=True)
    trim.run()
    stays = trim.trees["kernel"].stays
    assert stays["NET"].reason == "init's programs print something else: Starting network: FAIL"
    other, _, _ = made()
    other.run()
    assert "NET" in off(other)


def test_a_system_that_does_not_boot_is_the_users_to_mend(made: Any) -> None:
    _, bench, _ = made()
    bench.measured = lambda given, until="": bench.store.load(keep(bench.store, ended="hang"))
    with pytest.raises(UserError, match="itself does not boot"):
        made(bench=bench)


@pytest.mark.parametrize(
    "failure",
    [SpaceError("no space left"), LostClusterError("no scheduler"), ToolError("kernel: gcc: Killed")],
    ids=lambda error: type(error).__name__,
)
def test_a_build_that_failed_for_a_passing_reason_is_not_remembered(made: Any, failure: ToolError) -> None:
    trim, bench, _ = made(links="IIO")
    bench.failure = failure
    with pytest.raises(type(failure), match=failure.message):
        trim.run()
    again, _, _ = made(bench=bench)
    bench.links = ""
    again.run()
    assert "IIO" in off(again)


@pytest.mark.parametrize(
    ("ended", "said"),
    [("timeout", "took too long"), ("died", "was cut short"), ("interrupted", "was cut short")],
)
def test_a_boot_that_the_host_ended_decides_nothing(made: Any, ended: str, said: str) -> None:
    trim, bench, _ = made({"PINS": ended})
    with pytest.raises(ToolError, match=said):
        trim.run()
    # It is found out again, and not remembered as what PINS does.
    again, _, _ = made(bench=bench)
    bench.breaks = {}
    again.run()
    assert "PINS" in off(again)


def test_code_is_made_smaller_where_the_boot_gets_no_longer(made: Any) -> None:
    trim, _, told = made()
    trim.state.smaller = {"kernel": ("SIZE", "SLOW", "NOWHERE", "REFUSED")}
    trim.run()
    kernel = trim.trees["kernel"]
    assert kernel.off["SIZE"] is True
    assert kernel.config["SIZE"] == "y"
    assert "SLOW" not in kernel.off
    assert kernel.stays["SLOW"].reason == "off: the boot gets longer"
    assert "  REFUSED: its dependencies are not met" in told
    assert "compiled for size" in [group.title for group in trim.groups]
    sure, _, _ = made(sure=True)
    sure.run()
    assert "SIZE" not in sure.trees["kernel"].off


def test_what_makes_the_image_larger_by_being_off_stays(made: Any) -> None:
    trim, bench, _ = made({"ODD": "grows"})
    trim.run()
    stays = trim.trees["kernel"].stays
    assert "makes the image larger, by " in stays["ODD"].reason
    assert stays["TESTS_DISABLED"].reason == "it removes code when it is on"
    assert not any("TESTS_DISABLED" in booted for booted in bench.booted)
    assert trim.trees["kernel"].config["ODD"] == "y"
