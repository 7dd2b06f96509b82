# SPDX-License-Identifier: Apache-2.0
"""The GitHub action and the GitLab template, run from a repository that was just fetched."""

from __future__ import annotations

import subprocess
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from .boot_noise import MS
from .builders import ROOT
from .ci_runners import Runner
from .test_boot_samples import log

LOGS = {"logs": "logs/boot-*.log", "milestones": "app-ready=app: ready"}
VARIABLES = {f"BOOTSCOPE_{name.upper()}": text for name, text in LOGS.items()}


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A runner whose job finds logs of three boots of some 5 s, and a check file in its product."""
    made = Runner(tmp_path)
    (made.work / "logs").mkdir()
    for number, took in enumerate((5000, 5010, 5020), 1):
        (made.work / f"logs/boot-{number}.log").write_text(log([took * MS]))
    allow(made, "5.1 s")
    return made


def allow(runner: Runner, limit: str) -> None:
    """Writes the check file."""
    (runner.work / "bootscope-check.toml").write_text(f'[budget]\n"app-ready" = "{limit}"\n')


def failures(runner: Runner, name: str = "boot.xml") -> int:
    """How many test cases the report has that failed."""
    return len(Xml.fromstring((runner.work / name).read_bytes()).findall(".//failure"))


@pytest.fixture
def repository(tmp_path: Path) -> str:
    """This checkout as a repository that can be cloned, with what is not committed yet."""
    folder = tmp_path / "repository"
    for words in (
        ("init", "-q", "-b", "main", str(folder)),
        ("-C", str(folder), "--work-tree", str(ROOT), "add", "ci", "bin", "src", "requirements.lock"),
        ("-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"),
    ):
        subprocess.run(["git", *words], check=True)
    return folder.as_uri()


def test_githubs_step_passes_and_tells_so(runner: Runner) -> None:
    done = runner.github(**LOGS)
    assert done.code == 0, done.output
    assert done.summary.startswith("## Boot time: kept")
    assert "::error" not in done.output
    assert (failures(runner), (runner.work / "boot-metrics.txt").exists()) == (0, True)
    # What is installed is what the lock file names, by its hashes.
    assert "--require-hashes" in runner.pip_told
    assert f"-r {runner.fetched}/requirements.lock" in runner.pip_told
    # A second job on the same computer installs nothing again.
    assert runner.github(**LOGS).code == 0
    assert len(runner.pip_told.splitlines()) == 1


def test_githubs_step_fails_where_the_budget_is_missed(runner: Runner) -> None:
    allow(runner, "4 s")
    done = runner.github(**LOGS, junit="out.xml", metrics="out.txt", report="boot.md")
    assert done.code == 3
    assert done.summary.startswith("## Boot time: missed")
    lines = done.output.splitlines()
    (error,) = [line for line in lines if line.startswith("::error ")]
    assert error.startswith("::error file=bootscope-check.toml,")
    # GitHub reads the error only after it was told to read commands again.
    words = [line.rpartition("::")[2] for line in lines if line.startswith("::stop-commands::")]
    assert all(lines.index(f"::{word}::") < lines.index(error) for word in words)
    assert failures(runner, "out.xml") == 1
    assert (runner.work / "out.txt").exists()
    assert 'src="boot.svg"' in (runner.work / "boot.md").read_text()
    assert (runner.work / "boot.svg").exists()


def test_what_a_board_prints_says_nothing_to_github(runner: Runner) -> None:
    evil = "::add-mask::boot"
    done = runner.github(
        command=f"printf '{evil}'; bootscope import logs/boot-1.log; printf '{evil}'; exit 4"
    )
    assert done.code == 4
    lines = done.output.splitlines()
    (stop,) = [line for line in lines if line.startswith("::stop-commands::")]
    again = lines.index(f"::{stop.rpartition('::')[2]}::")
    where = [number for number, line in enumerate(lines) if evil in line]
    assert len(where) == 2
    assert all(lines.index(stop) < number < again for number in where)


IMPORT = "bootscope import logs/boot-*.log --milestone 'app-ready=app: ready'"


def test_a_command_whose_boots_failed_is_checked_and_fails(runner: Runner) -> None:
    """`record` ends with 3 then: the table, the files and the summary tell what happened."""
    done = runner.github(command=f"{IMPORT}; exit 3", report="boot.md")
    assert done.code == 3, done.output
    assert done.summary.startswith("## Boot time: kept")
    assert (failures(runner), (runner.work / "boot-metrics.txt").exists()) == (0, True)
    # The newest complete run may be an older one.
    assert "no report: the command ended with 3" in done.output
    assert not (runner.work / "boot.md").exists()
    # What is wrong in the check file is the user's to correct.
    (runner.work / "bootscope-check.toml").write_text("[budgets]\n")
    assert runner.github(command=f"{IMPORT}; exit 3").code == 2


def test_a_command_that_failed_before_its_run_does_not_check_an_older_one(runner: Runner) -> None:
    assert runner.github(**LOGS).code == 0
    (runner.work / "boot.xml").unlink()
    done = runner.github(command="exit 3")
    assert (done.code, done.summary) == (3, "")
    assert "the command ended with 3 and made no run" in done.output
    assert not (runner.work / "boot.xml").exists()


def test_commands_are_read_again_when_an_import_fails(runner: Runner) -> None:
    done = runner.github(logs="none-*.log")
    assert done.code == 2
    word = done.output.splitlines()[0].removeprefix("::stop-commands::")
    assert done.output.endswith(f"\n::{word}::\n")


def test_gitlabs_job_passes_and_fails(runner: Runner, repository: str) -> None:
    done = runner.gitlab(repository, **VARIABLES)
    assert done.code == 0, done.output
    assert (failures(runner), (runner.work / "boot-metrics.txt").exists()) == (0, True)
    allow(runner, "4 s")
    # The folder of an earlier job may be there still.
    done = runner.gitlab(repository, **VARIABLES)
    assert done.code == 3, done.output
    assert failures(runner) == 1
    assert "::" not in done.output


def test_gitlabs_job_says_what_it_was_not_told(runner: Runner) -> None:
    done = runner.gitlab("")
    assert done.code not in (0, 3)
    assert "BOOTSCOPE_URL: is not set" in done.output


def test_a_python_that_is_too_old_is_told(runner: Runner) -> None:
    runner.version = 1
    done = runner.github(**LOGS)
    assert done.code == 3
    assert "must be Python 3.11 or newer" in done.output
    assert not (runner.fetched / ".venv").exists()


def test_what_was_half_installed_is_not_taken_for_whole(runner: Runner) -> None:
    runner.pip = 1
    done = runner.github(**LOGS)
    assert (done.code, "pip cannot install" in done.output) == (3, True)
    assert not (runner.fetched / ".venv").exists()
    runner.pip = 0
    assert runner.github(**LOGS).code == 0
