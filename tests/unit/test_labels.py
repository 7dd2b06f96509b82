# SPDX-License-Identifier: Apache-2.0
"""Labels of runs lie beside the recordings, find them, and are text wherever they are shown."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import pytest

from bootscope.capture import labels
from bootscope.capture.store import Store
from bootscope.core.errors import UserError
from bootscope.report.stored import page_of
from bootscope.serve.app import application
from bootscope.serve.figures import Figures
from bootscope.serve.rows import Wanted, chosen, row_of

from .builders import BOOT, keep_run
from .conftest import Command
from .served import ask
from .test_cli import assert_refused
from .test_cli_verbs import json_of

HOSTILE = "<img src=x onerror=alert(1)>\u202e\x1b[31m" + "A" * 3000


def files(run: Path) -> dict[str, str]:
    """All files of a recording, by their hashes."""
    found = (
        path for path in run.rglob("*") if path.is_file() and path.name not in ("figure.json", labels.LABELS)
    )
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


@pytest.fixture
def runs(store: Store) -> list[str]:
    """Two recordings without labels, as all were before there were any."""
    return [keep_run(store, BOOT), keep_run(store, BOOT, day=22)]


def test_labels_are_set_shown_and_removed(main_here: Command, store: Store, runs: list[str]) -> None:
    before = files(store.runs)
    figures = main_here("list").stdout
    words = ("branch=main", "note=new card, second try", "commit=1a2b")
    assert json_of(main_here("label", runs[0], *words, "--json"), "label")["labels"] == {
        "branch": "main", "commit": "1a2b", "note": "new card, second try",
    }  # fmt: skip
    assert (
        main_here("label", runs[0], "commit=").stdout
        == f"{runs[0]}  branch=main  note=new card, second try\n"
    )
    assert main_here("label", runs[1]).stdout == f"{runs[1]}  no labels\n"
    assert "branch=main" in main_here("list").stdout
    listed = json_of(main_here("list", "--json"), "list")["runs"]
    assert [run["labels"] for run in listed] == [{"branch": "main", "note": "new card, second try"}, {}]
    assert files(store.runs) == before
    main_here("label", runs[0], "branch=", "note=")
    assert main_here("list").stdout == figures


def test_runs_are_found_by_their_labels(main_here: Command, store: Store, runs: list[str]) -> None:
    store.label(runs[0], {"branch": "main", "product": "router"})
    store.label(runs[1], {"branch": "next"})

    def found(*wanted: str) -> list[str]:
        words = [word for each in wanted for word in ("--label", each)]
        return [run["run_id"] for run in json_of(main_here("list", *words, "--json"), "list")["runs"]]

    assert found("branch") == runs
    assert found("branch=main", "product=router") == found("product") == runs[:1]
    assert found("branch=other") == found("branch=next", "product") == []
    rows = [row_of(known) for known in Figures(store).all()]
    for query in ({"label": "branch=main"}, {"q": "Product=ROUTER"}):
        assert [row.run_id for row in chosen(rows, Wanted.of(query))] == runs[:1]
    page = ask(application(store, frozenset({"localhost"}), None), "/?label=branch%3Dmain").text
    assert '<option selected value="branch=main">' in page
    assert '<span class="label">product=router</span>' in page


def test_an_import_and_a_report_carry_them(main_here: Command, store: Store, tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    log.write_text("[    0.000000] Linux version 6.12.1\n[    1.000000] Run /sbin/init as init process\n")
    done = main_here("import", log, "--label", "board=desk", "--label", "note=<b>", "--json")
    run_id = json_of(done, "import")["run_id"]
    assert labels.read(store.runs / run_id) == {"board": "desk", "note": "<b>"}
    text = page_of(store, [run_id]).text
    assert '<span class="label">board=desk</span> <span class="label">note=&lt;b&gt;</span>' in text
    assert_refused(
        main_here("record", "stock", "--label", "Branch=x"), "'Branch' is not a valid label name", ""
    )


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("branch", "not KEY=VALUE: 'branch'"),
        ("../x=1", "'../x' is not a valid label name"),
        ("note=\x1b[31mred", r"label note has control characters: '\x1b[31mred'"),
        ("note=\u202etxt", "label note has control characters"),
        (f"note={'x' * 201}", "label note has 201 characters; at most 200 are kept"),
    ],
)
def test_what_is_no_label_is_refused(main_here: Command, runs: list[str], word: str, message: str) -> None:
    assert_refused(main_here("label", runs[0], word), message, "")


def test_a_run_has_only_so_many(store: Store, runs: list[str]) -> None:
    store.label(runs[0], {f"l{n}": "x" for n in range(labels.MOST)})
    with pytest.raises(UserError, match="at most 20"):
        store.label(runs[0], {"one-more": "x"})
    assert len(labels.read(store.runs / runs[0])) == labels.MOST


def test_labels_that_others_wrote_are_text(main_here: Command, store: Store, runs: list[str]) -> None:
    path = store.runs / runs[0] / labels.LABELS
    path.write_bytes(msgspec.json.encode({"schema": 1, "labels": {"note": HOSTILE, "<b>": "x", "A B": "x"}}))
    assert list(labels.read(path.parent)) == ["note"]
    served = ask(application(store, frozenset({"localhost"}), None), "/").text
    for text in (
        main_here("list").stdout,
        main_here("label", runs[0]).stdout,
        served,
        page_of(store, runs[:1]).text,
    ):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "A" * 201 not in text
    for text in (served, page_of(store, runs[:1]).text):
        assert "<img" not in text
        assert "&lt;img src=x onerror=alert(1)&gt;" in text


@pytest.mark.parametrize(
    "data", [b"{", b"[]", b'{"schema":1,"labels":{"a":1}}', b'{"schema":99,"labels":{}}']
)
def test_a_damaged_file_hides_no_run(main_here: Command, store: Store, runs: list[str], data: bytes) -> None:
    (store.runs / runs[0] / labels.LABELS).write_bytes(data)
    assert runs[0] in main_here("list").stdout
    assert_refused(main_here("label", runs[0]), "cannot be read" if b"99" not in data else "newer than", "")
    assert "<html" in page_of(store, runs[:1]).text


def test_names_and_values_are_harmless_to_a_terminal() -> None:
    assert labels.words({"a\x1b[31m": "b\x07", "c": "d"}) == r"a\x1b[31m=b\x07  c=d"
