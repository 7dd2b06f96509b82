# SPDX-License-Identifier: Apache-2.0
"""Consoles read off the levels of their lines."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import FIRST_BYTE, Options, Reading, Source
from bootscope.readers.formats import sigrok, vcd
from bootscope.readers.uart import Decoder, Uart, uart_option

from .uart_wave import NS, Level, jittered, sampled, sent, session
from .uart_wave import vcd as dump

TEXT = b"U-Boot SPL 2025.01\r\nTrying to boot from MMC1\r\n\x00\xff\x80\x55\xaa end\r\n"


def decoded(wave: list[Level], uart: Uart, end_ns: int = 3600 * NS) -> Decoder:
    decoder = Decoder(uart)
    for at_ns, level in wave:
        decoder.set(at_ns, level)
    decoder.finish(end_ns)
    return decoder


@pytest.mark.parametrize("rate", [300, 9600, 38400, 115200, 460800, 921600, 1500000, 3000000])
@pytest.mark.parametrize("samples_a_bit", [4, 7, 8.68, 16, 217])
@pytest.mark.parametrize("idle", [0, 1])
def test_what_was_sent_comes_back_with_its_moments(rate: int, samples_a_bit: float, idle: int) -> None:
    sample_hz = int(rate * samples_a_bit)
    wave = list(sampled(sent([(NS // 3, TEXT)], rate, idle, seed=rate), sample_hz))
    found = decoded(wave, Uart("D0", rate, not idle))
    assert bytes(found.data) == TEXT
    assert (found.broken, found.glitches) == (0, 0)
    assert 0 <= found.at_ns[0] - NS // 3 <= NS // sample_hz


@pytest.mark.parametrize("percent", [10, 25, 40])
def test_edges_may_be_off_by_nearly_half_a_bit(percent: int) -> None:
    bit_ns = NS // 115200
    for seed in range(20):
        wave = jittered(sent([(NS, TEXT * 5)], 115200, seed=seed), bit_ns * percent // 200, seed)
        assert bytes(decoded(wave, Uart("D0", 115200)).data) == TEXT * 5


@pytest.mark.parametrize("real", [110000, 112000, 118000, 120000])
def test_the_two_clocks_may_differ(real: int) -> None:
    wave = list(sampled(sent([(NS, TEXT)], real), 1_000_000))
    assert bytes(decoded(wave, Uart("D0", 115200)).data) == TEXT


def test_a_line_that_is_dead_broken_or_noisy_does_no_harm() -> None:
    uart = Uart("D0", 115200)
    # Without power a line is low; that is no start bit.
    late = [(0, 0), *sent([(NS, TEXT)], 115200)[1:]]
    late[1:1] = [(NS // 2, 1)]
    assert bytes(decoded(late, uart).data) == TEXT
    # A break of many bits, then text.
    held = [(0, 1), (1000, 0), (NS // 2, 1), *sent([(NS, TEXT)], 115200)[1:]]
    found = decoded(held, uart)
    assert (bytes(found.data), found.broken) == (TEXT, 1)
    # A spike far shorter than a bit, and a level that is not known.
    spiked: list[tuple[int, int | None]] = [(0, 1), (5000, 0), (5200, 1), (20000, None), (30000, 1)]
    decoder = Decoder(uart)
    for at_ns, level in [*spiked, *sent([(NS, TEXT)], 115200)[1:]]:
        decoder.set(at_ns, level)
    decoder.finish(2 * NS)
    assert (bytes(decoder.data), decoder.glitches) == (TEXT, 1)


@pytest.mark.parametrize("text", ["D0", "D0:", "D0:x", "D0:0", ":9600", "D0:99999999999"])
def test_an_option_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="not CHANNEL:BAUD"):
        uart_option(Options(values={"uart": text}))


def test_an_option_comes_back_as_it_was() -> None:
    for uart in (Uart("D0", 9600), Uart("a:b", 115200, True)):
        assert uart_option(Options(values={"uart": uart.text})) == uart


def read_both(values: dict[str, str], wave: list[Level], sample_hz: int = 1_000_000) -> list[Reading]:
    """One wave on D1 beside a pin D0, as a session and as a dump."""
    channels = {"D0": [(0, 0), (NS // 10, 1)], "D1": wave}
    box = session(channels, NS // 2, sample_hz)
    with zipfile.ZipFile(io.BytesIO(box)) as opened:
        members = {name: opened.read(name) for name in opened.namelist()}
    options = Options(values=values)
    return [
        sigrok.read(Source("x.sr", box, members), options),
        vcd.read(Source("x.vcd", dump(channels, NS // 2)), options),
    ]


def test_pins_and_console_of_one_capture_are_on_one_clock() -> None:
    wave = sent([(NS // 20, b"hello board\r\n"), (NS // 5, b"\r\n[    0.100000] two\r\npart")], 115200)
    for reading in read_both({"uart": "D1:115200", "pin": "D0=high:app-ready"}, wave):
        (boot,) = reading.boots
        (at_ns, text), *rest = list(boot.log)
        assert text == "hello board" and 0 <= at_ns - NS // 20 <= 1_000
        assert [t for _, t in rest] == ["", "[    0.100000] two", "part"]
        assert list(boot.log.kernel_ns) == [-1, -1, 100_000_000, -1]
        assert boot.clock.stamp == FIRST_BYTE
        (ready,) = [p for p in boot.points if p.kind == "milestone"]
        assert (ready.at_ns, ready.name, ready.error_ns) == (NS // 10, "app-ready", 1_000)
        # The console's edges are no events of their own; its lines are spans.
        assert [p.name for p in boot.points if p.kind == "pin"] == ["D0 high"]
        track = next(t for t in boot.tracks if t.ident == "pin:D1")
        assert track.kind == "console" and track.spans[0].name == "hello board"


def test_a_rate_that_cannot_be_is_told() -> None:
    wave = sent([(NS // 20, TEXT * 20)], 115200)
    for reading in read_both({"uart": "D1:1500000"}, wave):
        assert any("fewer than 4 samples a bit" in q for q in reading.questions)
    for reading in read_both({"uart": "D1:230400"}, wave):
        assert any("without a stop bit" in r.what for r in reading.repairs)
    with pytest.raises(UserError, match="uart: no channel 'D7'"):
        read_both({"uart": "D7:9600"}, wave)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 200_000), st.sampled_from([0, 1, None])), max_size=60), st.booleans()
)
def test_noise_never_breaks_it(steps: list[tuple[int, int | None]], inverted: bool) -> None:
    decoder, now_ns = Decoder(Uart("D0", 115200, inverted)), 0
    for step, level in steps:
        now_ns += step
        decoder.set(now_ns, level)
    decoder.finish(now_ns + NS)
    assert len(decoder.at_ns) == len(decoder.data) <= len(steps)
    assert list(decoder.at_ns) == sorted(decoder.at_ns)
    assert all(start <= end for start, end, _ in decoder.lines())
