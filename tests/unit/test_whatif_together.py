# SPDX-License-Identifier: Apache-2.0
"""Predictions of several changes at once: what two of them remove counts once."""

from __future__ import annotations

import pytest

from bootscope.analysis.whatif_kernel import compressors

from .test_whatif_parts import loaders, predicted, seen

MS = 1_000_000


# ---- the kernel's image ----


def test_half_of_a_kernel_that_is_not_unpacked_saves_nothing_of_the_unpacking() -> None:
    """All 20 ms of it are gone; half of the larger image is read."""
    found = predicted(seen(loaders()), "compression=none", "kernel-bytes=-500k")
    larger = 1_000_000 / compressors()["gzip"].packed_ppm.value
    assert found.saving_ns == pytest.approx(20 * MS + (1 - larger / 2) * 5_500_000, rel=1e-6)


def test_a_kernel_cannot_shrink_by_more_than_it_has() -> None:
    once = predicted(seen(loaders()), "kernel-bytes=-1000k").saving_ns
    assert predicted(seen(loaders()), "kernel-bytes=-1000k", "kernel-bytes=-999k").saving_ns == once
