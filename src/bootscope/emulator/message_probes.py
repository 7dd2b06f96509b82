# SPDX-License-Identifier: Apache-2.0
"""Messages of a system manager, to the journal and to other programs, as seen inside the kernel.

Its records for the journal are datagrams, and until the journal runs, lines to /dev/kmsg; programs report
their readiness to it in datagrams. The hooks are where the kernel passes a datagram on, so the target is not
changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bootscope.capture.record import MILESTONE_TEXT
from bootscope.emulator.probes import Hooks
from bootscope.image.code import Code

DATAGRAM, KMSG, KMSG_TEXT, CGROUP = "datagram", "kmsg", "kmsg.text", "cgroup"
_MEMBERS = ("sk_buff.data", "sk_buff.len", "sock.sk_receive_queue", "unix_sock.addr", "unix_address.name")
_PATH_AT = 2
"""Offset of the path in a socket's address (struct sockaddr_un)."""


def add(hooks: Hooks, code: Code, layout: Mapping[str, int]) -> None:
    """Adds the hooks: datagrams between local sockets, lines to /dev/kmsg, new control groups."""
    first, second, *_ = code.arch.registers.arguments
    for address, items in _sent(code, layout):
        hooks.add(DATAGRAM, address, f"every {items}")
    written = code.function("devkmsg_write")
    if written:
        # The kernel holds the written text in a buffer until the call ends.
        hooks.entry(KMSG, written, "none")
        for address in code.calls_of(written, code.function("kfree")):
            hooks.add(KMSG_TEXT, address, f"every none str {first}")
    hooks.entry(CGROUP, code.function("cgroup_mkdir"), f"none str {second}")


def add_milestone(
    hooks: Hooks, code: Code, layout: Mapping[str, int], name: str, wanted: Iterable[str]
) -> None:
    """Adds a hook that reports the first record for the journal with all of these `FIELD=value` lines."""
    lines = [f"\n{field}\n".encode() for field in wanted]
    has = " ".join(f"has {line.hex()}" for line in lines)
    for address, items in _sent(code, layout):
        hooks.add(MILESTONE_TEXT + name, address, f"once {items} {has}")


def _sent(code: Code, layout: Mapping[str, int]) -> list[tuple[int, str]]:
    """(address, items) of each call that puts a datagram into the queue of the receiving socket: the items
    are that socket's path, and the datagram. The queue is the call's first argument, the buffer its
    second."""
    sends, queues = code.function("unix_dgram_sendmsg"), code.function("skb_queue_tail")
    if not sends or any(member not in layout for member in _MEMBERS):
        return []
    data, length, queue, address, name = (layout[member] for member in _MEMBERS)
    first, second, *_ = code.arch.registers.arguments
    path = f"str {first}+{address - queue}>{name + _PATH_AT}"
    items = f"none {path} bytes {second}+{data}>0 {second}+{length}"
    return [(at, items) for at in code.calls_of(sends, queues)]
