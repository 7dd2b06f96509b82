# SPDX-License-Identifier: Apache-2.0
"""The figures that come along for a first build are those of real builds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bootscope.builder import history
from bootscope.builder.step import read_meta

pytestmark = pytest.mark.boot


@pytest.mark.parametrize("step", ["uboot", "busybox", "kernel"])
def test_the_figures_that_come_along_are_those_of_the_system_built_here(
    built: dict[str, Any], step: str
) -> None:
    expected = history.shipped().steps[step].units
    meta = read_meta(Path(built["steps"][step]["path"]))
    assert meta.work_units <= 1.2 * expected
    # A build that went on from another system's compiled only what differs.
    assert meta.work_units >= 0.8 * expected or meta.continued
