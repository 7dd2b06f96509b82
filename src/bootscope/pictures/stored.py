# SPDX-License-Identifier: Apache-2.0
"""The subject of a picture: stored runs, named as on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from bootscope.analysis import silence_rows
from bootscope.analysis.rows import Rows
from bootscope.analysis.trace_rows import rows_of_trace
from bootscope.analysis.view_names import SILENCES
from bootscope.analysis.views import View
from bootscope.capture.store import Store
from bootscope.cores.choice import CoreChoice
from bootscope.pictures.subject import Boot, Subject, Tables
from bootscope.report.answer import Answer
from bootscope.report.stored import first_of, one_boot, until_of, varying
from bootscope.runs.heard import MEASURED, SeenBoot
from bootscope.runs.run import common_core, run_and_boot, run_of
from bootscope.timeline.trace import Trace


def subject_of(store: Store, names: Sequence[str], core: CoreChoice = None) -> Subject:
    """One boot of each of these runs; with `core`, with the times it would take on that. Raises UserError for
    an unknown name, for what cannot be read, and for what was not counted for the core."""
    core = common_core(store, names, core)
    return Subject([_boot(store, name, core) for name in names])


def findings(store: Store, subject: Subject) -> list[Answer]:
    """What to do first about the last of the boots; empty if unknown."""
    boot = subject.boots[-1]
    return first_of(store, boot.boot_id, recorded=boot.recorded)


def _boot(store: Store, name: str, core: CoreChoice) -> Boot:
    wanted, number = run_and_boot(name)
    run_id = store.find_id(wanted)
    boot = one_boot(run_of(store, run_id), number, core)
    boots = varying(store, name)
    summary = store.summary(run_id)
    created = summary.created
    if isinstance(boot, View):
        info, ended = boot.run.info, boot.boot.info
        title = f"{info.system.name} on {info.board.name}"
        failure = "" if ended.complete else f"{ended.ended}: {ended.message}"
        return Boot(ended.boot_id, title, boot.trace, boot.tables, info.until, failure, True, created, boots)
    trace, measured = boot.trace(), boot.how == MEASURED
    title = summary.board or boot.boot_id if measured else trace.title.rpartition("/")[2]
    until = until_of(store, boot.boot_id)
    failure = _failure(boot, trace, until)
    return Boot(boot.boot_id, title, trace, _heard(boot), until, failure, False, created, boots, measured)


def _failure(boot: SeenBoot, trace: Trace, until: str) -> str:
    """Why a boot failed; empty if it completed, or it is unknown what it was for."""
    if trace.failure and trace.failure.ends:
        return trace.failure.words
    return boot.message or f"{until} was not reached" if until and until not in trace.milestones() else ""


def _heard(boot: SeenBoot) -> Tables:
    def tables(name: str) -> tuple[Rows, ...]:
        trace = boot.trace(lines=False)
        if name == SILENCES:
            return (silence_rows.of_heard(boot.understood, boot.index, trace),)
        return rows_of_trace(name, trace)

    return tables
