# SPDX-License-Identifier: Apache-2.0
"""`reproduce`: tables run with a bench that pretends, measures of a boot, what the user sees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from bootscope.boards.profile import Board, load_board
from bootscope.capture.record import Part
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredRun
from bootscope.cli import reproduce as verb
from bootscope.core.errors import BootscopeError, SpaceError, StepError, UserError
from bootscope.published import reproduced as stored
from bootscope.published import tables as tables_module
from bootscope.published.tables import table, table_ids
from bootscope.report import reproduced as words
from bootscope.search.bench import Bench
from bootscope.system.load import LoadedSystem

from .builders import ROOT
from .conftest import Command
from .lab_scenes import MS, boot, keep, kept_view
from .test_cli_verbs import json_of
from .test_lab_cli import printed, refused

TABLE = """\
schema = 1
id = "small"
title = "A small table"
reference = "plain"
differs = "everything but the idea"
why = "it is made up"
left_out = ["000:1: nothing"]
{more}
[measures.init]
title = "init"
phases = ["init"]
why = "it is short"
[measures.total]
title = "all of it"
until = "end"
[rows.plain]
published = {{ init = ["000:353"] }}
[rows.quick]
techniques = ["kernel-quiet"]
published = {{ init = ["000:354"], total = ["003:789"] }}
[rows.slow]
techniques = ["kernel-lpj"]
published = {{ total = ["000:359"] }}
[rows.dead]
change = {{ command_line = ["rootfstype=none"] }}
published = {{ total = ["002:661"] }}
"""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of our own, and no results; the folder of both."""
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "small.toml").write_text(TABLE.format(more=""))
    monkeypatch.setattr(tables_module, "TABLES", folder)
    monkeypatch.setattr(stored, "RESULTS", folder)
    return folder


