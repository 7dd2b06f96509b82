# SPDX-License-Identifier: Apache-2.0
"""Whether a run keeps its budgets, and is as fast as its baseline."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from bootscope.analysis.ground import common_zero
from bootscope.analysis.samples import MILESTONE, PHASE, WHOLE, Quantity, SampleSet, called, goal
from bootscope.analysis.significance import PLANNED_PERCENT, oddities
from bootscope.check.model import MEDIAN, Allowance, Budget, Check, known_names
from bootscope.core.errors import UserError, printable, unknown
from bootscope.core.text import between, seconds, signed, span
from bootscope.statistics.describe import describe, median
from bootscope.statistics.planning import Noise
from bootscope.statistics.shift import ALPHA, CONFIDENCE, FEWEST, above_p, shift

OK, MISSED, UNSURE, NONE = "ok", "missed", "unsure", "none"
BOOTS, BUDGET, BASELINE = "boots", "budget", "baseline"


@dataclass(frozen=True)
class Finding:
    """One thing that was checked: `what` (boots, budget or baseline), `of` which figure of the boots.

    `status` is `ok`, `missed`, `unsure` (not shown to be too slow, but these boots cannot exclude it), or
    `none` (no verdict is possible).
    `value_ns` and `limit_ns` are None if unknown; `count` is the number of boots behind it, `p` the p value
    of a regression (corrected if there are several), `base_ns` the median of the baseline.
    """

    what: str
    name: str
    of: str
    status: str
    value_ns: int | None
    limit_ns: int | None
    count: int
    words: str
    p: float | None = None
    base_ns: int | None = None

    @property
    def ident(self) -> str:
        """Its name, unique in a check: `budget app-ready median`."""
        return f"{self.what} {self.name}{' ' + self.of if self.of else ''}"


@dataclass(frozen=True)
class Outcome:
    """The whole check of a run. `refused` says why no verdict is possible; empty if one is. `baseline` are
    the boots that it was compared with, None if there were none."""

    boots: SampleSet
    quantity: Quantity
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    refused: str = ""
    baseline: SampleSet | None = None

    @property
    def missed(self) -> tuple[Finding, ...]:
        """The missed findings."""
        return tuple(f for f in self.findings if f.status == MISSED)


def decide(check: Check, boots: SampleSet, baseline: SampleSet | None) -> Outcome:
    """Checks a run. Raises UserError for an unknown name, and for a baseline that does not fit the run."""
    ground = common_zero((boots,))
    boots = ground.sets[0]
    known = known_names(check)
    asked = {name: _quantity(check, name, where, boots, baseline) for name, where in known.items()}
    wanted = asked.get(check.milestone) or _wanted(boots, baseline, asked)
    found = _reached(boots, wanted, asked.values())
    found += [_budget(budget, asked[budget.name], boots) for budget in check.budgets]
    said = list(ground.notes)
    if baseline is not None:
        judged = [asked[name] for name in check.quantities] or [wanted]
        found += _regressions(check, judged, boots, baseline)
        said += _other(boots, baseline)
    values = boots.values(wanted)
    described = describe(values, boots.step_ns) if values else None
    said += oddities("the run", boots, described, wanted)
    refused = ground.refused or _refusal(boots)
    if refused:
        found = [f if f.what == BOOTS else replace(f, status=NONE, p=None) for f in found]
    return Outcome(boots, wanted, tuple(found), tuple(said), refused, baseline)


def _wanted(boots: SampleSet, baseline: SampleSet | None, asked: Collection[str]) -> Quantity:
    """The quantity that the run is about if the file does not say: from the run or its baseline."""
    for each in (boots, baseline):
        if each and each.until:
            return Quantity(MILESTONE, each.until)
    budgeted = [q for q in boots.quantities() if q.kind == MILESTONE and str(q) in asked]
    return max(budgeted, key=lambda q: median(boots.values(q)), default=goal((boots,)))


def _quantity(check: Check, name: str, where: str, boots: SampleSet, baseline: SampleSet | None) -> Quantity:
    """The quantity of that name: one of the run, or one that it should have reached."""
    known = {str(q): q for each in (baseline, boots) if each for q in each.quantities()}
    if boots.until:
        known.setdefault(boots.until, Quantity(MILESTONE, boots.until))
    # Boots whose end is not known have no total: a file that names it is right all the same.
    known.setdefault(str(WHOLE), WHOLE)
    if name not in known and not boots.complete and _possible(name, boots):
        return called(name)  # no boot got that far
    if name not in known and name in boots.sought:
        what = f"milestone '{printable(name)}' of {boots.run_id}"
        raise UserError(f"{check.path}: {what}: {boots.sought[name]}")
    if name not in known:
        error = unknown(f"milestone or phase ({where})", name, sorted({*known, *boots.possible}))
        raise UserError(f"{check.path}: {error.message}", hint=error.hint)
    return known[name]


def _possible(name: str, boots: SampleSet) -> bool:
    """Whether failed boots may have had what is called `name`, as far as is known."""
    told = name in boots.possible or not boots.possible
    return told or (not boots.exact and called(name).kind == PHASE)


def _refusal(boots: SampleSet) -> str:
    if boots.exact or len(boots.boots) >= FEWEST:
        return ""
    return f"no verdict from fewer than {FEWEST} boots: run {boots.run_id} has {len(boots.boots)}"


def _reached(boots: SampleSet, wanted: Quantity, asked: Iterable[Quantity]) -> list[Finding]:
    """Whether all boots reached what they should; other milestones of the file are included only if a boot
    missed them."""
    others = [_boots(boots, q) for q in dict.fromkeys(asked) if q.kind == MILESTONE and q != wanted]
    return [_boots(boots, wanted), *(found for found in others if found.status == MISSED)]


def _boots(boots: SampleSet, wanted: Quantity) -> Finding:
    reached, all_of = len(boots.of(wanted)), len(boots.boots)
    words = f"{reached} of {all_of} boots reached {wanted}"
    why = next((boot.why for boot in boots.boots if boot.why), boots.sought.get(wanted.name, ""))
    status = OK if reached == all_of and all_of else MISSED
    return Finding(BOOTS, str(wanted), "", status, None, None, all_of, f"{words} ({why})" if why else words)


def _budget(budget: Budget, quantity: Quantity, boots: SampleSet) -> Finding:
    values = boots.values(quantity)
    if not values:
        words = f"no boot reached {budget.name}"
        return Finding(BUDGET, budget.name, budget.of, MISSED, None, budget.limit_ns, 0, words)
    value = budget.figure(values)
    off = value - budget.limit_ns
    status = MISSED if off > 0 else OK
    words = f"{span(abs(off))} {'above' if off > 0 else 'below'} the budget" if off else "exactly the budget"
    return Finding(BUDGET, budget.name, budget.of, status, value, budget.limit_ns, len(values), words)


def _regressions(
    check: Check, judged: Iterable[Quantity], boots: SampleSet, baseline: SampleSet
) -> list[Finding]:
    """The run against its baseline, for each of these quantities."""
    if boots.exact != baseline.exact:
        names = {True: "exact, from the emulated board", False: "measured on a board"}
        words = f"the run is {names[boots.exact]}, the baseline {names[baseline.exact]}"
        raise UserError(f"{check.path}: {words}", hint="a baseline of the same sort: --save-baseline")
    return _corrected([_regression(check.allowance, q, boots, baseline) for q in judged])


def _regression(allowance: Allowance, quantity: Quantity, boots: SampleSet, baseline: SampleSet) -> Finding:
    old, new = baseline.values(quantity), boots.values(quantity)
    if not (old and new):
        words = f"{'the run' if old else 'the baseline'} did not reach {quantity}"
        return Finding(BASELINE, str(quantity), MEDIAN, MISSED, None, None, len(new), words)
    before, now = median(old), median(new)
    allowed = allowance.of(before)
    base = Finding(BASELINE, str(quantity), MEDIAN, OK, now, before + allowed, len(new), "", base_ns=before)
    if boots.exact:
        words = f"{_change(now - before, before)}; {allowance.words} allowed"
        return replace(base, status=MISSED if now - before > allowed else OK, words=words)
    if min(len(old), len(new)) < FEWEST:
        words = f"no verdict from {len(old)} boots of the baseline and {len(new)} of this run"
        return replace(base, status=UNSURE, words=words)
    step_ns = max(boots.step_ns, baseline.step_ns)
    found = shift(old, new, step_ns)
    words = (
        f"{_change(found.shift_ns, before)}, {CONFIDENCE} interval"
        f" {between(found.low_ns, found.high_ns)}; {allowance.words} allowed"
    )
    if found.high_ns > allowed:
        needed = Noise(old, new, step_ns=step_ns).boots_for(allowed or before * PLANNED_PERCENT // 100)
        words += f"; not excluded with so few boots ({needed or 'very many'} of each would be enough)"
    status = UNSURE if found.high_ns > allowed else OK
    return replace(base, status=status, words=words, p=above_p(old, new, allowed, step_ns))


def _corrected(found: Sequence[Finding]) -> list[Finding]:
    """The findings with p values corrected for their number (Holm); those with a significant one are
    missed."""
    ranked = sorted((f.p, at) for at, f in enumerate(found) if f.p is not None)
    result, so_far = list(found), 0.0
    for place, (p, at) in enumerate(ranked):
        so_far = max(so_far, min(1.0, p * (len(ranked) - place)))
        words, status = result[at].words, result[at].status
        if so_far <= ALPHA:
            status, words = MISSED, f"{words.partition('; not excluded')[0]}; p = {so_far:.2g}"
        result[at] = replace(result[at], p=so_far, status=status, words=words)
    return result


def _change(ns: int, before: int) -> str:
    part = f" ({100 * ns / before:+.2f} %)" if before else ""
    return f"{signed(ns)}{part} beside {seconds(before)} s"


def _other(boots: SampleSet, baseline: SampleSet) -> list[str]:
    """The differences in origin of run and baseline that make them hard to compare."""
    a, b = baseline.facts.get("board", ""), boots.facts.get("board", "")
    said = [f"the baseline is of board {a}, the run of board {b}"] if a != b else []
    if baseline.until != boots.until and baseline.until and boots.until:
        said.append(f"the baseline was made until {baseline.until}, the run until {boots.until}")
    return said
