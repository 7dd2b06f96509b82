# SPDX-License-Identifier: Apache-2.0
"""Changes of U-Boot's source for a foreign build: what to change, and where."""

from __future__ import annotations

import msgspec

from bootscope.core.errors import printable
from bootscope.system.source_edits import SourceEdit

FOLDER = "uboot-code"
_KEY = "uboot.edits."


def by_hand(settings: dict[str, object]) -> tuple[dict[str, str], list[str]]:
    """(path -> text, what a person has to do) for the edits of U-Boot's source in `settings`; removes those
    that were understood. An edit that lacks a part stays."""
    files: dict[str, str] = {}
    steps: list[str] = []
    names = sorted({key.removeprefix(_KEY).rpartition(".")[0] for key in settings if key.startswith(_KEY)})
    for number, name in enumerate(names, 1):
        keys = {field: f"{_KEY}{name}.{field}" for field in SourceEdit.__struct_fields__}
        try:
            edit = msgspec.convert(
                {field: settings[key] for field, key in keys.items() if key in settings}, SourceEdit
            )
        except msgspec.ValidationError:
            continue
        for key in keys.values():
            del settings[key]
        # Numbered: a name is not a safe path.
        at = f"{FOLDER}/{number}.txt"
        files[at] = (
            f"In {printable(edit.file)}:\n\n{edit.before.strip()}\n\nbecomes:\n\n{edit.after.strip()}\n"
        )
        steps.append(f"change {printable(edit.file)} of U-Boot's sources as DIR/{at} says")
    return files, steps
