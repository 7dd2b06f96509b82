# SPDX-License-Identifier: Apache-2.0
"""A bisection over differences: what is tried and written down, several at once, what is found and told."""

from __future__ import annotations

import contextlib
import io
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pytest
from rich.console import Console

from bootscope.core.errors import BoardError, UserError
from bootscope.regression.differences import DifferenceSession
from bootscope.regression.inputs import Inputs
from bootscope.regression.journal import BROKEN, MEASURED, UNBUILT, Journal, Tried
from bootscope.regression.question import Question
from bootscope.regression.units import Chosen
from bootscope.report import bisected_differences as text
from bootscope.system.load import LoadedSystem, load_system

MS = 1_000_000
BASE_NS = 9_000 * MS
Cost = Callable[[set[str]], int | str]


@dataclass(frozen=True)
class Switches(Inputs):
    """Sixty-four switches called s00 to s63; a combination is told by those that are on."""

    option: ClassVar[str] = "--switches"
    noun: ClassVar[tuple[str, str]] = ("switch", "switches")
    views: ClassVar[tuple[str, ...]] = ("functions",)
    needed: Mapping[str, list[str]] = field(default_factory=dict)
    open_now: list[set[str]] = field(default_factory=list)

    @property
    def key(self) -> str:
        return "switches"

    @property
    def differing(self) -> Mapping[str, str]:
        return {f"s{n:02}": "off -> on" for n in range(64)}

    def needs(self) -> Mapping[str, list[str]]:
        return {name: self.needed.get(name, []) for name in self.differing}

    @contextlib.contextmanager
    def system(self, chosen: Chosen) -> Iterator[LoadedSystem]:
        self.open_now.append(self.names(chosen))
        yield self.loaded
        self.open_now.remove(self.names(chosen))


class Trier:
    """Says of a combination what `cost` says: ns more than the good one, or why there is no figure."""

    def __init__(self, cost: Cost, names: Callable[[str], set[str]], hands: int = 0) -> None:
        self.hands, self._cost, self._names = hands, cost, names
        self.ran: list[str] = []
        self.most_at_once = self._now = 0
        self._lock = threading.Condition()

    def silent(self) -> Trier:
        return self

    def run(self, key: str, name: str, make: Callable[[], LoadedSystem]) -> Tried:
        assert make().system.name == "debian"
        with self._lock:
            self.ran.append(key)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            if self.hands > 1 and name not in ("good", "bad"):
                # All that are run at a time are here before one of them ends.
                self._lock.notify_all()
                self._lock.wait_for(lambda: self.most_at_once >= 2, timeout=60)
        found = self._cost(self._names(key))
        with self._lock:
            self._now -= 1
        if isinstance(found, str):
            state, _, why = found.partition(" ")
            if state == "host":
                raise BoardError(why)
            return Tried(key=key, state={"breaks": BROKEN, "unbuilt": UNBUILT}[state], why=why)
        return Tried(key=key, state=MEASURED, ns=BASE_NS + found, run_id=f"run-{key}")


@dataclass
class Lab:
    """A session over the switches, with all that it leaves."""

    folder: Path
    cost: Cost
    by_ns: int | None = None
    every: bool = False
    hands: int = 0
    needed: Mapping[str, list[str]] = field(default_factory=dict)

    def session(self, resume: bool = False) -> DifferenceSession:
        loaded = load_system("debian")
        inputs = Switches(loaded, "good.txt", "bad.txt", self.needed)
        question = Question(loaded, "init", "", self.by_ns, self.every)
        journal = Journal(self.folder, "debian", [inputs.key])
        trier = Trier(self.cost, lambda key: keys[key], self.hands)
        tried = journal.read() if resume else {}
        session = DifferenceSession(question, inputs, trier, journal, self.says.append, dict(tried))
        keys = _Keys(session)
        return session

    says: list[str] = field(default_factory=list)


