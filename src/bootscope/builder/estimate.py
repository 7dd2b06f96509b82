# SPDX-License-Identifier: Apache-2.0
"""How much a list of steps is to do, told from what they took before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bootscope.builder import history, trees
from bootscope.builder.cache import Cache
from bootscope.builder.step import Step
from bootscope.builder.workload import Basis, Work


def fetching(source: str) -> Work:
    """The fetching of a source: how long depends on the network alone."""
    return Work(f"fetch-{source}", source, fetched=True)


def works_of(steps: Sequence[Step], ids: Mapping[str, str], cache: Cache, cores: int) -> tuple[Work, ...]:
    """What these steps are to do; `ids` are those of all steps that they need."""
    return tuple(_work(step, ids, cache, cores) for step in steps)


def _work(step: Step, ids: Mapping[str, str], cache: Cache, cores: int) -> Work:
    took, basis = history.last(cache.root, step.figures), Basis.HERE
    if not took:
        took, basis = history.shipped().steps.get(step.figures), Basis.ELSEWHERE
    if not took:
        return Work(step.name, step.program, basis=Basis.UNKNOWN if step.program else Basis.SHORT)
    continued = _continued(step, ids, cache.root)
    return Work(step.name, step.program, took.units, took.on(cores), basis, continued)


def _continued(step: Step, ids: Mapping[str, str], root: Path) -> bool:
    if not step.tree:
        return False
    source, *rest = step.tree
    return trees.any_kept(root, trees.key_of(ids[source], *rest))
