# SPDX-License-Identifier: Apache-2.0
"""Options of verbs that write a boot to a file: on which core, and call paths of time or of stalls."""

from __future__ import annotations

import argparse
from dataclasses import replace

from bootscope.cli.arguments import flag, option
from bootscope.core.errors import UserError
from bootscope.cores.choice import CoreChoice, chosen_core
from bootscope.timeline.trace import Trace

CORE_HELP = (
    "CPU time on this core, with caches and memory (bootscope help cores; default: that of the board, if the "
    "run was counted for it); none: all instructions take the same time"
)


def add_core_options(parser: argparse.ArgumentParser, stalls: str) -> None:
    """--core and --stalls; `stalls` says what the latter does."""
    option(parser, "--core", "C", CORE_HELP)
    flag(parser, "--stalls", f"{stalls}; needs a core")


def core_of(args: argparse.Namespace) -> CoreChoice:
    """The chosen core. Raises UserError for an unknown core, and for a file that is no core profile."""
    return chosen_core(args.core) if args.core else None


def call_paths(trace: Trace, of_stalls: bool) -> Trace:
    """The trace with the requested call paths. Raises UserError if no core is modelled."""
    if not of_stalls:
        return trace
    if not trace.stalls:
        raise UserError(
            "--stalls: no core is modelled for this boot, or it never waits for memory",
            hint="--core CORE, of a run recorded with --timing (bootscope help cores)",
        )
    return replace(trace, stacks=trace.stalls, sampled=())
