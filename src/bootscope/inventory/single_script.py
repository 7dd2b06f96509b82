# SPDX-License-Identifier: Apache-2.0
"""All start scripts of a system as one script, for a single shell."""

from __future__ import annotations

import re

from bootscope.inventory.start_scripts import StartScripts

_SHELL = re.compile(r"#!\s*(?:/usr)?/bin/(?:da|a)?sh\b.*\n")
_GUARD = re.compile(r"""^[ \t]*(?:\[ "?\$1"? = "?start"? \] \|\| exit(?: 0)?|exit(?: 0| \$\?)?)[ \t]*$""")
_OWN_SHELL = re.compile(
    r"^[ \t]*+(?:.*[\s;&|{(])?(?:exit|exec|cd|umask|trap|set -\w*[eux]\w*)\b", re.MULTILINE
)
"""Commands that would change the shell for the scripts that follow, or end it."""
_OWN_NAME = re.compile(r"^(?!.*usage).*\$\{?0\b", re.MULTILINE | re.IGNORECASE)


def single_script(scripts: StartScripts) -> str:
    """The start scripts one after the other, as if called with `start`. Empty where there is none, or where
    one is for another shell or uses its own name."""
    parts = []
    for text in scripts.texts.values():
        if not _SHELL.match(text) or _OWN_NAME.search(text):
            return ""
        parts.append(_part(text))
    return "".join(["set -- start\n", *parts]) if parts else ""


def _part(text: str) -> str:
    """What a script does; in a subshell if it would change the shell for the others."""
    lines = text.splitlines()[1:]
    if "<<" not in text:
        lines = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if lines and _GUARD.match(lines[0]):
        del lines[0]
    if lines and _GUARD.match(lines[-1]):
        del lines[-1]
    body = "".join(f"{line}\n" for line in lines)
    return f"(\n{body})\n" if _OWN_SHELL.search(body) else body
