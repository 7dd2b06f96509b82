# SPDX-License-Identifier: Apache-2.0
"""bootscope compare for runs whose boots are not all the same: with statistics."""

from __future__ import annotations

import argparse

from bootscope.analysis.samples import SampleSet
from bootscope.analysis.significance import ADVISED, against
from bootscope.capture.store import RECORDED, Store
from bootscope.cli.verb import print_json, terminal
from bootscope.core.errors import UserError
from bootscope.report import boots as text
from bootscope.report import boots_json
from bootscope.runs.sampling import recorded


def differ(store: Store, ids: tuple[str, str]) -> bool:
    """Whether one of two runs was not recorded on the emulated board, or has boots that differ there."""
    if any(store.kind(run_id) != RECORDED for run_id in ids):
        return True
    runs = [store.load(run_id) for run_id in ids]
    # Boots of one stream are the same boot; only others have to be looked at.
    several = [run for run in runs if len({b.info.stream_sha256 for b in run.boots}) > 1]
    return any(not recorded(run).exact for run in several)


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
