# SPDX-License-Identifier: Apache-2.0
"""The pages of the server: what they list, and that what comes from targets and files stays text."""

from __future__ import annotations

import re
import shutil
import threading

import pytest

from bootscope.capture.store import Store
from bootscope.serve import searches
from bootscope.serve.app import application
from bootscope.serve.figures import Figures, Known
from bootscope.serve.guard import Guard
from bootscope.serve.overview import state_of
from bootscope.serve.plot import plot, values
from bootscope.serve.rows import Wanted, chosen, row_of
from tests.fixtures.measured_runs import LINES, MS, Recorder, keep_run

from .served import ask

HOSTILE = "<img src=x onerror=alert(1)>\u202e\x1b[31m'\"&" + "A" * 3000


@pytest.fixture
def app(store: Store) -> Guard:
    return application(store, frozenset({"localhost"}), None)


def worked_out(store: Store) -> list[Known]:
    """All runs, once their figures are known."""
    figures = Figures(store)
    found = figures.all()
    while any(known.pending for known in found):
        found = figures.all()
    return found


def ids(store: Store, query: dict[str, str]) -> list[str]:
    return [row.run_id for row in chosen(map(row_of, worked_out(store)), Wanted.of(query))]


def test_an_empty_store_says_how_to_begin(app: Guard) -> None:
    assert "bootscope record debian" in ask(app, "/").text
    assert "No run" in ask(app, "/plot").text


def test_runs_are_found_filtered_and_sorted(store: Store) -> None:
    slow = keep_run(store, 1, "desk", step_ns=700 * MS)
    fast = keep_run(store, 2, "gateway", step_ns=100 * MS)
    odd = keep_run(store, 3, "desk", lines=[b"nothing known"])
    assert ids(store, {}) == [odd, fast, slow]
    assert ids(store, {"sort": "day"}) == [slow, fast, odd]
    assert ids(store, {"q": "GATE"}) == [fast]
    assert ids(store, {"board": "desk"}) == [odd, slow]
    assert ids(store, {"kind": "real board", "system": "gateway"}) == [fast]
    assert ids(store, {"kind": "imported"}) == []
    assert ids(store, {"sort": "time"}) == [odd, fast, slow]
    assert ids(store, {"sort": "-time"}) == [slow, fast, odd]
    assert ids(store, {"sort": "; DROP", "page": "-1"}) == [odd, fast, slow]


def test_the_list_waits_for_no_figure(app: Guard, store: Store) -> None:
    run_id = keep_run(store, 1)
    first = ask(app, "/").text
    assert run_id in first
    worked_out(store)
    page = ask(application(store, frozenset({"localhost"}), None), "/").text
    assert re.search(r'class="time">[23]\.\d{3} s<', page)


class Faulty(Store):
    """A store in which a run meets a bug of ours."""

    faulty = ""

    def is_here(self, run_id: str) -> bool:
        if run_id == self.faulty:
            raise ValueError("embedded\x1b null byte")
        return super().is_here(run_id)


