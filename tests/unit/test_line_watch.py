# SPDX-License-Identifier: Apache-2.0
"""What a console says while a board boots: marks, prompts, loops, and wrong line rates."""

from __future__ import annotations

import pytest

from bootscope.hardware.console_monitor import LineWatch, marker_of
from bootscope.hardware.line_rate import looks_wrong, proposed

TEXT = b"U-Boot 2025.01 (Nov 21 2026 - 12:00:00 +0000) Allwinner Technology\r\nDRAM:  1 GiB\r\n" * 6


def heard(text: bytes, name: str = "login", step: int = 7) -> LineWatch:
    watch = LineWatch(marker_of(name, {"app-ready": "ready."}))
    for at in range(0, len(text), step):
        watch.feed(at, text[at : at + step])
    return watch


@pytest.mark.parametrize(("name", "text", "reached"), [
    ("login", b"board login: ", True),
    ("login", b"Last login: Mon\r\n", False),
    ("init", b"[    0.700000] Run /sbin/init as init process\n", True),
    ("app-ready", b"the application is ready. Go\n", True),
    ("app-ready", b"already\n", False),
    ("kernel-entry", b"[    0.000000] Linux version 6.12\n", True),
])  # fmt: skip
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_a_milestone_is_seen_however_its_line_comes(name: str, text: bytes, reached: bool, step: int) -> None:
    watch = heard(b"before\r\n" + text, name, step)
    assert (watch.reached or watch.waiting) == reached


def test_no_milestone_is_called_by_another_name() -> None:
    assert marker_of("tea-time", {}) is None


@pytest.mark.parametrize(("text", "waits"), [
    (b"Hit any key\r\n=> ", True), (b"U-Boot> ", True), (b"sun4i# ", False), (b"=> boot\r\n", False),
    (b"grub> ", True), (b"a => b", False),
])  # fmt: skip
def test_a_prompt_is_a_prompt_at_the_end_only(text: bytes, waits: bool) -> None:
    assert heard(text).at_prompt == waits


def test_a_board_that_starts_three_times_loops() -> None:
    once = b"U-Boot SPL 2025.01\r\n\r\nU-Boot 2025.01\r\nBooting Linux on x\r\nLinux version 6\r\n"
    assert not heard(once * 2).loops
    assert heard(once * 3).loops
    assert heard(once * 3).starts == {"spl": 3, "bootloader": 3, "kernel-entry": 3}


def test_a_panic_is_seen() -> None:
    assert heard(b"[    1.0] Kernel panic - not syncing: x\n").panicked


def at_rate(text: bytes, sent: int, listened: int) -> bytes:
    """What a port that listens at one rate makes of a line that sends at another: both as a UART does it."""
    wave = [1] * 20
    for byte in text:
        wave += [0, *(byte >> n & 1 for n in range(8)), 1]
    wave += [1] * 20

    def level(at: float) -> int:
        return wave[min(int(at * sent), len(wave) - 1)]

    out, now, end = bytearray(), 0.0, len(wave) / sent
    while now < end:
        # A falling edge is a start bit; bits are looked at in their middle.
        if level(now):
            now += 0.05 / max(sent, listened)
            continue
        bits = [level(now + (n + 1.5) / listened) for n in range(8)]
        out.append(sum(bit << n for n, bit in enumerate(bits)))
        now += 9.5 / listened
        while now < end and not level(now):
            now += 0.05 / max(sent, listened)
    return bytes(out)


def test_the_simulated_port_hears_what_is_sent_at_its_rate() -> None:
    assert at_rate(TEXT[:60], 115200, 115200) == TEXT[:60]


@pytest.mark.parametrize(("sent", "listened"), [
    (9600, 115200), (57600, 115200), (38400, 115200), (115200, 1_500_000), (115200, 9600),
    (1_500_000, 115200), (921600, 115200), (115200, 57600),
])  # fmt: skip
def test_a_wrong_rate_is_recognised_and_the_right_one_proposed(sent: int, listened: int) -> None:
    data = at_rate(TEXT, sent, listened)
    assert looks_wrong(data)
    assert sent in proposed(data, listened)


@pytest.mark.parametrize("text", [
    TEXT, b"", "Größe: 12 µs, naïve, 中文字符\r\n".encode() * 9, b"\x1b[32mok\x1b[0m\r\n" * 9,
    b"a\0b\0" * 3 + TEXT,
])  # fmt: skip
def test_text_is_no_wrong_rate(text: bytes) -> None:
    assert not looks_wrong(text)
