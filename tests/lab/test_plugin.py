# SPDX-License-Identifier: Apache-2.0
"""The plugin by itself: what it says when it is used wrongly, and that a watch file means what it says."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from bootscope.boards.machine import machine_arguments
from bootscope.boards.profile import load_board
from bootscope.capture import stream
from bootscope.devices.model import Media
from bootscope.image.code import Code

pytestmark = pytest.mark.boot
CPU = (
    "word 4 1\nregister pc pc\nregister stack sp\nregister link lr\nregister flags cpsr\n"
    "condition 0 0x40000000 0x40000000\ncondition 1 0x40000000 0\n"
    "condition 2 0x90000000 0 0x90000000 0x90000000\n"
    "condition 3 0x90000000 0x80000000 0x90000000 0x10000000\n"
)
GOOD = f"tick 2\n{CPU}io 1 0x01c28000 0x400\nlimit 20000000\n"

WRONG_HOOKS = [
    f"hook 1 0x60 every {items}"
    for items in (
        "reg", "reg 0", "reg -1", "reg r_0123456789abcde", "reg r0.x", "reg r1+4", "reg +1", "none r0",
        "word", "word r0+", "word r0+4>", "word r0>4", "word r0+4+4", "word r0+x", "word r0+4>+5",
        "word r0+-",
        "int", "int r0+", "word 32+0", "word r0+99999999999", "word r0+1>2>3>4>5>6>7>8>9",
        "reg r0 reg r1 reg r2 reg r3 reg r4 reg r5 reg r6",
        "reg r0 word r0+1 reg r2 int r3+1 reg r4 none none",
        "when", "when 4", "when 16", "when -1", "when x",
        "if", "if r1", "if 32 1", "if r1 x", "if r1 -1",
        "str r0 str r1", "str r0 args r1", "args r1 path r0+4 8 12", "args", "args r1>2",
        "path r0+4", "path r0+4 8", "path r0+4 -8 12", "path r0+4 8 99999999999", "path 0 8 12",
        "is 00", "is 00 str r0", "str r0 is", "str r0 is 0", "str r0 is 0g", "str r0 is -1", "str r0 is 0x",
        "returns", "returns 5", "returns 0 r0", "returns 5 5", "returns x r0", "returns 5 r0 returns 6 r0",
        "unseen 1", "stack 1", "moves 1", "often", " ".join(["stack"] * 40),
    )
]  # fmt: skip
WRONG_LINES = [
    "io 1 0x10 0", "io 1 0x10 4 5", "io 1 0xffffffffffffffff 2", "io 1 +2 3", "text 1 1 0 +1-1",
    "over 1", "over 7 4096", "over 1 5", "over x 4096", "over 1 0",
    "move 1", "move 0 0x100", "move 1 0x100 2", "move x 0x100",
    "stack 100", "stack 0 100", "stack 100 4097", "stack x 100", "stack 100 100 1",
    "return 5", "return 5 5", "return 9 5", "return 1 2 3", "code 9 5",
    "call 4 1", "call 0 0 0", "call 9 1 1", "call 4 1 1 1", "idle 9 1 1",
    "segment", "segment x", "yield 9 1 1", "yield 4 1", "quantum", "quantum x",
    "port 1 0x3f8", "port 1 0x3f8 0", "port 1 0xffffffffffffffff 2", "ports 0", "ports",
    "prefix 5", "prefix 5 4", "prefix 0 256", "output 0xee 1 r2", "output 256 1 r2 r0", "output 0xee 5 r2 r0",
    "output 0xee 0 r2 r0", "output 0xee 1 2 r0", "output 0xee 1 r2 r0 0x66", "output 0xee 1 r2 r0 0x66 8",
    "outputs 0x6e 1 r2 r6 r1", "outputs 0x6e 1 next r6 r1 0xf3", "outputs 0x6e 1 r2 r6 1 0xf3",
    "input 0xec", "input 256 r2", "input 0xec 2", "input 0xec r2 r0", "inputs 0x6c next r1 0xf3",
    "inputs 0x6c r2 r1", "inputs 0x6c r2 r1 256", "control-off", "control-off x", "control-off 1 2",
    "clock 2", "clock 9 1 1", "repeat", "repeat 256", "write-combining 1", "\n".join(["repeat 1"] * 5),
    "\n".join(["prefix 1 2"] * 17), "\n".join(["output 0xee 1 r2 r0"] * 17),
    "paced-port", "paced-port 16550 1 4 24000000 16", "paced-port 16550 9 4 24000000 16 86805",
    "paced-port 16551 1 4 24000000 16 86805", "paced-port 16550 1 0 24000000 16 86805",
    "paced-port 16550 1 4 0 16 86805", "paced-port 16550 1 4 24000000 0 86805",
    "paced-port 16550 1 4 24000000 4097 86805", "paced-port 16550 1 4 24000000 16 x",
    "paced-port imx 1 4 24000000 16 86805\npaced-port imx 1 4 24000000 16 86805",
    "paced-card", "paced-card sdhci 1 500000", "paced-card nand 1 500000 9", "paced-card sdhci 9 500000 9",
    "paced-card sdhci 1 500000 0", "paced-card usdhc 1 1000000000001 9",
    "usage 1", "usage x /f", "usage 1 /f 2", "usage 1 /f\nusage 1 /g", "stage 7", "stage", "stage x",
    "owner 1 r0+4 2", "owner 0 r0+4 2 r2+4", "owner 1 r0 2 r2+4", "owner 1 r0+4 2 r2", "owner 1 r0+4 2 2",
    "owner 1 r0+4 2 r2+4\nowner 1 r0+4 2 r2+4",
    "word 4", "word 5 1", "word x 1", "word 4 1 1", "register pc", "register program pc", "register pc 15",
    "condition 4", "condition 4 1", "condition 16 1 1", "condition 4 1 1 1", "condition 4 1 x",
    "condition 4 1 1 1 1 1 1 1 1 1 1",
    "\n".join(["return 1 2"] * 9), "\n".join(["call 4 1 1"] * 9),
]  # fmt: skip


def boot(
    built: dict[str, Any], library: str, tmp_path: Path, watch: str, options: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs QEMU with the plugin and this watch file; the stream goes to tmp_path/stream.bin."""
    (tmp_path / "watch.txt").write_text(watch)
    board = load_board("cubieboard")
    arguments = machine_arguments(board, Media(Path(built["card"])))
    given = options or f"watch={tmp_path / 'watch.txt'},out={tmp_path / 'stream.bin'}"
    command = [board.arch.tools.qemu, *arguments, "-plugin", f"{library},{given}"]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize(
    "wrong",
    [
        "nonsense 1",
        "io 1 2",
        "io -1 2 3",
        "hook 1 0x60 sometimes",
        "hook 1 0x60 once str",
        "hook 1 0x60 once is 00",
        "text 1 1 0 abc",
        "text 1 1 0 zz",
        "frame 1 0x5f000000 0x100 0 /x",
        "light 1 0x5f000000 0x100 4",
        "light 1 0x5f000000 0 4 0xffffff",
        "light 1 0x5f000000 0x100 0 0xffffff",
        "light 1 0x5f000000 0x100 9 0xffffff",
        "light 1 0x5f000000 0x100 4 0",
        "light 1 0xffffffffffffff00 0x100 4 0xffffff",
        "light 1 0x1000 0x100 4 1\nlight 1 0x1000 0x100 4 1",
        "begins 1",
        "frame 1 0x5f000000 0x100 4 /x\nbegins 7",
        "stop light 1",
        "stop hook 7",
        "limit soon",
        "tick 0",
        "sample 99999999999999999999999",
        *WRONG_HOOKS,
        *WRONG_LINES,
    ],
)
def test_a_wrong_line_is_named(built: dict[str, Any], library: str, tmp_path: Path, wrong: str) -> None:
    done = boot(built, library, tmp_path, f"{GOOD}{wrong}\n")
    lines = wrong.split("\n")
    assert done.returncode == 1
    assert f"watch.txt:{GOOD.count(chr(10)) + len(lines)}: not understood: {lines[-1]}" in done.stderr


