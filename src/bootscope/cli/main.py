# SPDX-License-Identifier: Apache-2.0
"""The command line: finds the verb, runs it, and alone turns errors into exit codes.

0 fine, 1 a bug of ours, 2 something the user can mend, 3 the board (also a budget that it missed) or a tool,
130 interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import gc
import importlib
import io
import os
import signal
import sys
import traceback
from collections.abc import Iterable, Sequence

from bootscope import __version__
from bootscope.cli.common import add_json
from bootscope.cli.verb import Verb
from bootscope.errors import BootscopeError
from bootscope.paths import cache_dir, store_dir

VERBS = {
    "record": "bootscope.cli.record:Record",
    "import": "bootscope.cli.imports:Import",
    "show": "bootscope.cli.show:Show",
    "what-if": "bootscope.cli.whatif:WhatIf",
    "calibrate": "bootscope.cli.calibrate:Calibrate",
    "compare": "bootscope.cli.show:Compare",
    "check": "bootscope.cli.check:CheckVerb",
    "report": "bootscope.cli.report:Report",
    "export": "bootscope.cli.export:Export",
    "list": "bootscope.cli.store:List",
    "rm": "bootscope.cli.store:Remove",
    "audit": "bootscope.cli.audit:AuditVerb",
    "optimize": "bootscope.cli.optimize:Optimize",
    "trim": "bootscope.cli.trim:TrimVerb",
    "try": "bootscope.cli.trial:Try",
    "techniques": "bootscope.cli.techniques:Techniques",
    "pitfalls": "bootscope.cli.pitfalls:Pitfalls",
    "reproduce": "bootscope.cli.reproduce:Reproduce",
    "apply": "bootscope.cli.apply:Apply",
    "build": "bootscope.cli.build:Build",
    "system": "bootscope.cli.systems:SystemVerb",
    "cache": "bootscope.cli.store:CacheVerb",
    "doctor": "bootscope.cli.doctor:Doctor",
    "completion": "bootscope.cli.completion:Completion",
}
"""Verb -> where it is. One that is not asked for is not loaded: `show` should not wait for the builder."""
INTERRUPTED = 130
WORLD = {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO}


class Parser(argparse.ArgumentParser):
    """argparse with our way of saying what is wrong: one line, one hint, status 2."""

    def error(self, message: str) -> None:  # type: ignore[override]
        print(f"bootscope: {message}", file=sys.stderr)
        print(f"  hint: {self.prog} --help", file=sys.stderr)
        raise SystemExit(2)


def load(name: str) -> type[Verb]:
    """The verb of that name."""
    module, _, kind = VERBS[name].partition(":")
    found: type[Verb] = getattr(importlib.import_module(module), kind)
    return found


def parser(names: Iterable[str] = VERBS) -> argparse.ArgumentParser:
    """The parser of some verbs, or of all."""
    top = Parser(
        prog="bootscope",
        description="Measures, explains and shrinks the boot time of Linux devices.",
        epilog="Start with: bootscope record stock",
    )
    top.add_argument("--version", action="version", version=f"bootscope {__version__}")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=Parser)
    for name in names:
        verb = load(name)()
        sub = verbs.add_parser(
            verb.name,
            help=verb.summary,
            description=verb.summary[:1].upper() + verb.summary[1:] + ".",
            epilog=f"example: {verb.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        verb.options(sub)
        add_json(sub)
        sub.set_defaults(do=verb.run)
    return top


def _asked_for(arguments: Sequence[str] | None) -> Iterable[str]:
    """The verb that a command line begins with; all where it begins with something else."""
    words = sys.argv[1:] if arguments is None else arguments
    return words[:1] if words and words[0] in VERBS else VERBS


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line; returns the exit code."""
    try:
        args = parser(_asked_for(arguments)).parse_args(arguments)
        status = int(args.do(args))
        sys.stdout.flush()
        return status
    except BootscopeError as error:
        print(f"bootscope: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"  hint: {error.hint}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("bootscope: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, a pager) has seen enough. Python would complain at exit once more.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.errno not in WORLD:
            show_bug()
            return 1
        print(f"bootscope: {error.filename or 'input/output'}: {error.strerror}", file=sys.stderr)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            print(f"  hint: {no_room()}", file=sys.stderr)
        return 3
    except Exception:
        show_bug()
        return 1


def no_room() -> str:
    """What may be done where a disk is full."""
    return (
        f"recordings are in {store_dir()}, builds in {cache_dir()}; what is there already stays. Make room "
        "(bootscope list, bootscope rm RUN), or let BOOTSCOPE_STORE name another folder"
    )


def show_bug() -> None:
    """Shows the trace of an error that nobody expected."""
    traceback.print_exc()
    print("bootscope: this is a bug; please report it with the lines above", file=sys.stderr)


def entry() -> None:
    """The entry point of the console script."""
    # A recording is some 100,000 objects that stay until the end: looking through them for garbage again
    # and again took a quarter of the time of `show`.
    gc.set_threshold(200_000, 50, 100)
    # A plain 'kill' or a closed terminal ends as Ctrl-C does: nothing lost, children ended.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.exit(main())
