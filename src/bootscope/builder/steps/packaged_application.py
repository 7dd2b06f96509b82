# SPDX-License-Identifier: Apache-2.0
"""An application that is not compiled here: a program from the packages of the root file system."""

from __future__ import annotations

import shutil

from bootscope.builder.step import Context, Step
from bootscope.builder.steps import packages
from bootscope.builder.steps.userland import APPLICATION_WHOLE
from bootscope.core.errors import UserError, printable


def step(path: str) -> Step:
    """The step `application`: the program at that path on the target, from the packages.

    Running it raises UserError where there is no such file.
    """

    def work(context: Context) -> None:
        tree = (context.results[packages.NAME] / packages.TREE).resolve()
        found = tree / path.lstrip("/")
        # A link may point outside of the packages' folder.
        if found.is_symlink() or not found.is_file() or tree not in found.resolve().parents:
            raise UserError(
                f"application.path: the packages have no program at {printable(path)}",
                hint="name a file of theirs, or give application.sources to have one compiled",
            )
        for name in ("program", APPLICATION_WHOLE):
            shutil.copyfile(found, context.out / name)

    inputs: dict[str, object] = {"packaged": path}
    return Step("application", "taking the application out of its package", 1, work, inputs, (packages.NAME,))
