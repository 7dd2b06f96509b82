# SPDX-License-Identifier: Apache-2.0
"""Which run of the store belongs to which product of a check file, and the check of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bootscope.analysis.samples import MILESTONE, WHOLE, Quantity, SampleSet
from bootscope.capture import labels
from bootscope.capture.store import Store
from bootscope.capture.stored import DAMAGED, RECORDING, Summary
from bootscope.check.baseline import read_baseline
from bootscope.check.checked import Checked
from bootscope.check.decide import NONE, Finding, Outcome, decide
from bootscope.check.model import Check, Wanted
from bootscope.core.errors import BootscopeError, UserError, printable, unknown
from bootscope.runs.run import sample_set

ANY = Wanted()


def named(checks: Sequence[Check], names: Sequence[str]) -> tuple[Check, ...]:
    """The products with these names, or all if no names are given. Raises UserError for an unknown name."""
    known = {check.product: check for check in checks}
    for name in names:
        if name not in known:
            raise unknown("product of the check file", name, list(known))
    return tuple(check for check in checks if not names or check.product in names)


def product_of(store: Store, checks: Sequence[Check], run_id: str) -> Check:
    """The product that a run belongs to. Raises UserError if it belongs to none of them, or to several."""
    run = store.summary(run_id)
    found = [check for check in checks if _is_of(store, run, check.wanted)]
    if len(found) == 1:
        return found[0]
    names = [check.product for check in found or checks]
    if found:
        words = f"{run_id} is of products {' and '.join(names)}"
        raise UserError(words, hint="--product NAME says which one to check")
    asked = "; ".join(f"{check.product}: runs {check.wanted.words}" for check in checks)
    raise UserError(
        f"{run_id} is of no product of {checks[0].path}", hint=f"bootscope label RUN KEY=VALUE; {asked}"
    )


def newest_run(store: Store, check: Check, wanted: Sequence[str]) -> str:
    """The newest run of a product that also has the labels `wanted`, even if all its boots failed.

    Raises UserError if there is none.
    """
    if found := newest_ended(store, check.wanted, wanted):
        return found
    asked = f"with {', '.join(map(printable, wanted))}" if wanted else ""
    told = ", ".join(filter(None, [check.wanted.words, asked]))
    words = f"no run of product {check.product} ({told})" if check.product else f"no run {told}"
    raise UserError(words, hint="record --label KEY=VALUE, or bootscope label RUN KEY=VALUE")


def newest_ended(store: Store, asked: Wanted = ANY, wanted: Sequence[str] = ()) -> str | None:
    """The newest run that is `asked` for and has the labels `wanted`, even if all its boots failed; None if
    there is none. Reports newer ones that are still being recorded, or damaged."""
    skipped: list[str] = []
    for run in reversed(store.summaries()):
        if not _is_of(store, run, asked) or not labels.fits(store.labels_of(run.run_id), wanted):
            continue
        if run.ended not in (RECORDING, DAMAGED):
            store.report_skipped(skipped)
            return run.run_id
        skipped.append(run.run_id)
    return None


def _is_of(store: Store, run: Summary, asked: Wanted) -> bool:
    alike = asked.system in ("", run.system) and asked.board in ("", run.board)
    return alike and labels.fits(store.labels_of(run.run_id), asked.labels)


def checked(store: Store, check: Check, boots: SampleSet) -> Checked:
    """The check of a run, with the baseline from its file or from the store. Raises UserError as
    :func:`decide` does, and for a missing baseline."""
    if check.history is None:
        baseline = read_baseline(check.baseline) if check.baseline else None
        return Checked(check.product, decide(check, boots, baseline))
    # Other checks need not load what reads a history.
    from bootscope.check.from_history import history_baseline

    found, words = history_baseline(store, boots.run_id, boots, check.history, check.milestone)
    outcome = decide(check, boots, found)
    return Checked(check.product, replace(outcome, notes=(words, *outcome.notes)))


def each_checked(
    store: Store, checks: Sequence[Check], run_of: Callable[[Check], str]
) -> tuple[list[Checked], list[BootscopeError]]:
    """The checks of several products. One that cannot be checked has no verdict, and does not affect the
    others; the errors say why."""
    found, errors = [], []
    for check in checks:
        try:
            found.append(checked(store, check, sample_set(store, run_of(check))))
        except BootscopeError as error:
            found.append(Checked(check.product, _refused(check, error.message)))
            errors.append(error)
    return found, errors


def _refused(check: Check, words: str) -> Outcome:
    """The outcome of a product that could not be checked."""
    quantity = Quantity(MILESTONE, check.milestone) if check.milestone else WHOLE
    finding = Finding("boots", str(quantity), "", NONE, None, None, 0, words)
    return Outcome(SampleSet("", ()), quantity, (finding,), (), words)
