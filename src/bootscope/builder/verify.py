# SPDX-License-Identifier: Apache-2.0
"""Whether the content of a cache is intact: each step under its own id, each file with its hash."""

from __future__ import annotations

from collections.abc import Iterator

from bootscope.builder.cache import Cache
from bootscope.builder.ids import file_sha256
from bootscope.builder.step import read_meta
from bootscope.core.errors import ToolError


def damaged(cache: Cache) -> Iterator[tuple[str, str]]:
    """(id, what is wrong) of each step that is not as it was built."""
    for path in sorted(cache.steps.iterdir()):
        try:
            meta = read_meta(path)
        except ToolError as error:
            yield path.name, error.message
            continue
        if meta.step_id != path.name:
            yield path.name, f"it is step {meta.step_id}"
        for file, sha256 in meta.files.items():
            try:
                found = file_sha256(path / file)
            except OSError as error:
                found = str(error.strerror)
            if found != sha256:
                yield path.name, f"{file} has the hash {found[:16]}, not {sha256[:16]}"
