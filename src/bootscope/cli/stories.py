# SPDX-License-Identifier: Apache-2.0
"""What `bootscope reproduce` shows of a story: for the terminal and for --json."""

from __future__ import annotations

import msgspec
from rich.console import Console
from rich.text import Text

from bootscope.core.errors import UserError
from bootscope.published.stories import START, Story, story, story_ids
from bootscope.published.story_results import StoryResult, story_result
from bootscope.report import stories as words
from bootscope.report.reproduced import one_line, run_on
from bootscope.report.tables import make_table

_COLOURS = {True: "green", False: "red", None: "dim"}


def stored(wanted: Story) -> StoryResult:
    """The result of a story when the project last ran it. Raises UserError if it was never run."""
    found = story_result(wanted.id)
    if not found:
        raise UserError(f"{wanted.id} has not been run", hint=f"bootscope reproduce {wanted.id}")
    return found


def list_stories(out: Console) -> None:
    """Prints all stories with their results."""
    grid = make_table(
        "=story", "what", ">steps", ">same sign", ">times shorter", ">there", header_style="bold"
    )
    for s in map(story, story_ids()):
        found = story_result(s.id)
        if not found:
            grid.add_row(s.id, s.title, str(len(s.steps)), "", "", "")
            continue
        whole = words.score(s, found)
        there = f"{whole.published_ratio:.2f}" if whole.published_ratio else ""
        signs = f"{whole.same} of {whole.compared}"
        grid.add_row(s.id, s.title, str(whole.steps), signs, f"{whole.own_ratio:.2f}", there)
    out.print(grid)


def short_stories() -> list[dict[str, object]]:
    """All stories, for --json."""
    found = [(s, story_result(s.id)) for s in map(story, story_ids())]
    return [
        {
            "id": s.id,
            "title": s.title,
            "steps": list(s.steps),
            "date": one.date if one else None,
            "score": _score(s, one) if one else None,
        }
        for s, one in found
    ]


def _score(s: Story, found: StoryResult) -> dict[str, object]:
    whole = words.score(s, found)
    return {
        "steps": whole.steps,
        "done": whole.done,
        "compared": whole.compared,
        "same_sign": whole.same,
        "own_ratio": whole.own_ratio,
        "published_ratio": whole.published_ratio,
    }


def document(s: Story, found: StoryResult) -> dict[str, object]:
    """A story and its result, for --json."""
    return {
        "story": s.id,
        "title": s.title,
        "date": found.date,
        "command": found.command,
        "here": found.here,
        "differs": one_line(s.differs),
        "why": one_line(s.why),
        "published_first_ns": s.first_ns,
        "first": msgspec.to_builtins(found.steps[START]),
        "steps": [_step(one) for one in words.steps(s, found)],
        "score": _score(s, found),
    }


def _step(one: words.ComparedStep) -> dict[str, object]:
    step = one.step
    return {
        "id": one.key,
        "title": step.title,
        "figure": step.published or None,
        "published_ns": step.published_ns,
        "published_change_ns": step.published_change_ns,
        "left_out": one_line(step.left_out) or None,
        "why": one_line(step.why) or None,
        "own": msgspec.to_builtins(one.result) if one.result else None,
        "functions": list(step.functions),
        "own_change_ns": one.own_change_ns,
        "boot_change_ns": one.boot_change_ns,
        "same_sign": one.same_sign,
    }


def show(out: Console, s: Story, found: StoryResult) -> None:
    """Prints a story: each step with its saving there and here."""
    out.print(Text.assemble((s.title, "bold"), f"  ({s.id})"))
    out.print(Text(f"here, {found.date}: {run_on(found.here)}"))
    out.print(Text(f"differences: {one_line(s.differs)}"))
    out.print()
    right = ("published", "saves", "here")
    grid = make_table(
        *(f">{name}" if name in right else name for name in words.HEADINGS), header_style="bold"
    )
    grid.add_row(*words.first_cells(s, found))
    for one in words.steps(s, found):
        *first, sign, last = words.cells(one)
        grid.add_row(*first, Text(sign, _COLOURS[one.same_sign]), last)
    out.print(grid)
    out.print()
    out.print(Text(words.summary(s, found), "bold"))
    out.print(Text(f"why they may differ: {one_line(s.why)}"))
    for one in words.steps(s, found):
        if one.step.why:
            out.print(Text(f"{one.step.title}: {one_line(one.step.why)}"))
    runs = ", ".join(f"{name} {result.run_id}" for name, result in found.steps.items() if result.run_id)
    out.print(Text(f"recordings: {runs}", "dim"))
