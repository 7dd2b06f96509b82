# SPDX-License-Identifier: Apache-2.0
"""The list of product-like boots that audits are compared with, and the tool that does it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from .builders import ROOT

TOOLS = ROOT / "tools"
BOOTS: list[dict[str, Any]] = tomllib.loads((TOOLS / "audit_foreign.toml").read_text())["boot"]
LOGS = {log["name"] for log in tomllib.loads((TOOLS / "foreign_logs.toml").read_text())["log"]}


def test_the_list_names_logs_that_there_are_and_three_causes_each() -> None:
    assert len(BOOTS) >= 10
    for boot in BOOTS:
        assert boot["log"] in LOGS or (ROOT / boot["log"]).is_file()
        assert len(boot["causes"]) == 3
        for expression in (*boot["never"], *(cause["row"] for cause in boot["causes"])):
            re.compile(expression)
    assert sum("arm64" in boot["kind"] and "systemd" in boot["kind"] for boot in BOOTS) >= 3


def test_the_page_tells_of_each() -> None:
    page = (ROOT / "docs/audited-logs.md").read_text()
    assert all(cause["what"] in page for boot in BOOTS for cause in boot["causes"])


def tool(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOLS / "audit_foreign.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_the_audit_of_our_own_recording_says_what_costs_most(tmp_path: Path) -> None:
    done = tool(str(tmp_path), "tests/fixtures/readers/grabserial/t.log")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "1 of 1 audits right"), done.stdout


def test_a_log_that_is_missing_is_no_success(tmp_path: Path) -> None:
    done = tool(str(tmp_path), "rpi4-yocto")
    assert done.returncode == 1
    assert "the log is missing" in done.stdout


def test_a_cause_that_comes_late_or_not_at_all_and_an_impossible_row_are_faults() -> None:
    row = {"what": "x", "where": "", "technique": None, "techniques": ["kernel-no-smp"]}
    words = (
        "causes = (('a cause', 'wanted'), ('late', 'last'));"
        "boot = audit_foreign.Boot('n', 'k', None, 's', causes, ('no-smp',));"
        f"rows = [{row!r}] * 6 + [dict({row!r}, what='last', techniques=[])];"
        "print(json.dumps(list(audit_foreign.faults(boot, rows))))"
    )
    code = f"import json, sys; sys.path.insert(0, {str(TOOLS)!r}); import audit_foreign; {words}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found[:2] == ["not reported: a cause", "reported only in row 7: late"]
    assert found[2:] == ["impossible: kernel-no-smp"] * 6
