# SPDX-License-Identifier: Apache-2.0
"""A system that follows a technique already is not told to do it, whichever technique it is."""

from __future__ import annotations

import fnmatch
from pathlib import Path

import pytest

from bootscope.build.kconfig import written
from bootscope.capture.store import Store
from bootscope.lab.applies import filled, why_not
from bootscope.lab.audit import audit
from bootscope.lab.compose import composed, told
from bootscope.lab.experiment import title
from bootscope.lab.facts import Facts
from bootscope.system.changes import TREES, Change, apply
from bootscope.system.model import System
from bootscope.techniques.model import Way, techniques

from .lab_scenes import CONFIGS, FILES, known, listed, stock

WAYS = {title(t, name): way for t in techniques().values() for name, way in t.ways.items()}


def recorded(store: Store, system: System, change: Change) -> Facts:
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
    return known(store, None, system, configs=configs, files=files)


@pytest.mark.parametrize("spec", WAYS)
def test_what_is_done_is_not_proposed(store: Store, spec: str) -> None:
    way: Way = WAYS[spec]
    base = apply(stock().system, {"base": way.base})
    before = recorded(store, base, way.base)
    change = composed(base, {spec: told(way.change, before)})[spec]
    assert change == filled(way.change, before)
    after = recorded(store, apply(base, {spec: change}), change)
    assert why_not(way, after)
    assert spec not in {f.spec for f in audit(after).findings}


def test_what_is_not_done_is_another_matter(tmp_path: Path) -> None:
    """The test above would pass for an audit that proposes nothing."""
    found = audit(recorded(Store(tmp_path / "store"), stock().system, Change()))
    assert len(found.findings) > 20