def test_a_missing_option_or_file_is_named(built: dict[str, Any], library: str, tmp_path: Path) -> None:
    assert "needs watch=FILE" in boot(built, library, tmp_path, GOOD, "out=/dev/null").stderr
    done = boot(built, library, tmp_path, GOOD, f"watch={tmp_path}/gone,out={tmp_path}/s")
    assert "gone: No such file or directory" in done.stderr
    assert "no 'tick' line" in boot(built, library, tmp_path, "limit 1\n").stderr
    assert "no 'word' line" in boot(built, library, tmp_path, "tick 2\n").stderr


def test_a_register_that_the_cpu_does_not_have_is_named(
    built: dict[str, Any], library: str, tmp_path: Path
) -> None:
    done = boot(built, library, tmp_path, f"{GOOD}hook 1 0x60 once reg r0 reg x30\n")
    assert done.returncode == 1
    assert "the CPU has no register x30" in done.stderr


def test_a_limit_ends_the_boot_and_the_reason_is_kept(
    built: dict[str, Any], library: str, tmp_path: Path
) -> None:
    assert boot(built, library, tmp_path, GOOD).returncode == 0
    records = stream.read(tmp_path / "stream.bin")
    end = records[-1]
    assert isinstance(end, stream.Ended)
    assert end.reason == stream.End.LIMIT
    assert 20_000_000 <= end.time_ns < 21_500_000
    assert all(isinstance(record, stream.Io | stream.Clock | stream.Ended) for record in records)


