# SPDX-License-Identifier: Apache-2.0
"""The quick look at a line's first characters passes whatever any banner fits."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.loaders.console import ANY, BANNERS
from bootscope.loaders.model import Banner


@pytest.mark.parametrize("banner", BANNERS, ids=lambda banner: banner.pattern[:40])
def test_each_banner_is_one_of_any(banner: Banner) -> None:
    """Texts that the pattern fits, made by hypothesis."""

    @settings(max_examples=20, deadline=None, database=None)
    @given(st.from_regex(re.compile(banner.pattern.encode()), fullmatch=True))
    def fits(text: bytes) -> None:
        assert re.match(ANY.encode(), text), text

    fits()
