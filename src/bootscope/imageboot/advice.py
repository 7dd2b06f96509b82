# SPDX-License-Identifier: Apache-2.0
"""Advice for a boot of an image that did not reach its end, by what was observed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bootscope.capture.record import BootEnd, RunInfo
from bootscope.capture.stored import StoredBoot
from bootscope.capture.stream import Hook
from bootscope.devices import sd_card
from bootscope.loaders import console
from bootscope.timeline.build import timeline
from bootscope.timeline.kernel_lines import BEGINS

_LAST_LINES = 12
_NETWORK = re.compile(
    r"BOOTP broadcast|TFTP from server|DHCP client|Waiting for (?:PHY|Ethernet)|PXE|^No ethernet found"
)
"""The last one is a boot loader's answer to a network command."""
_NO_ROOT = re.compile(
    r"Unable to mount root fs|Cannot open root device|Waiting for root device|Gave up waiting for root|"
    r"ALERT! .{1,120} does not exist"
)
_LOCKED = re.compile(r"[Uu]nlock(?:ing)? (?:the )?disk|[Ee]nter passphrase|luks|cryptsetup", re.IGNORECASE)
_INTERFACE = re.compile(r"Waiting for interface (\S{1,15}) to appear")
_NO_INIT = re.compile(r"No working init found|Requested init .{1,120} failed")
_PROMPT = re.compile(console.PROMPT)


@dataclass(frozen=True)
class _Seen:
    """Observations of a boot: the texts on its console, the phase that it ended in, the hooks that were
    reached, and the message of the kernel's panic."""

    lines: list[str]
    phase: str
    hooks: frozenset[str]
    panic: str

    @property
    def end(self) -> list[str]:
        """Its last lines."""
        return [line for line in self.lines if line.strip()][-_LAST_LINES:]

    def says(self, pattern: re.Pattern[str], *, last: bool = False) -> bool:
        return any(pattern.search(line) for line in (self.end if last else self.lines))


def of_boot(run: RunInfo, boot: StoredBoot) -> list[str]:
    """Advice in words; none for a boot that reached its end."""
    seen = _seen(run, boot)
    told = [*_of_kaslr(run, seen), *_of_interface(seen)]
    if boot.info.complete:
        return told
    return [*told, *_of_panic(boot, seen), *(_of_loader(run, seen) or _of_end(run, boot, seen))]


def _seen(run: RunInfo, boot: StoredBoot) -> _Seen:
    records = boot.records()
    made = timeline(boot.info.boot_id, records, run)
    names = run.watch.hooks
    hit = [(names.get(r.hook, ""), r.text) for r in records if isinstance(r, Hook)]
    panic = next((text for name, text in hit if name == "kernel.panic"), b"")
    return _Seen(
        [line.data.decode("utf-8", "replace") for line in made.lines],
        made.phases[-1].name,
        frozenset(name for name, _ in hit),
        panic.decode("utf-8", "replace").strip(),
    )


def _of_kaslr(run: RunInfo, seen: _Seen) -> Iterator[str]:
    spoke = any(re.search(BEGINS, line) for line in seen.lines)
    known = {"kernel.init", "exec", "switch", "kernel.panic"} & set(run.watch.hooks.values())
    if spoke and known and not known & seen.hooks:
        handed = run.board.boot_loader.by_emulator
        where = "--append nokaslr" if handed else "put nokaslr into the boot loader's menu"
        yield (
            "the kernel ran, but none of its functions was seen: it runs at addresses other than those it "
            f"was linked to (KASLR), so views cannot name them: {where}"
        )


def _of_interface(seen: _Seen) -> Iterator[str]:
    """A system that waits for a device that no board here has, as Buildroot's do with BR2_SYSTEM_DHCP."""
    names = dict.fromkeys(m[1] for line in seen.lines if (m := _INTERFACE.search(line)))
    if names:
        yield (
            f"init waited for the network interface {', '.join(names)}, and the board has none: a product "
            "that has it waits less"
        )


def _of_panic(boot: StoredBoot, seen: _Seen) -> Iterator[str]:
    if boot.info.ended != BootEnd.PANIC and not seen.panic:
        return
    if not any(re.search(BEGINS, line) for line in seen.lines):
        why = f": “{seen.panic}”" if seen.panic else ""
        yield (
            f"the kernel panicked before its console said anything{why}; --append earlycon shows its "
            "messages from the beginning"
        )


def _of_loader(run: RunInfo, seen: _Seen) -> list[str]:
    """A boot that ended before the kernel."""
    loader = run.board.boot_loader
    if seen.phase not in (*loader.phases_of(), "load") or loader.by_emulator:
        return []
    if seen.says(_NETWORK, last=True):
        return [
            "the boot loader waits for a network, and the board has none: put what it is to boot onto the "
            "card, or start the kernel with --through kernel"
        ]
    what = "stopped at its prompt" if seen.end and _PROMPT.search(seen.end[-1]) else "went no further"
    return [
        f"the boot loader {what}: it found nothing on the card that it could boot; `bootscope image` says "
        "what is there, and --through kernel starts the kernel without it"
    ]


def _of_end(run: RunInfo, boot: StoredBoot, seen: _Seen) -> Iterator[str]:
    if not seen.lines and boot.info.ended != BootEnd.PANIC:
        yield "the console said nothing: --append console=NAME of the board's port, or earlycon"
    if seen.says(_NO_ROOT):
        yield f"the root file system was not found; the board {_card_words(run)}"
    elif seen.says(_LOCKED, last=True):
        yield "the root file system is encrypted, and no passphrase can be typed: use one without encryption"
    elif seen.says(_NO_INIT):
        yield "the root file system has no init that runs: is it for this architecture?"
    elif boot.info.ended in (BootEnd.HANG, BootEnd.LIMIT, BootEnd.TIMEOUT):
        yield (
            f"{run.until} was not reached; other ends of a recording: --until init, --until process:NAME, "
            "--until-text TEXT; --board-timeout and --hang-timeout set how long to wait"
        )


def _card_words(run: RunInfo) -> str:
    if not run.system.card_bytes:
        return "has no card: name the root file system, too"
    return (
        f"has its card as {sd_card.DISK} (partitions {sd_card.DISK}p1 ...): --append root=..., and the "
        "drivers of card and file system must be in the kernel or the initramfs"
    )