class Pretended:
    """Stands for builder and board. What was measured is listed; `failing` says how a row fails."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.seen: list[tuple[LoadedSystem, Board, str]] = []
        self.failing: dict[str, BootscopeError] = {}

    def measured(self, loaded: LoadedSystem, board: Board, until: str) -> StoredRun:
        self.seen.append((loaded, board, until))
        words = loaded.system.kernel.command_line.split()
        for word, error in self.failing.items():
            if word in words:
                raise error
        image = Part(name="kernel/zImage", step_id="", sha256="", size_bytes=4_000_000)
        if "rootfstype=none" in words:
            run_id = keep(self.store, boot().records[:30], ended="panic", parts=(image,))
            return self.store.load(run_id)
        init_ms = 27 if "quiet" in words else 80 if any("lpj" in word for word in words) else 50
        story = boot(init_ms=init_ms)
        return self.store.load(keep(self.store, story.records, system=loaded.system, board=board))


@pytest.fixture
def bench(store: Store, monkeypatch: pytest.MonkeyPatch) -> Pretended:
    made = Pretended(store)
    monkeypatch.setattr(
        Bench, "measured", lambda _self, loaded, board, until: made.measured(loaded, board, until)
    )
    return made


# ---- running a table ----


def test_sizes_count_of_a_row_that_does_not_boot(main_here: Command, bench: Pretended, small: Path) -> None:
    size = '[measures.size]\ntitle = "size of the zImage"\nparts = ["kernel/zImage"]\n'
    text = TABLE.format(more=size).replace('total = ["002:661"]', 'total = ["002:661"], size = ["000:452"]')
    (small / "small.toml").write_text(text)
    document = json_of(main_here("reproduce", "small", "--json"), "reproduce")
    dead = document["rows"]["dead"]
    assert dead["error"]
    assert dead["values"] == {"size": {"value": 4_000_000, "split": {}}}


def test_a_table_is_run_and_compared(main_here: Command, store: Store, bench: Pretended, small: Path) -> None:
    done = main_here("reproduce", "small")
    run_ids = store.run_ids()
    assert done.returncode == 0
    assert [loaded.system.name for loaded, _, _ in bench.seen] == ["stock.small"] * 4
    assert "small, row 2 of 4: quick" in done.stderr
    text = " ".join(done.stdout.split())
    assert "A small table (small)" in text
    assert "published: G. Clement, S. Polette" in text
    assert "differences: everything but the idea" in text
    # 2.352 s to 1.285 s are 45 %, 50 to 27 ms are 46 %.
    assert "2.352 s → 1.285 s -45.4 % 50.0 ms → 27.0 ms -46.0 % agrees: 1 times as large" in text
    boots = [kept_view(store, boot(init_ms=ms).records) for ms in (50, 27)]
    total, quick = (words.amount(view.timeline.total_ns, "ns") for view in boots)
    # 6.6 s to 6.3 s are 4.5 %, 388 to 365 ms are 5.9 %.
    assert f"6.600 s → 6.300 s -4.5 % {total} → {quick} -5.9 % agrees: 1.3 times as large" in text
    # 83 ms less there, 30 ms more here.
    assert "-83.0 ms" in text
    assert "+30.0 ms other direction: 0.36 times as large" in text
    assert "no figure of our own" in text
    assert "2 of 4 times agree" in text
    assert "dead: ended by panic" in text
    assert "slow, all of it: our change is CPU +30.0 ms" in text
    assert "quick, all of it: our own change" not in text
    assert "why they may differ: it is made up" in text
    assert "why they may differ: init: it is short" in text
    assert "left out: 000:1: nothing" in text
    for run_id in run_ids:
        assert run_id in text


def test_a_table_as_json_can_be_kept(main_here: Command, bench: Pretended, small: Path) -> None:
    done = main_here("reproduce", "small", "--json")
    assert done.stderr == ""
    found = json_of(done, "reproduce")
    assert [(f["row"], f["figure"], f["verdict"]) for f in found["figures"]] == [
        ("quick", "000:354", "agrees"),
        ("quick", "003:789", "agrees"),
        ("slow", "000:359", "other direction"),
        ("dead", "002:661", "no figure of our own"),
    ]
    quick = found["figures"][0]
    assert (quick["own_base"], quick["own"], quick["own_change"]) == (50 * MS, 27 * MS, -23 * MS)
    assert quick["published_base"] == 2_352_000_000
    assert list(found["rows"]) == ["plain", "quick", "slow", "dead"]
    assert found["here"]["board"] == load_board("cubieboard").title
    kept = msgspec.json.decode(done.stdout, type=stored.Result)
    (small / "small.json").write_bytes(msgspec.json.encode(kept))
    again = json_of(main_here("reproduce", "small", "--stored", "--json"), "reproduce")
    assert again == found
    assert len(bench.seen) == 4


def test_the_reference_is_run_first_and_its_values_are_put_in(
    main_here: Command, bench: Pretended, small: Path
) -> None:
    text = TABLE.format(more='until = "init"\nbase = { command_line = ["loglevel=3"] }')
    # The reference stands last in the file.
    plain = '[rows.plain]\npublished = { init = ["000:353"] }\n'
    (small / "small.toml").write_text(text.replace(plain, "") + plain)
    found = json_of(main_here("reproduce", "small", "--json"), "reproduce")
    lines = [loaded.system.kernel.command_line.split() for loaded, _, _ in bench.seen]
    assert all("loglevel=3" in words for words in lines)
    assert "quiet" not in lines[0]
    assert "quiet" in lines[1]
    assert any(word.startswith("lpj=4") for word in lines[2])
    assert {until for _, _, until in bench.seen} == {"init"}
    assert list(found["rows"]) == ["quick", "slow", "dead", "plain"]


@pytest.mark.parametrize("error", [UserError("it\nis\x1b[31m so"), StepError("it\nis so", "log")])
def test_a_row_that_fails_does_not_stop_the_others(
    main_here: Command, bench: Pretended, small: Path, error: BootscopeError
) -> None:
    bench.failing["quiet"] = error
    done = main_here("reproduce", "small")
    assert done.returncode == 0
    assert len(bench.seen) == 4
    assert "quick: it\n" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    assert "other direction" in done.stdout


def test_without_a_reference_there_is_nothing_to_compare(
    main_here: Command, bench: Pretended, small: Path
) -> None:
    bench.failing["console=ttyS0,115200"] = StepError("make failed")
    done = main_here("reproduce", "small", "--json")
    assert done.returncode == verb.NOTHING == 3
    rows = json_of(done, "reproduce")["rows"]
    assert rows["plain"]["error"] == "make failed"
    assert rows["quick"]["error"] == "its reference row did not boot"
    assert rows["dead"]["error"] == "make failed"


def test_a_full_disk_stops_it(main_here: Command, bench: Pretended, small: Path) -> None:
    bench.failing["quiet"] = SpaceError("the disk is full")
    done = main_here("reproduce", "small")
    assert (done.returncode, len(bench.seen)) == (3, 2)
    assert "bootscope: the disk is full" in done.stderr


def test_a_row_that_lacks_something_keeps_the_rest(main_here: Command, bench: Pretended, small: Path) -> None:
    text = TABLE.format(more="").replace('phases = ["init"]', 'reading = "nothing"')
    (small / "small.toml").write_text(text)
    rows = json_of(main_here("reproduce", "small", "--json"), "reproduce")["rows"]
    assert rows["quick"]["error"] == "the boot does not read nothing"
    assert rows["quick"]["values"].keys() == {"total"}
    assert bench.seen


@pytest.mark.usefixtures("bench")
def test_what_is_compared_is_measured_of_both_rows_and_nothing_else(main_here: Command, small: Path) -> None:
    text = TABLE.format(more="")
    text = text.replace(', total = ["003:789"]', "").replace("[rows.slow]", '[rows.slow]\nagainst = "quick"')
    # A value beside which nothing was published is compared with nothing.
    text = text.replace(
        'published = { init = ["000:353"] }', 'published = { init = ["000:353"] }\nagainst = "slow"'
    )
    (small / "small.toml").write_text(text)
    rows = json_of(main_here("reproduce", "small", "--json"), "reproduce")["rows"]
    assert {name: list(row["values"]) for name, row in rows.items()} == {
        "plain": ["init", "total"], "quick": ["init", "total"], "slow": ["total"], "dead": [],
    }  # fmt: skip


def test_a_boot_is_looked_at_with_the_card_of_the_table(
    main_here: Command, bench: Pretended, small: Path
) -> None:
    card = '[board]\ntitle = "slow"\nbandwidth_bytes_per_s = { value = 1_000_000, source = "made up" }'
    totals = []
    for more in ("", card):
        (small / "small.toml").write_text(TABLE.format(more=more))
        found = json_of(main_here("reproduce", "small", "--json"), "reproduce")
        totals.append(found["rows"]["plain"]["values"]["total"]["value"])
    assert "slow: 1 MB/s" in found["here"]["card"]
    assert totals[1] > totals[0] + 30 * MS
    assert {board.card_class for _, board, _ in bench.seen} == {load_board("cubieboard").card_class}


# ---- the list, and what was kept ----


def test_all_tables_are_listed(main_here: Command) -> None:
    done = main_here("reproduce")
    assert done.returncode == 0
    for name in table_ids():
        assert f"{name} " in done.stdout
    listed = json_of(main_here("reproduce", "--json"), "tables")["tables"]
    assert [t["id"] for t in listed] == table_ids()
    for t in listed:
        assert t["compared"] >= 1
        assert t["compared"] == sum(kind["compared"] for kind in t["by_kind"].values())
        assert list(t["by_kind"]) == ["times", "copies", "sizes"]
        assert (t["agree"] is None) == (t["date"] is None)


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["nonsense"], "unknown table or story 'nonsense'", "small"),
        (["small", "--stored"], "small has not been run", "bootscope reproduce small"),
    ],
)
def test_what_is_not_there_is_refused(
    main_here: Command, bench: Pretended, small: Path, arguments: list[str], message: str, hint: str
) -> None:
    assert small.is_dir()
    refused(main_here("reproduce", *arguments), message, hint)
    assert bench.seen == []


def test_tables_are_completed(main_here: Command) -> None:
    assert main_here("completion", "--line", "bash", "--", "reproduce", "").stdout.split() == table_ids()


@pytest.mark.parametrize("name", [n for n in table_ids() if stored.result(n)])
def test_what_was_kept_fits_a_narrow_terminal(name: str) -> None:
    found = stored.result(name)
    assert found
    text = printed(lambda out: verb.show(out, table(name), found))
    assert " agree" in " ".join(text.split())


@pytest.mark.usefixtures("small", "bench")
def test_every_field_of_the_json_is_documented(main_here: Command) -> None:
    told = (ROOT / "docs" / "json.md").read_text()

    def names(value: object) -> Iterator[str]:
        if isinstance(value, dict):
            for key, inner in value.items():
                yield key
                yield from names(inner) if key not in ("here", "rows", "measures") else ()
        if isinstance(value, list):
            for item in value:
                yield from names(item)

    for arguments in (["reproduce"], ["reproduce", "small"]):
        document = json.loads(main_here(*arguments, "--json").stdout)
        assert {name for name in names(document) if f"`{name}" not in told} == set()
