# SPDX-License-Identifier: Apache-2.0
"""Consoles inside the logs of jobs: GitHub Actions, GitLab CI, Jenkins, LAVA.

The stamps are as these write them: the actions runner's round-trip time, gitlab-runner's `FF_TIMESTAMPS`, the
Timestamper plugin's pipeline format, and the records of LAVA's dispatcher.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.capture.imported import Answers, Raw
from bootscope.importing.files import FileRead, understand
from bootscope.readers.base import END_OF_LINE, FIRST_BYTE, UNKNOWN
from bootscope.readers.registry import reader

from .fuzzing import damaged, survives

NOISE = ("Downloading 3 artifacts", "Run pytest --board imx8mp", "power on")
CONSOLE = (
    "U-Boot 2023.10 (Aug 03 2023 - 00:09:41 +0200)",
    "Starting kernel ...",
    "[    0.000000] Booting Linux on physical CPU 0x0000000000 [0x410fd034]",
    "[    1.500000] Run /sbin/init as init process",
    "board login:",
)
LINES = (*NOISE, *CONSOLE)


def at(index: int, digits: int) -> str:
    return f"2024-05-06T12:34:{50 + index // 2:02}.{5 * (index % 2)}" + "0" * (digits - 1)


def github() -> bytes:
    return ("\ufeff" + "".join(f"{at(i, 7)}Z {line}\n" for i, line in enumerate(LINES))).encode()


def github_cli() -> bytes:
    return "".join(f"boot\tRun tests\t{at(i, 7)}Z {line}\n" for i, line in enumerate(LINES)).encode()


def gitlab() -> bytes:
    head = "".join(f"{at(i, 6)}Z 00O {line}\n" for i, line in enumerate(NOISE))
    rest = [f"{at(i, 6)}Z 01O {line}\n" for i, line in enumerate(CONSOLE, len(NOISE))]
    rest[1] = f"{at(4, 6)}Z 01O Starting \n{at(5, 6)}Z 01O+kernel ...\n"
    return (head + f"{at(3, 6)}Z 01O section_start:1714998890:boot\r\x1b[0KBoot\n" + "".join(rest)).encode()


def jenkins() -> bytes:
    return "".join(f"[{at(i, 3)}Z] {line}\n" for i, line in enumerate(LINES)).encode()


def freestyle() -> bytes:
    return "".join(f"12:34:{50 + i:02}  {line}\n" for i, line in enumerate(LINES)).encode()


def lava(prefix: str = "- ") -> bytes:
    rows = [{"dt": at(i, 6), "lvl": "info", "msg": line} for i, line in enumerate(NOISE)]
    rows += [{"dt": at(i, 6), "lvl": "target", "msg": line} for i, line in enumerate(CONSOLE, len(NOISE))]
    rows[-1:-1] = [{"dt": at(6, 6), "lvl": "debug", "msg": "login-prompt: wait"}]
    return "".join(prefix + json.dumps(row) + "\n" for row in rows).encode()


CASES = {
    "github-actions": (github(), END_OF_LINE, 100),
    "github-actions (gh)": (github_cli(), END_OF_LINE, 100),
    "gitlab-ci": (gitlab(), FIRST_BYTE, 1_000),
    "jenkins": (jenkins(), END_OF_LINE, 1_000_000),
    "jenkins (time of day)": (freestyle(), UNKNOWN, 1_000_000_000),
    "lava": (lava(), END_OF_LINE, 1_000),
    "lava (json)": (lava(""), END_OF_LINE, 1_000),
}


def imported(data: bytes) -> FileRead:
    (file,) = understand([Raw("job.log", data)], Answers(), strict=True).files
    return file


@pytest.mark.parametrize("case", CASES)
def test_the_console_is_found_in_the_log_of_a_job(case: str) -> None:
    data, stamp, resolution_ns = CASES[case]
    found = understand([Raw("job.log", data)], Answers(), strict=True)
    (file,) = found.files
    assert file.reader.name == case.partition(" ")[0]
    assert file.guesses[0].sure >= (78 if "time of day" in case else 90)
    (boot,) = file.reading.boots
    assert (boot.clock.name, boot.clock.stamp, boot.clock.resolution_ns) == ("wall", stamp, resolution_ns)
    assert [text for _, text in boot.log] == [*CONSOLE]
    trace = found.trace(1)
    step_ns = max(500_000_000, resolution_ns)
    assert list(trace.milestones().values()) == [n * step_ns for n in range(5)]
    assert trace.total_ns == 4 * step_ns
    assert any("left out" in repair.what for repair in file.reading.repairs)


def test_the_dispatcher_leaves_colours_without_their_escape() -> None:
    words = "[[0;32m  OK  [0m] Reached target [0;1;39mMulti-User System[0m."
    row = json.dumps({"dt": at(9, 6), "lvl": "target", "msg": words})
    trace = understand([Raw("x", lava() + f"- {row}\n".encode())], Answers(), strict=True).trace(1)
    assert "default-target" in trace.milestones()


def test_a_piece_of_a_line_belongs_to_its_own_stream() -> None:
    head, rest = gitlab().split(b"Starting \n")
    between = f"{at(4, 6)}Z 01E warning: x\n{at(4, 6)}Z 00O section_end:1:step\r\n".encode()
    found = understand([Raw("x", head + b"Starting \n" + between + rest)], Answers(), strict=True)
    assert "kernel-start" in found.trace(1).milestones()
    texts = [text for _, text in found.files[0].reading.boots[0].log]
    assert "warning: x" in texts
    assert not any("section_" in text for text in texts)


def test_a_job_without_a_boot_is_read_whole() -> None:
    text = "".join(f"{at(i, 7)}Z {line}\n" for i, line in enumerate(NOISE))
    (boot,) = imported(text.encode()).reading.boots
    assert len(boot.log) == len(NOISE)


def test_the_escapes_of_a_record_are_undone() -> None:
    head = '- {"dt": "2024-05-06T12:34:50.000000", "lvl": "target", '
    row = head + '"msg": "\\x1b[1ma \\"b\\" \\\\ \\u00e9\\e[0m"}\n'
    (boot,) = imported(row.encode() * 3).reading.boots
    assert boot.log.text(0) == 'a "b" \\ é'


@pytest.mark.parametrize("name", ["github-actions", "gitlab-ci", "jenkins", "lava"])
@given(data=st.data())
def test_damage_breaks_nothing(name: str, data: st.DataObject) -> None:
    survives(reader(name), data.draw(damaged(CASES[name][0])))
