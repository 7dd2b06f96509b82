# SPDX-License-Identifier: Apache-2.0
"""`bootscope report` writes pictures, a page, a text with a picture: what is in the files, what is said."""

from __future__ import annotations

import json
import re
import shlex
import struct
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from bootscope.capture.store import Store
from bootscope.cli.parsers import parser
from bootscope.cli.report import VIEWS as OFFERED
from bootscope.core.errors import UserError
from bootscope.pictures import markdown, onepage, raster
from bootscope.pictures.draw import VIEWS, picture
from bootscope.pictures.stored import subject_of
from bootscope.pictures.subject import Subject
from bootscope.pictures.theme import LIGHT
from tests.fixtures import measured_runs
from tests.fixtures.stock_boot import unpack

from .builders import ROOT, environment
from .conftest import Command
from .drawn import BOUNDED, boot, phases, run, see
from .traces import HOSTILE, HOSTILE_TRACE

LOG = (
    "[    0.000000] Linux version 6.12\n[    1.500000] Run /init as init process\n"
    "[    2.250000] <script>alert(1)</script>\n"
)
ONE, OTHER = phases(("spl", 150), ("kernel", 2780)), phases(("spl", 150), ("kernel", 1280))
FINDING = {
    "at_most": True, "cost": "2.5 s", "what": "U-Boot waits", "where": "before 'x'", "do": "no delay",
    "commands": ["bootscope try uboot-bootdelay"],
}  # fmt: skip


def pages(pdf: bytes) -> int:
    """How many pages a PDF has, by its tree of pages."""
    counts = re.findall(rb"/Type/Pages\b[^>]*?/Count (\d+)|/Count (\d+)[^>]*?/Type/Pages\b", pdf)
    assert len(counts) == 1
    return int(max(counts[0]))


