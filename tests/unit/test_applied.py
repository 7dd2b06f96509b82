# SPDX-License-Identifier: Apache-2.0
"""A system that follows a technique already is not told to do it, whichever technique it is."""

from __future__ import annotations

import fnmatch
import json
from dataclasses import replace
from pathlib import Path

import pytest

from bootscope.audit.findings import audit
from bootscope.builder.steps.code_profile import packed
from bootscope.capture.store import Store
from bootscope.changes.applies import filled, why_not
from bootscope.changes.compose import composed, with_values
from bootscope.changes.experiment import title
from bootscope.emulator.subject import flat
from bootscope.inventory.inventory import Inventory, Part
from bootscope.inventory.recorded import Recorded
from bootscope.kbuild.kconfig import written
from bootscope.system.changes import TREES, Change, apply
from bootscope.system.model import Symbols, System
from bootscope.techniques import model
from bootscope.techniques.model import Recipe, techniques

from .lab_scenes import CONFIGS, FILES, MS, SLOW_DRIVERS, boot_with_slow_driver, known, listed, stock
from .reading_scenes import SECTOR, where
from .systemd_scenes import base_of, elsewhere, is_of_stock

PROFILE = packed({"program-testcard.gcda": b"counters"})
OPTIMIZED = Path(model.__file__).parent / "optimized.json"
RECIPES = {title(t, name): recipe for t in techniques().values() for name, recipe in t.recipes.items()}


def recorded(store: Store, system: System, change: Change) -> Recorded:
    """What is known of a made-up recording of a system with a change, its configurations and its files."""
    configs = {
        tree: {**CONFIGS[tree], **{n: written(v) for n, v in getattr(change, tree).items()}} for tree in TREES
    }
    files = {
        path: what
        for path, what in FILES.items()
        if not any(fnmatch.fnmatchcase(path, pattern) for pattern in change.remove)
    }
    files |= {path: listed(text) for path, text in change.write.items()}
    files |= {path: f"-> {target}" for path, target in change.link.items()}
    # The first program reads a file of the root, too.
    story = boot_with_slow_driver().switch(1, name=b"init").work(MS).read(SECTOR, 8192).work(MS).sample()
    found = known(store, story.records, system, configs=configs, files=files, objects=SLOW_DRIVERS)
    return replace(where(found, {"/etc/init.d/rcS": SECTOR}), profile=PROFILE)


@pytest.mark.parametrize("spec", RECIPES)
def test_what_is_done_is_not_proposed(store: Store, spec: str) -> None:
    recipe: Recipe = RECIPES[spec]
    t = techniques()[spec.partition("=")[0]]
    system = base_of(t, recipe)

    def recorded_here(system: System, change: Change) -> Recorded:
        found = recorded(store, stock().system if not is_of_stock(t) else system, change)
        return found if is_of_stock(t) else elsewhere(found, t, system, change)

    settings = Inventory(parts=frozenset({Part.SETTINGS}), settings=flat(system))
    own = filled(recipe.base, settings)
    base = apply(system, {"base": own})
    before = recorded_here(base, own)
    change = composed(base, {spec: with_values(recipe.change, before)})[spec]
    assert change == filled(recipe.change, before)
    after = recorded_here(apply(base, {spec: change}), change)
    assert why_not(recipe, after)
    assert spec not in {f.spec for f in audit(after).findings}


def test_what_is_not_done_is_another_matter(tmp_path: Path) -> None:
    """The test above would pass for an audit that proposes nothing."""
    found = audit(recorded(Store(tmp_path / "store"), stock().system, Change()))
    assert len(found.findings) > 20


def test_what_the_optimized_system_has_no_use_for_is_not_proposed(store: Store) -> None:
    """Its application is the first process, linked statically, and all that is in memory."""
    accepted = json.loads(OPTIMIZED.read_text())["accepted"]
    base = stock().system
    before = recorded(store, base, Change())
    changes = composed(base, {spec: with_values(RECIPES[spec].change, before) for spec in accepted})
    symbols: dict[str, Symbols] = {
        tree: {name: value for c in changes.values() for name, value in getattr(c, tree).items()}
        for tree in TREES
    }
    after = recorded(store, apply(base, changes), Change(**symbols))  # type: ignore[arg-type]
    proposed = {f.technique.id for f in audit(after).findings}
    phases = {"init", "filesystem"}
    assert not {name for name in proposed if techniques()[name].phase in phases}
    assert not proposed & {"busybox-minimise", "busybox-prefer-applets", "rootfs-simplify", "fs-smaller-root"}
    assert not proposed & {spec.partition("=")[0] for spec in accepted} - {
        # Another recipe of the same may still be tried.
        "kernel-compression",
        "kernel-limit-memory",
    }
