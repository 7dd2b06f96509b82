# SPDX-License-Identifier: Apache-2.0
"""systemd-analyze and systemctl show, on what systemd 257 said of one boot."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import Boot, Options, Reader, Source
from bootscope.readers.formats import systemctl, systemd_analyze, systemd_blame, systemd_plot, systemd_svg
from bootscope.timeline.trace import Span

from .fuzzing import FIXTURES, damaged, read, survives
from .unpacked import read_unpacked, unpacked

(TEXT,) = systemd_analyze.READERS
(SHOW,) = systemctl.READERS
JSON, TABLE = systemd_plot.READERS
(SVG,) = systemd_svg.READERS
(BLAME,) = systemd_blame.READERS
OF_FILE = {
    "time.txt": TEXT,
    "blame.txt": TEXT,
    "critical-chain.txt": TEXT,
    "critical-chain-ascii.txt": TEXT,
    "critical-chain-colour.txt": TEXT,
    "critical-chain-fuzz.txt": TEXT,
    "manager.txt": SHOW,
    "units.txt.gz": SHOW,
    "units-few.txt": SHOW,
    "plot-short.json": JSON,
    "plot-pretty.json.gz": JSON,
    "plot-table.txt": TABLE,
    "plot-table-bare.txt": TABLE,
    "plot.svg.gz": SVG,
    "262-blame-short.json": BLAME,
    "262-blame-pretty.json": BLAME,
    "262-critical-chain-units.txt": TEXT,
    "262-plot-table.txt.gz": TABLE,
    "262-plot-detailed.svg.gz": SVG,
    "262-soft-time.txt": TEXT,
    "262-soft-plot.json": JSON,
    "262-soft-plot.svg.gz": SVG,
}
ALL = (TEXT, SHOW, JSON, TABLE, SVG, BLAME)


def spans(boot: Boot, ident: str) -> tuple[Span, ...]:
    return next(track.spans for track in boot.tracks if track.ident == ident)


def milestones(boot: Boot) -> dict[str, int]:
    return {p.name: p.at_ns for p in boot.points if p.kind == "milestone"}


def read_text(text: str) -> Boot:
    (boot,) = TEXT.read(Source("x", text.encode()), Options()).boots
    return boot


def test_no_fixture_is_forgotten() -> None:
    there = {p.name for p in (FIXTURES / "systemd").iterdir()} - {"README.md"}
    assert there == set(OF_FILE)


@pytest.mark.parametrize(("name", "reader"), OF_FILE.items())
def test_each_file_is_told_from_the_others_and_understood_to_the_last_line(name: str, reader: Reader) -> None:
    given_source = unpacked("systemd", name)
    assert reader.sure(given_source) >= 70
    assert all(other.sure(given_source) <= 40 for other in ALL if other is not reader)
    reading = read_unpacked(reader, "systemd", name)
    assert not reading.missed and reading.lines_understood
    assert len(reading.boots) == 1


def test_time_gives_the_phases_on_the_kernels_clock() -> None:
    (boot,) = read(TEXT, "systemd", "time.txt").boots
    assert boot.clock.name == "kernel" and boot.clock.resolution_ns == 1_000_000
    assert spans(boot, "systemd") == (
        Span(0, 13_538_000_000, "kernel"),
        Span(13_538_000_000, 53_790_000_000, "initrd"),
        Span(53_790_000_000, 129_211_000_000, "userspace"),
    )
    assert milestones(boot) == {
        "systemd": 53_790_000_000,
        "systemd-finished": 129_211_000_000,
        "graphical.target": 129_198_000_000,
    }


def test_firmware_and_loader_lie_before_the_kernel() -> None:
    boot = read_text(
        "Startup finished in 4.2s (firmware) + 1.3s (loader) + 857ms (kernel) + 1min 2s (userspace)"
        " = 1min 8.357s\nmulti-user.target reached after 1min 1.9s in userspace\n"
    )
    assert [(s.name, s.start_ns, s.end_ns) for s in spans(boot, "systemd")] == [
        ("firmware", -5_500_000_000, -1_300_000_000),
        ("loader", -1_300_000_000, 0),
        ("kernel", 0, 857_000_000),
        ("userspace", 857_000_000, 62_857_000_000),
    ]
    assert milestones(boot)["multi-user.target"] == 62_757_000_000


def test_a_container_has_no_kernel_of_its_own() -> None:
    boot = read_text("Startup finished in 1.5s (userspace) \n")
    assert boot.clock.name == "userspace"
    assert spans(boot, "systemd") == (Span(0, 1_500_000_000, "userspace"),)


def test_blame_keeps_the_slow_ones() -> None:
    (boot,) = read(TEXT, "systemd", "blame.txt").boots
    assert boot.clock.name == "none"
    (table,) = boot.tables
    assert len(table.rows) == 87
    assert table.rows[0] == ("dev-ttyS3.device", 76_696_000_000)
    took = {unit: ns for unit, ns in table.rows}
    assert took["slow-setup.service"] == 7_347_000_000
    assert took["systemd-tmpfiles-setup-dev.service"] == 956_000_000


@pytest.mark.parametrize("form", ["", "-ascii", "-colour"])
def test_critical_chain_in_all_its_looks(form: str) -> None:
    (boot,) = read(TEXT, "systemd", f"critical-chain{form}.txt").boots
    assert boot.clock.name == "userspace"
    (table,) = boot.tables
    assert table.rows[:3] == (
        (0, "graphical.target", 75_408_000_000, None),
        (1, "multi-user.target", 75_391_000_000, None),
        (2, "ssh.service", 69_957_000_000, 5_392_000_000),
    )
    assert table.rows[-1] == (11, "dev-vda1.device", None, None)
    assert spans(boot, "systemd:slow-setup.service") == (Span(58_198_000_000, 65_545_000_000, "starting"),)


def test_a_chain_behind_the_times_lies_on_the_kernels_clock() -> None:
    folder = FIXTURES / "systemd"
    text = "".join((folder / name).read_text() for name in ("time.txt", "blame.txt", "critical-chain.txt"))
    boot = read_text(text)
    assert boot.clock.name == "kernel"
    # 53.790 s, when user space began, and 69.957 s of it.
    assert spans(boot, "systemd:ssh.service")[0].start_ns == 123_747_000_000
    assert {t.title.split(",")[0] for t in boot.tables} == {
        "Critical chain",
        "Units by the time they took to start",
    }


def test_two_boots_in_one_file_are_two() -> None:
    first = "Startup finished in 1s (kernel) + 2s (userspace) = 3s\n"
    second = "Startup finished in 1s (kernel) + 4s (userspace) = 5s\n"
    boots = TEXT.read(Source("x", (first + second).encode()), Options()).boots
    assert [milestones(b)["systemd-finished"] for b in boots] == [3_000_000_000, 5_000_000_000]


def test_the_manager_tells_phases_to_the_microsecond() -> None:
    (boot,) = read(SHOW, "systemd", "manager.txt").boots
    assert spans(boot, "systemd") == (
        Span(0, 13_538_985_000, "kernel"),
        Span(13_538_985_000, 53_791_003_000, "initrd"),
        Span(53_791_003_000, 129_212_529_000, "userspace"),
    )
    assert [s.name for s in spans(boot, "systemd:manager")] == [
        "security (initrd)",
        "generators (initrd)",
        "load units (initrd)",
        "security",
        "generators",
        "load units",
    ]
    assert boot.facts["virtualization"] == "qemu"


def test_units_have_their_times_their_ordering_and_their_waits() -> None:
    (boot,) = read_unpacked(SHOW, "systemd", "units.txt.gz").boots
    (ssh,) = spans(boot, "systemd:ssh.service")
    assert (ssh.start_ns, ssh.end_ns) == (123_748_651_000, 129_140_711_000)
    assert ssh.detail["description"] == "OpenBSD Secure Shell server"
    assert ssh.detail["main process from_ns"] == 127_830_142_000
    (wait,) = spans(boot, "systemd-wait:multi-user.target")
    assert wait.name == "waits for ssh.service"
    assert wait.end_ns == ssh.end_ns
    waits = next(t for t in boot.tracks if t.ident == "systemd-wait:multi-user.target")
    assert waits.kind == "wait" and waits.parent == "systemd:multi-user.target"


def test_manager_and_units_in_one_file_are_one_boot() -> None:
    folder = FIXTURES / "systemd"
    data = (folder / "manager.txt").read_bytes() + (folder / "units-few.txt").read_bytes()
    reading = SHOW.read(Source("x", data), Options())
    (boot,) = reading.boots
    assert not reading.questions
    assert spans(boot, "systemd") and spans(boot, "systemd:ssh.service")


def test_all_forms_of_the_plot_agree() -> None:
    by_form = {
        name: {t.title: t.spans for t in read_unpacked(reader, "systemd", name).boots[0].tracks}
        for name, reader in OF_FILE.items()
        if name.startswith("plot")
    }
    exact = by_form["plot-short.json"]
    assert len(exact) == 150 and exact == by_form["plot-pretty.json.gz"]
    ssh = exact["ssh.service"][0]
    assert (ssh.start_ns, ssh.end_ns) == (123_748_651_000, 129_140_711_000)
    for name, error_ns in (
        ("plot-table.txt", 2_000_000),
        ("plot-table-bare.txt", 2_000_000),
        ("plot.svg.gz", 20_000),
    ):
        found = by_form[name]
        # What started after the end of the drawing is not drawn.
        assert set(exact) - set(found) <= {"systemd-hostnamed.service"}
        for unit, expected in exact.items():
            if unit not in found:
                continue
            assert len(found[unit]) == len(expected), (name, unit)
            for span, right in zip(found[unit], expected, strict=True):
                assert span.name == right.name
                assert abs(span.start_ns - right.start_ns) <= error_ns, (name, unit)
                assert abs(span.end_ns - right.end_ns) <= 2 * error_ns, (name, unit)


def test_blame_as_json_keeps_microseconds() -> None:
    for name in ("262-blame-short.json", "262-blame-pretty.json"):
        (boot,) = read(BLAME, "systemd", name).boots
        (table,) = boot.tables
        assert (boot.clock.name, len(table.rows)) == ("none", 113)
        assert table.rows[1] == ("dev-ttyS1.device", 121_495_308_000)


def test_a_soft_reboot_counts_from_its_own_start() -> None:
    (boot,) = read(TEXT, "systemd", "262-soft-time.txt").boots
    assert boot.clock.zero == "the start of the soft reboot"
    assert spans(boot, "systemd") == (
        Span(0, 6_920_000_000, "soft reboot"),
        Span(6_920_000_000, 37_210_000_000, "userspace"),
    )
    assert milestones(boot)["graphical.target"] == 37_155_000_000
    for name, reader in (("262-soft-plot.json", JSON), ("262-soft-plot.svg.gz", SVG)):
        (boot,) = read_unpacked(reader, "systemd", name).boots
        assert boot.clock.zero == "the start of the soft reboot"
    assert [s.name for s in spans(boot, "systemd")] == ["soft reboot", "userspace"]


def test_chains_of_several_units() -> None:
    (boot,) = read(TEXT, "systemd", "262-critical-chain-units.txt").boots
    (table,) = boot.tables
    assert [row[1] for row in table.rows if row[0] == 0] == ["ssh.service", "dbus.service"]


def test_a_table_in_which_all_spans_have_two_words() -> None:
    (boot,) = read_unpacked(TABLE, "systemd", "262-plot-table.txt.gz").boots
    (span,) = [s for s in spans(boot, "systemd:initrd-udevadm-cleanup-db.service") if s.name == "starting"]
    assert (span.start_ns, span.end_ns) == (72_889_000_000, 73_683_000_000)


@pytest.mark.parametrize(
    "text", ["Could not get time to reach graphical.target.", "could not find default.target."]
)
def test_words_behind_the_times_are_known(text: str) -> None:
    reading = TEXT.read(Source("x", f"Startup finished in 1s (userspace) \n{text}\n".encode()), Options())
    assert not reading.missed


def test_a_unit_that_runs_on_has_no_end_in_a_plot() -> None:
    (boot,) = read(JSON, "systemd", "plot-short.json").boots
    assert [s.name for s in spans(boot, "systemd:ssh.service")] == ["starting"]
    assert [s.name for s in spans(boot, "systemd:initrd-usr-fs.target")] == ["starting", "stopping"]
    assert milestones(boot) == {"systemd-finished": 129_212_529_000}


def test_the_drawing_has_phases_too() -> None:
    (boot,) = read_unpacked(SVG, "systemd", "plot.svg.gz").boots
    assert [(s.name, s.end_ns) for s in spans(boot, "systemd")] == [
        ("kernel", 13_538_990_000),
        ("initrd", 53_791_010_000),
        ("userspace", 129_212_530_000),
    ]
    assert boot.facts["machine"].startswith("Debian GNU/Linux 13 (trixie) demo")


def test_a_drawing_that_breaks_off_gives_what_is_there() -> None:
    whole = unpacked("systemd", "plot.svg.gz").data
    reading = SVG.read(Source("x", whole[: len(whole) * 3 // 4]), Options())
    assert 0 < len(reading.boots[0].tracks) < 150
    assert any("malformed" in repair.what for repair in reading.repairs)


def test_a_list_that_breaks_off_gives_what_is_there() -> None:
    whole = unpacked("systemd", "plot-short.json").data
    reading = JSON.read(Source("x", whole[:2000]), Options())
    assert [t.title for t in reading.boots[0].tracks][:2] == ["system.slice", "-.slice"]
    assert reading.repairs[0].what.startswith("the file is truncated")


def test_a_drawing_cannot_declare_entities() -> None:
    bomb = b'<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    bomb += b"<!-- This file is a systemd-analyze SVG file. --><svg><text>&b;</text></svg>"
    with pytest.raises(UserError):
        SVG.read(Source("x", bomb), Options())


def test_a_file_that_is_none_of_these_is_refused_by_name() -> None:
    for reader in ALL:
        with pytest.raises(UserError) as caught:
            reader.read(Source("notes.txt", b"dear diary\n"), Options())
        assert "notes.txt" in caught.value.message


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(sorted(OF_FILE)))
def test_damage_does_no_harm(data: st.DataObject, name: str) -> None:
    survives(OF_FILE[name], data.draw(damaged(unpacked("systemd", name).data)))


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400), st.sampled_from(ALL))
def test_noise_does_no_harm(data: bytes, reader: Reader) -> None:
    survives(reader, data)
