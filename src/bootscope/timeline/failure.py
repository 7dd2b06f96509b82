# SPDX-License-Identifier: Apache-2.0
"""What went wrong in a boot, from the messages of the kernel or of the boot loader that stopped."""

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
    """A failure: its `kind`, when (`at_ns`; with `earliest`, then or later; None without a clock), in which
    phase (empty if unknown), and the line that shows it. `cause` is the line of an oops before a panic. Both
    lines are untrusted.

    `ends`: it ended the boot. `after`: the boot was complete before.
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
        """What happened, when and where, without the line: safe to show except for the phase's name."""
        when = ""
        if self.at_ns is not None:
            when = f" at {self.at_ns / 1e9:.3f} s{' or later' if self.earliest else ''}"
        where = f" in {self.phase}" if self.phase and not self.after else ""
        said = f"{_WHAT[self.kind]}{when}{where}"
        if self.after:
            return f"after the boot's end {said}"
        return f"{said}: the boot did not come to its end" if self.ends else said
