# SPDX-License-Identifier: Apache-2.0
"""The search for a shorter boot, on a bench that only pretends to build and boot."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootscope.capture.store import Store, StoredRun
from bootscope.errors import ToolError, UserError
from bootscope.lab import audit as audit_module
from bootscope.lab import optimize
from bootscope.lab.optimize import Goal, Search
from bootscope.system.changes import Change
from bootscope.system.load import LoadedSystem
from bootscope.techniques.model import Status, Technique, Way

from .lab_scenes import CONFIGS, boot, keep, stock

INIT_MS = 50


def made_up(name: str, phase: str = "kernel", *ways: str, **fields: object) -> Technique:
    """A technique whose ways set the symbol that is called as it is."""
    given = {way: Way(change=Change(kernel={name.upper(): way})) for way in ways or ("on",)}
    words = {"title": name, "what": "what", "detect": "detect", "apply": "apply"}
    made = {"schema": 1, "id": name, "phase": phase, "status": Status.RUNS, "ways": given, **words, **fields}
    return Technique(**made)  # type: ignore[arg-type]


class Bench:
    """Boots at once: each symbol shortens init by the milliseconds that `worth` says."""

    def __init__(self, store: Store, worth: dict[tuple[str, str], int]) -> None:
        self.store, self.worth = store, worth
        self.booted: list[dict[str, object]] = []

    def measured(self, loaded: LoadedSystem) -> StoredRun:
        symbols = {n: v for n, v in loaded.system.kernel.config.items() if (n, str(v)) in self.worth}
        self.booted.append(symbols)
        if symbols.get("BROKEN"):
            raise ToolError("the kernel did not build")
        saved = sum(self.worth[name, str(value)] for name, value in symbols.items())
        records = boot(init_ms=INIT_MS - saved).records
        kernel = {**CONFIGS["kernel"], **{n: f'"{v}"' for n, v in symbols.items()}}
        ended = "panic" if symbols.get("PANICS") else "milestone"
        frame = b"other" if symbols.get("PAINTS") else b"same"
        configs = {**CONFIGS, "kernel": kernel}
        run_id = keep(self.store, records, loaded.system, ended=ended, frame=frame, configs=configs)
        return self.store.load(run_id)


WORTH = {
    ("GOOD", "on"): 10, ("BETTER", "on"): 20, ("BAD", "on"): -5, ("BROKEN", "on"): 30, ("PANICS", "on"): 30,
    ("PAINTS", "on"): 30, ("QUIET", "on"): 5, ("MANY", "fast"): 7, ("MANY", "small"): 3, ("APP", "on"): 1,
}  # fmt: skip


def search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *found: Technique, goal: Goal | None = None
) -> Search:
    catalogue = {t.id: t for t in found}
    monkeypatch.setattr(audit_module, "techniques", lambda: catalogue)
    monkeypatch.setattr(optimize, "techniques", lambda: catalogue)
    bench = Bench(Store(tmp_path / "store"), WORTH)
    return Search(bench, stock(), goal or Goal(), lambda text: None)  # type: ignore[arg-type]


def accepted(made: Search) -> list[str]:
    return [spec for spec, _ in made.accepted.values()]


def test_what_helps_stays_and_the_rest_is_refused_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("good", "better", "bad", "broken", "panics", "paints")
    made = search(tmp_path, monkeypatch, *(made_up(name) for name in names))
    last = made.run()
    assert sorted(accepted(made)) == ["better", "good"]
    refused = {e.technique: e.refusal for e in made.experiments if not e.accepted}
    assert refused == {
        "bad": "it saves nothing",
        "broken": "the kernel did not build",
        "panics": refused["panics"],
        "paints": "the picture on the screen is another one",
    }
    assert refused["panics"]
    assert made.ended == "nothing is left to try"
    assert last.info.system.settings["kernel.config.GOOD"] == "on"
    assert "kernel.config.BAD" not in last.info.system.settings


def test_groups_come_in_their_order_and_measuring_goes_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = search(
        tmp_path,
        monkeypatch,
        made_up("quiet", "application", loses=("measuring",)),
        made_up("good", "bootloader"),
        made_up("better", "kernel"),
        made_up("app", "application"),
    )
    made.run()
    assert accepted(made) == ["app", "better", "good", "quiet"]


def test_a_better_way_takes_the_place_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = search(tmp_path, monkeypatch, made_up("many", "kernel", "small", "fast"))
    made.run()
    assert accepted(made) == ["many=fast"]
    assert [e.accepted for e in made.experiments] == [True, True]


def test_abilities_to_keep_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = search(
        tmp_path,
        monkeypatch,
        made_up("quiet", loses=("measuring", "console")),
        made_up("good"),
        goal=Goal(keep=("console",)),
    )
    made.run()
    assert accepted(made) == ["good"]
    assert [e.technique for e in made.experiments] == ["good"]


def test_what_excludes_an_accepted_one_is_not_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = search(tmp_path, monkeypatch, made_up("good"), made_up("better", conflicts=("good",)))
    made.run()
    assert len(made.experiments) == 1


def test_it_stops_at_the_goal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = search(tmp_path, monkeypatch, made_up("good"), made_up("better"), goal=Goal(total_ns=10**12))
    made.run()
    assert (made.ended, made.experiments) == ("the goal is reached", [])


def test_it_stops_when_the_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = search(tmp_path, monkeypatch, made_up("good"), goal=Goal(budget_s=-1))
    made.run()
    assert (made.ended, made.experiments) == ("the time allowed is over", [])


def test_a_base_that_does_not_boot_is_the_users_to_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = search(tmp_path, monkeypatch, made_up("good"))
    bench = made.bench
    monkeypatch.setattr(bench, "measured", lambda loaded: bench.store.load(keep(bench.store, ended="hang")))
    with pytest.raises(UserError, match="itself does not boot"):
        made.run()


def test_ablation_takes_one_away_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = search(tmp_path, monkeypatch, made_up("good"), made_up("better"))
    made.run()
    assert {spec: found.saving_ns for spec, found in made.ablation()} == {
        "good": 10_000_000,
        "better": 20_000_000,
    }
