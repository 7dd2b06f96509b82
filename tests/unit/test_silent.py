# SPDX-License-Identifier: Apache-2.0
"""What an audit says of the gaps of a log: reasons, units of systemd, and what is no gap of the boot."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bootscope.audit.culprits.model import Culprit
from bootscope.audit.culprits.silent import silences
from bootscope.audit.culprits.starting import Starting
from bootscope.audit.outlook import outlook
from bootscope.audit.result import look_at

from .conftest import Command, Give
from .known_builders import inventory_of, log_of, timed
from .test_audit_files import found_in

MS = 1_000_000
KERNEL = ["[    0.000000] Linux version 6.1.0", "[    0.100000] Kernel command line: console=ttyS0,115200"]


def culprits_of(*lines: str) -> list[Culprit]:
    return sorted(silences(log_of([*KERNEL, *lines])), key=lambda c: -c.cost_ns)


def test_gaps_of_one_reason_are_one_row() -> None:
    dead = "omap_i2c 20010000.i2c: controller timed out"
    best, *_ = culprits_of(f"[    1.000000] {dead}", f"[    2.000000] {dead}", f"[    3.500000] {dead}")
    assert best.what == "an I2C transfer has no answer until its time-out (same probe: omap_i2c 20010000.i2c)"
    assert best.cost_ns == 2500 * MS
    assert best.where.startswith("2 times, the longest 1.500 s after")


def test_units_of_a_gap_are_those_that_were_starting() -> None:
    lines = [
        "[    1.000000] systemd[1]: Hostname set to <a>.",
        "[    1.100000] systemd[1]: Reached target Slices.",
        "         Starting Rebuild Hardware Database...",
        "[    1.200000] foo: a",
        "         Starting Network Manager...",
        "[  OK  ] Started Network Manager.",
        "[  OK  ] Finished Rebuild Hardware Database.",
        "         Starting Docker...",
        "[    6.200000] foo: b",
        "[  OK  ] Started Docker.",
    ]
    best = culprits_of(*lines)[0]
    assert best.what == "likely: systemd starts units"
    assert best.where.startswith("5.000 s: Rebuild Hardware Database, Docker")
    assert best.cost_ns == 5000 * MS + 100 * MS


def test_a_boot_loader_starts_no_unit() -> None:
    log = log_of(["Starting kernel ...", "[    0.000000] a", "[    3.000000] init: b"])
    assert Starting(log.lines).during(1, 2) == ()


def test_lines_without_a_stamp_make_a_reason_likely() -> None:
    lines = [
        "[    1.000000] foo: a",
        "A start job is running for /dev/sda (5s / 1min 30s)",
        "[    9.000000] b: c",
    ]
    assert culprits_of(*lines)[0].what == "likely: systemd waits for the named job"


def test_an_idle_system_is_no_culprit() -> None:
    assert not [
        c
        for c in culprits_of("[    1.000000] vio28: disabling", "[   31.000000] foo: a")
        if c.cost_ns > 10**9 * 2
    ]


def test_messages_take_no_longer_than_the_kernels_stamps_allow() -> None:
    lines = [
        *KERNEL,
        *(f"[    0.{200 + n:03}000] {'x' * 69}" for n in range(100)),
        "[    0.400000] printk: console [ttyS0] enabled",
        "[    0.600000] foo: after it",
        "[    5.000000] foo: much later",
    ]
    known = inventory_of(log=log_of(lines), command_line="console=ttyS0,115200")
    found = look_at(known).culprits
    (printed,) = [c for c in found if c.kind == "printed"]
    # What came before the console: no longer than the step at which it was there; then each by its bytes.
    assert 200 * MS < printed.cost_ns < 210 * MS
    assert not [c for c in found if "messages so far" in c.what], "it is told once"
    quiet = inventory_of(log=log_of(lines), command_line="console=ttyS0,115200 quiet")
    assert not [c for c in look_at(quiet).culprits if c.kind == "printed"]


def test_rows_are_one_list_with_the_largest_gain_first() -> None:
    lines = [
        *KERNEL,
        "[    0.200000] Calibrating delay loop... 9 BogoMIPS (lpj=4980736)",
        "[    0.240000] x: y",
    ]
    known = inventory_of(log=log_of(lines), command_line="console=ttyS0,115200")
    rows = outlook(look_at(known))
    assert [row.cost_ns for row in rows] == sorted((row.cost_ns for row in rows), reverse=True)
    techniques = [name for row in rows for name in row.cure.techniques if name == "kernel-lpj"]
    assert len(techniques) == 1, "a technique that cures a culprit is no second row"


def test_at_most_ten_rows_then_how_many_there_are(main_here: Command, tmp_path: Path) -> None:
    path = tmp_path / "boot.log"
    path.write_text(
        "\n".join([*KERNEL, *(f"[  {2 * n + 1:3}.000000] part{n}: {n}" for n in range(16))]) + "\n"
    )
    text = main_here("audit", str(path)).stdout
    assert text.count("-> ") == 10
    assert "smaller; " in text and "only `try` tells (--all)" in text
    assert main_here("audit", str(path), "--all").stdout.count("-> ") > 10


def test_the_audit_of_an_import_names_the_view_that_shows_a_gap(main_here: Command, give: Give) -> None:
    give("a.log", "\n".join([*KERNEL, "[    9.000000] foo"]).encode())
    main_here("import", "a.log")
    text = main_here("audit", "last").stdout
    assert "bootscope show last --view ..." in text and "(silences)" in text
    assert "what-if" not in text, "nothing is predicted of an import"


def test_a_root_on_flash_or_in_memory_gets_nothing_that_needs_a_disk() -> None:
    ubi = found_in(command_line="root=ubi0:rootfs rootfstype=ubifs", log=log_of("Linux version 6.1.0"))
    assert "raw flash" in ubi.not_for_us["fs-erofs-ro=none"]
    assert "raw flash" in ubi.not_for_us["fs-squashfs-ro=gzip"]
    squash = ["Linux version 6.1.0", "VFS: Mounted root (squashfs filesystem) readonly on device 31:5."]
    there = found_in(command_line="console=ttyS0", log=log_of(squash))
    assert there.not_for_us["fs-squashfs-ro=gzip"] == "the root is squashfs already"
    assert "raw flash" in there.not_for_us["fs-f2fs-btrfs-rw=f2fs"]
    memory = found_in(
        command_line="console=ttyS0", log=log_of(["Linux version 6.1.0", "Run /init as init process"])
    )
    assert "in memory" in memory.not_for_us["fs-erofs-ro=none"]


def test_a_program_at_work_is_the_reason_where_lines_say_nothing() -> None:
    lines = [
        "[    1.000000] kmodloader: loading kernel modules from /etc/modules.d/*",
        "[    1.100000] foo",
        "[    4.100000] bar",
        "[    4.200000] kmodloader: done loading kernel modules from /etc/modules.d/*",
        "[    4.300000] procd: - init -",
        "[    4.400000] foo",
        "[    9.400000] bar",
    ]
    found = {c.what: c.cost_ns for c in culprits_of(*lines)}
    assert found["likely: modules are loaded, and their devices probed"] >= 3000 * MS
    assert found["likely: start scripts run, one after the other"] >= 5000 * MS


def test_a_chip_that_spoke_last_is_no_reason_for_half_a_minute() -> None:
    assert (
        culprits_of("[    1.000000] Bluetooth: hci0: up", "[   31.000000] a: b")[0].what
        == "no console output"
    )


def test_a_clock_of_seconds_bounds_a_gap_by_one_more_and_tells_no_single_second() -> None:
    rows = [(0, "Linux version 6.1"), (1000, "foo: a"), (2000, "bar: b"), (8000, "baz: c")]
    found = list(silences(timed(rows, resolution_ns=1000 * MS)))
    assert [c.cost_ns for c in found] == [7000 * MS]


def test_a_journal_is_no_serial_line_and_its_clock_does_not_begin_with_the_boot() -> None:
    at = 1_700_000_000_000
    rows = [(at, "Linux version 6.1"), (at + 100, "foo: a"), (at + 6000, "bar: b")]
    found = look_at(inventory_of(log=timed(rows, tool="journalctl"), command_line="")).culprits
    assert [c.kind for c in found] == ["silences", "silences"]
    assert found[0].cost_ns == 5900 * MS


_WORDS = st.sampled_from(
    [
        "systemd[1]: Starting a...",
        "Started a.",
        "[  OK  ] x",
        "Run /sbin/init as init process",
        "a login:",
        "",
        "foo: b",
    ]
)
_LINES = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(0, 100_000)), st.one_of(_WORDS, st.text(max_size=20)))
)


@given(_LINES, st.booleans(), st.integers(0, 9))
def test_any_log_is_taken(lines: list[tuple[int | None, str]], host: bool, ends: int) -> None:
    rows = [text if at is None else f"[{at / 1000:12.6f}] {text}" for at, text in lines]
    log = timed([(n, row) for n, row in enumerate(rows)], ends=ends) if host else log_of(rows, ends=ends)
    assert all(c.cost_ns > 0 and c.what and c.end_ns >= c.start_ns for c in silences(log))
