# SPDX-License-Identifier: Apache-2.0
"""Debian packages that tests make."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path


def make_deb(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, str | bytes] | None = None,
    folders: tuple[str, ...] = (),
    **fields: str,
) -> Path:
    """A package in a folder: its files by path (a text that begins with `#!` is a program, `-> ` a link),
    empty folders, and what else its control file says, as `Pre_Depends`."""
    target = folder / f"{name}_{version}.deb"
    tree = folder / f"making-{name}"
    for each in ("DEBIAN", *folders):
        (tree / each).mkdir(parents=True)
    for path, content in (files or {}).items():
        place = tree / path
        place.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        if data.startswith(b"-> "):
            place.symlink_to(data[3:].decode())
        else:
            place.write_bytes(data)
            place.chmod(0o755 if data.startswith((b"#!", b"\x7fELF")) else 0o644)
    more = "".join(f"{key.replace('_', '-')}: {value}\n" for key, value in fields.items())
    head = f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: A Dev <a@dev>\n"
    (tree / "DEBIAN" / "control").write_text(f"{head}{more}Description: a test\n")
    command = ["dpkg-deb", "-Znone", "--root-owner-group", "--build", str(tree), str(target)]
    env = {**os.environ, "SOURCE_DATE_EPOCH": "0"}
    subprocess.run(command, check=True, capture_output=True, env=env)
    shutil.rmtree(tree)
    return target
