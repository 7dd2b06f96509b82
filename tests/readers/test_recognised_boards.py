# SPDX-License-Identifier: Apache-2.0
"""Logs of boards with systemd, vendor kernels, prompts and pastes: taken for what they are, and read so.

The lines are as Linux 6.1, systemd 250 and agetty print them; the prefixes of printk are those of the
kernels that Samsung's Exynos and MediaTek's devices ship with. The times are ours.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

import pytest

from bootscope.capture.imported import Answers, Raw
from bootscope.importing.files import understand
from bootscope.readers.base import NO_STAMP, Boot, Options, Reading, Source
from bootscope.readers.detect import rank
from bootscope.readers.formats import journalctl
from bootscope.readers.registry import reader
from bootscope.timeline.trace import Trace

from .fuzzing import check, survives

BOARD = """\
[    0.000000] Booting Linux on physical CPU 0x0000000000 [0x410fd034]
[    0.000000] Linux version 6.1.0 (oe-user@oe-host) (aarch64-poky-linux-gcc (GCC) 12.2.0) #1 SMP
[    0.000000] Kernel command line: console=ttymxc1,115200 root=/dev/mmcblk2p2 rootwait rw
[    0.812345] usb usb1: New USB device found, idVendor=1d6b, idProduct=0002
[    0.912345] usb usb1: Product: xHCI Host Controller
[    1.012345] hub 1-0:1.0: USB hub found
[    1.022345] hub 1-0:1.0: 1 port detected
[    1.042345] usb 1-1: new high-speed USB device number 2 using xhci-hcd
[    1.052345] usb 1-1: New USB device found, idVendor=0424, idProduct=2512
[    1.062345] usb 1-1: Product: USB hub
[    1.112345] mmcblk2: mmc2:0001 DG4016 14.7 GiB
[    1.412345] Freeing unused kernel memory: 2944K
[    1.512345] Run /sbin/init as init process
[    2.112345] systemd[1]: systemd 250.5+ running in system mode
[  OK  ] Reached target Path Units.
         Starting Journal Service...
[    3.912345] fec 30be0000.ethernet eth0: Link is Up - 1Gbps/Full - flow control rx/tx

imx8mp login: """
SAMSUNG = """\
[    0.000000] [0:      swapper/0:    0] Booting Linux on physical CPU 0x0
[    0.000000] [0:      swapper/0:    0] Linux version 3.10.0 (x@y) (gcc) #1
[    0.000000] [0:      swapper/0:    0] Kernel command line: console=ttySAC2
[    0.900000] [0:      swapper/0:    1] calling  foo_init+0x0/0x10 @ 1
[    1.000000] [0:      swapper/0:    1] initcall foo_init+0x0/0x10 returned 0 after 97656 usecs
[    2.000000] [0:   kworker/0:1:   32] Freeing unused kernel memory: 1024K
[    2.100000] [0:      swapper/0:    1] Run /init as init process
[    3.000000] [1:           init:    1] init: starting service
"""
PREFIXES: dict[str, Callable[[int, int], str]] = {
    "samsung": lambda cpu, pid: f"[{cpu}:      swapper/0:{pid:5}] ",
    "samsung-level": lambda cpu, pid: f"I[{cpu}:      swapper/0:{pid:5}] ",
    "mediatek": lambda cpu, pid: f" ({cpu})[{pid}:swapper/0]",
    "mediatek-level": lambda cpu, pid: f"<0>-({cpu})[{pid}:swapper/0]",
    "thread": lambda cpu, pid: f"[T{pid}] ",
    "thread-wide": lambda cpu, pid: f"[    T{pid}] ",
    "cpu": lambda cpu, pid: f"[    C{cpu}] ",
    "level": lambda cpu, pid: "<6>",
    "none": lambda cpu, pid: "",
}
SAID = SAMSUNG.replace("[0:      swapper/0:    0] ", "@0@").replace("[0:      swapper/0:    1] ", "@1@")
SAID = SAID.replace("[0:   kworker/0:1:   32] ", "@32@").replace("[1:           init:    1] ", "@1@")
HANDOVER = """\
U-Boot 2023.04 (Apr 03 2023 - 20:38:50 +0000)

DRAM:  2 GiB
Hit any key to stop autoboot:  0
=> run bootcmd
Starting kernel ...

