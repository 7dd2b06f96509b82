# SPDX-License-Identifier: Apache-2.0
"""Puts the man pages into a wheel while hatchling builds it (pyproject.toml)."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManPages(BuildHookInterface[Any]):
    """Makes the pages before the wheel is written, and removes them afterwards."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, str(Path(self.root) / "tools"))
        import man_pages

        self.folder = Path(tempfile.mkdtemp(prefix="bootscope-man-"))
        for path in man_pages.write(self.folder):
            build_data["shared_data"][str(path)] = f"share/man/man1/{path.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            shutil.rmtree(self.folder)
