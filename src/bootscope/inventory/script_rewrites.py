# SPDX-License-Identifier: Apache-2.0
"""Lines of start scripts that start more processes than they need, and the same lines with fewer.

These are `cat FILE | COMMAND`, a search of a file by `expr match` around `cat`, and programs for which the
shell has a built-in command or an expansion. The results are the same, except for numbers with leading zeros
and names that end in a slash.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bootscope.core.errors import UserError
from bootscope.core.text import cut
from bootscope.inventory.inventory import Absent, Inventory, Part

_LONGEST_LINE = 2000
"""Characters; nobody writes longer ones."""
_FILE = r"[\w./][\w./-]{0,199}"
"""A name as it is: a variable may hold several, or blanks."""
_BEGINS = r"(?P<begins>^[ \t]*|[;(`][ \t]*|&&[ \t]*|\|\|[ \t]*|\b(?:then|do|else|if|while)[ \t]+)"
"""What a command may follow."""
_PIPED = re.compile(rf"{_BEGINS}cat (?P<file>{_FILE}) \| (?!(?:while|for|until|if|case)\b)(?=[\w/])")
_MATCHED = re.compile(
    rf"""(?P<q>"?)\$\(expr (?:match "\$\(cat (?P<one>{_FILE})\)"|"\$\(cat (?P<two>{_FILE})\)" :) """
    r"""(?P<mark>['"])\.\*(?P<what>[^'"`\\()\n]{1,200}?)\.\*(?P=mark)\)(?P=q) (?:-ne|-gt) 0(?=[ \t])"""
)
_NUMBER = r'(?:0|[1-9][0-9]{0,8}|"?\$\w{1,80}"?)'
_EXPR = re.compile(
    rf"(?:\$\(expr (?P<a>{_NUMBER}) (?P<op>\+|-|/|%|\\\*) (?P<b>{_NUMBER})\)"
    rf"|`expr (?P<c>{_NUMBER}) (?P<op2>\+|-|/|%|\\\*) (?P<d>{_NUMBER})`)"
)
_NAME = re.compile(r'(?:\$\(basename "?\$(?P<a>\w{1,80})"?\)|`basename "?\$(?P<b>\w{1,80})"?`)')
_ABSOLUTE = re.compile(rf"{_BEGINS}/(?:usr/)?bin/(?P<name>test|echo|printf)(?=[ \t])")
_HERE = re.compile(r"<<-?[ \t]*[\"']?(\w{1,80})")


def _pipes(line: str) -> tuple[str, int]:
    return _replaced(_PIPED, lambda match: f"{match['begins']}< {match['file']} ", line)


def _tests(line: str) -> tuple[str, int]:
    def one(match: re.Match[str]) -> str:
        mark = match["mark"]
        return f'-n "$(grep -m 1 -e {mark}{match["what"]}{mark} {match["one"] or match["two"]})"'

    made, count = _replaced(_MATCHED, one, line)
    return made, 2 * count  # expr and cat; grep comes in the place of the third process


def _builtins(line: str) -> tuple[str, int]:
    def sum_of(match: re.Match[str]) -> str:
        back = match["c"] is not None
        a, op, b = match.group("c", "op2", "d") if back else match.group("a", "op", "b")
        left, right = a.strip('"'), b.strip('"')
        return f"$(({left} {op[-1]} {right}))"

    line, sums = _replaced(_EXPR, sum_of, line)
    line, names = _replaced(_NAME, lambda m: f"${{{m['a'] or m['b']}##*/}}", line)
    line, absolute = _replaced(_ABSOLUTE, lambda m: m["begins"] + m["name"], line)
    return line, sums + names + absolute


KINDS: dict[str, Callable[[str], tuple[str, int]]] = {"piped": _pipes, "tested": _tests, "forking": _builtins}
"""Functions that return a line with fewer processes, and how many fewer it starts."""


@dataclass(frozen=True)
class Rewritten:
    """A script with some lines changed. `programs`: how many fewer it starts, if each line runs once;
    `first`: the first of these lines as it was."""

    path: str
    text: str
    programs: int
    first: str


def rewritten(scripts: Mapping[str, str], kind: str) -> Rewritten | None:
    """The script that gains most from one of KINDS; None where no script has such a line."""
    found = [made for path in sorted(scripts) if (made := _script(path, scripts[path], KINDS[kind])).programs]
    return max(found, key=lambda made: made.programs, default=None)


def _script(path: str, text: str, change: Callable[[str], tuple[str, int]]) -> Rewritten:
    made, programs, first, end, quoted = list[str](), 0, "", "", False
    for line in text.split("\n"):
        inside, new, count = bool(end), line, 0
        if inside:
            end = "" if line.strip() == end else end
        elif len(line) <= _LONGEST_LINE and not line.lstrip().startswith("#"):
            if not quoted:
                new, count = change(line)
            quoted ^= line.count("'") % 2 == 1
            opened = _HERE.search(line)
            end = opened[1] if opened else ""
        first = first or (line.strip() if count else "")
        programs += count
        made.append(new)
    return Rewritten(path, "\n".join(made), programs, first)


def _replaced(pattern: re.Pattern[str], new: Callable[[re.Match[str]], str], line: str) -> tuple[str, int]:
    """A line with the matches replaced that a shell would run, and their number. In double quotes, it runs
    expansions but no commands."""
    command, count = "begins" in pattern.groupindex, 0
    text = _quoted(line, "'\"" if command else "'")

    def one(match: re.Match[str]) -> str:
        nonlocal count
        if (match.end("begins") if command else match.start()) in text:
            return match[0]
        count += 1
        return new(match)

    return pattern.sub(one, line), count


def _quoted(line: str, marks: str) -> set[int]:
    """Positions in one of these kinds of quotes, outside command substitutions in them."""
    inside, open_quotes, at = set[int](), [""], 0
    while at < len(line):
        now, here = open_quotes[-1], line[at]
        if now and now in marks:
            inside.add(at)
        if here == "\\" and now != "'":
            at += 1
        elif now == "'" or (now and here == now):
            if here == now:
                open_quotes.pop()
        elif here == "(" and at and line[at - 1] == "$":
            open_quotes.append("")
        elif here == ")" and not now and len(open_quotes) > 1:
            open_quotes.pop()
        elif here in "\"'" and not (now and here == "'"):
            open_quotes.append(here)
        at += 1
    return inside


def shown(kind: str) -> Callable[[Inventory], str | None]:
    """A function for the evidence of a kind in a system's scripts."""

    def evidence(known: Inventory) -> str | None:
        if not known.knows(Part.SCRIPTS):
            return None
        found = rewritten(known.scripts, kind)
        return (
            f"{found.path} starts {found.programs} programs too many: {cut(found.first, 60)}" if found else ""
        )

    return evidence


def _part(kind: str, name: str) -> Callable[[Inventory], str]:
    def find(known: Inventory) -> str:
        if not known.knows(Part.SCRIPTS):
            raise UserError("the start scripts are not known")
        found = rewritten(known.scripts, kind)
        if not found:
            raise Absent("no start script has such a line")
        return str(getattr(found, name))

    return find


FOUND: dict[str, Callable[[Inventory], str]] = {
    f"{kind}_{called}": _part(kind, name)
    for kind in KINDS
    for called, name in (("script", "path"), ("text", "text"), ("programs", "programs"))
}
"""Placeholders, and functions for their values in a system."""
