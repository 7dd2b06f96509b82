# SPDX-License-Identifier: Apache-2.0
"""Options that several verbs share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bootscope.cli.arguments import flag, option
from bootscope.core.errors import UserError, to_stderr

if TYPE_CHECKING:
    from bootscope.builder.cache import Cache
    from bootscope.builder.progress import Progress
    from bootscope.builder.step import Runner

LARGEST = 1_000_000
"""The limit of any number or time in seconds that an option takes."""


def add_json(parser: argparse.ArgumentParser) -> None:
    """Adds --json, which every verb has."""
    flag(parser, "--json", "print JSON instead of text (bootscope help json)")


def add_build_options(parser: argparse.ArgumentParser, jobs: str = "compile N files at a time") -> None:
    """Adds the build options; `jobs` says what else the number of jobs is for."""
    option(parser, "-j --jobs", "N", f"{jobs} (default: as many as there are CPUs)", type=int)
    flag(parser, "--no-ccache", "compile everything again, even if ccache is installed")


def add_board_timeout(parser: argparse.ArgumentParser) -> None:
    """Adds --board-timeout, for a boot on the emulated board."""
    what = "limit of the board's own (virtual) time for one boot, in seconds (default 120)"
    option(parser, "--board-timeout", "S", what, type=float)


def board_limit_ns(args: argparse.Namespace) -> int:
    """The value of --board-timeout, or its default, in ns."""
    return int((args.board_timeout or 120) * 1e9)


def runner(args: argparse.Namespace, cache: Cache, progress: Progress) -> Runner:
    """A runner with the settings of the build options."""
    # Verbs that build nothing need not load the builder.
    import shutil

    from bootscope.builder.share import Share
    from bootscope.builder.step import Runner
    from bootscope.core.paths import share_url

    use_ccache = not args.no_ccache and shutil.which("ccache") is not None
    url = share_url()
    share = Share(url, to_stderr) if url else None
    return Runner(cache, progress, jobs=jobs_of(args), use_ccache=use_ccache, share=share)


def jobs_of(args: argparse.Namespace) -> int:
    """How many jobs the build options allow at the same time."""
    return max(1, args.jobs if args.jobs is not None else os.cpu_count() or 1)


BUILD_OPTIONS = ("jobs", "no_ccache")
"""The build options by their names in the result of the parser."""


def refuse(args: argparse.Namespace, names: Iterable[str], why: str, hint: str | None = None) -> None:
    """Raises UserError when one of these options, by their names in the result of the parser, was given: the
    verb would ignore it. `why` follows the option's name."""
    for name in names:
        value = getattr(args, name)
        if value is not None and value is not False and value != [] and value != "":
            raise UserError(f"{option_of(name)} {why}", hint=hint)


def refuse_build_options(args: argparse.Namespace, tree: str) -> None:
    """Raises UserError if build options were given for an imported system."""
    refuse(args, BUILD_OPTIONS, f"is for systems that bootscope builds; {tree} has its own build command")


def option_of(name: str) -> str:
    """An option as typed, from its name in the result of the parser."""
    return f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"


def check_positive(args: argparse.Namespace, *names: str) -> None:
    """Raises UserError when one of these options is not above zero, or larger than LARGEST."""
    for name in names:
        value = getattr(args, name)
        if value is not None and not 0 < value <= LARGEST:
            raise UserError(f"{option_of(name)} must be above 0, at most {LARGEST:,}")
