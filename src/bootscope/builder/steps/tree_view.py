# SPDX-License-Identifier: Apache-2.0
"""A view of a source tree: folders of links, in which some files are replaced."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path


def write(tree: Path, view: Path, files: Mapping[str, str]) -> None:
    """Makes the view of a tree; `files` have their path in it and their text."""
    shutil.copytree(tree, view, symlinks=True, copy_function=_link)
    for name, text in files.items():
        path = view / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(text)


def _link(source: str, target: str) -> None:
    # A link to a link of the tree would be relative to the wrong folder.
    os.symlink(os.path.realpath(source), target)  # noqa: PTH211
