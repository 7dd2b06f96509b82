# SPDX-License-Identifier: Apache-2.0
"""Searches that come to a kernel of other sources: what broke before is tried once more."""

from __future__ import annotations

from bootscope.system.changes import Change
from bootscope.system.load import LoadedSystem
from bootscope.techniques.model import Recipe

from .finished_search import ran
from .search_scenes import FakeBench, Make, made_up


class OtherKernel(FakeBench):
    """Only with the kernel of other sources the application can be in the initramfs."""

    def symbols(self, loaded: LoadedSystem) -> frozenset[str]:
        found = super().symbols(loaded)
        works = loaded.system.kernel.source == "another"
        return (found - {"INSIDE=on"}) | {"INSIDE=works"} if works and "INSIDE=on" in found else found


def test_what_broke_with_one_kernel_is_tried_once_more_with_another(scene: Make) -> None:
    other = Recipe(change=Change(kernel={"OWN": "on"}, settings={"kernel.source": "another"}))
    found = (
        made_up("inside", "filesystem"),
        made_up("breaks", "filesystem"),
        made_up("slow", "filesystem"),
        made_up("own", recipes={"on": other}),
    )
    here = scene(*found)
    worth = {"INSIDE=works": 20, "OWN=on": 500, "SLOW=on": -5}
    here.bench = OtherKernel(here.store, worth, {"INSIDE=on": "panic", "BREAKS=on": "build"})
    made = here.again()
    made.run()
    assert ran(made) == ["own", "inside"]
    tried = [name for e in made.experiments for name in e.techniques]
    assert sorted(tried) == ["breaks", "breaks", "inside", "inside", "own", "slow"]
