# SPDX-License-Identifier: Apache-2.0
"""Makes man pages from the parser: bootscope(1), and one for each verb (bootscope-record(1), ...).

    python tools/man_pages.py FOLDER

Their date is that of SOURCE_DATE_EPOCH, so the same sources give the same pages. The usage text does not come
from argparse, whose wording and line breaks differ between Python versions.
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from bootscope import __version__
from bootscope.cli.parsers import parser

NO_DATE_S = 1580601600
"""hatchling's date for archives where SOURCE_DATE_EPOCH is not set: 2020-02-02."""
LINE = 78
NOTHING = "\\&"
SPECIAL = {
    "\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti", '"': "\\(dq",
}  # fmt: skip
"""Characters that are special to roff, and their escaped forms. Backslash first."""
ENVIRONMENT = {
    "BOOTSCOPE_STORE": "The folder of recorded boots. Default: bootscope in the user's data folder "
    "(~/.local/share/bootscope). Nothing in it is ever removed unasked.",
    "BOOTSCOPE_CACHE": "The folder of sources and builds. Default: bootscope in the user's cache folder "
    "(~/.cache/bootscope). All of it can be made again.",
    "BOOTSCOPE_CORE": "none: boards have no core, and all instructions take the same time (bootscope help "
    "cores). A boot is then recorded once, not twice.",
}
EXIT_STATUS = {
    "0": "Done.",
    "1": "A bug of bootscope.",
    "2": "Something in what was asked for must be mended.",
    "3": "The board or a tool failed, a budget was missed, or something is missing (doctor).",
    "130": "Interrupted.",
}


def escaped(text: str) -> str:
    """`text`, escaped so that roff prints it literally."""
    for character, name in SPECIAL.items():
        text = text.replace(character, name)
    return "\n".join(_no_request(line.rstrip()) for line in text.split("\n"))


def _no_request(line: str) -> str:
    """A line that roff does not take for a request."""
    return "\\&" + line if line.startswith(".") else line


def running(text: str) -> str:
    """Running text in short lines; roff fills them."""
    words = textwrap.wrap(escaped(text), LINE, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(_no_request, words))


def breakable(text: str) -> str:
    """Words of a command line, which may be broken between the choices of a long list."""
    return escaped(text).replace(",", ",\\:")


def items(entries: dict[str, str]) -> Iterator[str]:
    """A list of words and their meanings."""
    for word, meaning in entries.items():
        yield f".TP\n.B {escaped(word)}\n{running(meaning)}"


def argument(action: argparse.Action) -> str:
    """The value of an option, or the name of a positional argument, as a user would write it."""
    if action.nargs == 0:
        return ""
    choices = f"{{{','.join(map(str, action.choices))}}}" if action.choices else None
    name = action.metavar or choices
    if isinstance(name, tuple):
        return " ".join(name)
    name = name or (action.dest.upper() if action.option_strings else action.dest)
    forms = {"?": "[{0}]", "*": "[{0} ...]", "+": "{0} [{0} ...]", argparse.REMAINDER: "..."}
    if isinstance(action.nargs, int):
        return " ".join([name] * action.nargs)
    return forms.get(str(action.nargs), "{0}").format(name)


def shown(actions: Iterable[argparse.Action]) -> list[argparse.Action]:
    """The actions that --help shows."""
    return [action for action in actions if action.help != argparse.SUPPRESS]


def synopsis(prog: str, actions: list[argparse.Action]) -> str:
    """The command in one line: options that must be given by name, the others together."""
    named = [a for a in actions if a.option_strings and a.required]
    words = [*(f"{a.option_strings[-1]} {argument(a)}" for a in named), "[OPTION ...]"]
    words += [argument(a) for a in actions if not a.option_strings]
    return f".B {escaped(prog)}\n{breakable(' '.join(words))}"


def option(action: argparse.Action, sub: argparse.ArgumentParser) -> str:
    """One argument with its help."""
    value = argument(action)
    if action.option_strings:
        names = ", ".join(f"\\fB{escaped(name)}\\fR" for name in action.option_strings)
        head = f"{names} \\fI{breakable(value)}\\fR" if value else names
    else:
        head = f"\\fI{breakable(value)}\\fR"
    expanded = sub._get_formatter()._expand_help(action) if action.help else ""
    return f".TP\n{head}\n{running(expanded) or NOTHING}"


def header(name: str, summary: str, date: str) -> str:
    """The head of a page and its NAME."""
    return (
        f'.TH {name.upper()} 1 "{date}" "bootscope {__version__}" "bootscope"\n.nh\n.ad l\n'
        f".SH NAME\n{running(f'{name} - {summary}')}"
    )


def verb_page(name: str, summary: str, sub: argparse.ArgumentParser, date: str) -> str:
    """The page of a verb."""
    page = f"bootscope-{name}"
    actions = shown(sub._actions)
    parts = [header(page, summary, date), f".SH SYNOPSIS\n{synopsis(sub.prog, actions)}"]
    parts.append(f".SH DESCRIPTION\n{running(sub.description or summary)}")
    for group in sub._action_groups:
        members = shown(group._group_actions)
        if members:
            title = {"positional arguments": "ARGUMENTS"}.get(group.title or "", (group.title or "").upper())
            parts.append(f".SH {escaped(title)}")
            parts += [running(group.description)] if group.description else []
            parts += [option(action, sub) for action in members]
    notes, _, example = (sub.epilog or "").rpartition("example: ")
    for title, text in (("NOTES", notes.rstrip()), ("EXAMPLES", example)):
        parts += [f".SH {title}\n.nf\n{escaped(text)}\n.fi"] if text else []
    parts.append(".SH SEE ALSO\n.BR bootscope (1)")
    return "\n".join(parts) + "\n"


def main_page(top: argparse.ArgumentParser, verbs: dict[str, str], date: str) -> str:
    """The page of the command itself."""
    summary = (top.description or "").rstrip(".")
    documents = (
        "'bootscope help' lists the documents that come with bootscope, 'bootscope help TOPIC' shows one. "
        "Each verb has a page of its own, such as"
    )
    parts = [
        header("bootscope", summary[:1].lower() + summary[1:], date),
        ".SH SYNOPSIS\n.B bootscope\nVERB [OPTION ...] [ARGUMENT ...]",
        f".SH DESCRIPTION\n{running(top.description or '')}",
        ".SH VERBS",
        *items(verbs),
        ".SH ENVIRONMENT",
        *items(ENVIRONMENT),
        ".SH EXIT STATUS",
        *items(EXIT_STATUS),
        f".SH SEE ALSO\n{running(documents)}\n.BR bootscope\\-record (1)",
    ]
    return "\n".join(parts) + "\n"


def man_pages() -> dict[str, str]:
    """All pages by file name."""
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", NO_DATE_S))
    date = datetime.datetime.fromtimestamp(seconds, datetime.UTC).date().isoformat()
    top = parser()
    listed = next(a for a in top._actions if isinstance(a, argparse._SubParsersAction))
    summaries = {str(choice.dest): choice.help or "" for choice in listed._choices_actions}
    pages = {
        f"bootscope-{name}.1": verb_page(name, summaries[name], listed.choices[name], date)
        for name in summaries
    }
    return {"bootscope.1": main_page(top, summaries, date), **pages}


def write(folder: Path) -> list[Path]:
    """Writes all pages into a folder; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {folder / name: text for name, text in man_pages().items()}
    for path, text in pages.items():
        path.write_text(text)
    return list(pages)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("man_pages.py: expected one folder")
    write(Path(sys.argv[1]))
