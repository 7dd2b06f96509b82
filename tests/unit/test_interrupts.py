# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C at any moment ends the command, with the status that the documents give."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"

CALLED = """
import sys, time
from bootscope.cli import main
def work(words):
    class Parser:
        def parse_args(self, words): return self
        def do(self, args):
            print("ready", flush=True)
            end = time.monotonic() + 20
            while time.monotonic() < end:
                once()
            return 0
    return Parser()
main._parser_for = work
"""
CHILDREN = """
from bootscope.core.process import run
def once(): run(["true"])
"""
NOT_STARTED = """
from bootscope.core.errors import ToolError
from bootscope.core.process import run
def once():
    try: run(["there-is-no-such-program"])
    except ToolError: pass
"""
FINALIZERS = """
class Last:
    def __del__(self): sum(range(2000))
def once(): Last()
"""
CLASSES = """
class Slow:
    def __set_name__(self, owner, name): sum(range(2000))
def once(): type("Made", (), {"field": Slow()})
"""


def started(what: str, number: int) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", f"{CALLED}{what}\nmain.entry()", "a word"],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A test run in the background, or under nohup, ignores some signals, and children inherit that.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    assert child.stdout
    assert child.stdout.readline() == "ready\n"
    return child


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "what",
    [CHILDREN, NOT_STARTED, FINALIZERS, CLASSES],
    ids=["children", "not started", "finalizers", "classes"],
)
def test_none_is_lost(what: str, number: signal.Signals) -> None:
    for turn in range(5):
        child = started(what, number)
        time.sleep(0.01 + 0.0137 * turn)
        child.send_signal(number)
        with child:
            _, err = child.communicate(timeout=15)
        assert (child.returncode, err) == (130, "bootscope: interrupted\n")


def test_what_the_caller_ignores_is_ignored() -> None:
    end = "\nend = [time.monotonic() + 1]\ndef once():\n    if time.monotonic() > end[0]: sys.exit(7)\n"
    child = subprocess.Popen(
        [sys.executable, "-c", f"{CALLED}{end}\nmain.entry()", "a word"],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    assert child.stdout
    assert child.stdout.readline() == b"ready\n"
    child.send_signal(signal.SIGHUP)
    child.communicate(timeout=15)
    assert child.returncode == 7
