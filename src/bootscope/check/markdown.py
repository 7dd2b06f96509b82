# SPDX-License-Identifier: Apache-2.0
"""A check as Markdown: for a comment on a pull or merge request, a step's summary, a file. Names and reasons
in it are untrusted, and escaped so that they have no effect as markup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from bootscope.check.baseline import HISTORY
from bootscope.check.checked import VERDICTS, Checked, beside_baseline
from bootscope.check.decide import MISSED, NONE, OK, UNSURE, Outcome
from bootscope.core.text import seconds, signed
from bootscope.export.markdown import code, escaped, small, table

_MARKS = {OK: "✅", MISSED: "❌", UNSURE: "❔", NONE: "❔"}
_ALIGNED = ("---", "---", "---", "---:", "---:", "---")


def as_markdown(checked: Sequence[Checked], about: Mapping[str, str] = {}) -> bytes:
    """The text; `about` are facts of the job to print below it, name -> value."""
    lines = [f"## Boot time: {_verdict(checked)}", ""]
    for each in checked:
        if each.product:
            lines += [f"### {code(each.product)}: {_told(each)}", ""]
        lines += _body(each.outcome)
    lines += [small(_facts(about)), ""] if about else []
    return "\n".join(lines).rstrip("\n").encode() + b"\n"


def _verdict(checked: Sequence[Checked]) -> str:
    if len(checked) == 1:
        return _told(checked[0])
    counts = Counter(each.verdict for each in checked)
    named = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
    return f"{', '.join(named)} of {len(checked)} products"


def _told(each: Checked) -> str:
    refused = each.outcome.refused
    return f"no verdict: {escaped(refused, 300)}" if refused else each.verdict


def _body(outcome: Outcome) -> list[str]:
    rows = [
        (
            _MARKS[f.status],
            code(f.name),
            escaped(f"{f.what} {f.of}".strip()),
            "-" if f.value_ns is None else f"{seconds(f.value_ns)} s",
            "-" if f.limit_ns is None else f"{seconds(f.limit_ns)} s",
            escaped(f.words, 300),
        )
        for f in outcome.findings
    ]
    lines = table(("", "what", "checked", "is", "limit", "details"), rows, _ALIGNED)
    facts = [*_facts(facts_of(outcome)), *(escaped(note, 300) for note in outcome.notes)]
    return [*lines, *_beside(outcome), *([small(facts), ""] if facts else [])]


def _beside(outcome: Outcome) -> list[str]:
    """Milestones and phases against the baseline, the medians of both."""
    rows = [
        (
            code(str(each.quantity)),
            f"{seconds(each.now_ns)} s",
            f"{seconds(each.before_ns)} s",
            signed(each.change_ns) + _share(each.change_ns, each.before_ns),
        )
        for each in beside_baseline(outcome)
    ]
    if not rows:
        return []
    assert outcome.baseline
    exact, boots = outcome.boots.exact, len(outcome.baseline.boots)
    name = outcome.baseline.run_id
    named = "" if name == HISTORY else f" {code(name)}"
    of = "" if exact else f" ({boots} boots, medians of both)"
    head = f"Compared with the baseline{named}{of}:"
    return [head, "", *table(("", "this run", "baseline", "change"), rows)]


def _share(change_ns: int, before_ns: int) -> str:
    return f" ({100 * change_ns / before_ns:+.2f} %)" if change_ns and before_ns else ""


def facts_of(outcome: Outcome) -> dict[str, str]:
    """What was checked: the run, how many boots it has, which system, on which board."""
    if not outcome.boots.run_id:
        return {}
    return {"run": outcome.boots.run_id, "boots": str(len(outcome.boots.boots)), **outcome.boots.facts}


def _facts(facts: Mapping[str, str]) -> list[str]:
    return [f"{escaped(name)}: {code(value)}" for name, value in facts.items()]
