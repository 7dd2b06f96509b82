# SPDX-License-Identifier: Apache-2.0
"""The watch for what systemd says: where a datagram is handed over, lines to /dev/kmsg, control groups."""

from __future__ import annotations

import msgspec
import pytest

from bootscope.core.errors import UserError
from bootscope.emulator import message_probes
from bootscope.emulator.probes import Hooks
from bootscope.image.code import Code
from bootscope.system.load import check_system, load_system, milestones
from bootscope.system.model import Milestone

from .builders import board
from .elf import Fn, addresses, arm, code

BASE, NOP, BX_LR = 0xC0100000, 0xE1A00000, 0xE12FFF1E
LAYOUT = {
    "sk_buff.data": 208,
    "sk_buff.len": 112,
    "sock.sk_receive_queue": 200,
    "unix_sock.addr": 768,
    "unix_address.name": 8,
}


def call(at: int, target: int) -> int:
    """`bl target`, as it stands at an address."""
    return 0xEB000000 | ((target - at - 8) >> 2 & 0xFFFFFF)


def kernel() -> Code:
    """A kernel in which each of the functions calls another one once."""
    plain = arm(NOP, BX_LR)
    shape = [("skb_queue_tail", plain), ("kfree", plain), ("cgroup_mkdir", plain)]
    shape += [(name, arm(NOP, NOP, BX_LR)) for name in ("unix_dgram_sendmsg", "devkmsg_write")]
    at = addresses(*(Fn(name, body) for name, body in shape), base=BASE)
    bodies = dict(shape)
    for name, callee in (("unix_dgram_sendmsg", "skb_queue_tail"), ("devkmsg_write", "kfree")):
        bodies[name] = arm(NOP, call(at[name] + 4, at[callee]), BX_LR)
    return code(*(Fn(name, body) for name, body in bodies.items()), base=BASE)


def test_datagrams_lines_and_groups_are_hooked() -> None:
    hooks, program = Hooks(), kernel()
    message_probes.add(hooks, program, LAYOUT)
    at = {name: found.address for name in ("unix_dgram_sendmsg", "devkmsg_write", "cgroup_mkdir")
          if (found := program.function(name))}  # fmt: skip
    assert hooks.lines == [
        f"hook 1 {at['unix_dgram_sendmsg'] + 4:#x} every none str r0+568>10 bytes r1+208>0 r1+112",
        f"hook 2 {at['devkmsg_write']:#x} every none",
        f"hook 3 {at['devkmsg_write'] + 4:#x} every none str r0",
        f"hook 4 {at['cgroup_mkdir']:#x} every none str r1",
    ]
    assert list(hooks.names.values()) == ["datagram", "kmsg", "kmsg.text", "cgroup"]


@pytest.mark.parametrize("missing", LAYOUT)
def test_without_the_layout_no_datagram_is_seen(missing: str) -> None:
    hooks = Hooks()
    message_probes.add(hooks, kernel(), {name: at for name, at in LAYOUT.items() if name != missing})
    assert "datagram" not in hooks.names.values()


def test_a_milestone_wants_whole_fields() -> None:
    hooks = Hooks()
    message_probes.add_milestone(hooks, kernel(), LAYOUT, "up", ["UNIT=a.target", "JOB_RESULT=done"])
    (line,) = hooks.lines
    assert hooks.names == {1: "milestone up"}
    assert " once none str " in line
    assert line.split(" has ")[1:] == [b"\nUNIT=a.target\n".hex(), b"\nJOB_RESULT=done\n".hex()]


def test_the_systems_own_milestones_are_of_the_journal() -> None:
    system = load_system("debian-systemd").system
    assert {"app-ready", "login", "default-target", "startup-finished"} <= set(
        milestones(system, board().boot_loader)
    )


@pytest.mark.parametrize(
    ("milestone", "words"),
    [
        (Milestone(), "a string of 1 to 120 bytes"),
        (Milestone(console="x", journal=("A=b",)), "nothing beside journal"),
        (Milestone(journal=()), "1 to 4 fields"),
        (Milestone(journal=("A=b",) * 5), "1 to 4 fields"),
        (Milestone(journal=("UNIT",)), "fields as"),
        (Milestone(journal=("A=b\nC=d",)), "fields as"),
        (Milestone(journal=(f"A={'x' * 117}",)), "fields as"),
    ],
)
def test_a_milestone_that_cannot_be_watched_is_refused(milestone: Milestone, words: str) -> None:
    loaded = load_system("debian-systemd")
    system = msgspec.structs.replace(loaded.system, milestones={"mine": milestone})
    with pytest.raises(UserError, match=words):
        check_system(system, loaded.path)
