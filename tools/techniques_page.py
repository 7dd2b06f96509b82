# SPDX-License-Identifier: Apache-2.0
"""Writes docs/techniques.md from the catalogue.

    python tools/techniques_page.py

A unit test compares the page with the catalogue, so it cannot become outdated.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from bootscope.published.stories import START, story, story_ids
from bootscope.published.story_results import story_result
from bootscope.techniques.errors import error_percent, median_error_percent
from bootscope.techniques.model import (
    DOCUMENTS,
    MEASURED,
    Source,
    Status,
    Technique,
    by_phase,
    figures,
    measured,
    measured_anywhere,
    measured_of,
    tables,
    techniques,
)
from bootscope.techniques.words import figure_text, measured_text, only_for

PAGE = ROOT / "docs" / "techniques.md"
_STATUS = {Status.RUNS: "yes", Status.HARDWARE: "needs hardware", Status.OBSOLETE: "obsolete"}


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    all_of_them = techniques()
    counts = {status: sum(t.status == status for t in all_of_them.values()) for status in Status}
    ours = sum(bool(t.recipes) for t in all_of_them.values())
    parts = sum(bool(t.carried_out_by) for t in all_of_them.values())
    yield "# Techniques"
    yield ""
    yield "<!-- made by tools/techniques_page.py from src/bootscope/techniques; change it there -->"
    yield ""
    yield (
        f"The {len(all_of_them)} known ways to make a boot shorter. `bootscope techniques` lists them, "
        "`bootscope techniques ID` explains one,"
    )
    yield "`bootscope audit` finds those that apply to a recorded boot, and `bootscope try ID` boots with and"
    yield "without one. In the column *here*:"
    yield ""
    yield f"- **tried by `try`** ({ours}): bootscope carries it out by itself."
    yield f"- **by** others ({parts}): carried out by the technique or command named there."
    rest = counts[Status.RUNS] - ours - parts
    yield f"- **yes** ({rest}): can be done on the emulated board, but only by hand so far."
    yield f"- **needs hardware** ({counts[Status.HARDWARE]}): explained only; the entry says what is missing."
    yield f"- **obsolete** ({counts[Status.OBSOLETE]}): the entry says what replaced it."
    yield ""
    yield "Published figures come from the documents at the end, or from the source named with them, and"
    yield "hold for their boards and years. They show what has been worth a look; what a technique is worth"
    yield "in your boot, only your boot can tell. `bootscope techniques --for systemd` (or `arm64`, `riscv`,"
    yield "`flash` ...) lists those that such a system can use; an audit of a log leaves out the others."
    yield from _measured()
    yield from _systems()
    for phase, chosen in by_phase(all_of_them.values()):
        yield from _phase(phase, chosen)
    yield from ("", "## Documents", "")
    yield from (f"- {key}: {title}" for key, title in DOCUMENTS.items())


def _measured() -> Iterator[str]:
    """The table of techniques that were measured here."""
    rows = sorted(measured().values(), key=lambda row: -(row.saving_ns or 0))
    yield from ("", "## Measured", "")
    yield "`python tools/measure_techniques.py` tried each technique alone on the reference system, or on a"
    yield "variant without it. What that system cannot prove was tried on the system that the recordings"
    yield "are named after (`--system NAME`). All boots are without a core, where each instruction takes"
    yield "the same time: `BOOTSCOPE_CORE=none` ([cores.md](cores.md))."
    yield ""
    yield "| technique | predicted, ms | saving, ms | error | boot, ms | recordings without, with |"
    yield "|---|---:|---:|---:|---:|---|"
    for row in rows:
        error = error_percent(row)
        told = "" if error is None else f"{error:+.0f} %"
        saves = _ms(row.saving_ns) if row.works else "does not work"
        if row.works and row.milestone:
            saves += f" to {row.milestone}"
        runs = ", ".join(filter(None, (row.base, row.variant)))
        cells = (_ms(row.predicted_ns), saves, told, _ms(row.base_ns), runs)
        yield f"| [{row.technique}](#{row.technique.partition('=')[0]}) | {' | '.join(cells)} |"
    found = median_error_percent(rows)
    if found:
        yield from ("", f"{len(rows)} were measured. Of {found[1]} predictions, half are off by at most")
        yield f"{found[0]:.1f} % of the saving. `python tools/measure_techniques.py --predict` recomputes"
        yield "them from the recordings without the techniques; without a model, the column is empty."
    strict = median_error_percent(rows, strict=True)
    if strict:
        yield "If techniques with an effect but without a model count as off by 100 %, the median error"
        yield f"of {strict[1]} is {strict[0]:.1f} %."


def _systems() -> Iterator[str]:
    """On which systems each technique worked: tried alone, in the list of a search, in a step of a story."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for row in measured_anywhere():
        # A boot that takes the same time to the nanosecond was not affected by the technique.
        if row.works and row.saving_ns:
            until = f" to {row.milestone}" if row.milestone else ""
            told = f"{row.system} {row.saving_ns / 1e6:+,.1f}{until}"
            found[row.technique.partition("=")[0]].setdefault(row.system, told)
    for path in sorted(MEASURED.parent.glob("optimized*.json")):
        search = json.loads(path.read_text())
        for spec in search["accepted"]:
            found[spec.partition("=")[0]].setdefault(search["system"], f"{search['system']} (in its list)")
    for table in tables():
        for group in table.together:
            for spec in group.in_place if group.works else ():
                found[spec.partition("=")[0]].setdefault(table.system, f"{table.system} (with others)")
    for spec, system, step in _told():
        found[spec.partition("=")[0]].setdefault(system, f"{system} (step {step})")
    several = sum(len(where) > 1 for where in found.values())
    elsewhere = sum(bool(where.keys() - {"stock"}) for where in found.values())
    yield from ("", "## On which systems", "")
    yield "Where each technique worked, and what it saved there in ms: tried alone, as above; in the final"
    yield "list of a search (`bootscope optimize`); with others in one build (`--together`), if the boot"
    yield "reached its milestone and an audit of it did not propose the technique again; or as the only"
    yield "change in a step of a story (`bootscope reproduce`), if that changed the boot time."
    yield f"{elsewhere} of {len(found)} worked on another system than `stock`, {several} on more than one."
    yield from ("", "| technique | systems |", "|---|---|")
    yield from (f"| [{name}](#{name}) | {'; '.join(found[name].values())} |" for name in sorted(found))


