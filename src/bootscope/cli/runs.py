# SPDX-License-Identifier: Apache-2.0
"""bootscope list and rm: the stored runs, all or some of them, and how to delete some."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict
from datetime import datetime, timedelta

from bootscope.capture import labels
from bootscope.capture.store import Store
from bootscope.capture.stored import BOARD, IMPORTED, RECORDED, Summary
from bootscope.cli.arguments import flag, option, several
from bootscope.cli.common import check_positive
from bootscope.cli.stores import open_store
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError, printable, unknown
from bootscope.report import terminal as text
from bootscope.runs.listing import Listed, listed

_NONE_LAST = 1 << 62
_SORT: dict[str, Callable[[Listed], tuple[int | str, ...]]] = {
    "when": lambda each: (_made(each.run).isoformat(),),
    "median": lambda each: (-each.figure.median_ns if each.figure else _NONE_LAST,),
    "spread": lambda each: (-each.figure.spread_ns if each.figure else _NONE_LAST,),
    "boots": lambda each: (-each.run.boots,),
    "system": lambda each: (each.run.system,),
    "board": lambda each: (each.run.board,),
    "until": lambda each: (each.figure.what if each.figure else each.run.until,),
    "kind": lambda each: (each.run.kind,),
}
"""Column -> sort key for runs: times from the earliest, figures from the largest, texts alphabetically."""
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DAYS = {"today": 0, "yesterday": 1}


class List(Verb):
    example = "bootscope list --board cubieboard --since 2d"

    def options(self, parser: argparse.ArgumentParser) -> None:
        option(parser, "--system", "S", "only runs of this system (of an import: of this name)")
        option(parser, "--board", "B", "only runs of this board")
        parser.add_argument(
            "--kind", choices=(RECORDED, IMPORTED, BOARD), help="only recordings, imports or measured boards"
        )
        several(parser, "--label", "KEY[=VALUE]", "only runs with this label (repeatable)")
        option(parser, "--since", "T", "only runs made since then: 2026-11-20, 'today', 3d, 12h, 30m")
        option(parser, "--sort", "COLUMN", f"rank by one of {', '.join(_SORT)} (default: when)")
        option(
            parser, "--top", "N", "at most N runs: the newest, with --sort the first (default: all)", type=int
        )

    def run(self, args: argparse.Namespace) -> int:
        check_positive(args, "top")
        if args.sort is not None and args.sort not in _SORT:
            raise unknown("column", args.sort, list(_SORT))
        store = open_store()
        runs = store.summaries()
        found = _ranked(store, _fitting(store, runs, args), args.sort)
        # The newest ones are at the end of the list, where users look.
        some = found if not args.top else found[: args.top] if args.sort else found[-args.top :]
        if args.json:
            print_json("list", {"runs": [_document(each) for each in some], "runs_total": len(found)})
        elif some:
            text.runs(terminal(), some)
            if left := len(found) - len(some):
                kind = "more" if args.sort else "older"
                terminal().print(f"... and {left} {kind}: --top {len(found)}", style="dim")
        elif runs:
            terminal().print(f"none of the {len(runs)} runs matches; bootscope list shows all of them")
        else:
            terminal().print("no runs; start with: bootscope record debian")
        return 0


def chosen(store: Store, args: argparse.Namespace) -> list[Summary]:
    """The runs selected by `--system`, `--board`, `--kind`, `--since` and `--label`, oldest first. Raises
    UserError for an invalid time."""
    return _fitting(store, store.summaries(), args)


def _fitting(store: Store, runs: Iterable[Summary], args: argparse.Namespace) -> list[Summary]:
    return [run for run in _chosen(runs, args) if _has(store, run, args.label)]


def _chosen(runs: Iterable[Summary], args: argparse.Namespace) -> list[Summary]:
    """The selected runs. Raises UserError for an invalid time."""
    since = moment(args.since, datetime.now().astimezone()) if args.since else None
    wanted = {"system": args.system, "board": args.board, "kind": args.kind}
    return [
        run
        for run in runs
        if all(value in (None, getattr(run, name)) for name, value in wanted.items())
        and (since is None or _made(run) >= since)
    ]


def _has(store: Store, run: Summary, wanted: list[str]) -> bool:
    """Whether a run has all requested labels."""
    return not wanted or labels.fits(store.labels_of(run.run_id), wanted)


def _made(run: Summary) -> datetime:
    """When a run was made; unknown for a damaged one."""
    try:
        return datetime.fromisoformat(run.created).astimezone()
    except ValueError:
        return datetime.fromtimestamp(0).astimezone()


def moment(words: str, now: datetime) -> datetime:
    """A time: `2026-11-20`, `2026-11-20 14:00`, `today`, `yesterday` or a time before `now` such as `3d`.

    Raises UserError for anything else.
    """
    if ago := re.fullmatch(r"(\d{1,5})([mhdw])", words):
        return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    if words in _DAYS:
        return datetime(now.year, now.month, now.day).astimezone() - timedelta(days=_DAYS[words])
    try:
        found = datetime.fromisoformat(words)
        return found.astimezone()
    except (ValueError, OverflowError):
        raise UserError(
            f"--since {printable(words)} is not a date or time",
            hint="2026-11-20, '2026-11-20 14:00', today, yesterday; 30m, 12h, 3d, 2w ago",
        ) from None


def _ranked(store: Store, runs: Iterable[Summary], column: str | None) -> list[Listed]:
    """The runs with their figures; oldest first, or sorted by a column."""
    found = listed(store, runs)
    return sorted(found, key=_SORT[column]) if column else found


def _document(each: Listed) -> dict[str, object]:
    run, figure, marks = each
    told: dict[str, object] = {"about": None, "median_ns": None, "spread_ns": None, "exact": None}
    if figure:
        told |= {"about": figure.what, "median_ns": figure.median_ns, "spread_ns": figure.spread_ns}
        told |= {"exact": figure.exact}
    return {**asdict(run), **told, "labels": {key: printable(value) for key, value in marks.items()}}


class Remove(Verb):
    example = "bootscope rm 20261121-081735-stock; bootscope rm --failed --dry-run"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("run", nargs="*", help="run id or part of one, last, last~1, ...")
        flag(parser, "--failed", "all runs without a completed boot (not those being recorded)")
        flag(parser, "--dry-run", "delete nothing, only list what would be deleted")

    def run(self, args: argparse.Namespace) -> int:
        store = open_store()
        if args.failed and args.run:
            raise UserError("--failed finds the runs to delete; leave out their names")
        if not args.failed and not args.run:
            raise UserError("which run?", hint="bootscope list shows them; --failed is for all that failed")
        # All names first: a wrong one must not leave the work half done.
        ids = _failed(store) if args.failed else [_meant(store, name) for name in args.run]
        ids = list(dict.fromkeys(ids))
        for run_id in () if args.dry_run else ids:
            store.remove(run_id)
        if args.json:
            print_json("rm", {"would_remove" if args.dry_run else "removed": ids})
        else:
            done = "would remove" if args.dry_run else "removed"
            terminal().print(
                "\n".join(f"{done} {run_id}" for run_id in ids) or "nothing to remove", markup=False
            )
        return 0


def _failed(store: Store) -> list[str]:
    return [run.run_id for run in store.summaries() if run.failed]


def _meant(store: Store, name: str) -> str:
    """The run to delete. Raises UserError if a newer, incomplete one could be meant as well."""
    found = store.named(name)
    if found.skipped:
        raise UserError(
            f"'{printable(name)}' is {found.run_id}, but {found.skipped[0]} is newer and not complete",
            hint="name the run to delete by its id",
        )
    return found.run_id
