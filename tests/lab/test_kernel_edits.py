# SPDX-License-Identifier: Apache-2.0
"""The edits of the kernel's code, at their places in the sources that the systems are built from.

`try kernel-branch-locality` and `try kernel-probe-defer` measure what they come to, each a whole build.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from bootscope.builder.cache import Cache
from bootscope.builder.plan import source_tree
from bootscope.builder.progress import Progress
from bootscope.builder.step import Runner
from bootscope.builder.steps import function_order, probe_later
from bootscope.core.paths import cache_dir
from bootscope.system.load import load_system

pytestmark = pytest.mark.boot
Files = Callable[[Path, Mapping[str, str]], dict[str, str]]


@pytest.mark.parametrize("files", [function_order.files, probe_later.files])
def test_the_places_are_there(built: dict[str, Any], files: Files) -> None:
    assert built["steps"]
    tree = source_tree(load_system("stock"), "kernel", Runner(Cache(cache_dir()), Progress()), Progress())
    changed = files(tree, {})
    there = {path for path in changed if (tree / path).exists()}
    assert there
    for path in there:
        before, after = (tree / path).read_text(), changed[path]
        assert before != after
        # Nothing but what is added, and the one line that names all other code.
        gone = set(before.splitlines()) - set(after.splitlines())
        assert len(gone) <= 1
