# SPDX-License-Identifier: Apache-2.0
"""The cache under parallel use: who wants what is being built waits for it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from bootscope.builder.cache import Cache

from .builders import environment, python


def nobody_waits() -> None:
    raise AssertionError("nobody else should hold this lock")


HOLDER = """
import sys
from pathlib import Path
from bootscope.builder.cache import Cache
with Cache(Path(sys.argv[1])).lock("step", lambda: None):
    print("held", flush=True)
    sys.stdin.read()
    Path(sys.argv[2]).write_text("done")
"""


def test_a_lock_makes_a_second_process_wait_and_say_so_once(cache: Cache, tmp_path: Path) -> None:
    done, waited = tmp_path / "done", []
    with subprocess.Popen(
        python(HOLDER, cache.root, done),
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdin
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"

        def on_wait() -> None:
            waited.append(done.exists())
            assert holder.stdin
            holder.stdin.close()

        with cache.lock("step", on_wait):
            assert done.read_text() == "done"
    assert waited == [False]


def test_a_lock_is_free_after_its_holder_was_killed(cache: Cache) -> None:
    with subprocess.Popen(
        python(HOLDER, cache.root, "/dev/null"),
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        holder.kill()
    with cache.lock("step", nobody_waits):
        pass


def test_locks_of_different_names_do_not_meet(cache: Cache) -> None:
    with cache.lock("a", nobody_waits), cache.lock("b", nobody_waits):
        pass


BUILDER = """
import sys, time
from pathlib import Path
from bootscope.builder.cache import Cache
from bootscope.builder.progress import Progress
from bootscope.builder.step import Runner, Step

def work(context):
    with Path(sys.argv[2]).open("a") as f:
        f.write("built\\n")
    time.sleep(0.3)
    (context.out / "result").write_text("x")

class Telling(Progress):
    def note(self, message):
        print(message, flush=True)

step = Step("fake", "a fake step", 1, work)
print(Runner(Cache(Path(sys.argv[1])), Telling()).run(step, step.step_id({}), {}), flush=True)
"""


def test_two_processes_that_want_the_same_step_build_it_once(cache: Cache, tmp_path: Path) -> None:
    command = python(BUILDER, cache.root, tmp_path / "built")
    both = [subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=20)[0].splitlines() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert (tmp_path / "built").read_text() == "built\n"
    assert {lines[-1] for lines in said} == {str(entry.path) for entry in cache.entries()}
    notes = {line for lines in said for line in lines[:-1]}
    assert notes <= {"fake: waiting for another bootscope that builds it"}
