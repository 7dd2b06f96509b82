# SPDX-License-Identifier: Apache-2.0
"""A journal of systemd 262: forms of journalctl that older fixtures lack, and times found late."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.readers.base import Boot, Options, Reading, Source
from bootscope.readers.formats import journalctl
from bootscope.readers.journal_late import WHAT

from .fuzzing import check, damaged, read, source, survives
from .unpacked import read_unpacked

(JOURNAL,) = journalctl.READERS
SECOND = 1_000_000_000
FORMS = ("verbose.txt", "verbose-colour.txt", "catalog.txt", "catalog-ascii.txt")


def lines_with(boot: Boot, part: str) -> list[int]:
    return list(boot.log.lines_with(part.encode()))


def read_text(*lines: str) -> Reading:
    reading = JOURNAL.read(Source("x", "\n".join([*lines, ""]).encode()), Options())
    check(reading)
    return reading


def at(boot: Boot, part: str) -> int | None:
    """When the line with `part` was stamped; None where it has no stamp of its own."""
    (index,) = lines_with(boot, part)
    return boot.log.at_ns[index] if boot.log.stamped_line(index) == index else None


def test_verbose_has_the_kernels_times_and_levels() -> None:
    (boot,) = read(JOURNAL, "journalctl", "verbose.txt").boots
    assert (boot.clock.name, boot.facts["tool"]) == ("kernel", "journalctl -o verbose")
    assert boot.log.text(0).startswith("Linux version 7.2.13+deb14-amd64 ")
    assert (boot.log.at_ns[0], boot.log.level[0], len(boot.log)) == (0, 5, 40)


def test_further_lines_of_a_verbose_message() -> None:
    cursor = "[s=" + "a" * 32 + ";i=1;b=" + "b" * 32 + ";m=f4240;t=6610c9781c14b;x=26dc2fe0582b6ff8]"
    head = f"Tue 2026-11-24 21:42:49.629003 UTC {cursor}"
    (boot,) = read_text(
        head, "    MESSAGE=one", "            two", "    SYSLOG_IDENTIFIER=a", "    _PID=7"
    ).boots
    assert list(boot.log) == [(SECOND, "a[7]: one"), (SECOND, "a[7]: two")]


def test_the_catalog_is_no_part_of_the_log() -> None:
    for name in ("catalog.txt", "catalog-ascii.txt"):
        assert JOURNAL.sure(source("journalctl", name)) >= 90
        assert read(JOURNAL, "journalctl", name).missed == []


def test_json_may_begin_with_any_field() -> None:
    text = '{"IP6_A":"1","__MONOTONIC_TIMESTAMP":"1000000","MESSAGE":"x"}\n'
    assert JOURNAL.sure(Source("x", text.encode())) == 99


@pytest.mark.parametrize("form", ["short-delta", "short-monotonic"])
def test_short_forms_agree_with_json_or_tell_no_time(form: str) -> None:
    (exact,) = read_unpacked(JOURNAL, "journalctl", "262-json.txt.gz").boots
    (boot,) = read_unpacked(JOURNAL, "journalctl", f"262-{form}.txt.gz").boots
    for words in ("Startup finished in", "Switching root.", "Started ssh.service"):
        # 1 s: systemd's lines went through the kernel's buffer.
        assert abs((at(boot, words) or 0) - (at(exact, words) or 0)) < SECOND
    assert at(exact, "Linux version") == 0
    assert at(boot, "Linux version") is at(boot, "Run /init as init") is None
    assert at(exact, "Startup finished in") == 166_858_572_000


def test_what_was_logged_between_two_journalds_came_after_the_first() -> None:
    (boot,) = read_unpacked(JOURNAL, "journalctl", "262-short-monotonic.txt.gz").boots
    (index,) = lines_with(boot, "Hostname set to <demo>")
    since = boot.log.stamped_line(index)
    assert boot.log.text(since).endswith("Journal stopped")
    assert boot.log.at_ns[index] == boot.log.at_ns[since] == 74_903_832_000


def test_a_calendar_shows_when_the_kernels_lines_were_found() -> None:
    reading = read_unpacked(JOURNAL, "journalctl", "262-short-iso.txt.gz")
    (boot,) = reading.boots
    assert at(boot, "Linux version") is None
    assert {repair.what for repair in reading.repairs} >= {WHAT}
    assert not any("shifted" in repair.what for repair in reading.repairs)


def test_the_kernels_own_stamps_stay() -> None:
    (boot,) = read_text(
        "[    0.000000] demo kernel: Linux version 6.1.0 (a@b) (gcc) #1",
        "[    1.500000] demo kernel: usb 1-1: new",
        "[    2.000000] demo systemd-journald[80]: Journal started",
    ).boots
    assert at(boot, "usb 1-1") == 1_500_000_000


def test_a_line_that_came_late_moves_no_other() -> None:
    reading = read_text(
        "[    3.000000] demo kernel: a: 1",
        "[   20.000000] demo systemd-journald[80]: b",
        "[    8.000000] demo systemd[1]: c",
        "[   21.000000] demo systemd[1]: d",
    )
    assert [t for t, _ in reading.boots[0].log] == [3 * SECOND, 8 * SECOND, 20 * SECOND, 21 * SECOND]


def test_a_calendar_that_was_set_back_is_mended_as_before() -> None:
    day = "Nov 24 10:00:"
    rest = [f"{day}{second:02} demo systemd[1]: later {second}" for second in range(10, 16)]
    reading = read_text(f"{day}40 demo systemd[1]: a", f"{day}41 demo systemd[1]: b", *rest)
    assert any("shifted" in repair.what for repair in reading.repairs)


def test_a_record_of_a_program_is_placed_when_it_was_sent() -> None:
    fields = '"__MONOTONIC_TIMESTAMP":"9000000","__REALTIME_TIMESTAMP":"1795556642000000","MESSAGE":"x"'
    sent = '{%s,"_SOURCE_REALTIME_TIMESTAMP":"%d"}\n'
    for source_us, expected_ns in ((1795556640000000, 7 * SECOND), (1795550000000000, 9 * SECOND)):
        text = sent % (fields, source_us)
        (boot,) = JOURNAL.read(Source("x", text.encode()), Options()).boots
        assert boot.log.at_ns[0] == expected_ns


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(FORMS))
def test_damage_does_no_harm(data: st.DataObject, name: str) -> None:
    survives(JOURNAL, data.draw(damaged(source("journalctl", name).data)))
