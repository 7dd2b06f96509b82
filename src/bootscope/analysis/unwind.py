# SPDX-License-Identifier: Apache-2.0
"""Call paths from stack samples, only as far as the program's own code proves them.

A sample holds every word on the stack that may be a return address, including stale ones. Which of them
belongs to the current function follows from its code: from what it has pushed and subtracted from the stack
pointer up to the current instruction. If the word there is no return address, the path ends and is marked as
cut, so nothing is made up.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from bootscope.arch.model import StackGrowth
from bootscope.capture.stream import StackSample
from bootscope.image.code import Code, Function

MOST_FRAMES = 64
_UNKNOWN = -1
# Functions entered without a call: by a jump from hand-written code, or as its last action. A path that ends
# in one is complete.
_ENTERED = re.compile(r"(?:k|__se_)?sys_\w+|kthreadd?|kernel_init|board_init_[fr]")


@dataclass(frozen=True, slots=True)
class Path:
    """Return addresses, innermost first, after the sample's own pc; `cut` if it did not reach a root."""

    addresses: tuple[int, ...]
    cut: bool


class Unwinder:
    """Unwinds samples of one program, loaded `offset` bytes from where it was linked.

    `roots` are functions that nothing calls: a path that reaches one is complete.
    """

    def __init__(self, code: Code, offset: int = 0, roots: frozenset[str] = frozenset()) -> None:
        self._code, self.offset, self._roots = code, offset, roots
        self._functions = [f for f in code.functions if f.size]
        self._starts = [f.address for f in self._functions]
        self._marks = sorted((a, n) for n, a in code.marks.items() if n in roots)
        self._marks += [(f.address, f.name) for f in code.functions]
        self._marks.sort()
        self._grows: dict[int, list[StackGrowth]] = {}

    def function(self, address: int) -> Function | None:
        """The function that contains an address (as it ran)."""
        linked = address - self.offset
        at = bisect_right(self._starts, linked) - 1
        if at < 0:
            return None
        found = self._functions[at]
        return found if linked < found.address + found.size else None

    def path(self, sample: StackSample) -> Path:
        """The return addresses that are proven, from the sampled function outwards."""
        words, arch = sample.words, self._code.arch
        found: list[int] = []
        pc, depth = sample.pc, 0
        while len(found) < MOST_FRAMES:
            function = self.function(pc)
            if function is None:
                return Path(tuple(found), True)
            if function.name in self._roots:
                return Path(tuple(found), False)
            grown = [g for g in self._frame(function) if g.address < pc - self.offset]
            if any(g.size == _UNKNOWN for g in grown):
                return Path(tuple(found), True)
            saved = next((i for i, g in enumerate(grown) if g.link_at >= 0), None)
            if saved is None:
                # The return address is still in its register: possible only in the innermost function.
                back = sample.lr if not found else 0
                depth += sum(g.size for g in grown)
            else:
                after = sum(g.size for g in grown[saved + 1 :])
                back = words.get((depth + after + grown[saved].link_at) // arch.word_bytes, 0)
                depth += sum(g.size for g in grown)
            back = arch.code_address(back)
            caller = self.function(back - arch.call_bytes)
            if caller is None or (caller is function and saved is None):
                # Outside all functions, or after a call of its own: the register has been reused.
                entered = caller is None and _ENTERED.fullmatch(function.name)
                return Path(tuple(found), not (entered or self._is_root(back)))
            found.append(back)
            pc = back - arch.call_bytes  # the call is before the address that it returns to
        return Path(tuple(found), True)

    def _is_root(self, address: int) -> bool:
        """Whether an address lies in hand-written code that begins a path; such code has no size."""
        at = bisect_right(self._marks, (address - self.offset, "~")) - 1
        return at >= 0 and self._marks[at][1] in self._roots

    def _frame(self, function: Function) -> list[StackGrowth]:
        known = self._grows.get(function.address)
        if known is None:
            data = self._code.read(function.address, min(function.size, 65536))
            growth = self._code.arch.load_instructions().stack_growth
            known = list(growth(data, function.address, function.alternate))
            self._grows[function.address] = known
        return known
