# SPDX-License-Identifier: Apache-2.0
"""Which source lines ran of the programs that are named on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bootscope.analysis.views import View
from bootscope.capture.record import USAGE
from bootscope.core.errors import UserError
from bootscope.export.base import SourceLines
from bootscope.timeline.trace import Trace


def source_lines(boot: View | Trace, names: Sequence[str]) -> tuple[SourceLines, ...]:
    """The files of all programs. Raises UserError for a boot that was not counted, and for a file that is
    none of its programs, or has no debug information."""
    if isinstance(boot, Trace):
        raise UserError("the lines that ran are unknown: the boot was imported")
    if not names:
        raise UserError(
            "the lines that ran are unknown: no program with debug information was given",
            hint="--debug FILE: an unstripped program, such as vmlinux, of the build that was recorded",
        )
    # What reads programs is loaded only when needed.
    from bootscope.analysis.line_counts import line_counts
    from bootscope.capture import usage

    path, found = boot.boot.path / USAGE, list[SourceLines]()
    if not path.exists():
        raise UserError(
            "this boot was recorded without counting which code runs",
            hint=f"bootscope record {boot.run.info.system.name} --counts",
        )
    counted = usage.read(path)
    for name in names:
        try:
            program, files = line_counts(boot.evidence, counted, Path(name).read_bytes())
        except OSError as error:
            raise UserError(f"--debug {name}: {error.strerror}") from error
        except UserError as error:
            raise UserError(f"--debug {name}: {error.message}", hint=error.hint) from error
        test = "".join(c if c.isalnum() else "_" for c in program)
        found += [SourceLines(test, f.path, f.lines, f.functions) for f in files]
    return tuple(found)
