# SPDX-License-Identifier: Apache-2.0
"""TypeScript's compiler checks the types of the report's scripts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from .builders import ROOT

TEMPLATES = ROOT / "src" / "bootscope" / "report" / "templates"


def checked(project: Path) -> str:
    """What the compiler finds in a project."""
    compiler = shutil.which("tsc")
    assert compiler, "tsc is missing: make setup-test installs it"
    done = subprocess.run([compiler, "-p", str(project)], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_the_scripts_of_the_report_have_no_type_errors() -> None:
    assert checked(ROOT / "tsconfig.json") == ""


def test_a_misspelt_member_would_be_found(tmp_path: Path) -> None:
    for script in TEMPLATES.glob("*.js"):
        (tmp_path / script.name).write_text(script.read_text())
    page = tmp_path / "page.js"
    page.write_text(page.read_text() + "\ntimelines.push(new Timeline(document.body, null).shwo(0, 1));\n")
    config = tmp_path / "tsconfig.json"
    config.write_text(
        (ROOT / "tsconfig.json").read_text().replace("src/bootscope/report/templates/*.js", "*.js")
    )
    assert "'shwo' does not exist" in checked(config)
