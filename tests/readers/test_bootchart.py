# SPDX-License-Identifier: Apache-2.0
"""bootchart archives, on those that its collectors made."""

from __future__ import annotations

import gzip
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import Boot, Options, Reading, Source
from bootscope.readers.bootchart_agent import facts
from bootscope.readers.bootchart_log import Logs, accounted_parents
from bootscope.readers.formats.bootchart import READERS
from bootscope.readers.sent import sent_files
from bootscope.readers.unpack import Budget, archive
from bootscope.timeline.trace import Span, Table, Track

from .fuzzing import FIXTURES, check, survives
from .unpacked import damaged_members, read_unpacked, survives_archive, unpacked

(BOOTCHART,) = READERS
MS = 1_000_000


def track(boot: Boot, ident: str) -> Track:
    return next(t for t in boot.tracks if t.ident == ident)


def table(boot: Boot, title: str) -> Table:
    return next(t for t in boot.tables if t.title.startswith(title))


def of_logs(**logs: bytes) -> Reading:
    """A reading of an archive that holds `logs`, by name with _ for the dot."""
    members = {name.replace("__", "."): data for name, data in logs.items()}
    reading = BOOTCHART.read(Source("x.tgz", b"", members), Options())
    check(reading)
    return reading


def test_busybox() -> None:
    assert BOOTCHART.sure(unpacked("bootchart", "busybox.tgz")) >= 95
    reading = read_unpacked(BOOTCHART, "bootchart", "busybox.tgz")
    assert (reading.lines_total, len(reading.missed), reading.repairs) == (1835, 0, [])
    (boot,) = reading.boots
    assert boot.clock.name == "kernel" and boot.clock.resolution_ns == 200 * MS
    assert boot.facts["tool"] == "bootchart 0.8"
    assert boot.facts["command line"].endswith("init=/sbin/bootchartd")
    assert boot.facts["sample period"] == "200 ms (24 samples)"
    assert len([t for t in boot.tracks if t.kind == "process"]) == 69


def test_busybox_processes_and_loads() -> None:
    (boot,) = read_unpacked(BOOTCHART, "bootchart", "busybox.tgz").boots
    # `dd` of the seed script: utime + stime in its last sample is 233.
    pid, parent, name, _, start_ns, seen_ns, cpu_ns, _ = table(boot, "Processes").rows[0]
    assert (pid, parent, name, start_ns, seen_ns, cpu_ns) == (77, 76, "dd", 990 * MS, 3360 * MS, 2330 * MS)
    dd = track(boot, "process:77")
    assert dd.parent == "process:76" and track(boot, "process:76").title == "S30seed (76)"
    assert [(s.name, s.start_ns, s.end_ns) for s in dd.spans] == [("running", 990 * MS, 3360 * MS)]
    assert table(boot, "Disks").rows == (("mmcblk0", 25, 30_720, 1, 1024, 0),)
    first = track(boot, "cpu").spans[0]
    assert (first.start_ns, first.end_ns, first.name) == (900 * MS, 1120 * MS, "100 % busy")
    assert first.detail == {"user_ns": 10 * MS, "system_ns": 210 * MS}


def agent_reading() -> Reading:
    """What bootscope's collector sent over the console of the emulated board."""
    log = gzip.decompress((FIXTURES / "bootchart" / "agent-console.log.gz").read_bytes())
    (file,), _ = sent_files(log)
    box = archive(file.name, gzip.decompress(file.data), Budget())
    assert box is not None and box.repairs == []
    reading = BOOTCHART.read(Source(file.name, b"", box.members), Options())
    check(reading)
    return reading


def test_own_collector() -> None:
    reading = agent_reading()
    assert (len(reading.missed), reading.repairs) == (0, [])
    (boot,) = reading.boots
    assert boot.facts["tool"] == "bootscope-agent 1"
    assert boot.facts["sources"] == "perf proc" and boot.facts["stopped by"] == "process"
    assert boot.facts["cost of collecting"] == "1.501 ms CPU, 5 switches, 17,342 bytes"
    # Each process, however short: 42 from the first script to the getty, beside what was there before.
    born = [t for t in boot.tracks if t.kind == "process" and int(t.ident.split(":")[1]) > 54]
    assert len(born) == 42
    dates = {t.title: (t.spans[0].start_ns, t.spans[-1].end_ns) for t in born}
    # fork 84 77, exit 84
    assert dates["ip (84)"] == (1_030_481_375, 1_035_229_750)
    assert track(boot, "process:84").parent == "process:77" and track(boot, "process:77").title == "ifup (77)"


def test_own_collector_knows_what_was_used() -> None:
    (boot,) = agent_reading().boots
    # taskstats.log: 66 used 130,906,789 ns up to its last sample, and how much up to its end nobody knows.
    spans = [(s.name, s.detail.get("cpu_ns")) for s in track(boot, "process:66").spans]
    assert spans == [("running", 130_906_789), ("alive, CPU time not known", None)]
    first = track(boot, "process:9").spans[0]
    assert first.start_ns == 707_954_958, "what came before the first sample is not recorded"
    (load,) = track(boot, "cpu").spans
    assert load.detail == {"user_ns": 150 * MS, "system_ns": 270 * MS, "idle_ns": 270 * MS}