"""


def read(text: str) -> tuple[str, Reading]:
    """What a text is taken for, and its reading."""
    source = Source("x", text.encode())
    name = rank(source)[0].reader.name
    found = reader(name).read(source, Options())
    check(found)
    return name, found


def trace(text: str) -> Trace:
    found = understand([Raw("x", text.encode())], Answers(), strict=True)
    assert found.boots == 1
    return found.trace(1)


def milestones(text: str) -> dict[str, int]:
    """Milestones of the only boot of a text, in us."""
    return {name: at_ns // 1000 for name, at_ns in trace(text).milestones().items()}


def calls(boot: Boot) -> dict[str, tuple[int, int]]:
    spans = [span for track in boot.tracks if track.kind == "initcall" for span in track.spans]
    return {span.name: (span.start_ns, span.end_ns) for span in spans}


def test_a_console_with_usb_in_it_is_no_journal() -> None:
    name, found = read(BOARD)
    assert name == "plain"
    assert found.missed == []
    assert found.boots[0].facts["kernel"] == "6.1.0"
    assert found.boots[0].facts["command line"].startswith("console=ttymxc1,115200 ")
    reached = milestones(BOARD)
    assert reached["kernel-entry"] == 0
    assert reached["kernel-done"] == 1_412_345
    assert reached["init"] == 1_512_345


def test_a_kernel_log_of_usb_devices_alone_is_no_journal() -> None:
    """Where nearly every line has the looks of a host and a speaker: `usb 1-1: `."""
    usb = [f"[{n / 10:12.6f}] usb 1-{n % 7}: Product: thing {n}" for n in range(200)]
    assert read("\n".join([*BOARD.splitlines()[:3], *usb]) + "\n")[0] == "dmesg"


def test_a_kernel_log_to_which_systemd_writes_is_no_journal() -> None:
    said = [f"[{n / 10:12.6f}] systemd[1]: Started thing {n}." for n in range(200)]
    assert read("\n".join([*BOARD.splitlines()[:3], *said]) + "\n")[0] == "dmesg"


@pytest.mark.parametrize("host", ["imx8mp ", ""])
def test_a_journal_is_one(host: str) -> None:
    def line(text: str) -> str:
        stamp, _, words = text.partition("] ")
        return f"{stamp}] {host}{'' if words.startswith('systemd[') else 'kernel: '}{words}"

    text = "\n".join(line(text) for text in BOARD.splitlines() if text.startswith("[ "))
    text = "\n".join(line for line in text.splitlines() if "OK" not in line) + "\n"
    assert "systemd[1]" in text
    name, found = read(text)
    assert name == "journalctl"
    assert found.missed == []
    assert milestones(text)["init"] == 1_512_345


def test_the_whole_file_decides_not_its_beginning() -> None:
    """A loader that says much without stamps, then a journal that is far longer; and the other way round."""
    chatter = "".join(f"mmc{n % 3}: loader chatter, block {n}\n" for n in range(3000))
    journal = "".join(
        f"[{n / 100:12.6f}] imx8mp {'kernel' if n % 2 else 'systemd[1]'}: said {n}\n" for n in range(40_000)
    )
    assert len(chatter) > 65536
    assert journalctl.READERS[0].sure(Source("x", (chatter + journal).encode())) > 80
    assert journalctl.READERS[0].sure(Source("x", (journal[:70_000] + chatter * 20).encode())) == 0


def test_a_sample_is_whole_lines_from_everywhere() -> None:
    lines = [f"line {n}".encode() for n in range(100_000)]
    source = Source("x", b"\n".join(lines))
    sample = source.sample.splitlines()
    assert len(source.sample) <= 65536
    assert set(sample) <= set(lines)
    numbers = [int(line.split()[1]) for line in sample]
    assert numbers == sorted(numbers)
    assert numbers[0] == 0
    assert numbers[-1] > 96_000
    assert max(b - a for a, b in pairwise(numbers)) < 5000


def test_a_small_file_is_its_own_sample_and_one_without_lines_its_head() -> None:
    assert Source("x", b"one\ntwo").sample == b"one\ntwo"
    assert Source("x", b"x" * 200_000).sample == b"x" * 65536


@pytest.mark.parametrize("kind", PREFIXES)
def test_what_vendors_put_before_the_words_hides_nothing(kind: str) -> None:
    before = PREFIXES[kind]
    text = SAID.replace("@0@", before(0, 0)).replace("@1@", before(0, 1)).replace("@32@", before(1, 32))
    _, found = read(text)
    boot = found.boots[0]
    assert calls(boot) == {"foo_init": (902_344_000, 1_000_000_000)}
    assert boot.facts["kernel"] == "3.10.0"
    assert boot.facts["command line"] == "console=ttySAC2"
    assert milestones(text) == {"kernel-entry": 0, "kernel-done": 2_000_000, "init": 2_100_000}


def test_names_with_colons_in_them_stand_in_a_prefix_too() -> None:
    assert "[0:   kworker/0:1:   32]" in SAMSUNG
    assert milestones(SAMSUNG)["kernel-done"] == 2_000_000


def test_a_line_of_the_kernel_behind_a_prompt_keeps_its_stamp() -> None:
    text = """\
