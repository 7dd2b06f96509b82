# SPDX-License-Identifier: Apache-2.0
"""The command line: finds the verb, runs it, and is the only place that turns errors into exit codes.

0 success, 1 a bug of ours, 2 something the user can fix, 3 the board (also a missed budget) or a tool, 130
interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import gc
import io
import os
import shutil
import sys
from collections.abc import Callable, Sequence

from bootscope.cli.parsers import overview, parser
from bootscope.cli.verbs import VERBS
from bootscope.core import interrupts
from bootscope.core.errors import BootscopeError, ToolError, UserError, printable

INTERRUPTED, BUG = 130, 1
WORLD = {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO}
_SHOWN = 60
"""The characters that are shown of a name that is too long."""


def _parser_for(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the verb that a command line names; the overview if it names none."""
    first = next((word for word in words if word == "--" or not word.startswith("-")), "")
    return parser([first]) if first in VERBS else overview()


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line, and sends what it made to the store's server, if there is one; returns the exit
    code."""
    status = _guarded(lambda: _run(sys.argv[1:] if arguments is None else arguments))
    stores = sys.modules.get("bootscope.cli.stores")
    if stores is None or status in (BUG, INTERRUPTED):
        return status
    sent = _guarded(stores.send_new)
    return status or sent


def _run(words: Sequence[str]) -> int:
    if not words:
        # Someone who types only the name wants to see what there is, not that a word is missing.
        overview().print_help(sys.stderr)
        return UserError.exit_code
    args = _parser_for(words).parse_args(words)
    status = int(args.do(args))
    sys.stdout.flush()
    return status


def _guarded(work: Callable[[], int]) -> int:
    """Calls `work`; an exception becomes a message and an exit code."""
    try:
        return work()
    except BootscopeError as error:
        return show_error(error)
    except KeyboardInterrupt:
        return show_interrupted()
    except BrokenPipeError:
        # The reader (head, a pager) has closed the pipe. Python would complain once more at exit.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return show_error(UserError(_too_long(error), hint="choose a shorter name"))
        if error.errno not in WORLD:
            show_bug()
            return BUG
        return show_error(of_the_world(error))
    except Exception:
        # Python wraps an interrupt in another error if it comes while a class is created.
        if interrupts.asked():
            return show_interrupted()
        show_bug()
        return BUG


def _too_long(error: OSError) -> str:
    """What is said of a name that no file system takes; the name itself may be of any length."""
    name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    last = name.rpartition("/")[2] or name
    if len(last) > _SHOWN:
        return f"{printable(last[:_SHOWN])}... ({len(last)} characters): {error.strerror}"
    return f"{printable(name) or 'input/output'}: {error.strerror}"


def show_interrupted() -> int:
    """Reports that the user interrupted the command; returns the exit code."""
    print("bootscope: interrupted", file=sys.stderr)
    return INTERRUPTED


def show_error(error: BootscopeError) -> int:
    """Shows an error and its hint, harmless to a terminal; returns its exit code."""
    print(f"bootscope: {_shown(error.message)}", file=sys.stderr)
    if error.hint:
        print(_in_lines(f"  hint: {_shown(error.hint)}"), file=sys.stderr)
    return error.exit_code


def _in_lines(hint: str) -> str:
    """`hint` for the terminal: a long list of names continues in the next line, after a comma. Commands stay
    whole, to be copied; so does everything that a program reads."""
    if not sys.stderr.isatty():
        return hint
    width, indent = shutil.get_terminal_size().columns, " " * len("  hint: ")
    lines: list[str] = []
    for line in hint.split("\n"):
        first, *rest = line.split(", ")
        lines.append(first)
        for piece in rest:
            if len(f"{lines[-1]}, {piece},") <= width:
                lines[-1] += f", {piece}"
            else:
                lines[-1] += ","
                lines.append(f"{indent}{piece}")
    return "\n".join(lines)


def _shown(text: str) -> str:
    """`text` in its lines. They may quote images and logs, which are of anybody."""
    return "\n".join(printable(line) for line in text.expandtabs().split("\n"))


def of_the_world(error: OSError) -> BootscopeError:
    """The error for a full disk, or for a file system that refuses."""
    from bootscope.capture.access import REFUSALS, refused
    from bootscope.core.paths import cache_dir, store_dir

    name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    message = f"{printable(name) or 'input/output'}: {error.strerror}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        there = f"recordings are in {store_dir()}, builds in {cache_dir()}; what is already there stays"
        room = "Free some space (bootscope list, bootscope rm RUN), or set BOOTSCOPE_STORE to another folder"
        return ToolError(message, hint=f"{there}. {room}")
    if error.errno in REFUSALS and name.startswith(str(store_dir())):
        return refused(store_dir(), error)
    elsewhere = "BOOTSCOPE_CACHE=FOLDER keeps sources and builds in another folder"
    return ToolError(message, hint=elsewhere if name.startswith(str(cache_dir())) else None)


def show_bug() -> None:
    """Shows the traceback of an unexpected error."""
    import traceback

    traceback.print_exc()
    print("bootscope: this is a bug; please report it with the lines above", file=sys.stderr)


def entry() -> None:
    """The entry point of the console script."""
    # A recording is some 100,000 objects that live until the end: scanning them for garbage again and again
    # took a quarter of the time of `show`.
    gc.set_threshold(200_000, 50, 100)
    interrupts.install()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.exit(main())
