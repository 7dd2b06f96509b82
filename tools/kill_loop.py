# SPDX-License-Identifier: Apache-2.0
"""Kills bootscope at random moments while it builds, records and searches, and looks for damage.

    python tools/kill_loop.py [--kills 1000] [--seed 1] [--system debian] [--until MILESTONE] [--folder DIR]

Store and cache are in DIR (the sources are taken from the usual cache). Before each run a random step is
removed from the cache, so that there is something to build. The run is killed with all its child processes,
after a random time of at most the last complete run of that verb. After each kill all steps of the cache must
have the same bytes as when they were built, `list` must read all runs, and the journal must not have lost an
entry. At the end each verb must complete undisturbed, with the same figure as at the beginning.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from bootscope.builder.cache import Cache, remove_tree
from bootscope.builder.verify import damaged
from bootscope.cli.main import main
from bootscope.cli.parsers import parser as parser_of
from bootscope.core import interrupts
from bootscope.core.paths import cache_dir

SEARCH = ("--only", "init-app-first,remove-rc-scripts,init-single-script", "--resume")
"""What a search tries here: nothing that compiles."""


@dataclass
class Loop:
    """The disturbed runs: `longest_s` is the time of each verb's last complete run."""

    folder: Path
    system: str
    until: str
    draw: random.Random
    longest_s: dict[str, float] = field(default_factory=dict)

    @property
    def cache(self) -> Cache:
        return Cache(self.folder / "cache")

    def words(self, verb: str) -> list[str]:
        """The arguments of a verb."""
        more = {"optimize": SEARCH, "record": ("--until", self.until)}
        return [verb, self.system, *more.get(verb, ()), "--json"]

    def start(self, words: list[str]) -> tuple[int, Path]:
        """Starts a bootscope in a session of its own; returns its process and the file with its output.

        It is forked from this process, which has the program loaded already: loading takes longest.
        """
        out = self.folder / "printed"
        child = os.fork()
        if child:
            return child, out
        os.setsid()
        os.environ |= {
            "BOOTSCOPE_STORE": str(self.folder / "store"),
            "BOOTSCOPE_CACHE": str(self.folder / "cache"),
        }
        for number, path in ((0, "/dev/null"), (1, out), (2, self.folder / "errors")):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
        interrupts.install()
        status = main(words)
        sys.stdout.flush()
        os._exit(status)

    def whole(self, verb: str, words: list[str] | None = None) -> str:
        """Runs a verb to its end; returns its output."""
        begun = time.monotonic()
        child, out = self.start(words or self.words(verb))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status:
            sys.exit(f"{verb} ended with status {status}: {(self.folder / 'errors').read_text()}")
        self.longest_s.setdefault(verb, time.monotonic() - begun)
        return out.read_text()

    def kill(self, verb: str) -> bool:
        """Runs a verb and kills it at a random moment; returns False where it had ended by then."""
        child, _ = self.start(self.words(verb))
        begun = time.monotonic()
        until = begun + self.draw.uniform(0, self.longest_s[verb])
        while time.monotonic() < until:
            if os.waitpid(child, os.WNOHANG)[0]:
                # Otherwise most runs would complete after one on a busy computer.
                self.longest_s[verb] = time.monotonic() - begun
                return False
            time.sleep(0.002)
        with contextlib.suppress(ProcessLookupError):  # it has no session of its own yet
            os.killpg(child, signal.SIGKILL)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return True

    def forget_something(self) -> None:
        """Removes a random step from the cache, so that it must be built."""
        if steps := sorted(self.cache.steps.iterdir()):
            remove_tree(self.draw.choice(steps))

    def check(self, journal: list[str]) -> list[str]:
        """The current journal. Ends the program where something is damaged or missing."""
        for step_id, why in damaged(self.cache):
            sys.exit(f"step {step_id} is damaged: {why}")
        self.whole("list", ["list", "--json"])
        path = self.folder / "store" / "searches" / f"{self.system}.jsonl"
        now = path.read_text().splitlines() if path.exists() else []
        for number, line in enumerate(journal):
            if number >= len(now) or now[number] != line:
                sys.exit(f"line {number + 1} of the journal is lost")
        return [line for line in now if _is_whole(line)]


def _is_whole(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def reached_ns(text: str) -> object:
    """The figure in ns that `record --json` printed."""
    return json.loads(text)["boots"][0]["reached_ns"]


def loop_of_kills() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--system", default="debian")
    parser.add_argument("--until", default="kernel-entry", help="milestone at which boots of `record` end")
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    parser_of(["build", "record", "optimize", "list"])
    with tempfile.TemporaryDirectory(prefix="bootscope-kills-") as usual:
        folder = (args.folder or Path(usual)).absolute()
        loop = Loop(folder, args.system, args.until, random.Random(args.seed))
        (folder / "cache").mkdir(parents=True, exist_ok=True)
        if not (loop.folder / "cache" / "sources").exists():
            shutil.copytree(cache_dir() / "sources", folder / "cache" / "sources", copy_function=os.link)
        loop.whole("build")
        first = reached_ns(loop.whole("record"))
        loop.whole("optimize", [word for word in loop.words("optimize") if word != "--resume"])
        journal, killed, runs = loop.check([]), 0, 0
        while killed < args.kills:
            verb = loop.draw.choice(("build", "record", "optimize"))
            loop.forget_something()
            killed += loop.kill(verb)
            runs += 1
            journal = loop.check(journal)
            if runs % 20 == 0:
                print(f"{killed} of {runs} runs killed, nothing damaged", flush=True)
        last = reached_ns(loop.whole("record"))
        loop.whole("optimize")
        print(f"{killed} of {runs} runs killed; nothing damaged; {first} ns before, {last} ns after")
        sys.exit(first != last)


if __name__ == "__main__":
    loop_of_kills()
