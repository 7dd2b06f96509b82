# SPDX-License-Identifier: Apache-2.0
"""The conditions of ARM's instruction sets, 32 and 64 bits: tests of four flags of the status register.

Source: Arm Architecture Reference Manual, DDI 0406 A8.3 and DDI 0487 C1.2.4; the flags are bits 31 to 28.
"""

from __future__ import annotations

from bootscope.arch.model import ALWAYS, Insn

_N, _Z, _C, _V = (1 << bit for bit in (31, 30, 29, 28))
CONDITIONS = (
    *(((_Z, _Z),), ((_Z, 0),)),  # eq, ne
    *(((_C, _C),), ((_C, 0),)),  # cs, cc
    *(((_N, _N),), ((_N, 0),)),  # mi, pl
    *(((_V, _V),), ((_V, 0),)),  # vs, vc
    *(((_C | _Z, _C),), ((_C, 0), (_Z, _Z))),  # hi, ls
    *(((_N | _V, 0), (_N | _V, _N | _V)), ((_N | _V, _N), (_N | _V, _V))),  # ge, lt
    ((_N | _V | _Z, 0), (_N | _V | _Z, _N | _V)),  # gt
    ((_Z, _Z), (_N | _V, _N), (_N | _V, _V)),  # le
)
"""In the form of `Architecture.conditions`, by the number in instructions."""


def condition(insn: Insn) -> int:
    """The number of an instruction's condition; ALWAYS for none."""
    # capstone counts from 1; 15 and 16 mean 'always'.
    return insn.cc - 1 if 0 < insn.cc < 15 else ALWAYS