class _Keys:
    """Which switches are on in the combination with a key, as the inputs have seen them."""

    def __init__(self, session: DifferenceSession) -> None:
        self._session = session

    def __getitem__(self, key: str) -> set[str]:
        inputs, session = self._session.inputs, self._session
        assert isinstance(inputs, Switches)
        units = inputs.units
        for names in list(inputs.open_now):
            chosen = frozenset(n for n in range(len(units)) if inputs.names(frozenset({n})) <= names)
            if session.key(chosen) == key:
                return names
        raise AssertionError(f"{key} was tried outside of its system's context")


def ran(session: DifferenceSession) -> list[str]:
    assert isinstance(session.trials, Trier)
    return session.trials.ran


def shown(session: DifferenceSession, found: list[text.Shown]) -> str:
    out = io.StringIO()
    text.bisected(Console(file=out, width=200), session, found)
    return out.getvalue()


def test_the_culprit_is_found_written_down_and_told(tmp_path: Path) -> None:
    lab = Lab(tmp_path, lambda on: 5 * MS * ("s41" in on) + 300_000 * ("s07" in on))
    session = lab.session()
    (culprit,) = session.run()
    assert [unit.words for unit in culprit.units] == ["s41: off -> on"]
    assert (culprit.ns, culprit.company, culprit.needs, culprit.sure) == (5 * MS, (), (), True)
    assert len(ran(session)) == len(set(ran(session))) <= 10
    assert lab.says[0] == "good: 9.000000 s; built in 0 s"
    printed = shown(session, [text.Shown(culprit, None)])
    assert "s41: off -> on costs +5.0 ms at init: 9.000000 s before, 9.005000 s after" in printed
    assert "of +5.3 ms between good and bad" in printed
    assert f"64 switches differ: {len(ran(session))} built" in printed
    document = text.document(session, [text.Shown(culprit, None)])
    assert (document["differences"], document["whole_ns"]) == (64, 5_300_000)
    pasted = text.markdown(session, [text.Shown(culprit, None)], "bootscope bisect debian")
    assert "s41" in pasted.splitlines()[0] and "    bootscope bisect debian" in pasted
    # All is in the journal: the same, and another question, try what is new only.
    again = lab.session(resume=True)
    assert again.run() == [culprit]
    assert ran(again) == []
    other = Lab(tmp_path, lab.cost, by_ns=100_000, every=True).session(resume=True)
    assert {c.units[0].name for c in other.run()} == {"s07", "s41"}
    assert ran(other) and not set(ran(other)) & set(ran(session))
    assert "ahead" not in text.work(other)


def test_two_that_cost_together_and_what_they_need_are_told(tmp_path: Path) -> None:
    needed = {"s50": ["s40"], "s40": ["s30"]}
    lab = Lab(tmp_path, lambda on: 5 * MS * ({"s10", "s50"} <= on), needed=needed)
    session = lab.session()
    (culprit,) = session.run()
    assert [[u.name for u in units] for units in (culprit.units, culprit.company, culprit.needs)] == [
        ["s50"], ["s10"], ["s30", "s40"],
    ]  # fmt: skip
    printed = shown(session, [text.Shown(culprit, None, ("CONFIG_X: n -> y",))])
    lines = [line.strip() for line in printed.splitlines()]
    assert lines[lines.index("only together with:") + 1] == "s10: off -> on"
    assert lines[lines.index("needed for it, in both boots:") + 1] == "s30: off -> on"
    assert lines[lines.index("and what follows from it:") + 1] == "CONFIG_X: n -> y"


def test_many_that_cost_little_are_said_to_be_many(tmp_path: Path) -> None:
    session = Lab(tmp_path, lambda on: 100_000 * len(on), by_ns=MS).session()
    (culprit,) = session.run()
    assert (culprit.ns, culprit.sure) == (100_000, True)
    assert "less than 1.0 ms: several cost the rest" in shown(session, [text.Shown(culprit, None)])


