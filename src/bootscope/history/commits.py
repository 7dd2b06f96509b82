# SPDX-License-Identifier: Apache-2.0
"""The commits of a git tree in their order."""

from __future__ import annotations

import re
from pathlib import Path

from bootscope.core import process
from bootscope.core.errors import CommandError, UserError, printable

_MOST = 100_000


def git(tree: Path, *words: str) -> str:
    """git's output for a tree. Nothing that the tree's own configuration names is run: no hooks, no pager, no
    monitor. Raises UserError if git fails.
    """
    safe = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "--no-pager")
    try:
        return process.run(["git", "-C", tree, *safe, *words]).output
    except CommandError as error:
        # The last line is git's own reason.
        reason = error.message.splitlines()[-1].strip().removeprefix("fatal: ")
        raise UserError(f"git in {printable(str(tree))}: {printable(reason)[:300]}") from error


def commits(tree: Path, to: str = "HEAD") -> dict[str, str]:
    """The commits up to `to`, oldest first, each before its children -> first line of its message.

    Raises UserError if the folder is no git tree, or there is no such commit.
    """
    if not re.fullmatch(r"[A-Za-z0-9_./~^@{}][A-Za-z0-9_./~^@{}-]{0,199}", to):
        raise UserError(f"'{printable(to[:100])}' is not the name of a commit")
    text = git(tree, "log", f"--max-count={_MOST}", "--topo-order", "--reverse", "--format=%H %s", to, "--")
    return {line[:40]: line[41:] for line in text.splitlines() if re.match(r"[0-9a-f]{40} ", line)}