def test_hooks_count_capture_and_stop(built: dict[str, Any], library: str, tmp_path: Path) -> None:
    watch = f"{GOOD}hook 3 0x60 once reg r0 reg sp\nhook 4 0x60 every\nstop hook 4\n"
    assert boot(built, library, tmp_path, watch).returncode == 0
    hooks = [r for r in stream.read(tmp_path / "stream.bin") if isinstance(r, stream.Hook)]
    assert [hook.hook for hook in hooks] == [3, 4]
    assert len(hooks[0].registers) == 2
    assert hooks[0].time_ns == hooks[1].time_ns


def test_a_text_stops_at_its_last_byte(built: dict[str, Any], library: str, tmp_path: Path) -> None:
    watch = f"{GOOD}text 5 1 0 {b'U-Boot SPL'.hex()}\nstop text 5\n"
    assert boot(built, library, tmp_path, watch).returncode == 0
    records = stream.read(tmp_path / "stream.bin")
    assert any(isinstance(r, stream.Text) and r.text == 5 for r in records)
    stored = bytes(r.value & 0xFF for r in records if isinstance(r, stream.Io) and r.offset == 0)
    assert stored.endswith(b"U-Boot SPL")


def test_samples_come_at_their_period(built: dict[str, Any], library: str, tmp_path: Path) -> None:
    assert boot(built, library, tmp_path, f"{GOOD}sample 100000\n").returncode == 0
    samples = [r for r in stream.read(tmp_path / "stream.bin") if isinstance(r, stream.Sample)]
    assert 190 <= len(samples) <= 201
    assert [s.time_ns for s in samples] == sorted(s.time_ns for s in samples)


# ---- what hooks take ----

SPL_START = 0x60
"""Where the SPL begins; it was put at address 0 together with the header before it."""


def hooks(built: dict[str, Any], library: str, tmp_path: Path, *lines: str) -> list[stream.Record]:
    """The records of hooks, and their stacks, in the first 120 ms of a boot."""
    watch = GOOD.replace("20000000", "120000000")
    done = boot(built, library, tmp_path, watch + "".join(f"{line}\n" for line in lines))
    assert done.returncode == 0, done.stderr
    records = stream.read(tmp_path / "stream.bin")
    return [r for r in records if isinstance(r, stream.Hook | stream.StackSample)]


def spl(built: dict[str, Any]) -> tuple[Code, bytes]:
    """The SPL: its program, and the bytes that are at address 0 when it runs."""
    code = Code(Path(built["steps"]["uboot"]["path"], "u-boot-spl.elf").read_bytes())
    card = Path(built["card"]).read_bytes()
    return code, card[8192 : 8192 + 0x6000]


def test_values_come_from_registers_and_memory(built: dict[str, Any], library: str, tmp_path: Path) -> None:
    _, image = spl(built)

    def word(address: int) -> int:
        return int.from_bytes(image[address : address + 4], "little")

    pointed = next(at for at in range(0x80, 0x4000, 4) if 0x60 <= word(at) < 0x4000 and word(at) % 4 == 0)
    zero = next(at for at in range(0x80, 0x4000, 4) if word(at) == 0)
    way, null = f"pc+{pointed - SPL_START}", f"pc+{zero - SPL_START}>0"
    found = hooks(
        built, library, tmp_path,
        f"hook 1 {SPL_START:#x} once reg pc word pc+0 int pc+-92 none word {way} word {way}>4",
        f"hook 2 {SPL_START:#x} once str pc+-92",
        f"hook 3 {SPL_START:#x} once word {null} str {null} reg pc",
    )  # fmt: skip
    first, text, nothing = found
    assert isinstance(first, stream.Hook)
    assert isinstance(text, stream.Hook)
    assert isinstance(nothing, stream.Hook)
    place = word(pointed)
    assert first.registers == (SPL_START, word(SPL_START), word(4), 0, place, word(place + 4))
    assert text.text.startswith(b"eGON.BT0")
    assert (nothing.registers, nothing.text) == ((0, SPL_START), b"")


