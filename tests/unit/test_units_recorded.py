# SPDX-License-Identifier: Apache-2.0
"""Units of systemd in a recording: what PID 1 says, the jobs that this makes, whose a process and a milestone
is, and the chain of units that a milestone came after."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.analysis.all_views import path_to, rows_of
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks
from bootscope.analysis.manager import BEGINS, DONE, FAILED, MADE, QUEUED, SKIPPED, Said, words_of
from bootscope.analysis.trace import trace
from bootscope.analysis.unit_jobs import Jobs, descriptions, jobs, of_said
from bootscope.analysis.unit_rows import chain_to
from bootscope.analysis.unit_tasks import unit_at, units_of_tasks
from bootscope.capture import objects
from bootscope.capture.stream import Bytes
from bootscope.core.errors import UserError

from .scenes import Story, evidence_of

MS, LIB = 1_000_000, "/usr/lib/systemd/system"
JOURNAL = b"/run/systemd/journal/socket"
FILES = {
    f"{LIB}/sysinit.target": "[Unit]\nDefaultDependencies=no\nWants=coldplug.service\n"
    "After=coldplug.service\n",
    f"{LIB}/coldplug.service": "[Unit]\nDefaultDependencies=no\nDescription=All the devices\n"
    "[Service]\nExecStart=-/bin/coldplug --all\n",
    f"{LIB}/app.service": "[Unit]\nAfter=net.service\n"
    "[Service]\nExecStart=/bin/app\nExecStartPost=/bin/after\n",
    f"{LIB}/net.service": "[Service]\nExecStart=/bin/net\n",
    f"{LIB}/day.target": "[Unit]\nWants=app.service\n",
}


def line(story: Story, text: str) -> Story:
    """PID 1 writes a line to /dev/kmsg; the hook that tells the text comes when the call ends."""
    data = f"<30>systemd[1]: {text}\n".encode()
    return story.hook("kmsg", 0).work(MS).hook("kmsg.text", 0, text=data)


def journal(story: Story, message: str, unit: str, result: str = "", **fields: str) -> Story:
    """The running task sends a record for the journal."""
    told = {"MESSAGE": message, "JOB_TYPE": "start", **fields, "UNIT": unit}
    if result:
        told["JOB_RESULT"] = result
    data = "".join(f"{name}={value}\n" for name, value in told.items()).encode()
    story.hook("datagram", 0, text=JOURNAL)
    story.records += [Bytes(story.now_ns, data[at : at + 100]) for at in range(0, len(data), 100)]
    return story.work(MS)


def start(story: Story, unit: str, pid: int, *program: bytes) -> Story:
    """PID 1 makes a unit's control group and starts its program, which runs for a while."""
    story.hook("cgroup", 0, text=unit.encode()).work(MS).fork(pid, b"systemd")
    return story.switch(pid, name=b"systemd").exec(*program).work(5 * MS).switch(1, 1, b"systemd")


def boot() -> Story:
    """systemd starts units one after the other; the first before there is a journal."""
    story = Story().hook("kernel.start").switch(1, name=b"systemd").exec(b"/sbin/init").work(10 * MS)
    line(story, "Queued start job for default target day.target.")
    start(story, "coldplug.service", 10, b"/bin/coldplug", b"--all")
    line(story, "Starting coldplug.service - All the devices...").work(MS)
    line(story, "Finished coldplug.service - All the devices.")
    line(story, "Reached target sysinit.target.")
    start(story, "net.service", 11, b"/bin/net")
    journal(story, "Starting net.service - Net...", "net.service")
    story.fork(12, b"helper").work(2 * MS)
    journal(story, "Started net.service - Net.", "net.service", "done")
    start(story, "app.service", 13, b"/bin/app").fork(14, b"systemd")
    story.switch(14, name=b"systemd").exec(b"/bin/after").fork(15, b"child").switch(1, 1, b"systemd")
    journal(story, "Started app.service.", "app.service", "done")
    journal(story, "Reached target day.target.", "day.target", "done")
    return story.sample()


def seen(story: Story) -> Evidence:
    return evidence_of(story.records, kept={objects.UNITS: msgspec.json.encode(FILES)})


# ---- what is said ----