def sides(png: bytes) -> tuple[int, int]:
    """Width and height of a PNG."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", png[16:24])
    return int(width), int(height)


@pytest.mark.parametrize(("wide", "scale"), [(480, 1), (1200, 1), (801, 2)])
def test_a_png_is_as_large_as_asked_for(wide: int, scale: int) -> None:
    found = picture(Subject([boot(ONE)]), LIGHT, None, wide)
    assert raster.size_of(found.svg)[0] == wide
    assert sides(raster.png(found.svg, found.title, scale)) == tuple(
        scale * n for n in raster.size_of(found.svg)
    )


def test_a_png_that_no_screen_shows_is_refused() -> None:
    found = picture(Subject([boot(ONE)]), LIGHT)
    with pytest.raises(UserError, match="too large"):
        raster.png(found.svg, found.title, 100)


def test_a_picture_as_pdf_is_one_page_of_its_size() -> None:
    found = picture(Subject([boot(ONE)]), LIGHT)
    made = raster.pdf(found.svg, found.title)
    width, height = raster.size_of(found.svg)
    assert pages(made) == 1
    assert f"/MediaBox[0 0 {width} {height}]".encode() in made
    assert made == raster.pdf(found.svg, found.title), "the same bytes each time"


MANY = Subject([boot(HOSTILE_TRACE, f"{n}{HOSTILE[1]}") for n in range(40)])
BAD = [{**FINDING, **dict.fromkeys(("cost", "what", "where", "do"), text * 9)} for text in HOSTILE[:5]]


@pytest.mark.parametrize(
    ("subject", "first"),
    [
        (Subject([boot(ONE)]), [FINDING] * 5),
        (Subject([boot(HOSTILE_TRACE)]), BAD),
        (MANY, BAD),
        (Subject([run("a", 5000, 5010, 5030), run("b", 4000, 4010, 4030)]), [FINDING]),
        (Subject([replace(boot(BOUNDED), failure="panic " * 100)]), []),
        (Subject([boot(phases(total=0))]), []),
    ],
    ids=["one", "hostile", "forty", "runs", "failed", "no clock"],
)
def test_the_page_is_always_one(subject: Subject, first: list[Mapping[str, object]]) -> None:
    made = onepage.page(subject, first)
    assert pages(made) == 1
    assert len(made) < 400_000


def test_without_the_extra_the_error_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['typst'] = None\n"
        "from bootscope.cli.main import main; sys.exit(main(['report', '-o', 'x.png']))"
    )
    env = environment(BOOTSCOPE_STORE=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "PNG and PDF need the Python package typst" in done.stderr
    assert "pip install typst" in done.stderr


# ---- Markdown ----


def text_of(*boots: Subject) -> str:
    (subject,) = boots
    return markdown.text(subject, "t", "a b.svg", "a b-dark.svg", [FINDING]).decode()


def test_a_text_shows_its_picture_in_the_colours_of_the_reader() -> None:
    found = text_of(Subject([boot(ONE)]))
    assert '<source media="(prefers-color-scheme: dark)" srcset="a%20b-dark.svg">' in found
    assert '<img alt="t" src="a%20b.svg">' in found
    assert "| up to 2.5 s | U-Boot waits<br>before &#39;x&#39; | no delay<br><code>bootscope try" in found
    assert "| <code>kernel</code> | 2.780 s |" in found


def test_a_text_about_two_boots_has_the_changes() -> None:
    found = text_of(Subject([boot(ONE, "a/001"), boot(OTHER, "b/001")]))
    assert "| <code>b</code> | 1.430 s | -1.500 s |" in found
    assert "| <code>kernel</code> | -1.500 s |" in found
    runs = text_of(Subject([run("a", 5000, 5010, 5030), run("b", 4000, 4010, 4030)]))
    assert "| <code>app-ready</code> | 5.010 | 4.010 | -1.000 s |" in runs


def test_nothing_from_a_boot_is_markdown_of_its_own() -> None:
    found = markdown.text(
        Subject([boot(HOSTILE_TRACE, HOSTILE[0])] * 2), HOSTILE[6], "a.svg", "b.svg", []
    ).decode()
    assert "<script" not in found
    assert "](http" not in found
    assert "www.evil" not in found


# ---- boots of real boards ----


def test_a_boot_of_a_real_board_is_called_by_its_board(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    whole = measured_runs.keep_run(store, 1)
    short = measured_runs.keep_run(store, 2, lines=measured_runs.LINES[:3])
    found = [subject_of(store, [run_id]).boots[0] for run_id in (whole, short)]
    assert found[0].headline == "desk: 2.999 s to login"
    assert found[0].measured
    assert found[1].headline.startswith("desk: not complete after ")


# ---- the page that tells of them ----

PAGE = ROOT / "docs" / "pictures.md"


def test_the_picture_on_the_page_is_what_its_command_draws(main_here: Command, tmp_path: Path) -> None:
    run_id = unpack(Store(tmp_path / "store"))
    assert main_here("report", run_id, "-o", "phases.svg").returncode == 0
    assert (tmp_path / "phases.svg").read_text() == (PAGE.parent / "images" / "phases.svg").read_text()


def test_the_commands_of_the_page_are_commands() -> None:
    lines = re.findall(r"^ {4}(?:\$ )?bootscope (report .*?)(?: *#.*)?$", PAGE.read_text(), re.M)
    assert len(lines) > 8
    for line in lines:
        parser(["report"]).parse_args(shlex.split(line))


def test_the_page_names_all_views_and_fonts() -> None:
    text = re.sub(r"\s+", " ", PAGE.read_text())
    assert [view for view in VIEWS if f"`{view}`" not in text] == []
    assert ", ".join(raster.FONTS) in text
    assert raster.OWN_FONT in text


def test_the_command_offers_the_views_that_there_are() -> None:
    assert OFFERED == VIEWS


# ---- the command ----


@pytest.fixture
def imported(main_here: Command, tmp_path: Path) -> Path:
    (tmp_path / "boot.log").write_text(LOG)
    (tmp_path / "later.log").write_text(LOG.replace("1.5", "1.9"))
    for name in ("boot", "later"):
        done = main_here("import", f"{name}.log", "--milestone", "up=script", "--name", name)
        assert done.returncode == 0, done.stderr
    return tmp_path


def test_the_ending_of_a_name_tells_the_format(main_here: Command, imported: Path) -> None:
    begins = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "md": b"## ", "html": b"<!DOCTYPE html>"}
    for ending, first in begins.items():
        done = main_here("report", "boot", "-o", f"x.{ending}", "--json")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        data = (imported / f"x.{ending}").read_bytes()
        assert data.startswith(first)
        assert (told["path"], told["bytes"]) == (f"x.{ending}", len(data))
    assert (imported / "x-dark.svg").exists()


def test_the_figures_of_a_picture_are_those_of_show(main_here: Command, imported: Path) -> None:
    assert main_here("report", "boot", "-o", "x.svg").returncode == 0
    shown = json.loads(main_here("show", "boot", "--json").stdout)
    seen = see((imported / "x.svg").read_text())
    assert seen.texts[0].endswith(f": {shown['total_ns'] / 1e9:.3f} s to up")
    for phase in shown["phases"]:
        assert f"{(phase['end_ns'] - phase['start_ns']) / 1e9:.3f}" in seen.texts


def test_two_runs_are_compared(main_here: Command, imported: Path) -> None:
    done = main_here("report", "boot", "later", "-o", "c.md", "--picture", "pictures/c.svg")
    assert done.returncode == 2
    (imported / "pictures").mkdir()
    done = main_here("report", "boot", "later", "-o", "c.md", "--picture", "pictures/c.svg")
    assert done.returncode == 0, done.stderr
    assert 'src="pictures/c.svg"' in (imported / "c.md").read_text()
    assert "From the first total to the last" in see((imported / "pictures" / "c.svg").read_text()).texts


def test_what_is_written_and_in_which_font_is_said(main_here: Command, imported: Path) -> None:
    done = main_here("report", "boot", "-o", "x.png", "--width", "600", "--theme", "dark")
    assert re.search(r"^wrote x\.png \([\d.]+ kB; text in [A-Z].*\)$", done.stdout, re.M)
    assert sides((imported / "x.png").read_bytes())[0] == 600


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "x.jpg"], "cannot write .jpg"),
        (["-o", "x.svg", "--width", "5"], "pixels wide"),
        (["-o", "x.svg", "--view", "flame"], "no call paths"),
        (["-o", "x.md", "--picture", "x.png"], "the picture of a text is SVG"),
        (["-o", "no-folder/x.svg"], "there is no folder no-folder\n  hint: mkdir -p no-folder"),
        (["-o", "no folder/x.svg"], "  hint: mkdir -p 'no folder'"),
        (["-o", "-"], "standard output is not supported here"),
    ],
)
def test_what_cannot_be_drawn_is_said(
    main_here: Command, imported: Path, arguments: list[str], words: str
) -> None:
    done = main_here("report", "boot", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
