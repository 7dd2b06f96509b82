# SPDX-License-Identifier: Apache-2.0
"""bootscope compare for runs whose boots are not all the same: with statistics."""

from __future__ import annotations

import argparse

from bootscope.analysis.samples import SampleSet
from bootscope.analysis.significance import ADVISED, against
from bootscope.capture.store import Store
from bootscope.cli.verb import print_json, terminal
from bootscope.core.errors import UserError
from bootscope.report import boots as text
from bootscope.report import boots_json
from bootscope.runs.run import run_of


def differ(store: Store, ids: tuple[str, str]) -> bool:
    """Whether one of two runs was not recorded on the emulated board, or has boots that differ there."""
    return not all(run.exact for run in [run_of(store, run_id) for run_id in ids])


def compare_boots(args: argparse.Namespace, a: SampleSet, b: SampleSet) -> int:
    """Shows B against A. Raises UserError after it where the boots do not allow a verdict."""
    found = against(a, b, args.milestone)
    if args.json:
        print_json("compare-boots", boots_json.compare(found))
    else:
        text.compare(terminal(), found)
    if found.refused:
        raise UserError(text.named(found.refused, 400), hint=f"{ADVISED} boots of each are a good start")
    return 0
