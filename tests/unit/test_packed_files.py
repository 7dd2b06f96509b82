# SPDX-License-Identifier: Apache-2.0
"""Large imported files, which the store keeps packed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from bootscope.capture.imported import Raw, raw_files, read_import
from bootscope.capture.packing import packed
from bootscope.capture.store import Store
from bootscope.core.errors import UserError

from .conftest import Command, Give
from .import_builders import LOG

pytestmark = pytest.mark.usefixtures("formats")


def test_large_files_are_kept_packed(main_here: Command, give: Give, store: Store) -> None:
    long = LOG + b"[0.000009] again and again\n" * 60_000
    give("long.log", long)
    imported = json.loads(main_here("import", "long.log", "--json").stdout)
    run = store.runs / store.run_ids()[0]
    (kept,) = (run / "files").iterdir()
    assert kept.name == "0001-long.log.zst" and kept.stat().st_size * 10 < len(long)
    (raw,) = raw_files(run, read_import(run))
    assert raw == Raw("long.log", long)
    assert json.loads(main_here("show", imported["run_id"], "--json").stdout)
    # Another file of the same size that says it is this one, and more than there was.
    for data in (
        b"".join(packed(long[:-1])),
        b"".join(packed(long + b"x")),
        long[: len(kept.read_bytes())],
        b"",
    ):
        kept.write_bytes(data)
        damaged = replace_sha256(run / "import.json", data)
        with pytest.raises(UserError, match="has changed since the import"):
            raw_files(run, read_import(damaged.parent))


def replace_sha256(path: Path, data: bytes) -> Path:
    """Tells that what is kept is `data`."""
    told = json.loads(path.read_text())
    told["files"][0]["sha256"] = hashlib.sha256(data).hexdigest()
    path.write_text(json.dumps(told))
    return path