KNOWN = {"The net": "net.service"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Starting net.service - The net...", ("net.service", BEGINS)),
        ("Mounting tmp.mount - /tmp...", ("tmp.mount", BEGINS)),
        ("Expecting device dev-x.device - /dev/x...", ("dev-x.device", BEGINS)),
        ("Started net.service - The net.", ("net.service", DONE)),
        ("Reached target day.target.", ("day.target", DONE)),
        ("Listening on a.socket - A. B.", ("a.socket", DONE)),
        ("Finished The net.", ("net.service", DONE)),
        ("Starting The net...", ("net.service", BEGINS)),
        ("Failed to start net.service - The net.", ("net.service", FAILED)),
        ("Dependency failed for The net.", ("net.service", FAILED)),
        ("Timed out waiting for device dev-x.device - /dev/x.", ("dev-x.device", FAILED)),
        ("net.service - The net skipped, unmet condition check A=/b", ("net.service", SKIPPED)),
        ("The net was skipped because of an unmet condition check (A=b).", ("net.service", SKIPPED)),
        ("Queued start job for default target day.target.", ("day.target", QUEUED)),
        ("Queued start job for default target Nonsense.", None),
        ("Started Something nobody knows.", None),
        ("net.service: Deactivated successfully.", None),
        ("Stopped net.service - The net.", None),
        ("Hostname set to <x>.", None),
    ],
)
def test_lines_of_systemd(text: str, expected: tuple[str, str] | None) -> None:
    assert list(words_of(text, KNOWN)) == ([expected] if expected else [])


@given(st.text(max_size=200) | st.text(alphabet="StartedQ.- skip,waueofx\n", max_size=80))
def test_any_line_says_something_of_a_unit_or_nothing(text: str) -> None:
    assert len(list(words_of(text, {}))) <= 1


def test_a_description_that_two_units_have_names_none() -> None:
    files = {f"{LIB}/{name}.service": f"[Unit]\nDescription={text}\n" for name, text in
             (("a", "same"), ("b", "same"), ("c", "own"))}  # fmt: skip
    assert descriptions(files) == {"own": "c.service"}


# ---- jobs ----


def test_a_job_begins_with_its_control_group_and_is_over_when_systemd_says_so() -> None:
    found = of_said(
        [
            Said(5, 0, "day.target", QUEUED),
            Said(10, 1, "a.service", MADE),
            Said(12, 2, "a.service", BEGINS),
            Said(20, 3, "a.service", DONE),
            Said(30, 4, "a.service", BEGINS),
            Said(31, 5, "a.service", FAILED),
            Said(40, 6, "b.target", DONE),
            Said(41, 7, "c.service", BEGINS),
        ]
    )
    assert (found.target, found.queued_ns) == ("day.target", 5)
    a, b, c = (found.jobs[name] for name in ("a.service", "b.target", "c.service"))
    assert (a.begin_ns, a.said_ns, a.end_ns, a.result, a.group) == (10, 12, 20, DONE, True)
    assert (b.begin_ns, b.end_ns, b.group) == (40, 40, False)
    assert (c.begin_ns, c.end_ns) == (41, None)


def test_the_jobs_of_a_boot() -> None:
    found = jobs(seen(boot())).jobs
    assert [job.result for job in found.values()] == [DONE] * 5
    assert set(found) == {"coldplug.service", "sysinit.target", "net.service", "app.service", "day.target"}
    for job in found.values():
        assert job.end_ns is not None
        assert job.begin_ns <= (job.said_ns or job.begin_ns) <= job.end_ns


def test_a_line_counts_from_when_it_is_written_not_from_when_the_console_has_it() -> None:
    found = jobs(seen(boot())).jobs["coldplug.service"]
    assert found.said_ns is not None
    assert found.end_ns == found.said_ns + 2 * MS


def test_only_the_first_process_is_believed() -> None:
    story = boot().fork(20, b"liar").switch(20, name=b"liar")
    journal(story, "Started fake.service.", "fake.service", "done")
    line(story, "Started fake.service.").hook("cgroup", 0, text=b"fake.service")
    assert "fake.service" not in jobs(seen(story)).jobs