def test_what_does_not_build_is_skipped_and_what_stays_is_told(tmp_path: Path) -> None:
    def cost(on: set[str]) -> int | str:
        if 0 < len(on & {"s20", "s21"}) < 2:
            return "unbuilt no rule to make target"
        return 5 * MS * ("s21" in on)

    lab = Lab(tmp_path, cost)
    session = lab.session()
    (culprit,) = session.run()
    assert [unit.name for unit in culprit.units] == ["s20", "s21"]
    assert "does not build, skipped: no rule to make target" in "\n".join(lab.says)
    printed = shown(session, [text.Shown(culprit, None)])
    assert "one of 2 switches (such as s20: off -> on) costs +5.0 ms" in printed
    assert "it may be one or several of these" in printed


def test_a_switch_that_breaks_the_boot_is_found(tmp_path: Path) -> None:
    session = Lab(tmp_path, lambda on: "breaks kernel panic" if "s33" in on else 0).session()
    (culprit,) = session.run()
    assert ([unit.name for unit in culprit.units], culprit.ns) == (["s33"], None)
    assert "s33: off -> on breaks the boot: kernel panic" in shown(session, [text.Shown(culprit, None)])


@pytest.mark.parametrize(
    ("cost", "by_ns", "said"),
    [
        (lambda on: 0, None, "not slower by"),
        (lambda on: -MS * len(on), None, "not slower by"),
        (lambda on: MS * ("s01" in on), 2 * MS, "not slower by"),
        (lambda on: "breaks hang" if not on else 0, None, "--switches good.txt does not boot: hang"),
        (lambda on: "unbuilt error" if not on else 0, None, "--switches good.txt does not build: error"),
        (lambda on: "unbuilt error" if on else 0, None, "--switches bad.txt does not build: error"),
    ],
)
def test_ends_that_do_not_differ_as_asked_are_refused(
    tmp_path: Path, cost: Cost, by_ns: int | None, said: str
) -> None:
    session = Lab(tmp_path, cost, by_ns).session()
    with pytest.raises(UserError, match=said):
        session.run()
    assert len(ran(session)) == 2


def test_a_fault_of_this_computer_ends_it_and_it_goes_on_from_there(tmp_path: Path) -> None:
    def slow(on: set[str]) -> int:
        return 5 * MS * ("s41" in on)

    session = Lab(tmp_path, lambda on: slow(on) if len(on) in (0, 64) else "host no room").session()
    with pytest.raises(BoardError, match="no room"):
        session.run()
    before = Journal(tmp_path, "debian", ["switches"]).read()
    assert set(before) == {session.key(frozenset()), session.key(session.inputs.units.all)}
    resumed = Lab(tmp_path, slow).session(resume=True)
    assert resumed.run()[0].units[0].name == "s41"
    assert not set(ran(resumed)) & set(before)


@pytest.mark.parametrize("hands", [2, 4])
def test_several_at_once_find_the_same_and_what_was_in_vain_is_told(tmp_path: Path, hands: int) -> None:
    def cost(on: set[str]) -> int:
        return 5 * MS * ({"s10", "s50"} <= on)

    alone = Lab(made(tmp_path / "one"), cost).session()
    several = Lab(made(tmp_path / "more"), cost, hands=hands).session()
    assert [c.units for c in several.run()] == [c.units for c in alone.run()]
    assert isinstance(several.trials, Trier)
    assert 2 <= several.trials.most_at_once <= hands
    assert set(ran(alone)) <= set(ran(several))
    vain = len(set(ran(several)) - set(ran(alone)))
    assert (f"; {vain} of them started early and not needed" in shown(several, [])) == (vain > 0)


def test_a_fault_in_what_was_tried_ahead_is_none_of_the_search(tmp_path: Path) -> None:
    def cost(on: set[str]) -> int:
        return 5 * MS * ("s41" in on)

    asked: list[set[str]] = []

    def noted(on: set[str]) -> int:
        asked.append(set(on))
        return cost(on)

    alone = Lab(made(tmp_path / "one"), noted).session().run()
    lab = Lab(made(tmp_path / "more"), lambda on: cost(on) if on in asked else "host no room", hands=4)
    assert [c.units for c in lab.session().run()] == [c.units for c in alone]


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder
