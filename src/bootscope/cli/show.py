# SPDX-License-Identifier: Apache-2.0
"""bootscope show and compare: where does the time go, and what has changed?"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from bootscope.analysis.rows import Rows, sort
from bootscope.analysis.view_names import (
    CPUS,
    CRITICAL_PATH,
    MEMORY,
    NAMES,
    PROBES,
    SILENCES,
    SIZES,
    SYSCALLS,
    UNITS,
)
from bootscope.analysis.views import View, comparison, view
from bootscope.boards.changed import asks_for_core
from bootscope.boards.changed import core_of as board_core
from bootscope.boards.profile import load_board
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredRun
from bootscope.cli.arguments import chosen, flag, option
from bootscope.cli.common import check_positive, refuse
from bootscope.cli.core_options import CORE_HELP, core_of
from bootscope.cli.stores import open_store
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError
from bootscope.core.text import visible
from bootscope.cores.choice import CoreChoice
from bootscope.report import jsondoc, rows
from bootscope.report import terminal as text
from bootscope.runs.run import Recording, common_core, run_and_boot, run_of, sample_set

if TYPE_CHECKING:
    from bootscope.analysis.samples import SampleSet
    from bootscope.runs.heard import HeardRun

_DIFFERENCES = 20
_SORT = "with --view: rank by the column with this heading (functions: self, total, share, ...)"


def view_of(
    store: Store,
    name: str | None,
    number: int | None = None,
    board: str | None = None,
    core: CoreChoice = None,
) -> View:
    """A boot as named on the command line: `RUN` or `RUN/BOOT`, otherwise the last run."""
    name, number = run_and_boot(name, number)
    return _view(store, store.find(name), number, board, core)


def _view(
    store: Store, run: StoredRun, number: int | None, board: str | None, core: CoreChoice = None
) -> View:
    other = load_board(board) if board else None
    if board and other and core is None and asks_for_core(board):
        core = board_core(other)
    return view(store, run, number, other, indexed=True, core=core)


class Show(Verb):
    example = "bootscope show last --top 20"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "run", nargs="?", help="run id or part of one, or RUN/BOOT (default: the last run)"
        )
        option(parser, "--boot", "N", "which boot of the run", type=int)
        option(parser, "--board", "B", "use the costs of another board profile (without booting again)")
        option(parser, "--core", "C", CORE_HELP)
        views = (*NAMES, UNITS, CPUS, MEMORY, PROBES, SYSCALLS, SIZES)
        chosen(parser, "--view", "V", views, "explain one thing in detail")
        option(parser, "--phase", "P", "only this phase of the boot (with --view)")
        option(parser, "--to", "MILESTONE", "the critical path to this milestone (default: the last)")
        option(parser, "--top", "N", "length of the lists (default 12; with --view 25)", type=int)
        option(parser, "--sort", "COLUMN", _SORT)

        flag(parser, "--watch", "follow the run that is being recorded now, to its end (Ctrl-C: stop)")

    def run(self, args: argparse.Namespace) -> int:
        if args.watch:
            from bootscope.cli.watch import watch

            return watch(open_store(), args)
        if args.phase and not args.view:
            raise UserError("--phase needs --view", hint="for example --view functions --phase kernel")
        if args.phase and args.view == SIZES:
            raise UserError("--phase: sizes of programs belong to no phase")
        if args.to and (args.view != CRITICAL_PATH or args.phase):
            raise UserError("--to goes with --view critical-path, and without --phase")
        if args.sort and not args.view:
            raise UserError("--sort needs --view", hint="for example --view functions --sort total")
        all_rows = args.top is None
        if all_rows:
            args.top = 25 if args.view else 12
        check_positive(args, "top")
        store = open_store()
        name, number = run_and_boot(args.run, args.boot)
        run = run_of(store, store.find_id(name))
        if not isinstance(run, Recording):
            _show_imported(run, number, args, all_rows)
            return 0
        v = _view(store, run.stored, number, args.board, core_of(args))
        if args.view:
            tables = v.path_to(args.to) if args.to else v.tables(args.view, args.phase)
            _show_tables(args, v.boot.info.boot_id, tables, all_rows)
        elif args.json:
            print_json("show", jsondoc.show(v, args.top))
        else:
            text.show(terminal(), v, args.top)
        return 0


def _show_imported(run: HeardRun, number: int | None, args: argparse.Namespace, all_rows: bool) -> None:
    """Shows a boot of an imported run, or one of a real board."""
    # A recording need not load the readers.
    from bootscope.analysis import silence_rows
    from bootscope.analysis.silences import quiet
    from bootscope.analysis.trace_rows import rows_of_trace
    from bootscope.report import imported, imported_json, run_boots
    from bootscope.runs.heard import MEASURED

    refuse(args, ("board", "core"), "recomputes costs, which only boots of an emulated board have")
    boot = run.boot(number)
    trace = boot.trace(lines=False)
    if args.view == SILENCES:
        rows_of = silence_rows.of_heard(boot.understood, boot.index, trace, args.phase)
        _show_tables(args, boot.boot_id, (rows_of,), all_rows)
    elif args.view:
        tables = rows_of_trace(args.view, trace, args.phase)
        _show_tables(args, boot.boot_id, tables, all_rows)
    elif args.json:
        found = quiet(boot.understood, boot.index, trace, args.top)
        print_json("show-imported", imported_json.show(boot, found, args.top))
    else:
        if boot.how == MEASURED and number is None:
            run_boots.show(terminal(), run.times())
        imported.show(terminal(), boot, args.top)


def _show_tables(args: argparse.Namespace, boot_id: str, tables: tuple[Rows, ...], all_rows: bool) -> None:
    """Shows the tables of a view, sorted as requested; with `all_rows` JSON is not cut to --top."""
    tables = sort(tables, args.sort) if args.sort else tables
    if args.json:
        shown = rows.document(tables, None if all_rows else args.top)
        print_json("view", {"boot": boot_id, "view": args.view, "tables": shown})
        return
    told: set[str] = set()
    for table in tables:
        # Notes on a whole view are shown once.
        rows.show(terminal(), replace(table, notes=tuple(n for n in table.notes if n not in told)), args.top)
        told.update(table.notes)


def _refuse_same(ids: tuple[str, str], boots: tuple[int | None, int | None]) -> None:
    """Raises UserError if A and B are the same run or boot: the result would be that nothing differs."""
    if ids[0] == ids[1] and boots[0] == boots[1]:
        what = ids[0] if boots[0] is None else f"{ids[0]}/{boots[0]}"
        raise UserError(
            f"A and B are both {what}", hint="last~1 is the run before the last, NAME~1 the same for a name"
        )


class Compare(Verb):
    example = "bootscope compare 20261121-081735 last"

    def options(self, parser: argparse.ArgumentParser) -> None:
        # `show` need not load what compares.
        from bootscope.analysis.changes import VIEWS

        parser.add_argument("a", help="run id or part of one, or RUN/BOOT")
        parser.add_argument("b", help="the run or boot to compare with A")
        option(parser, "--top", "N", "differences shown (default 20)", type=int)
        chosen(parser, "--view", "V", VIEWS, "compare one thing in detail")
        option(parser, "--sort", "COLUMN", _SORT.replace("self, total, share", "change, A, B"))
        option(
            parser,
            "--core",
            "C",
            "both on this core: instructions and waits for memory apart (default: that of their boards, if "
            "both were counted); none: all instructions take the same time",
        )
        option(
            parser,
            "--milestone",
            "M",
            "the milestone or phase to judge, where boots vary (default: the last milestone)",
        )

    def run(self, args: argparse.Namespace) -> int:
        if args.sort and not args.view:
            raise UserError("--sort needs --view", hint="for example --view functions --sort change")
        check_positive(args, "top")
        store = open_store()
        (name_a, boot_a), (name_b, boot_b) = run_and_boot(args.a), run_and_boot(args.b)
        ids = store.find_id(name_a), store.find_id(name_b)
        _refuse_same(ids, (boot_a, boot_b))
        if not all([run_of(store, run_id).exact for run_id in ids]):
            refuse(
                args, ("view", "top", "core"), "is for single boots of the emulated board; these boots vary"
            )
            boots_a, boots_b = sample_set(store, ids[0], boot_a), sample_set(store, ids[1], boot_b)
            return self._with_statistics(args, boots_a, boots_b)
        refuse(args, ("milestone",), "is for runs whose boots vary; these are exact", "without it")
        core = common_core(store, (args.a, args.b), core_of(args))
        a, b = (view_of(store, *side, core=core) for side in zip(ids, (boot_a, boot_b), strict=True))
        _refuse_same((a.boot.info.boot_id, b.boot.info.boot_id), (None, None))
        if args.view == MEMORY and not (a.core and b.core):
            raise UserError(
                "--view memory compares boots on a core", hint="--core CORE (bootscope help cores)"
            )
        if args.view:
            return self._in_detail(args, a, b)
        found = comparison(store, a, b)
        if args.json:
            print_json("compare", jsondoc.compare(a, b, found))
        else:
            text.compare(terminal(), a, b, found, args.top or _DIFFERENCES)
        if found.refused:
            raise UserError(visible(found.refused), hint="compare completed boots")
        return 0

    def _with_statistics(self, args: argparse.Namespace, a: SampleSet, b: SampleSet) -> int:
        """For runs that were not recorded on the emulated board, or whose boots differ there."""
        from bootscope.analysis.significance import ADVISED, against
        from bootscope.report import boots, boots_json

        found = against(a, b, args.milestone)
        if args.json:
            print_json("compare-boots", boots_json.compare(found))
        else:
            boots.compare(terminal(), found)
        if found.refused:
            refused = boots.named(found.refused, 400)
            more = f"{ADVISED} boots of each are a good start"
            alike = (
                "compare boots of one kind; bootscope help calibrate brings the emulated board close to yours"
            )
            raise UserError(refused, hint=more if a.exact == b.exact else alike)
        return 0

    def _in_detail(self, args: argparse.Namespace, a: View, b: View) -> int:
        from bootscope.analysis.changes import changes

        table = changes(args.view, a, b)
        table = sort((table,), args.sort)[0] if args.sort else table
        if args.json:
            boots = {"a": a.boot.info.boot_id, "b": b.boot.info.boot_id}
            print_json("changes", {**boots, "view": args.view, "tables": rows.document((table,), args.top)})
        else:
            text.sides(terminal(), a, b)
            rows.show(terminal(), table, args.top or _DIFFERENCES)
        return 0
