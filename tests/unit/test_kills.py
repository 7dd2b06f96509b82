# SPDX-License-Identifier: Apache-2.0
"""Builds and searches' journals that are killed anywhere: what is there afterwards is whole."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from bootscope.builder.cache import Cache
from bootscope.builder.verify import damaged

from .builders import environment, python

KILLS = 250

LOOP = """
import os, random, signal, sys, time
from pathlib import Path
from bootscope.builder.cache import Cache, remove_tree
from bootscope.builder.progress import Progress
from bootscope.builder.step import Runner, Step
from bootscope.builder.verify import damaged
from bootscope.search.journal import Journal
from bootscope.search.outcome import Outcome

root, kills, draw = Path(sys.argv[1]), int(sys.argv[2]), random.Random(7)

def work(context):
    for number in range(8):
        (context.out / f"image{number}").write_bytes(os.urandom(1 << 15))
        (context.out / "tree" / str(number)).mkdir(parents=True)

def build():
    runner, results, ids = Runner(Cache(root / "cache"), Progress()), {}, {}
    for name, needs in (("kernel", ()), ("rootfs", ("kernel",)), ("card", ("kernel", "rootfs"))):
        step = Step(name, name, 1, work, {"draw": draw.random()}, needs)
        ids[name] = step.step_id(ids)
        results[name] = runner.run(step, ids[name], results)

(root / "store").mkdir(exist_ok=True)

def search():
    journal = Journal(root / "store", "killed")
    for number in range(20):
        journal.add(Outcome(key=f"{os.getpid()}-{number}", what=("technique",) * 50))

def child(what):
    made = os.fork()
    if not made:
        what()
        os._exit(0)
    return made

def took(what):
    begun = time.monotonic()
    os.waitpid(child(what), 0)
    return time.monotonic() - begun

works = [(build, took(build)), (search, took(search))]
path = root / "store" / "searches" / "killed.jsonl"
killed, known = 0, []
while killed < kills:
    draw.random()  # so that there is something else to build each time
    what, longest_s = works[killed % 2]
    made = child(what)
    time.sleep(draw.uniform(0, longest_s))
    os.kill(made, signal.SIGKILL)
    killed += os.WIFSIGNALED(os.waitpid(made, 0)[1])
    for step_id, why in damaged(Cache(root / "cache")):
        sys.exit(f"after {killed} kills: {step_id}: {why}")
    for kept in list((root / "cache" / "steps").iterdir())[6:]:
        remove_tree(kept)
    lines = path.read_text().splitlines()
    if lines[: len(known)] != known:
        sys.exit(f"after {killed} kills: a line of the journal has changed")
    known = lines if path.read_text().endswith("\\n") else lines[:-1]
build()
search()
print(killed)
"""


@pytest.mark.long
def test_neither_cache_nor_journal_is_ever_damaged(tmp_path: Path) -> None:
    done = subprocess.run(
        python(LOOP, tmp_path, str(KILLS)), env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == KILLS
    cache = Cache(tmp_path / "cache")
    assert list(damaged(cache)) == []
    assert not [path for path in (tmp_path / "cache" / "tmp").iterdir() if path.is_dir()]
    text = (tmp_path / "store" / "searches" / "killed.jsonl").read_text()
    last = [json.loads(line)["outcome"]["key"] for line in text.splitlines()[-20:]]
    assert [key.partition("-")[2] for key in last] == [str(number) for number in range(20)]


def test_damage_is_found(tmp_path: Path) -> None:
    """The check itself: a file that was changed, one that is gone, one without a description."""
    subprocess.run(python(LOOP, tmp_path, "0"), env=environment(), capture_output=True, check=True)
    cache = Cache(tmp_path / "cache")
    assert list(damaged(cache)) == []
    changed, gone, bare = sorted(cache.steps.iterdir())[:3]
    (changed / "image0").write_bytes(b"other")
    (gone / "image1").unlink()
    (bare / "meta.json").unlink()
    assert [name for name, _ in damaged(cache)] == [changed.name, gone.name, bare.name]
