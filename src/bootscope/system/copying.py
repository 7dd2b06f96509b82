# SPDX-License-Identifier: Apache-2.0
"""A system that comes with bootscope, copied to a folder of the user's, to change it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from bootscope.core.errors import ToolError, UserError, printable
from bootscope.system.load import LoadedSystem, folders_beside

_NAME = re.compile(r'^name = ".*"$', re.MULTILINE)


def copy_system(system: LoadedSystem, folder: Path, name: str) -> list[Path]:
    """Copies a system's file, and the folders that it names, to `folder`, as a system called `name`; returns
    what was written, the file first.

    Raises UserError, and writes nothing, when any of it exists already; ToolError when it cannot be written.
    """
    beside = dict.fromkeys(Path(path).parts[0] for path in folders_beside(system.system).values())
    file = folder / f"{name}.toml"
    folders = {system.beside(part): folder / part for part in beside}
    for target in (file, *folders.values()):
        if target.exists():
            raise UserError(
                f"{printable(str(target))} exists already", hint="nothing was written; choose another folder"
            )
    text = _NAME.sub(f'name = "{name}"', system.path.read_text(), count=1)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source, target in folders.items():
            shutil.copytree(source, target)
        file.write_text(text)
    except (OSError, shutil.Error) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ToolError(f"cannot write {printable(str(folder))}: {why}") from error
    return [file, *folders.values()]
