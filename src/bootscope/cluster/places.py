# SPDX-License-Identifier: Apache-2.0
"""Places of a labgrid farm as resources of workers: a worker of that farm has one of each.

A task that asks for a place waits in the cluster's queue while another task of that worker has it. Who else
holds it is known to labgrid (hardware/farm.py), which waits for it or refuses.
"""

from __future__ import annotations

import contextlib
import os

from bootscope.cluster.abilities import PLENTY, PREFIX, SOME, dask, program
from bootscope.core.errors import BootscopeError
from bootscope.hardware import farm

COORDINATOR = "LG_COORDINATOR"
"""labgrid's own variable: which farm a worker belongs to."""
_FARM, _PLACE = f"{PREFIX}farm", f"{PREFIX}place"
_ONE = 1.0


def offered() -> dict[str, float]:
    """The farm that this computer's environment names, and its places; nothing where it has no labgrid, or
    the coordinator does not answer."""
    address = os.environ.get(COORDINATOR, "")
    if not address:
        return {}
    with contextlib.suppress(BootscopeError, OSError):
        places = {f"{_PLACE} {name}": _ONE for name in farm.places(address)}
        return {_FARM: PLENTY, f"{_FARM} {address}": PLENTY, **places}
    return {}


def asked(wish: farm.Wish) -> dict[str, float]:
    """What a task needs that takes a place. Which place has the tags that it asks for, labgrid finds out."""
    wanted = {program(): SOME, dask(): SOME, f"{_FARM} {wish.coordinator}".rstrip(): SOME}
    return wanted if "=" in wish.place else {**wanted, f"{_PLACE} {wish.place}": _ONE}
