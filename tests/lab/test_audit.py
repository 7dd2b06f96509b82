# SPDX-License-Identifier: Apache-2.0
"""The audit of the reference system: what it is warned of, and that its loose files tell the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.command import Bootscope

pytestmark = pytest.mark.boot

TRUE_OF_STOCK = {
    "printk-burst", "savings-overlap", "unit-typo", "bootdelay", "nested-scripts", "appended-dtb-leftover",
    "defconfig-not-minimal", "lpj-missing", "rootfstype-missing", "smp-on-up", "many-shells",
}  # fmt: skip
"""The pitfalls that the reference system is in. Whatever else is told of it is a false alarm."""


def names(found: list[dict[str, Any]], key: str) -> set[str]:
    return {row[key] for row in found}


def test_the_reference_system_is_warned_of_what_is_so(stock: tuple[Bootscope, dict[str, Any]]) -> None:
    found = stock[0].json("audit", "stock")
    assert names(found["pitfalls"], "pitfall") == TRUE_OF_STOCK
    assert found["unknown"] == {}
    # Of an emulated board no file tells how it was emulated, nor does a recording keep the programs.
    assert set(found["undecided"]) == {"icount-vs-throttle", "sstrip-breaks", "static-size-explosion"}


def test_loose_files_of_the_same_boot_tell_the_same(
    stock: tuple[Bootscope, dict[str, Any]], built: dict[str, Any]
) -> None:
    bootscope, recorded = stock
    steps = {name: Path(step["path"]) for name, step in built["steps"].items()}
    console = Path(recorded["boots"][0]["path"], "console.txt")
    files = [steps["kernel"] / "config", steps["uboot"] / "config", steps["busybox"] / "config"]
    files += [steps["kernel"] / "zImage", steps["rootfs"] / "root.img", console]
    whole, loose = bootscope.json("audit", "stock"), bootscope.json("audit", *files)
    known = names(loose["techniques"], "technique")
    assert known <= names(whole["techniques"], "technique")
    assert len(known) > 15
    # What is not told is said not to be known, and not that it does not apply.
    assert set(loose["not_applicable"]) <= set(whole["not_applicable"])
    for name, tolerance in (("uboot-bootdelay", 0.02), ("kernel-quiet", 0.1)):
        a, b = (
            next(f["saving_ns"] for f in found["techniques"] if f["technique"] == name)
            for found in (whole, loose)
        )
        assert b == pytest.approx(a, rel=tolerance)


def test_the_culprits_of_the_reference_system_are_named(stock: tuple[Bootscope, dict[str, Any]]) -> None:
    """Not `init takes 3.197 s`, but the line of the script whose program waits for entropy."""
    first, second, third, *_ = stock[0].json("audit", "stock")["findings"]
    assert "/etc/init.d/S30seed:8" in first["where"]
    assert "waits for entropy" in first["what"]
    assert first["what_if"] == ["later:S30seed"]
    assert 2_500_000_000 < first["cost_ns"] < 2_600_000_000
    assert (second["kind"], second["technique"]) == ("countdown", "uboot-bootdelay")
    assert (third["kind"], third["technique"]) == ("console", "kernel-quiet")