def test_a_bug_in_one_figure_is_reported_and_stops_no_other(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    faulty = Faulty(store.root)
    faulty.faulty, good = keep_run(faulty, 1), keep_run(faulty, 2)
    found = {known.run.run_id: known for known in worked_out(faulty)}
    assert (found[faulty.faulty].failed, found[good].failed) == (True, False)
    assert row_of(found[faulty.faulty]).time == "failed"
    assert row_of(found[good]).time.endswith(" s")
    told = capsys.readouterr().err
    assert "ValueError: embedded\\x1b null byte" in told
    assert f"the times of {faulty.faulty} are not shown: this is a bug" in told


def test_a_milestone_is_plotted_over_the_days(app: Guard, store: Store) -> None:
    runs = [keep_run(store, day, "desk", step_ns=(300 + day) * MS) for day in range(5)]
    found = values(worked_out(store), "login")
    assert [value.run_id for value in found] == runs
    assert [value.median_ns for value in found] == sorted(value.median_ns for value in found)
    drawn = plot(found)
    heights = [float(str(point["y"])) for point in drawn.points]
    assert heights == sorted(heights, reverse=True), "later is higher, and places count from above"
    assert [words for _, words in drawn.up] == sorted(words for _, words in drawn.up)
    page = ask(application(store, frozenset({"localhost"}), None), "/plot?about=login&board=desk").text
    assert page.count("<circle") >= 5
    assert f'href="/run/{runs[0]}"' in page


def test_where_a_milestone_changed_is_a_page_of_its_own(store: Store) -> None:
    for day in range(4):
        keep_run(store, day, "desk", step_ns=300 * MS)
    keep_run(store, 9, "other")
    worked_out(store)
    app = application(store, frozenset({"localhost"}), None)
    assert 'href="/history?about=login&amp;board=desk"' in ask(app, "/plot?about=login&board=desk").text
    page = ask(app, "/history?about=login&board=desk")
    assert (page.status, page.text.count("<circle")) == (200, 4)
    assert "login of desk on desk" in page.text
    wrong = ask(app, "/history?about=nonsense&board=desk")
    assert (wrong.status, "unknown milestone or phase" in wrong.text) == (422, True)
    assert ask(app, "/history?board=none").status == 422


def test_a_date_that_is_none_is_left_out_of_the_plot(store: Store) -> None:
    keep_run(store, 1)
    known = worked_out(store)[0]
    strange = known._replace(run=type(known.run)(**{**vars(known.run), "created": "yesterday"}))
    assert values([strange], "login") == []
    assert plot([]).points == []


def test_a_run_and_a_comparison_are_the_report(app: Guard, store: Store) -> None:
    a, b = keep_run(store, 1), keep_run(store, 2)
    one = ask(app, f"/run/{a}")
    assert one.status == 200
    assert 'href="/">All runs' in one.text
    assert "script-src 'sha256-" in one.headers["content-security-policy"]
    assert ask(app, f"/run/{a}/1").status == 200
    assert ask(app, f"/run/{a}/2").status == 422
    assert "B against A" in ask(app, f"/compare/{a}/{b}").text
    assert ask(app, f"/compare/{a}/{a}").status == 400
    assert ask(app, f"/compare?run={b}&run={a}").headers["location"] == f"/compare/{a}/{b}"
    assert ask(app, f"/compare?run={a}").status == 400


def test_a_name_that_is_only_a_part_is_no_run(app: Guard, store: Store) -> None:
    run_id = keep_run(store, 1)
    assert ask(app, f"/run/{run_id[:-1]}").status == 404
    assert ask(app, "/run/last").status == 404


def test_a_run_that_was_deleted_is_told(app: Guard, store: Store) -> None:
    run_id = keep_run(store, 1)
    assert ask(app, f"/run/{run_id}").status == 200
    store.remove(run_id)
    for path in (
        f"/run/{run_id}",
        f"/live/{run_id}",
        f"/live/{run_id}/events",
        f"/compare/{run_id}/{run_id}",
    ):
        answer = ask(app, path)
        assert answer.status == 404
        assert "deleted" in answer.text
    assert run_id not in ask(app, "/").text


def test_a_run_whose_files_go_while_it_is_made_is_told(app: Guard, store: Store) -> None:
    run_id = keep_run(store, 1)
    shutil.rmtree(store.runs / run_id / "boots")
    answer = ask(app, f"/run/{run_id}")
    assert answer.status == 422
    assert run_id in answer.text


def test_others_may_write_to_the_store_meanwhile(app: Guard, store: Store) -> None:
    kept = keep_run(store, 1)

    def others() -> None:
        for number in range(2, 40):
            store.label(kept, {"note": str(number)})
            store.remove(keep_run(store, number))

    writer = threading.Thread(target=others)
    writer.start()
    seen = 0
    while writer.is_alive():
        seen += 1
        for path in ("/", "/plot", f"/run/{kept}"):
            answer = ask(app, path)
            assert answer.status == 200, (path, answer.text)
            assert path != "/" or kept in answer.text
    writer.join()
    assert seen
    assert "note=39" in ask(app, "/").text


def test_the_mark_of_the_list_is_another_one_whenever_it_shows_something_else(store: Store) -> None:
    keep_run(store, 1)
    marks = [state_of(worked_out(store), {})]
    added = keep_run(store, 2)
    marks.append(state_of(worked_out(store), {}))
    store.label(added, {"branch": "main"})
    marks.append(state_of(worked_out(store), {}))
    marks.append(state_of(worked_out(store), {"stock": None}))
    assert len(set(marks)) == 4
    assert state_of(worked_out(store), {"stock": None}) == marks[-1]
    store.remove(added)
    assert state_of(worked_out(store), {}) == marks[0]


def test_a_run_that_is_being_recorded_is_followed(app: Guard, store: Store) -> None:
    with_recorder = Recorder(store)
    answer = ask(app, f"/run/{with_recorder.run_id}")
    assert answer.headers["location"] == f"/live/{with_recorder.run_id}"
    assert "recording now" in ask(app, "/").text
    with_recorder.ends()
    assert "recording now" not in ask(app, "/").text


def test_hostile_names_and_lines_stay_text(app: Guard, store: Store) -> None:
    run_id = keep_run(store, 1, HOSTILE.replace("A" * 3000, ""), [*LINES, HOSTILE.encode()])
    (store.root / "searches").mkdir()
    (store.root / "searches" / "<script>alert(1)<script>.jsonl").touch()
    worked_out(store)
    fresh = application(store, frozenset({"localhost"}), None)
    for path in (
        "/",
        "/plot",
        f"/?q={'%3Cimg%20src=x%3E'}",
        "/?kind=%22%3E%3Cscript%3E",
        f"/run/{'%3Cimg%3E'}",
    ):
        text = ask(fresh, path).text
        assert "<img" not in text, path
        assert "<script>alert" not in text, path
        assert "\u202e" not in text, path
        assert "\x1b" not in text, path
        assert len(text) < 30_000
    assert "&lt;img src=x onerror=alert(1)&gt;\\u202e" in ask(fresh, "/").text
    report = ask(fresh, "/compare?run=" + run_id)
    assert "<img" not in report.text


def test_searches_are_listed_and_only_those_are_shown(app: Guard, store: Store) -> None:
    (store.root / "searches").mkdir()
    (store.root / "searches" / "stock.jsonl").touch()
    assert searches.names(store.root) == ["stock"]
    assert 'href="/search/stock"' in ask(app, "/").text
    assert ask(app, "/search/stock").status == 200
    assert ask(app, "/search/other").status == 404
