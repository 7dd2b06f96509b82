# SPDX-License-Identifier: Apache-2.0
"""Starting: nothing is loaded that is not asked for, and what that is worth."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bootscope import __version__
from bootscope.capture.store import Store

from .builders import BOOT, ROOT, environment, keep_run, python
from .conftest import Command

COMMAND = ROOT / "bin" / "bootscope"
LOADED = """
import json, sys
from bootscope.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(json.dumps(sorted(sys.modules)))
"""


def loaded_by(*words: str, **env: str) -> set[str]:
    """The modules that a call loads."""
    done = subprocess.run(
        python(LOADED, *words), env=environment(**env), capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        [],
        ["nonsense"],
        ["--nonsense"],
        ["completion", "--line", "bash", "--", "re"],
    ],
    ids=" ".join,
)
def test_listing_the_verbs_loads_none_of_them(words: list[str]) -> None:
    loaded = loaded_by(*words)
    of_ours = {name for name in loaded if name.startswith("bootscope.") and name.count(".") > 1}
    names = ("main", "arguments", "parsers", "verbs", "verb", "common", "completion", "complete")
    few = {f"bootscope.cli.{name}" for name in names} | {"bootscope.core.errors", "bootscope.core.interrupts"}
    assert of_ours <= few
    assert not loaded & {"msgspec", "rich", "jinja2", "capstone", "platformdirs"}


def test_what_an_index_has_loads_nothing_that_would_make_it(main_here: Command, store: Store) -> None:
    keep_run(store, BOOT)
    words = ["show", "last", "--view", "functions", "--json"]
    assert main_here(*words).returncode == 0
    loaded = loaded_by(*words, BOOTSCOPE_STORE=str(store.root))
    analyses = {name for name in loaded if name.startswith("bootscope.analysis.")}
    few = ("consumers", "rows", "silences", "uncertainty", "view_names", "views")
    assert analyses <= {f"bootscope.analysis.{name}" for name in few}
    assert not loaded & {"capstone", "elftools", "jinja2"}


def test_an_option_in_the_wrong_place_is_told_without_loading_all_verbs() -> None:
    loaded = loaded_by("--json", "list")
    assert "bootscope.cli.runs" in loaded
    assert "bootscope.cli.audit" not in loaded


@pytest.mark.parametrize("how", ["link", "relative", "by name"])
def test_the_command_of_a_checkout_starts_from_anywhere(tmp_path: Path, how: str) -> None:
    link = tmp_path / "linked"
    link.symlink_to(COMMAND)
    relative = os.path.relpath(COMMAND, tmp_path)
    command = {"link": ["./linked"], "relative": [relative], "by name": ["sh", "linked"]}[how]
    # What lies in the folder is no part of the command.
    (tmp_path / "argparse.py").write_text("raise SystemExit('not this one')")
    done = subprocess.run(
        [*command, "--version"],
        cwd=tmp_path,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == (f"bootscope {__version__}\n", "")


@pytest.mark.alone
def test_help_and_version_take_at_most_six_times_what_python_takes() -> None:
    benchmark = [sys.executable, str(ROOT / "benchmarks" / "startup.py"), "--check", "--rounds", "25"]
    done = subprocess.run(
        [*benchmark, "help", "version"], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("times python -c pass") == 2
