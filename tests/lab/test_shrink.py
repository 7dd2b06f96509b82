# SPDX-License-Identifier: Apache-2.0
"""Techniques on real boots: what the audit predicts is what a try measures."""

from __future__ import annotations

import pytest

from .conftest import Bootscope

pytestmark = pytest.mark.boot
TECHNIQUE = "init-replace-by-app"


def test_what_the_audit_predicts_is_what_a_try_measures(bootscope: Bootscope) -> None:
    """Within a fifth of the saving; the picture and the milestone stay; asked again, nothing is booted."""
    tried = bootscope.json("try", TECHNIQUE)
    assert tried["works"], tried["faults"]
    assert tried["base_ns"] - tried["variant_ns"] == tried["saving_ns"] > 2_000_000_000
    findings = {f["technique"]: f for f in bootscope.json("audit", tried["base"])["findings"]}
    assert findings[TECHNIQUE]["saving_ns"] == pytest.approx(tried["saving_ns"], rel=0.2)
    # A system that has it is not told to do it.
    assert TECHNIQUE in bootscope.json("audit", tried["variant"])["not_applicable"]
    assert bootscope.json("try", TECHNIQUE) == tried
    assert len(bootscope.json("list")["runs"]) == 2
    found = bootscope.json("optimize", "stock", "--only", TECHNIQUE)
    assert found["accepted"] == [TECHNIQUE]
    assert (found["run_id"], found["ended"]) == (tried["variant"], "nothing is left to try")