[    0.000000] Booting Linux on physical CPU 0x0
[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1
[    1.000000] Run /sbin/init as init process
imx8mp login: [    5.123456] random: crng init done
imx8mp login: root (automatic login)
root@imx8mp:~# [    7.250000] initcall late_init+0x0/0x10 [late] returned 0 after 1000 usecs
"""
    name, found = read(text)
    boot = found.boots[0]
    assert name == "plain"
    assert [boot.log.kernel_ns[i] // 1000 for i in (3, 5)] == [5_123_456, 7_250_000]
    assert [ns // 1000 for ns in boot.log.at_ns] == [0, 0, 1_000_000, 1_000_000, 5_123_456, 5_123_456]
    assert boot.log.kernel_ns[4] == NO_STAMP
    assert calls(boot) == {"late_init": (7_249_000_000, 7_250_000_000)}
    # The prompt came after the line before it, and before the kernel's.
    assert milestones(text) == {"kernel-entry": 0, "init": 1_000_000, "login": 1_000_000}
    assert trace(text).earliest() == ["login"]


def test_brackets_that_are_no_stamps_stay_words() -> None:
    lines = [
        "[    0.000000] Linux version 6.1.0",
        "# [    1.5] x",
        "> [ 1.123456 y",
        "a" * 200 + "# [    1.000000]",
    ]
    _, found = read("\n".join([*lines, *BOARD.splitlines()[3:]]) + "\n")
    assert list(found.boots[0].log.kernel_ns[1:4]) == [NO_STAMP] * 3


@pytest.mark.parametrize("said", ["root (automatic login)", "root", "", "admin.2 "])
def test_a_prompt_is_a_login_with_a_name_behind_it_too(said: str) -> None:
    text = BOARD.replace("imx8mp login: ", f"[    4.000000] done\nimx8mp login: {said}\n")
    point = next(p for p in trace(text).points if p.name == "login")
    assert point.at_ns == 4_000_000_000


def test_the_last_login_is_no_prompt() -> None:
    text = BOARD.replace("imx8mp login: ", "Last login: Thu Jan  1 00:00:00 UTC 1970 on ttymxc1\n")
    assert "login" not in [p.name for p in trace(text).points]


def test_loader_without_stamps_then_kernel_with_them() -> None:
    text = HANDOVER + BOARD
    name, found = read(text)
    assert name == "plain"
    assert found.missed == []
    boot = found.boots[0]
    assert boot.facts["boot loader"].startswith("U-Boot 2023.04")
    assert trace(text).milestones()["init"] == 1_512_345_000


def test_random_prompts_and_prefixes_do_no_harm() -> None:
    dice = random.Random(5)
    pieces = [
        "login: [",
        "    5.123456] ",
        "# [",
        "(0)[1:sw]",
        "[0: a:1]",
        "\n",
        "[    1.000000] ",
        "\x1b[0m",
        "initcall ",
    ]
    for _ in range(300):
        data = "".join(dice.choices(pieces, k=40)).encode()
        survives(reader("plain"), data)
        survives(reader("dmesg"), b"[    0.000000] a\n" + data)


@pytest.mark.parametrize("margin", ["    ", "\t", "  "])
def test_a_paste_that_is_moved_in_is_read_as_what_it_was(margin: str) -> None:
    lines = BOARD.splitlines()
    name, found = read("".join(f"{margin}{line}\n" for line in lines))
    assert name == "plain"
    assert next((r.what, r.first_line) for r in found.repairs) == ("lines moved in by blanks", 1)
    assert list(found.boots[0].log.at_ns) == list(read(BOARD)[1].boots[0].log.at_ns)
    assert milestones("".join(f"{margin}{line}\n" for line in lines))["init"] == 1_512_345


def test_one_line_that_is_moved_in_moves_nothing() -> None:
    _, found = read("  [    0.000000] x\n" + BOARD)
    assert "lines moved in by blanks" not in [r.what for r in found.repairs]


@pytest.mark.parametrize("margin", ["  ", "    ", "\t"])
def test_a_paste_without_stamps_is_read_too(margin: str) -> None:
    text = "\n".join(f"{margin}{line}" if line else "" for line in HANDOVER.splitlines()) + "\n"
    name, found = read(text)
    assert name == "plain"
    assert found.boots[0].log.text(0).startswith("U-Boot 2023.04")
    assert [repair.what for repair in found.repairs] == ["lines moved in by blanks"]
