# SPDX-License-Identifier: Apache-2.0
"""A worker's desk: what it builds, fetches and refuses. Several with caches of their own, and no network."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from bootscope.boards.profile import load_board
from bootscope.builder.cache import Cache
from bootscope.builder.ids import tree_id
from bootscope.builder.steps import plugin
from bootscope.cluster import abilities, goods
from bootscope.cluster.desk import Desk
from bootscope.cluster.orders import LOST, PLUGIN_STEP, UNFIT, Answer, BootOrder, BuildOrder, Held
from bootscope.core.errors import ToolError
from bootscope.emulator.plugin_config import Limits

from ..mounts import own_mounts
from .builders import environment, python
from .lab_scenes import stock

PLUGIN_ID = "f" * 64
"""Of a step that no desk can build: it has to be fetched."""


@dataclass
class Network:
    """Desks by address; one in `silent` does not answer, one in `garbling` sends other bytes."""

    root: Path
    desks: dict[str, Desk] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    garbling: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)

    def desk(self, address: str) -> Desk:
        made = Desk(Cache(self.root / address), address, self.fetch)
        self.desks[address] = made
        return made

    def fetch(self, holder: str, kind: str, name: str, to: Path) -> None:
        self.asked.append(holder)
        if holder in self.silent:
            raise ToolError("it does not answer")
        cache = self.desks[holder].cache
        folder = goods.find(cache, kind, name)
        if folder is None:
            raise ToolError("it is not there")
        with goods.packed(cache, folder) as path:
            shutil.copyfile(path, to)
        if holder in self.garbling:
            data = bytearray(to.read_bytes())
            data[len(data) // 2] ^= 1
            to.write_bytes(bytes(data))


@pytest.fixture
def network(tmp_path: Path) -> Network:
    return Network(tmp_path)


def build(step_id: str) -> BuildOrder:
    return BuildOrder(
        token="t", step=PLUGIN_STEP, step_id=step_id, given=None, ids={PLUGIN_STEP: step_id}, needs={},
        files={},
    )  # fmt: skip


def answer(desk: Desk, order: BuildOrder | BootOrder) -> Answer:
    return msgspec.json.decode(desk.answer(msgspec.json.encode(order))[0], type=Answer)


def test_a_step_is_built_once_and_known_then(network: Network) -> None:
    desk, step_id = network.desk("one"), plugin.step().step_id({})
    first, second = (answer(desk, build(step_id)).made for _ in range(2))
    assert first and second
    assert first.built and not second.built
    assert first.content == second.content == tree_id(desk.cache.steps / step_id)
    assert {part.name for part in first.parts} == {f"{PLUGIN_STEP}/{plugin.PLUGIN}"}


def test_a_step_that_would_be_another_one_here_is_refused(network: Network) -> None:
    failure = answer(network.desk("one"), build("0" * 64)).failure
    assert failure
    assert failure.kind == UNFIT
    assert "its tools differ" in failure.message
    assert not list(network.desks["one"].cache.steps.iterdir())


def kept(desk: Desk, text: str = "right") -> str:
    """Puts a step into a desk's cache; returns its hash."""
    with desk.cache.workspace() as work:
        (work / "out").mkdir()
        (work / "out" / "meta.json").write_text("{}")
        (work / "out" / "file").write_text(text)
        return tree_id(desk.cache.commit(work / "out", desk.cache.steps / PLUGIN_ID))


def boot(held: Held) -> BootOrder:
    """A boot that needs the one step, and then a file of it that it does not have."""
    return BootOrder(
        token="t", run_id="run", build_id="b", system=stock().system, board=load_board("cubieboard"),
        until="first-frame", boots=1, timeout_s=1, limits=Limits(), ids={}, results=(), plugin_id=PLUGIN_ID,
        needs={PLUGIN_ID: held}, facts={},
    )  # fmt: skip


