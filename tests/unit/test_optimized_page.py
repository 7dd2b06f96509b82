# SPDX-License-Identifier: Apache-2.0
"""docs/optimized*.md are what is kept of the searches, and tell it truly."""

from __future__ import annotations

import importlib.util
import json
import sys
from types import ModuleType
from typing import Any

import pytest

from bootscope.techniques.model import techniques

from .builders import ROOT

SYSTEMS = ["stock", "debian-arm64", "debian-riscv64", "debian-systemd", "stock-qt", "stock-player"]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("optimize_tool", ROOT / "tools" / "optimize.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module", params=SYSTEMS)
def reference(tool: ModuleType, request: pytest.FixtureRequest) -> Any:
    return tool.REFERENCES[request.param]


@pytest.fixture(scope="module")
def kept(reference: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(reference.kept.read_text())
    return found


def test_the_page_is_what_is_kept(tool: ModuleType, reference: Any, kept: dict[str, Any]) -> None:
    made = tool.page(kept, reference)
    again = f"python tools/optimize.py --system {reference.system} --page"
    assert reference.page.read_text() == made, f"{again} makes it anew"


def test_what_is_kept_hangs_together(kept: dict[str, Any]) -> None:
    assert kept["final_ns"] == sum(phase["b_ns"] for phase in kept["phases"])
    assert kept["base_ns"] == sum(phase["a_ns"] for phase in kept["phases"])
    at = kept["base_ns"]
    for step in kept["steps"]:
        assert step["before_ns"] == at
        at = step["after_ns"]
    assert at == kept["final_ns"]
    assert {name.partition("=")[0] for name in kept["accepted"]} <= techniques().keys()


@pytest.mark.parametrize("system", ["stock", "debian-arm64", "debian-riscv64"])
def test_the_readme_says_what_the_page_says(tool: ModuleType, system: str) -> None:
    kept = json.loads(tool.REFERENCES[system].kept.read_text())
    before, after = (f"{kept[key] / 1e9:.3f} s" for key in ("base_ns", "final_ns"))
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert f"from {before} to {after}" in readme


def test_a_cell_cannot_leave_its_row(tool: ModuleType) -> None:
    assert tool.table_cell("a | b\n<script>") == "a \\| b &lt;script>"
