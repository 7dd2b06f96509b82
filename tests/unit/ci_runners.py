# SPDX-License-Identifier: Apache-2.0
"""Runs the steps of our CI files as GitHub's and GitLab's runners do: the same shell and options, a bare
environment, inputs and variables as they are handed over, and the repository as they fetch it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .builders import ROOT
from .plain_yaml import parse

_SHELLS = {"sh": ("sh", "-e"), "bash": ("bash", "--noprofile", "--norc", "-eo", "pipefail")}
_PROJECT = "build/product"

_STUB = """#!/bin/sh
# A python3 that makes virtual environments without a network: programs in them are those of the tests.
case "$*" in
"-m venv "*)
	mkdir -p "$3/bin"
	cat > "$3/bin/python" <<-'end'
	#!/bin/sh
	if [ "$1 $2" = "-m pip" ]; then
		echo "$@" >> "{told}"
		exit {pip}
	fi
	exec "{python}" "$@"
	end
	chmod +x "$3/bin/python" ;;
"-c import sys; sys.exit("*) exit {version} ;;
*) exec "{python}" "$@" ;;
esac
"""


@dataclass(frozen=True)
class Done:
    """How a job ended: exit code and output, and the summary that GitHub shows."""

    code: int
    output: str
    summary: str = ""


@dataclass
class Runner:
    """A computer of a CI service; everything of it lies below `home`. `pip` and `version` are the exit codes
    of pip, and of the question whether python3 is new enough."""

    home: Path
    pip: int = 0
    version: int = 0

    @property
    def work(self) -> Path:
        """The folder that a job begins in."""
        folder = self.home / _PROJECT
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def pip_told(self) -> str:
        """What pip was asked to do."""
        path = self.home / "pip.txt"
        return path.read_text() if path.exists() else ""

    @property
    def fetched(self) -> Path:
        """Where GitHub's runner puts the repository of an action."""
        return self.home / "_actions/owner/bootscope/main"

    def github(self, **inputs: str) -> Done:
        """Runs the action as a step with those inputs."""
        self._download()
        action = parse((self.fetched / "ci/github/action.yml").read_text())
        given = {name: inputs.pop(name, entry["default"]) for name, entry in action["inputs"].items()}
        assert not inputs, "the action has no such inputs"
        summary, out = self.home / "summary.md", ""
        summary.write_text("")
        for number, step in enumerate(action["runs"]["steps"]):
            script = self.home / f"step{number}.sh"
            script.write_text(step["run"] + "\n")
            done = self._run(
                [*_SHELLS[step["shell"]], str(script)],
                {
                    "GITHUB_ACTIONS": "true",
                    "GITHUB_ACTION_PATH": str(self.fetched / "ci/github"),
                    "GITHUB_WORKSPACE": str(self.work),
                    "GITHUB_STEP_SUMMARY": str(summary),
                    **{name: _filled(text, given) for name, text in step["env"].items()},
                },
            )
            out += done.output
            if done.code:
                return Done(done.code, out, summary.read_text())
        return Done(0, out, summary.read_text())

    def gitlab(self, repository: str, **variables: str) -> Done:
        """Runs a job that extends the template, and says where the repository is."""
        template = parse((ROOT / "ci/gitlab/bootscope.yml").read_text())[".bootscope-check"]
        given = {**template["variables"], "BOOTSCOPE_URL": repository, **variables}
        # GitLab's runner has the shell read the lines one after the other, and stops at the first that fails.
        script = "set -eo pipefail\n" + "\n".join(template["script"]) + "\n"
        return self._run(["bash", "--noprofile", "--norc", "-c", f"eval {_quoted(script)}"], given)

    def _run(self, words: list[str], variables: dict[str, str]) -> Done:
        done = subprocess.run(
            words,
            cwd=self.work,
            env={
                "CI": "true",
                "HOME": str(self.home),
                "PATH": f"{self._programs()}:{os.defpath}",
                **variables,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        return Done(done.returncode, done.stdout)

    def _programs(self) -> Path:
        folder = self.home / "bin"
        folder.mkdir(exist_ok=True)
        stub = folder / "python3"
        told = self.home / "pip.txt"
        stub.write_text(_STUB.format(told=told, python=sys.executable, pip=self.pip, version=self.version))
        stub.chmod(0o755)
        return folder

    def _download(self) -> None:
        """The repository as GitHub's runner has it: the files that are tracked, without git."""
        if self.fetched.exists():
            return
        self.fetched.mkdir(parents=True)
        names = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files", "-z", "ci", "bin", "src", "requirements.lock"],
            stdout=subprocess.PIPE,
            check=True,
        )
        pack = ["tar", "-C", str(ROOT), "--null", "-T", "-", "-cf", "-"]
        packed = subprocess.run(pack, input=names.stdout, stdout=subprocess.PIPE, check=True)
        subprocess.run(["tar", "-C", str(self.fetched), "-xf", "-"], input=packed.stdout, check=True)


def _filled(text: str, given: dict[str, str]) -> str:
    return re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: given[match[1]], text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
