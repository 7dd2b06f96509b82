# SPDX-License-Identifier: Apache-2.0
"""Places of a labgrid farm as resources of workers: a worker of that farm has one of each.

A task that needs a place waits in the cluster's queue while another task of that worker has it. Holders
outside the cluster are labgrid's concern (hardware/farm.py): it waits for them, or refuses.
"""

from __future__ import annotations

import contextlib
import os

from bootscope.cluster.abilities import PLENTY, PREFIX, SOME, dask, program
from bootscope.core.errors import BootscopeError
from bootscope.hardware import farm

COORDINATOR = "LG_COORDINATOR"
"""labgrid's own variable: the coordinator of the worker's farm."""
_FARM, _PLACE = f"{PREFIX}farm", f"{PREFIX}place"
_ONE = 1.0


def offered() -> dict[str, float]:
    """The farm that this computer's environment names, and its places; nothing without labgrid, or where the
    coordinator does not answer."""
    address = os.environ.get(COORDINATOR, "")
    if not address:
        return {}
    with contextlib.suppress(BootscopeError, OSError):
        places = {f"{_PLACE} {name}": _ONE for name in farm.places(address)}
        return {_FARM: PLENTY, f"{_FARM} {address}": PLENTY, **places}
    return {}


def asked(wish: farm.Wish) -> dict[str, float]:
    """The resources for a task that uses a place. labgrid finds out which place has the requested tags."""
    wanted = {program(): SOME, dask(): SOME, f"{_FARM} {wish.coordinator}".rstrip(): SOME}
    return wanted if "=" in wish.place else {**wanted, f"{_PLACE} {wish.place}": _ONE}
