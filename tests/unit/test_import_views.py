# SPDX-License-Identifier: Apache-2.0
"""Views of imported runs, and imports that are damaged."""

from __future__ import annotations

import pytest

from bootscope.capture.store import Store
from bootscope.importing.files import Understood
from bootscope.timeline.trace import Span, Stack, Trace, Track

from .conftest import Command, Give
from .test_import_cli import document, refused

pytestmark = pytest.mark.usefixtures("formats")


def test_a_damaged_import_is_listed_and_can_be_removed(main_here: Command, give: Give, store: Store) -> None:
    give("a.log")
    for damage in ("import.json", "files/0001-a.log"):
        run_id = document(main_here("import", "a.log", "--json"))["run_id"]
        (store.runs / run_id / damage).write_text("{")
        assert document(main_here("list", "--json"))["runs"][0]["kind"] == "imported"
        refused(main_here("show", run_id))
        assert main_here("rm", run_id).returncode == 0


def test_an_import_of_a_newer_bootscope_is_refused(main_here: Command, give: Give, store: Store) -> None:
    give("a.log")
    run_id = document(main_here("import", "a.log", "--json"))["run_id"]
    path = store.runs / run_id / "import.json"
    path.write_bytes(path.read_bytes().replace(b'"schema": 1', b'"schema": 2'))
    refused(main_here("show"), "has schema 2, newer than this bootscope reads (1)")


def test_an_import_that_fails_to_be_kept_leaves_nothing(
    main_here: Command, give: Give, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    give("a.log")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "x")

    monkeypatch.setattr("bootscope.capture.imported.write_parts", full)
    assert main_here("import", "a.log").returncode == 3
    assert list(store.runs.iterdir()) == []


# ---- views of imported runs ----

SPANS = {
    "phases": ("phase", [("kernel", 0, 5), ("init", 5, 9)]),
    "calls": ("initcall", [("a_init", 1, 2), ("b_init", 3, 4), ("late_init", 6, 7)]),
}


@pytest.fixture
def initcalls(monkeypatch: pytest.MonkeyPatch, main_here: Command, give: Give) -> str:
    """An imported run whose logs tell of initcalls and of functions."""
    tracks = tuple(
        Track(name, kind, name, tuple(Span(a, b, n) for n, a, b in spans))
        for name, (kind, spans) in SPANS.items()
    )
    found = Trace("t", "clock", 9, tracks, stacks=(Stack(("a", "b"), 4),))
    give("a.log")
    run_id: str = document(main_here("import", "a.log", "--json"))["run_id"]
    monkeypatch.setattr(Understood, "trace", lambda *_, **__: found)
    return run_id


def test_a_view_names_the_boot_as_everything_else_does(main_here: Command, initcalls: str) -> None:
    found = document(main_here("show", "--view", "initcalls", "--json"))
    assert found["boot"] == f"{initcalls}/001"
    assert found["boot"] == document(main_here("export", "-o", "x.csv", "--json"))["boot"]


def test_json_of_a_view_is_cut_where_that_is_asked_for(main_here: Command, initcalls: str) -> None:
    def rows(*more: str) -> list[str]:
        (found,) = document(main_here("show", "--view", "initcalls", "--json", *more))["tables"]
        assert found["rows_total"] == 3
        return [row["what"] for row in found["rows"]]

    assert rows() == ["a_init", "b_init", "late_init"]
    assert rows("--top", "2") == ["a_init", "b_init"]


def test_a_phase_is_looked_up_before_anything_is_said_of_it(main_here: Command, initcalls: str) -> None:
    done = main_here("show", "--view", "initcalls", "--phase", "init")
    assert "late_init" in done.stdout
    assert "a_init" not in done.stdout
    refused(main_here("show", "--view", "initcalls", "--phase", "nonsense"), "unknown phase", "init, kernel")
    refused(main_here("show", "--view", "functions", "--phase", "init"), "in which phase a function ran")
