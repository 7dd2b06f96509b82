# SPDX-License-Identifier: Apache-2.0
"""How a start script starts the application, where the program needs an environment or arguments: its path
alone would not start the same program in the same way."""

from __future__ import annotations

import re

from bootscope.inventory.inventory import Inventory, Part
from bootscope.inventory.start_scripts import StartScripts, expanded

_SHELL = re.compile(r"#!\s*(?:/usr)?/bin/(?:da|a)?sh\b")
_COMPOUND = re.compile(r"<<|\\$|[`(){}]|^\s*(?:if|case|for|while|until|trap|exit|return)\b", re.MULTILINE)
_PRINTS = re.compile(r"\s*(?:#|echo\b|printf\b|$)")
_SETS = re.compile(r"^\s*(?:export\s+)?\w+=", re.MULTILINE)
_CASE = re.compile(r"\s*case\s+\"?\$\{?1\}?\"?\s+in\s*$")
_START = re.compile(r"\s*\(?(?:[\w-]+\|)*\"?start\"?(?:\|[\w-]+)*\)(.*)$")
_NOTHING = re.compile(r"\s*(?:#.*|exit 0|exit \$\?|:)?\s*$")
_REDIRECTION = re.compile(r"(?<!\d)\d*[<>]+(?:&\d|\s*[^\s&]+)")


def script(scripts: StartScripts, path: str) -> str:
    """The application's start script; empty where the program only needs its path."""
    text = scripts.texts.get(scripts.path("application"), "")
    launch = _launch(text, path)
    if not launch:
        return ""
    given = _REDIRECTION.sub(" ", launch.split(path, 1)[1]).replace("&", " ").strip()
    before = expanded(text).split(launch, 1)[0]
    return text if given or "export" in before or _SETS.match(launch) else ""


def needs_more(known: Inventory) -> bool:
    """Whether the application is known to need more than its path to start."""
    path = known.settings.get("application.path", "")
    told = bool(path) and known.knows(Part.SCRIPTS)
    return told and bool(script(StartScripts.of(known.scripts, path), path))


def commands(scripts: StartScripts, path: str) -> str:
    """The same as a script that becomes the application; empty where it does more than run one command after
    another."""
    text = _as_started(script(scripts, path))
    if not _SHELL.match(text) or _COMPOUND.search(text):
        return ""
    lines = [line for line in expanded(text).splitlines()[1:] if not _PRINTS.match(line)]
    launch = _launch(text, path)
    if launch not in lines:
        return ""
    before = "".join(f"{line}\n" for line in lines[: lines.index(launch)])
    own = launch.strip().removesuffix("&").strip()
    return f"{before}{own if own.startswith('exec ') else f'exec {own}'}\n"


def _as_started(text: str) -> str:
    """What a script does when called with `start`: the lines before `case "$1" in`, and those of that case.
    The whole script where it has no such case, or has commands after it."""
    lines = text.splitlines()
    begins = [number for number, line in enumerate(lines) if _CASE.match(line)]
    ends = [number for number, line in enumerate(lines) if line.strip() == "esac"]
    if len(begins) != 1 or len(ends) != 1 or any(not _NOTHING.match(line) for line in lines[ends[0] + 1 :]):
        return text
    found: list[str] | None = None
    for line in lines[begins[0] + 1 : ends[0]]:
        if found is None:
            label = _START.match(line)
            found, line = ([], label[1]) if label else (None, "")
        if found is not None:
            command, last, _ = line.partition(";;")
            found.append(command.strip())
            if last:
                return "\n".join([*lines[: begins[0]], *found]) + "\n"
    return text


def _launch(text: str, path: str) -> str:
    """The line that runs the application by its absolute path; empty unless there is exactly one."""
    run = re.compile(rf"\s*(?:exec\s+)?(?:\w+=\S*\s+)*{re.escape(path)}(?![\w./-])")
    found = [line for line in expanded(text).splitlines() if run.match(line)] if path else []
    return found[0] if len(found) == 1 else ""