def test_a_skipped_unit_is_no_success() -> None:
    story = boot()
    journal(story, "x.service - X skipped, no trigger condition checks were met.", "x.service", "done")
    journal(story, "Failed to start y.service.", "y.service", "failed")
    found = jobs(seen(story)).jobs
    assert (found["x.service"].result, found["y.service"].result) == (SKIPPED, FAILED)


@given(st.binary(max_size=600), st.binary(max_size=80))
def test_any_message_is_read(data: bytes, text: bytes) -> None:
    story = boot().hook("datagram", 0, text=JOURNAL)
    story.records += [Bytes(story.now_ns, data[at : at + 255]) for at in range(0, len(data), 255)]
    story.hook("kmsg", 0).hook("kmsg.text", 0, text=b"<30>systemd[1]: " + text).hook("cgroup", 0, text=text)
    assert len(jobs(seen(story)).jobs) >= 5


# ---- whose it is ----


def test_processes_belong_to_units() -> None:
    evidence = seen(boot())
    found = {task.pid: unit for task, unit in units_of_tasks(evidence, jobs(evidence)).items()}
    assert found == {
        10: "coldplug.service",
        11: "net.service",
        13: "app.service",
        14: "app.service",
        15: "app.service",
    }


def test_a_moment_is_of_the_unit_that_was_over_then_or_ran() -> None:
    evidence = seen(boot())
    known = jobs(evidence)
    day = known.jobs["day.target"].end_ns
    assert day is not None
    assert unit_at(evidence, known, day) == "day.target"
    app = next(task for task in evidence.scene.tasks if task.pid == 13)
    assert unit_at(evidence, known, app.execs[-1].at_ns + MS) == "app.service"
    assert unit_at(evidence, known, 1) == "day.target"
    assert unit_at(evidence, Jobs(), 1) == ""


# ---- views ----


def test_the_view_of_units() -> None:
    rows = {row["what"]: row for row in rows_of("units", *both(boot()))[0].rows}
    assert rows["app.service"]["waited_for"] == "net.service"
    assert rows["net.service"]["kind"] == "service"
    assert all(row["phase"] == "kernel" for row in rows.values())
    assert rows_of("units", *both(boot()), phase="rom")[0].rows == ()


def both(story: Story) -> tuple[Evidence, Stacks]:
    evidence = seen(story)
    return evidence, Stacks(evidence)


def test_a_unit_that_was_still_starting_is_told() -> None:
    story = boot()
    journal(story, "Starting late.service...", "late.service")
    table = rows_of("units", *both(story))[0]
    assert "late.service" not in {row["what"] for row in table.rows}
    assert any(note.endswith("when the recording ended: late.service") for note in table.notes)


def test_the_chain_leads_back_to_where_systemd_began() -> None:
    evidence = seen(boot())
    chain = chain_to(evidence, "the end", evidence.timeline.total_ns)
    assert chain
    first, *names = [row["what"] for row in chain.rows]
    assert first == "systemd reads its units"
    assert names == ["coldplug.service", "sysinit.target", "net.service", "app.service", "day.target"]
    for before, row in zip(chain.rows, chain.rows[1:], strict=False):
        assert int(row["start_ns"] or 0) - int(before["ready_ns"] or 0) == row["gap_ns"]


def test_the_critical_path_has_the_chain_before_it() -> None:
    evidence, stacks = both(boot())
    assert rows_of("critical-path", evidence, stacks)[0].name == "critical-chain"
    assert "critical-chain" not in [
        rows.name for rows in rows_of("critical-path", evidence, stacks, "kernel")
    ]
    assert path_to("kernel-entry", evidence, stacks)[-1].name == "critical-path"


def test_units_are_tracks_of_the_trace() -> None:
    evidence, stacks = both(boot())
    found = [track.title for track in trace(evidence, stacks, ()).tracks if track.kind == "service"]
    assert found == ["coldplug.service", "sysinit.target", "net.service", "app.service", "day.target"]


def test_a_system_without_systemd_has_no_units() -> None:
    story = Story().hook("kernel.start").switch(1).work(MS).sample()
    evidence = evidence_of(story.records)
    with pytest.raises(UserError, match="no units of systemd"):
        rows_of("units", evidence, Stacks(evidence))
    assert chain_to(evidence, "x", evidence.timeline.total_ns) is None
