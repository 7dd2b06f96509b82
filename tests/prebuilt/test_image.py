# SPDX-License-Identifier: Apache-2.0
"""The card of a system as Debian ships it, understood as anybody's image would be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.command import Bootscope

pytestmark = pytest.mark.boot


def test_the_card_that_boots_is_understood(debian: tuple[Bootscope, dict[str, Any]]) -> None:
    built = debian[0].json("build", "debian")
    known = debian[0].json("image", built["card"])
    table = Path(built["steps"]["kernel"]["path"], "System.map").read_text()
    (kernel,) = known["kernels"]
    assert (known["architecture"], known["problems"]) == ("arm", [])
    assert kernel["symbols"]["source"] == "kallsyms"
    assert kernel["symbols"]["count"] == len(table.splitlines()) > 40_000
    assert len(kernel["build_id"]) == 40
    fits = {fit["board"]: fit["fits"] for fit in known["boards"]}
    assert fits["cubieboard"] is None
    steps = [step["what"].partition(" 20")[0] for step in known["steps"]]
    assert steps[:4] == ["first stage for an Allwinner SoC", "U-Boot SPL", "U-Boot", "boot script"]
