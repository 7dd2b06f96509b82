# SPDX-License-Identifier: Apache-2.0
"""The GitHub action, the GitLab template and the script that both run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from .boot_noise import MS
from .builders import ROOT, environment
from .plain_yaml import parse
from .test_boot_samples import log

CI = ROOT / "ci"
SCRIPT = (CI / "check.sh").read_text()
Job = Callable[..., "subprocess.CompletedProcess[str]"]
CHECK = '[budget]\n"app-ready" = "5.1 s"\n'


@pytest.mark.parametrize(
    "text",
    [
        "a: [1]",
        "a: &x b",
        "a:\tb",
        "a: b\na: c",
        "a: |\n  b",
        "- a",
        "a:\n  b: c\n d: e",
        "a: 'b'",
        "a: b: c",
        "a: b\n    c: d",
    ],
)
def test_only_plain_yaml_is_read(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


def test_plain_yaml_is_read_as_it_is_meant() -> None:
    found = parse('# x\na:\n  b: c d\n  e:\n    - f\n    - g: h\n      i: "j"\nk: ""\n')
    assert found == {"a": {"b": "c d", "e": ["f", {"g": "h", "i": "j"}]}, "k": ""}


def variables() -> set[str]:
    """What the script reads from its environment."""
    return set(re.findall(r"\$\{(BOOTSCOPE_[A-Z]+)", SCRIPT)) | set(
        re.findall(r"\$(BOOTSCOPE_[A-Z]+)", SCRIPT)
    )


def test_the_script_explains_what_it_reads() -> None:
    explained = set(re.findall(r"^#   (BOOTSCOPE_[A-Z]+) ", SCRIPT, re.MULTILINE))
    assert explained == variables()


def test_the_action_hands_its_inputs_over_by_the_environment_alone() -> None:
    action = parse((CI / "github" / "action.yml").read_text())
    assert {"name", "description", "inputs", "runs"} == set(action)
    assert action["runs"]["using"] == "composite"
    (step,) = action["runs"]["steps"]
    # A text from outside that is put into a script is run by it: none is.
    assert "${{" not in step["run"]
    assert step["shell"] == "sh"
    given = {
        name: re.fullmatch(r"\$\{\{ inputs\.([a-z]+) \}\}", value) for name, value in step["env"].items()
    }
    assert set(given) == variables()
    assert {match[1] for match in given.values() if match} == set(action["inputs"])
    for entry in action["inputs"].values():
        assert entry["description"]
        assert entry["required"] == "false"
        assert "default" in entry
    path = re.fullmatch(r'sh "\$GITHUB_ACTION_PATH/(.*)"', step["run"])
    assert path
    assert (CI / "github" / path[1]).resolve() == CI / "check.sh"


def test_the_gitlab_job_keeps_its_reports_when_a_budget_is_missed() -> None:
    template = parse((CI / "gitlab" / "bootscope.yml").read_text())
    (name,) = template
    job: dict[str, Any] = template[name]
    assert name.startswith(".")  # a job that others extend, and that does not run by itself
    assert job["artifacts"]["when"] == "always"
    reports = job["artifacts"]["reports"]
    assert set(reports) == {"junit", "metrics"}
    assert all(f":-{file}}}" in SCRIPT and file in job["artifacts"]["paths"] for file in reports.values())
    assert job["script"][-1] == "sh .bootscope/ci/check.sh"
    assert "rules" not in job


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Runs the script in a folder of its own, with this checkout's bootscope beside it."""
    (tmp_path / "tool" / "ci").mkdir(parents=True)
    (tmp_path / "tool" / "bin").mkdir()
    (tmp_path / "tool" / ".venv" / "bin").mkdir(parents=True)
    shutil.copy(CI / "check.sh", tmp_path / "tool" / "ci")
    for name in ("bin/bootscope", ".venv/bin/python"):
        program = tmp_path / "tool" / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m bootscope "$@"\n')
        program.chmod(0o755)
    (tmp_path / "work").mkdir()

    def run(**variables: str) -> subprocess.CompletedProcess[str]:
        own = {"BOOTSCOPE_STORE": str(tmp_path / "store"), "GITHUB_ACTIONS": "", **variables}
        return subprocess.run(
            ["sh", str(tmp_path / "tool" / "ci" / "check.sh")],
            cwd=tmp_path / "work",
            env=environment(**own),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


@pytest.fixture
def work(tmp_path: Path, job: Job) -> Path:
    """The folder that the job runs in, with the logs of three boots and a check file."""
    folder = tmp_path / "work"
    for number, took in enumerate((5000, 5010, 5020), 1):
        (folder / f"boot {number}.log").write_text(log([took * MS], "app: ready $(touch evil); *"))
    (folder / "bootscope-check.toml").write_text(CHECK)
    return folder


MILESTONE = "app-ready=app: ready $(touch evil); *"


def test_a_job_imports_logs_and_checks_them(job: Job, work: Path) -> None:
    done = job(BOOTSCOPE_LOGS="boot *.log\n", BOOTSCOPE_MILESTONES=f"other=login:\n{MILESTONE}")
    assert (done.returncode, done.stderr) == (0, "")
    assert "3 of 3 boots reached app-ready" in done.stdout
    assert len(Xml.fromstring((work / "boot.xml").read_bytes()).findall("testsuite/testcase")) == 2
    assert (work / "boot-metrics.txt").exists()
    assert not (work / "evil").exists()


def test_a_job_ends_as_the_check_does_and_tells_github(job: Job, work: Path, tmp_path: Path) -> None:
    (work / "bootscope-check.toml").write_text(CHECK.replace("5.1", "4.1"))
    done = job(
        BOOTSCOPE_LOGS="boot 1.log\nboot 2.log\nboot 3.log",
        BOOTSCOPE_MILESTONES=MILESTONE,
        GITHUB_ACTIONS="true",
        GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"),
    )
    assert done.returncode == 3
    stopped = [line for line in done.stdout.splitlines() if line.startswith("::stop-commands::")]
    words = [line.removeprefix("::stop-commands::") for line in stopped]
    assert [len(word) for word in words] == [32, 32]
    assert done.stdout.startswith(stopped[0])
    assert all(f"\n::{word}::\n" in done.stdout for word in words)
    assert "::error file=bootscope-check.toml," in done.stdout
    assert "missed" in (tmp_path / "summary.md").read_text()
    assert job(BOOTSCOPE_LOGS="none-*.log").returncode == 2


def test_a_job_makes_its_run_by_a_command(job: Job, work: Path) -> None:
    command = "bootscope import boot*.log --milestone 'app-ready=app: ready' && test -f bootscope-check.toml"
    done = job(BOOTSCOPE_COMMAND=command, BOOTSCOPE_JUNIT="other.xml")
    assert done.returncode == 0, done.stderr
    assert (work / "other.xml").exists()
    assert job(BOOTSCOPE_COMMAND="exit 7").returncode == 7