def fetched(network: Network, holders: tuple[str, ...], content: str) -> Answer:
    """What a new desk answers that has to fetch the step."""
    try:
        return answer(network.desk("last"), boot(Held(content, holders)))
    except KeyError:
        # It had what it needed; that nothing was built to be booted it says in its own way.
        return Answer(worker="last", host_ms=0, fetched=(PLUGIN_ID,))


def test_what_comes_is_compared_and_another_one_is_asked(network: Network) -> None:
    contents = {kept(network.desk(name)) for name in ("one", "two", "three")}
    network.garbling.add("one")
    network.silent.add("two")
    (content,) = contents
    fetched(network, ("one", "two", "three"), content)
    assert network.asked == ["one", "two", "three"]
    assert tree_id(network.desks["last"].cache.steps / PLUGIN_ID) == content


def test_one_who_has_another_thing_under_that_name_is_refused(network: Network) -> None:
    content = kept(network.desk("one"))
    kept(network.desk("two"), "wrong")
    found = fetched(network, ("two",), content)
    assert found.failure
    assert found.failure.kind == LOST
    assert found.failure.lost == (PLUGIN_ID,)
    assert "has the hash" in found.wrong["two"]
    assert network.desks["last"].cache.find(PLUGIN_ID) is None


def test_a_worker_says_which_tools_it_has() -> None:
    offers = abilities.offered()
    wanted = abilities.asked(["make", "cc"])
    assert abilities.lacking(offers, wanted) == []
    assert abilities.lacking({}, wanted) == ["bootscope"]
    make = next(name for name in wanted if "make=" in name)
    version = make.partition("=")[2].partition(" ")[0]
    others = {name: amount for name, amount in offers.items() if name != make}
    assert abilities.lacking(others, wanted) == [f"make {version} (has none)"]
    older = {**others, abilities.tool("make", "1.0", abilities.made("make")): 1.0}
    assert abilities.lacking(older, wanted) == [f"make {version} (has 1.0)"]
    patched = {**others, abilities.tool("make", version, abilities.made("bc")): 1.0}
    assert abilities.lacking(patched, wanted) == [f"make {version} (has another build of it)"]
    for other in (abilities.program(), abilities.dask()):
        strange = {name: amount for name, amount in offers.items() if name != other}
        assert len(abilities.lacking(strange, wanted)) == 1


def test_a_compiler_is_known_by_its_own_files_behind_a_wrapper(tmp_path: Path) -> None:
    """Some distributions put ccache under a compiler's name."""
    (tmp_path / "cc").write_text(f'#!/bin/sh\nexec {shutil.which("cc")} "$@"\n')
    (tmp_path / "cc").chmod(0o755)
    script = "from bootscope.cluster import abilities; print(abilities.made('cc'))"
    env = environment(PATH=f"{tmp_path}:{os.environ['PATH']}")
    done = subprocess.run(python(script), env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == abilities.made("cc") != ""


FULL = f"""
import sys
from pathlib import Path
import msgspec
from bootscope.builder.cache import Cache
from bootscope.builder.steps import plugin
from bootscope.cluster.desk import Desk
from bootscope.cluster.orders import Answer, BuildOrder

def never(*asked):
    raise AssertionError(asked)

name = plugin.step().step_id({{}})
full = []
desk = Desk(Cache(Path(sys.argv[1])), "one", never, full=lambda: full.append("resting"))
order = BuildOrder(
    token="t", step="{PLUGIN_STEP}", step_id=name, given=None, ids={{"{PLUGIN_STEP}": name}}, needs={{}},
    files={{}},
)
failure = msgspec.json.decode(desk.answer(msgspec.json.encode(order))[0], type=Answer).failure
print(failure.kind, *full, desk.cache.find(name))
"""


def test_a_worker_whose_disk_is_full_says_so_and_rests(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    small = ["sh", "-c", 'mount -t tmpfs -o size=32k none "$1" && shift && exec "$@"', "sh", str(cache)]
    done = subprocess.run(
        [*own_mounts(), *small, *python(FULL, cache)],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["SpaceError", "resting", "None"], done.stderr