def _told() -> Iterator[tuple[str, str, str]]:
    """Technique, system and step, for the steps of stories that did one thing only and changed the boot's
    time. With two things in a step, it is unknown which one did it."""
    for name in story_ids():
        told, result = story(name), story_result(name)
        before = result.steps.get(START) if result else None
        for step, what in told.steps.items():
            after = result.steps.get(step) if result else None
            if not before or not after or after.error or before.error:
                continue
            alone = len(what.techniques) == 1 and not what.change.claims() and not what.core_changes
            if alone and after.total_ns != before.total_ns:
                yield what.techniques[0], told.system, f"{step} of {name}"
            before = after


def _ms(ns: int | None) -> str:
    return "" if ns is None else f"{ns / 1e6:,.1f}"


def _phase(phase: str, chosen: list[Technique]) -> Iterator[str]:
    yield from (
        "",
        f"## {phase[:1].upper()}{phase[1:]}",
        "",
        "| technique | here | removes |",
        "|---|---|---|",
    )
    for t in chosen:
        here = "tried by `try`" if t.recipes else _by(t) or _STATUS[t.status]
        yield f"| [{t.title}](#{t.id}) | {here} | {', '.join(t.loses)} |"
    for t in chosen:
        yield from _technique(t)


def _technique(t: Technique) -> Iterator[str]:
    yield from ("", f"### {t.id}", "", f"**{t.title}.** {_text(t.what)}", "")
    named = {
        "How to see whether it applies": t.detect,
        "How to do it": t.apply,
        "Risk": t.risk,
        "Licence": t.licence,
        "Only for": only_for(t),
        "Why not here" if t.status == Status.HARDWARE else "Why it is obsolete": t.status_why,
        "See instead": _links(t.replaced_by),
        "Not together with": _links(t.conflicts),
        "Do first": _links(t.after),
        "Recipes": ", ".join(f"`{t.id}={recipe}`" for recipe in t.recipes) if len(t.recipes) > 1 else "",
    }
    yield from (f"- {name}: {_text(text)}" for name, text in named.items() if text)
    yield from (f"- Measured: {_text(measured_text(row))} ({row.date})" for row in measured_of(t))
    if t.figures:
        yield "- Published: " + "; ".join(_figure(name) for name in t.figures)
    yield from (
        f"- Published: {_text(source.figure)} [{_cited(source)}]" for source in t.sources if source.figure
    )
    rest = "; ".join(_cited(source) for source in t.sources if not source.figure)
    if rest:
        yield f"- Sources: {rest}"


def _cited(source: Source) -> str:
    words = _text(source.words)
    return f"{words}, <{source.url}>" if source.url else words


def _figure(name: str) -> str:
    figure = figures()[name]
    board = f", {figure.board}" if figure.board else ""
    return _text(f"{figure_text(figure)}{board} [{figure.seed}]")


def _by(t: Technique) -> str:
    """What applies a technique that has no recipe of its own."""
    names = (f"`{name}`" if name == "trim" else f"[{name}](#{name})" for name in t.carried_out_by)
    return f"by {', '.join(names)}" if t.carried_out_by else ""


def _links(ids: tuple[str, ...]) -> str:
    return ", ".join(f"[{name}](#{name})" for name in ids)


def _text(text: str) -> str:
    """Text of a TOML file on one line; escapes what Markdown would take for HTML."""
    return " ".join(text.split()).replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"{PAGE.relative_to(ROOT)}: {len(techniques())} techniques")
