# SPDX-License-Identifier: Apache-2.0
"""Which core a boot is shown on: one that is named, none, or that of its board."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from bootscope.cores.profile import Core, load_core

NO_CORE: Final = "none"
"""Instead of the name of a core: all instructions take the same time, and memory access is free."""
CoreChoice: TypeAlias = Core | Literal["none"] | None
"""A core that boots are shown on; "none": each instruction takes the same time; None: not chosen."""


def chosen_core(name: str) -> Core | Literal["none"]:
    """The core called `name`, as :func:`bootscope.cores.profile.load_core`, or NO_CORE."""
    return NO_CORE if name == NO_CORE else load_core(name)
