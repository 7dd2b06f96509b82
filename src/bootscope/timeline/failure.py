# SPDX-License-Identifier: Apache-2.0
"""What went wrong in a boot, by the words of the kernel or of the boot loader that stopped."""

from __future__ import annotations

from dataclasses import dataclass

PANIC, OOPS, LOCKUP, PROMPT = "panic", "oops", "lockup", "prompt"
_WHAT = {
    PANIC: "the kernel panicked",
    OOPS: "the kernel failed (oops)",
    LOCKUP: "the kernel hung (lockup)",
    PROMPT: "the boot loader stopped at its prompt and started no kernel",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that failed: its `kind`, when (`at_ns`, then or later with `earliest`; None without a clock),
    in which phase (empty: none is known), and the line that tells it. `cause` is the line of an oops before a
    panic. Both are untrusted.

    `ends`: the boot came to no end because of it. `after`: the boot was through before.
    """

    kind: str
    at_ns: int | None
    line: str
    phase: str = ""
    cause: str = ""
    earliest: bool = False
    ends: bool = True
    after: bool = False

    @property
    def words(self) -> str:
        """What happened, when and where, without the line: safe to show but for the phase's name."""
        when = ""
        if self.at_ns is not None:
            when = f" at {self.at_ns / 1e9:.3f} s{' or later' if self.earliest else ''}"
        where = f" in {self.phase}" if self.phase and not self.after else ""
        said = f"{_WHAT[self.kind]}{when}{where}"
        if self.after:
            return f"after the boot's end {said}"
        return f"{said}: the boot did not come to its end" if self.ends else said
