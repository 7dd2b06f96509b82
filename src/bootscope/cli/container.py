# SPDX-License-Identifier: Apache-2.0
"""bootscope container: a folder with all tools at fixed versions, and programs that run in it."""

from __future__ import annotations

import argparse
import os

from bootscope.builder.cache import Cache
from bootscope.builder.share import Share
from bootscope.builder.step import Runner
from bootscope.cli.parsers import verb_parser
from bootscope.cli.progress import progress
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.container.making import step
from bootscope.container.running import ROOT, Inside, environment
from bootscope.core.errors import ToolError, UserError, printable, to_stderr
from bootscope.core.paths import cache_dir, share_url, store_dir

ACTIONS = {
    "make": "create it, unless it exists",
    "run": "run a program in it, with this bootscope; create it first if needed",
    "path": "print its root folder, for podman and similar tools",
}


class Container(Verb):
    example = "bootscope container run dask worker tls://build1:8786 --nthreads 1"

    def options(self, parser: argparse.ArgumentParser) -> None:
        listed = "; ".join(f"{name}: {what}" for name, what in ACTIONS.items())
        parser.add_argument("action", choices=tuple(ACTIONS), help=listed)
        parser.add_argument(
            "words", nargs=argparse.REMAINDER, metavar="PROGRAM", help="of run: the program and its arguments"
        )

    def run(self, args: argparse.Namespace) -> int:
        words = args.words[1:] if args.words[:1] == ["--"] else args.words
        if words[:1] in (["-h"], ["--help"]):
            verb_parser("container").print_help()
            return 0
        if args.action == "run":
            if not words:
                raise UserError("name a program to run in the container", hint=self.example)
            if words[0].startswith("-"):
                raise UserError(
                    f"container run takes a program first, not {printable(words[0])}", hint=self.example
                )
            if args.json:
                raise UserError("container run prints what the program prints: leave --json out")
            return _run(words)
        as_json = args.json or words == ["--json"]
        if words and words != ["--json"]:
            raise UserError(f"container {args.action} takes no program", hint=self.example)
        return _tell(args.action, as_json)


def _made(quiet: bool) -> tuple[Cache, str]:
    """The cache, and the id of its container, which is made if it is missing."""
    cache, wanted = Cache(cache_dir()), step()
    step_id, url = wanted.step_id({}), share_url()
    share = Share(url, to_stderr) if url else None
    Runner(cache, progress(quiet=quiet), share=share).run(wanted, step_id, {})
    return cache, step_id


def _tell(action: str, as_json: bool) -> int:
    cache, step_id = _made(as_json)
    root = cache.steps / step_id / ROOT
    if as_json:
        print_json("container", {"id": step_id, "root": str(root)})
    elif action == "path":
        print(root)
    else:
        terminal().print(f"container {step_id[:12]}\n{root}", markup=False, soft_wrap=True)
    return 0


def _run(words: list[str]) -> int:
    """Replaces this process with the program; returns only if that fails."""
    cache, step_id = _made(quiet=False)
    inside = Inside(cache.steps / step_id)
    inside.check()
    cache.keep(step_id)
    command = inside.command(words, [cache.root, store_dir()])
    try:
        os.execvpe(command[0], command, environment())
    except OSError as error:
        raise ToolError(f"cannot run {command[0]}: {error.strerror}") from error
