# SPDX-License-Identifier: Apache-2.0
"""How a search ends: the goal, the time, and systems that do not boot, answer or build."""

from __future__ import annotations

import msgspec
import pytest

from bootscope.capture.stored import StoredRun
from bootscope.core.errors import SpaceError, ToolError, UserError
from bootscope.search.experiment import Goal
from bootscope.search.journal import SavedFinding
from bootscope.system.load import LoadedSystem

from .finished_search import ran, refusals
from .lab_scenes import keep
from .search_scenes import FakeBench, Make, made_up

MS = 1_000_000
GOOD, BETTER = "GOOD=on", "BETTER=on"


def test_it_stops_at_the_goal(scene: Make) -> None:
    made = scene(made_up("good"), made_up("better")).search({GOOD: 1, BETTER: 1}, Goal(total_ns=10**12))
    made.run()
    assert (made.ended, made.experiments) == ("the goal is reached", [])


def test_it_stops_when_the_time_is_over(scene: Make) -> None:
    made = scene(made_up("good")).search({GOOD: 1}, Goal(budget_s=-1))
    made.run()
    assert (made.ended, made.experiments) == ("the time allowed is over", [])


def test_a_base_that_does_not_boot_is_the_users_to_mend(scene: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made = scene(made_up("good")).search({GOOD: 1})

    def boot(self: FakeBench, _order: object) -> StoredRun:
        return self.store.load(keep(self.store, ended="hang"))

    monkeypatch.setattr(FakeBench, "boot", boot)
    with pytest.raises(UserError, match="itself does not boot: ended by hang"):
        made.run()


def test_what_must_answer_is_asked_of_every_system(scene: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(bench: FakeBench, loaded: LoadedSystem) -> tuple[str, ...]:
        return ("network does not answer",) if "BETTER=on" in bench.symbols(loaded) else ()

    monkeypatch.setattr(FakeBench, "unanswered", silent)
    here = scene(made_up("good"), made_up("better"))
    made = here.search({GOOD: 1, BETTER: 2})
    assert ran(made) == ["good"]
    assert refusals(made) == {"better": "network does not answer"}
    # Also by a program that reckons anew what it finds.
    monkeypatch.setattr("bootscope.search.journal.tree_id", lambda _root: "another program")
    again = here.again()
    assert ran(again) == ["good"]
    assert refusals(again) == refusals(made)


def test_a_base_that_does_not_answer_is_the_users_to_mend(
    scene: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeBench, "unanswered", lambda *_: ("network does not answer",))
    with pytest.raises(UserError, match="itself does not work: network does not answer"):
        scene(made_up("good")).search({GOOD: 1}).run()


@pytest.mark.parametrize("error", [ToolError("gcc is missing"), SpaceError("no space left")])
def test_a_base_that_cannot_be_built_is_an_error(
    scene: Make, error: ToolError, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = scene(made_up("good")).search({GOOD: 1})

    def order(_self: object, _loaded: object) -> None:
        raise error

    monkeypatch.setattr(FakeBench, "order", order)
    with pytest.raises(ToolError, match=error.message):
        made.run()


def test_a_full_disk_ends_the_search_and_a_missing_tool_does_not(
    scene: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = scene(made_up("good"), made_up("better"))
    made = here.search({GOOD: 1, BETTER: 1})
    build = FakeBench.order
    errors = {GOOD: ToolError("lzop is missing"), BETTER: SpaceError("no space left")}

    def order(self: FakeBench, loaded: object) -> object:
        for symbol in self.symbols(loaded):  # type: ignore[arg-type]
            raise errors[symbol]
        return build(self, loaded)  # type: ignore[arg-type]

    monkeypatch.setattr(FakeBench, "order", order)
    with pytest.raises(SpaceError):
        made.run()
    errors[BETTER] = ToolError("gone too")
    again = here.again()
    again.run()
    assert refusals(again) == {"better": "gone too", "good": "lzop is missing"}
    # Neither is remembered: it may be mended by the next time.
    errors.clear()
    assert len(again.bench.scheduler.journal._outcomes) == 1


def test_a_finding_in_a_journal_names_its_recipe_as_it_always_did() -> None:
    line = b'{"technique":"a","way":"on","saving_ns":1,"evidence":"","assumptions":[],"change":{}}'
    found = msgspec.json.decode(line, type=SavedFinding)
    assert found.recipe == "on"
    assert b'"way":"on"' in msgspec.json.encode(found)