def agent_events(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def test_events_say_more_than_samples() -> None:
    tasks = b"10\n1 0 init 500 0 0\n\n30\n1 0 init 600 0 0\n7 1 sh 4000 0 0\n\n50\n7 1 dd 9000 0 0\n\n"
    events = agent_events(
        "100000000 sample 0",
        "301234567 sample 1",
        "500000000 sample 2",
        "10000000 start 1 0 init",
        "201000000 fork 7 1",
        "202000000 exec 7 sh",
        "250000000 fork 8 7",
        "251000000 exec 8 ls",
        "260000000 exit 8 0 777 20",
        "310000000 exec 7 dd",
        "450000000 exit 7 0 9000 0",
        "460000000 fork 7 1",
        "470000000 gone 7",
    )
    reading = of_logs(taskstats__log=tasks, bootscope_events__log=events, header=b"bootscope.unseen = 3\n")
    (boot,) = reading.boots
    assert [(r.what, r.count) for r in reading.repairs] == [
        ("header: short processes between two samples are missing", 3)
    ]
    rows = [(s.start_ns, s.end_ns, s.name, s.detail) for s in track(boot, "process:7").spans]
    assert rows == [
        (201_000_000, 301_234_567, "running", {"program": "sh", "cpu_ns": 4000}),
        (301_234_567, 450_000_000, "running", {"program": "dd", "cpu_ns": 5000}),
    ]
    short = track(boot, "process:8")
    assert short.title == "ls (8)" and short.parent == "process:7"
    assert short.spans == (
        Span(250_000_000, 260_000_000, "running", {"program": "ls", "cpu_ns": 777, "blocked_ns": 20}),
    )
    (again,) = (t for t in boot.tracks if t.ident.startswith("process:7:"))
    assert [(s.start_ns, s.end_ns) for s in again.spans] == [(460_000_000, 470_000_000)]
    first = track(boot, "process:1").spans[0]
    assert (first.start_ns, first.name, first.detail["cpu_ns"]) == (100_000_000, "running", 100)


def test_the_distance_of_the_two_clocks_is_the_error() -> None:
    logs = {
        "taskstats__log": b"100\n1 0 a 5 0 0\n\n120\n1 0 a 9 0 0\n\n",
        "header": b"bootscope.agent = 1\nbootscope.sources = perf proc\n",
    }
    said = b"[    0.000000] Booting Linux\n[    1.500000] bootscope-agent: clock 1500250000 ns\n"
    (boot,) = of_logs(**logs, dmesg=said).boots
    assert boot.clock.resolution_ns == 251_000
    (boot,) = of_logs(**logs).boots
    assert boot.clock.resolution_ns == 200 * MS


def test_odd_events_are_counted_and_do_no_harm() -> None:
    events = agent_events(
        "1 nonsense 2",
        "x fork 1 2",
        "5 exit 99 0 - -",
        "6 exec 98 ls",
        "7 fork 5 5",
        f"{1 << 61} fork 1 2",
        "",
    )
    reading = of_logs(taskstats__log=b"1\n5 5 a 5 0 0\n\n", bootscope_events__log=events)
    assert [m.line for m in reading.missed] == [1, 2, 6]


@given(st.binary(max_size=300), st.binary(max_size=100))
def test_any_events_are_survived(events: bytes, tasks: bytes) -> None:
    lines = b"1 fork 2 1\n3 exit 2 0 - -\n" + events
    of_logs(taskstats__log=b"1\n2 1 a 5 0 0\n\n" + tasks, bootscope_events__log=lines)


def test_bootchart2_with_taskstats_memory_and_kernel_log() -> None:
    reading = read_unpacked(BOOTCHART, "bootchart", "bootchart2.tgz")
    assert (reading.lines_total, len(reading.missed)) == (143_497, 0)
    (boot,) = reading.boots
    assert boot.facts["tool"] == "bootchart 0.14.9"
    assert boot.clock.name == "kernel" and boot.clock.resolution_ns == 40 * MS
    processes = table(boot, "Processes")
    # As many as there are process ids in taskstats.log; a program started by a process is no new process.
    assert len(processes.rows) == 295
    pid, parent, name, _, start_ns, _, cpu_ns, _ = processes.rows[0]
    assert (pid, parent, name, start_ns) == (393, 1, "bootchart-colle", 43_870 * MS)
    # As its last line says: `393 1 bootchart-colle 13616000000 0 0`.
    assert cpu_ns == 13_616 * MS
    commands = {row[0]: row[3] for row in processes.rows}
    assert "/lib/bootchart/bootchart-collector --usleep 1000000" in commands.values()
    assert table(boot, "Memory").rows[0] == ("MemTotal", 982_592, 982_592, 982_592)
    assert {p.name: p.at_ns for p in boot.points if p.kind == "milestone"}["init"] == 8_864_352_000
    assert len(boot.log) > 500


def test_bootchart_lite_has_no_heading() -> None:
    reading = read_unpacked(BOOTCHART, "bootchart", "lite.tgz")
    assert (reading.lines_total, len(reading.missed), reading.repairs) == (936, 0, [])
    (boot,) = reading.boots
    assert boot.facts["sample period"] == "190 ms (9 samples)"
    # It started as `init`, and was seen as systemd from its second sample on.
    assert [(s.detail["program"], s.start_ns) for s in track(boot, "process:1").spans] == [
        ("init", 800 * MS),
        ("systemd", 74_490 * MS),
    ]
    assert table(boot, "Disks").rows == (("vda", 140, 9_728_000, 0, 0, 328 * MS),)


def test_process_accounting_of_a_kernel() -> None:
    tally = Logs()
    found = accounted_parents((FIXTURES / "bootchart" / "kernel_pacct").read_bytes(), tally)
    # A shell (6) that starts ls (7) and a subshell (8) with sleep (9).
    assert found == {5: 1, 6: 1, 7: 6, 8: 6, 9: 8, 10: 1, 11: 1}
    reading = tally.reading([])
    assert (reading.lines_understood, reading.missed, reading.repairs) == (7, [], [])


def test_process_accounting_in_both_byte_orders() -> None:
    def record(order: str, pid: int, ppid: int) -> bytes:
        version = 3 | (0x80 if order == ">" else 0)
        return struct.pack(f"{order}BBHIIIII", 0, version, 0, 0, 0, 0, pid, ppid).ljust(64, b"\0")

    tally = Logs()
    found = accounted_parents(record("<", 70, 60) + record(">", 71, 61) + b"cut", tally)
    assert found == {70: 60, 71: 61}
    assert [r.what for r in tally.reading([]).repairs] == ["kernel_pacct: the last record is truncated"]


def test_logs_in_a_folder_and_alone() -> None:
    log = unpacked("bootchart", "busybox.tgz").members["proc_ps.log"]
    in_folder = Source("x", b"", {"./bootlog/proc_ps.log": log})
    alone = Source("proc_ps.log", log)
    for given_source in (in_folder, alone):
        assert BOOTCHART.sure(given_source) >= 70
        assert len(BOOTCHART.read(given_source, Options()).boots[0].tracks) == 69


def test_an_archive_of_something_else_is_refused() -> None:
    with pytest.raises(UserError):
        BOOTCHART.read(Source("x.tgz", b"", {"readme": b"hello"}), Options())
    assert BOOTCHART.sure(Source("x.tgz", b"", {"readme": b"hello"})) == 0


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_damage_does_no_harm(data: st.DataObject) -> None:
    survives_archive(BOOTCHART, data.draw(damaged_members(unpacked("bootchart", "busybox.tgz"))))


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_noise_does_no_harm(data: bytes) -> None:
    survives(BOOTCHART, data)
    names = ("header", "dmesg", "proc_stat.log", "proc_ps.log", "taskstats.log", "kernel_pacct")
    survives_archive(BOOTCHART, Source("x", b"", dict.fromkeys(names, data)))


def test_androids_init_collects_in_the_same_form() -> None:
    """By system/core/init/bootchart.cpp: its name in the version, a command for a process' name."""
    process = b"%d (%s) S 0 0 0 0 -1 0 1 0 0 0 %d 1 0 0 20 0 1 0 %d" + b" 0" * 30 + b"\n"
    samples = [(300 + 20 * i, i) for i in range(4)]
    reading = of_logs(
        header=b"version = Android init 0.8 \nsystem.kernel.options = console=ttyMSM0\n",
        proc_stat__log=b"".join(b"%d\ncpu  %d 0 0 %d 0 0 0\n\n" % (at, i * 5, i * 15) for at, i in samples),
        proc_ps__log=b"".join(
            b"%d\n%s%s\n" % (at, process % (1, b"/init", i, 5), process % (300, b"/bin/x", 2 * i, 320))
            for at, i in samples
        ),
    )
    (boot,) = reading.boots
    assert reading.missed == [] and boot.facts["tool"] == "bootchart Android init 0.8"
    assert boot.facts["command line"] == "console=ttyMSM0"
    assert {t.title for t in boot.tracks if t.kind == "process"} == {"/init (1)", "/bin/x (300)"}


def test_the_collector_tells_what_cards_erase_at_once() -> None:
    header = {"bootscope.agent": "1", "bootscope.card_erase_bytes": "mmc0:aaaa=4194304 mmc1:0001=524288 x="}
    found = {name: text for name, text in facts(header).items() if name.startswith("card ")}
    words = "bytes at once: areas begin at multiples of that"
    assert found == {
        "card mmc0:aaaa": f"erases 4,194,304 {words}",
        "card mmc1:0001": f"erases 524,288 {words}",
    }