def test_conditions_decide_which_arrivals_count(built: dict[str, Any], library: str, tmp_path: Path) -> None:
    at = f"{SPL_START:#x}"
    pairs = [(0, 1), (2, 3)]
    lines = [f"hook {100 + c} {at} once when {c}" for pair in pairs for c in pair]
    found = hooks(
        built, library, tmp_path, *lines, f"hook 1 {at} once if pc {at}", f"hook 2 {at} once if pc 1",
    )  # fmt: skip
    seen = [r.hook for r in found if isinstance(r, stream.Hook)]
    assert all(((100 + a) in seen) != ((100 + b) in seen) for a, b in pairs)
    assert [hook for hook in seen if hook < 100] == [1]


def test_what_was_seen_is_told_once(built: dict[str, Any], library: str, tmp_path: Path) -> None:
    code, _ = spl(built)
    udelay = code.function("udelay")
    assert udelay
    at = f"{udelay.address:#x}"
    found = hooks(
        built, library, tmp_path,
        f"hook 1 {at} every reg r0", f"hook 2 {at} every reg r0 unseen", f"hook 3 {at} every unseen",
    )  # fmt: skip
    values: dict[int, list[tuple[int, ...]]] = {1: [], 2: [], 3: []}
    for record in found:
        if isinstance(record, stream.Hook):
            values[record.hook].append(record.registers)
    assert len(values[1]) > len(set(values[1]))
    assert values[2] == list(dict.fromkeys(values[1]))
    assert values[3] == [()]


def test_a_stack_follows_its_hook_and_holds_what_follows_calls(
    built: dict[str, Any], library: str, tmp_path: Path
) -> None:
    code, _ = spl(built)
    udelay, calls = code.function("udelay"), load_board("cubieboard").qemu.calls
    assert udelay
    low, high = code.extent()
    lines = [f"call {c.size} {c.mask:#x} {c.value:#x}" for c in calls]
    found = hooks(
        built, library, tmp_path, *lines, f"return {low:#x} {high:#x}", "stack 1000000000 1024",
        f"hook 1 {udelay.address:#x} every reg lr reg sp stack",
    )  # fmt: skip
    assert len(found) >= 4
    assert all(isinstance(r, stream.Hook) == (at % 2 == 0) for at, r in enumerate(found))
    words = 0
    for hook, stack in zip(found[::2], found[1::2], strict=True):
        assert isinstance(hook, stream.Hook)
        assert isinstance(stack, stream.StackSample)
        assert (stack.pc, stack.lr) == (udelay.address, hook.registers[0])
        assert stack.time_ns == hook.time_ns
        for at, address in stack.words.items():
            assert 0 <= at < 256
            assert low <= address & ~1 < high
        words += len(stack.words)
    assert words


def test_hooks_of_a_program_that_moved_are_reached_there(
    built: dict[str, Any], library: str, tmp_path: Path
) -> None:
    """U-Boot moves itself to the end of memory; what is marked so is looked for there as well."""
    code = Code(Path(built["steps"]["uboot"]["path"], "u-boot.elf").read_bytes())
    relocate, moved = code.function("relocate_code"), code.function("initcall_run_list")
    assert relocate
    assert moved
    watch = GOOD.replace("20000000", "400000000") + (
        f"hook 1 {relocate.address:#x} once reg r0\nmove 1 0x4a000000\n"
        f"hook 2 {moved.address:#x} every reg pc moves\nhook 3 {moved.address:#x} every reg pc\n"
    )
    assert boot(built, library, tmp_path, watch).returncode == 0
    found = [r for r in stream.read(tmp_path / "stream.bin") if isinstance(r, stream.Hook)]
    (to,) = (r.registers[0] for r in found if r.hook == 1)
    assert to > 0x70000000
    places = {r.hook: [s.registers[0] for s in found if s.hook == r.hook] for r in found}
    assert places[3] == [moved.address]
    assert places[2] == [moved.address, moved.address + to - 0x4A000000]
