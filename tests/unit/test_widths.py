# SPDX-License-Identifier: Apache-2.0
"""Terminals of 60, 80, 100 and 120 columns show each figure whole, or say which column they leave out.

Snapshots of what is shown lie in tests/fixtures/widths; BOOTSCOPE_SNAPSHOTS=write makes them anew.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from bootscope.cli import terminal
from bootscope.cli.main import main
from bootscope.cli.verbs import VERBS
from bootscope.report.tables import make_table

from ..fixtures import stock_boot
from . import image_builders
from .conftest import Command

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
FIXTURES, SNAPSHOTS = ROOT / "tests/fixtures", ROOT / "tests/fixtures/widths"
WIDTHS = (60, 80, 100, 120)
WIDE = 400
_FIGURE = re.compile(r"(?<![\w.,/:-])[+±-]?\d[\d,]*(?:\.\d+)?(?![\w.,:/-]*\w)")
_OLD = "20261121-120000-stock"
Shown = Callable[..., str]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """What a command shows on a terminal of some width, in a store with recordings and imports."""
    folder = tmp_path_factory.mktemp("widths")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("STORE", "CACHE"):
            patch.setenv(f"BOOTSCOPE_{name}", str(folder / name.lower()))
        patch.chdir(folder)

        def run(*arguments: str, width: int = WIDE) -> str:
            plain = terminal.Terminal
            out = io.StringIO()
            with pytest.MonkeyPatch.context() as narrow, contextlib.redirect_stdout(out):
                narrow.setattr(terminal, "Terminal", lambda **_: plain(highlight=False, width=width))
                # Room on the disk is another one each time that somebody looks.
                narrow.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=77_100_000_000))
                with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
                    main(list(arguments))
            return out.getvalue()

        _fill(folder / "store")
        image_builders.card(folder)
        for name, called in (("before", "a-before"), ("after", "b-after")):
            log = FIXTURES / f"boots/{name}.log"
            run("import", str(log), "--milestone", "app-ready=app: ready", "-o", called)
        yield run


def _fill(store: Path) -> None:
    """Two runs of the stock system, of which the older one has another command line."""
    from bootscope.capture.store import Store

    run_id = stock_boot.unpack(Store(store))
    older = store / "runs" / _OLD
    shutil.copytree(store / "runs" / run_id, older)
    for path in (older / "run.json", older / "boots/001/boot.json"):
        path.write_text(path.read_text().replace(run_id, _OLD).replace("115200", "9600"))


COMMANDS: dict[str, tuple[str, ...]] = {
    "show": ("show", "20261121-08"),
    "compare": ("compare", _OLD, "20261121-08"),
    "compare-boots": ("compare", "before", "after"),
    "show-imported": ("show", "before"),
    "list": ("list",),
    **{f"view-{name}": ("show", "20261121-08", "--view", name) for name in (
        "initcalls", "functions", "processes", "storage", "console", "waits", "critical-path", "floor"
    )},
    **{f"changes-{name}": ("compare", _OLD, "20261121-08", "--view", name) for name in (
        "initcalls", "functions", "processes", "storage", "console"
    )},
    "audit": ("audit", "20261121-08"),
    "what-if": ("what-if", "20261121-08", "quiet"),
    "techniques": ("techniques",),
    "techniques-one": ("techniques", "kernel-compression"),
    "pitfalls": ("pitfalls",),
    "reproduce": ("reproduce",),
    "export-formats": ("export", "--formats"),
    "import-formats": ("import", "--formats"),
    "import-dry": ("import", "--dry-run", str(FIXTURES / "readers/dmesg/T.txt")),
    "doctor": ("doctor",),
    "cache": ("cache",),
    "image": ("image", "card.img"),
    "build-plan": ("build", "stock", "--plan"),
}  # fmt: skip
SNAPPED = ("show", "compare-boots", "list", "view-functions")


def words(text: str) -> set[str]:
    """All figures in a text."""
    return set(_FIGURE.findall(text))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_figure_is_shown_whole_or_not_at_all(shown: Shown, name: str) -> None:
    arguments = COMMANDS[name]
    whole = shown(*arguments)
    assert whole.strip()
    for width in WIDTHS:
        text = shown(*arguments, width=width)
        # What a narrow terminal shows are figures of the wide one, and counts of what has no room.
        cropped = {figure for figure in words(text) - words(whole) if not _of_a_long_word(figure, whole)}
        assert not cropped, (width, cropped)
        assert "…" not in _figures_beside(text), width
        if "not shown" not in text:
            assert words(whole) - words(text) == set(), width


def _of_a_long_word(piece: str, text: str) -> bool:
    """Whether it is a piece of a word that goes on in the next line, having no room: an address, a path."""
    return any(piece in word for word in text.split() if len(word) > 16)


def _figures_beside(text: str) -> str:
    """What follows figures at once."""
    return " ".join(re.findall(r"\d[\d.,]*(…|\.\.\.)", text))


@pytest.mark.parametrize("name", SNAPPED)
@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_shown_is_as_it_was_looked_at(shown: Shown, name: str, width: int) -> None:
    text = re.sub(r"\d{8}-\d{6}-([ab]-)", r"20261121-120001-\1", shown(*COMMANDS[name], width=width))
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "2026-11-21 12:00", text)
    text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    path = SNAPSHOTS / f"{name}-{width}.txt"
    if os.environ.get("BOOTSCOPE_SNAPSHOTS") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def test_every_verb_with_a_table_is_looked_at() -> None:
    looked_at = {arguments[0] for arguments in COMMANDS.values()}
    # These boot, build or change something; what they print is made by the same functions, tested below.
    others = {"record", "import", "calibrate", "check", "report", "rm", "label", "optimize", "trim", "try"}
    others |= {"bisect", "history"}  # test_history.py and tests/lab/test_bisect.py look at these
    others |= {"soak"}  # test_soaked.py
    assert set(VERBS) - looked_at - others <= {
        "apply",
        "container",
        "debug",
        "system",
        "completion",
        "help",
        "reproduce",
        "serve",
        "save",
        "load",
        "schema",
    }


def test_there_is_one_way_to_make_a_table() -> None:
    made = [
        path.name
        for path in sorted((ROOT / "src/bootscope").rglob("*.py"))
        if "rich.table" in path.read_text()
    ]
    assert made == ["tables.py"]


def rendered(width: int, *columns: str, spare: tuple[str, ...] = ()) -> str:
    table = make_table(*columns, spare=spare)
    for row in (("kernel", "10.549", "-1,234.5 ms", "cubieboard and more"), ("init", "3.239", "0", "x")):
        table.add_row(*row)
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(table)
    return out.getvalue()


COLUMNS = ("=phase", ">start s", ">change of it", "board")


@pytest.mark.parametrize("width", range(8, 60))
def test_at_any_width_figures_and_words_are_whole(width: int) -> None:
    text = rendered(width, *COLUMNS)
    for figure in words(text):
        assert figure in {"10.549", "3.239", "-1,234.5", "0"}
    assert "kernel" in text
    gone = {"10.549", "-1,234.5 ms", "cubieboard"} - {
        x for x in ("10.549", "-1,234.5 ms", "cubieboard") if x in text
    }
    assert bool(gone) == ("not shown" in " ".join(text.split()))


def test_columns_that_are_spare_go_first_and_are_named() -> None:
    text = " ".join(rendered(40, *COLUMNS, spare=("start s",)).split())
    assert "10.549" not in text
    assert "cubieboard" in text
    assert "not shown: start s;" in text


def test_headings_are_wrapped_before_a_column_goes() -> None:
    assert "not shown" not in rendered(46, *COLUMNS)
    assert "change of it" not in rendered(46, *COLUMNS)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_setting_that_differs_is_shown_of_both_runs(shown: Shown, width: int) -> None:
    text = shown(*COMMANDS["compare"], width=width)
    after = text[text.index("kernel.command_line") :]
    assert after.index("ttyS0,9600") < after.index("ttyS0,115200")
    assert "not shown: B" not in text


@pytest.mark.parametrize("name", ["compare", "compare-boots", "view-critical-path"])
def test_nothing_looks_like_python(shown: Shown, name: str) -> None:
    assert not re.search(r"\(\)|,\)|\['|None", shown(*COMMANDS[name]))


@pytest.mark.parametrize("arguments", [("techniques", "kernel-compression"), ("pitfalls", "printk-burst")])
def test_texts_in_a_pipe_are_as_wide_as_those_of_help(main_here: Command, arguments: tuple[str, ...]) -> None:
    """They were wrapped at 200 columns, as wide as tables."""
    for words in (arguments, (arguments[0], "--help")):
        lines = main_here(*words).stdout.splitlines()
        # An address stays in one piece.
        assert max(len(line) for line in lines if "://" not in line) <= 80
    assert any(len(line) > 80 for line in main_here(arguments[0]).stdout.splitlines())


def test_addresses_are_in_one_piece(shown: Shown) -> None:
    arguments = ("techniques", "uboot-boot-order")
    address = max((word for word in shown(*arguments).split() if "://" in word), key=len)
    assert address in shown(*arguments, width=len(address))
