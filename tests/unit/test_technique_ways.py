# SPDX-License-Identifier: Apache-2.0
"""A technique that can be carried out in several ways: how each is named, and which its id alone means."""

from __future__ import annotations

import pytest

from bootscope.changes.experiment import chosen, title
from bootscope.core.errors import UserError
from bootscope.techniques.model import technique

from .conftest import Command


def test_the_id_alone_means_the_default() -> None:
    found = technique("init-app-first")
    assert chosen("init-app-first")[1] == found.default == "first"
    assert [title(found, name) for name in found.recipes] == ["init-app-first", "init-app-first=script"]
    with pytest.raises(UserError, match="kernel-compression has several recipes"):
        chosen("kernel-compression")


def test_the_ways_of_a_technique_are_told(bootscope: Command) -> None:
    told = bootscope("techniques", "init-replace-by-app").stdout
    assert "Ways to try it\ninit-replace-by-app; init-replace-by-app=script: by a script" in told
    assert "Ways to try it" not in bootscope("techniques", "kernel-quiet").stdout
