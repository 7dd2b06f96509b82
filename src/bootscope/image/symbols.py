# SPDX-License-Identifier: Apache-2.0
"""Symbol tables as text, in the format of `nm -n` and the kernel's System.map."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property

from bootscope.arch.model import Architecture

# A line for code, except marks of compilers and assemblers.
_CODE = re.compile(r"^([0-9a-f]+) [tTwW] (?!\$|\.L|__compound_literal)(\S+)$", re.M)


class Symbols:
    """The functions of one program, by name or by address."""

    def __init__(self, pairs: Iterable[tuple[int, str]]) -> None:
        table = sorted(pairs)
        self._addresses = [address for address, _ in table]
        self._names = [name for _, name in table]
        self._by_name: dict[str, int] = {}
        for address, name in table:
            self._by_name.setdefault(name, address)

    @classmethod
    def parse(cls, text: str, arch: Architecture) -> Symbols:
        """From the text of a symbol table; other lines are ignored.

        The bit that marks the second instruction set is removed from addresses.
        """
        # One pass in the regex engine: a kernel's table has more than 100,000 lines.
        mask = ~arch.mode_bit
        pairs = [(int(address, 16) & mask, name) for address, name in _CODE.findall(text)]
        return cls(pairs)

    @classmethod
    def of_functions(cls, functions: Iterable[tuple[int, int, str]]) -> Symbols:
        """From (address, bytes, name): the gaps between functions have no name."""
        found = sorted(functions)
        begun = {address for address, _, _ in found}
        ends = {address + size for address, size, _ in found} - begun
        return cls([*((address, name) for address, _, name in found), *((end, "") for end in ends)])

    def address(self, *names: str) -> int | None:
        """Address of the first of `names` that exists."""
        return next((self._by_name[name] for name in names if name in self._by_name), None)

    def spans(self, name: str) -> list[tuple[int, int]]:
        """(first address, first behind it) of the functions of that name, and of the parts that a compiler
        made of it, which have a dot behind the name."""
        return self._spans.get(name, [])

    @cached_property
    def _spans(self) -> dict[str, list[tuple[int, int]]]:
        ends = [*self._addresses[1:], self._addresses[-1] + 1] if self._addresses else []
        found: dict[str, list[tuple[int, int]]] = {}
        for start, end, name in zip(self._addresses, ends, self._names, strict=True):
            for known in {name, name.partition(".")[0]}:
                found.setdefault(known, []).append((start, end))
        return found

    def name_at(self, address: int) -> str | None:
        """The function that contains `address`; None before the first and far behind the last."""
        at = bisect_right(self._addresses, address) - 1
        if at < 0 or (at + 1 == len(self._addresses) and address - self._addresses[at] > 1 << 16):
            return None
        return self._names[at] or None

    def __len__(self) -> int:
        return len(self._addresses)
