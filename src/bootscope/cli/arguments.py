# SPDX-License-Identifier: Apache-2.0
"""argparse with our style of errors: one line, one hint, status 2."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bootscope.core.errors import UserError, printable, unknown


def columns() -> int:
    """The width of help texts: the same as argparse's."""
    return max(shutil.get_terminal_size().columns - 2, 20)


def table(rows: Mapping[str, str], name_width: int, width: int) -> str:
    """Names, each with its description beside it, in lines of `width` characters."""
    column = name_width + 4
    lines = [
        textwrap.fill(
            what,
            max(width, column + 20),
            initial_indent=f"  {name}".ljust(column),
            subsequent_indent=" " * column,
        )
        for name, what in rows.items()
    ]
    return "\n".join(lines)


def flag(to: argparse._ActionsContainer, names: str, what: str) -> None:
    """Adds an option without a value; `names` is one name, or a short and a long one. `what` is its help."""
    to.add_argument(*names.split(), action="store_true", help=what)


def option(
    to: argparse._ActionsContainer, names: str, metavar: str | tuple[str, ...], what: str, **more: Any
) -> None:
    """Adds an option with a value; `more` is passed to argparse."""
    to.add_argument(*names.split(), metavar=metavar, help=what, **more)


def several(to: argparse._ActionsContainer, names: str, metavar: str, what: str) -> None:
    """Adds an option that may be given several times."""
    option(to, names, metavar, what, action="append", default=[])


def chosen(
    to: argparse._ActionsContainer, name: str, metavar: str, choices: Sequence[str], what: str
) -> None:
    """Adds an option whose value is one of many words: its help lists them, where they can wrap."""
    option(to, name, metavar, f"{what}: {', '.join(choices)}", choices=choices)


def renamed(to: argparse._ActionsContainer, old: str, dest: str, **more: Any) -> None:
    """Adds one or more former names of an option: accepted for one more version, and hidden from the help."""
    to.add_argument(*old.split(), dest=dest, help=argparse.SUPPRESS, default=argparse.SUPPRESS, **more)


_MISSING = "the following arguments are required"
"""argparse's words."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors suggest what was probably meant. Raises UserError where argparse would exit."""

    of_first_word: Mapping[str, Callable[[], argparse.ArgumentParser]] = {}
    """First word -> a parser for the arguments of that word alone, whose help `WORD --help` shows."""

    _words: Sequence[str] = ()
    """What is being parsed."""

    after_dashes = ""
    """The argument, if any, that gets all words after the first `--` as they are, also a second `--`."""

    def error(self, message: str) -> None:  # type: ignore[override]
        raise UserError(printable(message), hint=self._order_of(message) or f"{self.prog} --help")

    def _order_of(self, message: str) -> str:
        """What to type first if an option that takes many words was given those of a missing argument."""
        what, _, missing = message.rpartition(": ")
        if what != _MISSING or missing.startswith("-"):
            return ""
        actions = self._option_string_actions
        many = (word for word in self._words if word in actions and actions[word].nargs in ("+", "*"))
        option = next(many, "")
        return option and f"name the {missing} before {option}"

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """As in argparse, but an unknown word is an error of the verb that it was given to."""
        words = list(sys.argv[1:] if args is None else args)
        if words[:1] and words[0] in self.of_first_word and {"-h", "--help"} & set(words[1:]):
            self.of_first_word[words[0]]().print_help()
            self.exit()
        # argparse would remove more than one `--`; which ones depends on Python's version.
        end = words.index("--") if self.after_dashes and "--" in words else len(words)
        words, after = words[:end], words[end + 1 :]
        self._words = words
        # Misspelt options are reported before missing ones: they are the reason that something is missing.
        for word in self._misspelt(words):
            raise unknown(f"option of {self._verb}", word, self._long_options())
        found, left = super().parse_known_args(words, namespace)
        if left:
            self.error(f"{self._verb} does not take {' '.join(left)}")
        if after:
            setattr(found, self.after_dashes, [*getattr(found, self.after_dashes), *after])
        return found, left

    @property
    def _verb(self) -> str:
        return self.prog.rpartition(" ")[2]

    def _long_options(self) -> list[str]:
        shown = self._option_string_actions.items()
        return [n for n, action in shown if n.startswith("--") and action.help != argparse.SUPPRESS]

    def _misspelt(self, words: Sequence[str]) -> Iterator[str]:
        """Unknown options, up to where those of a verb, or of another program, begin."""
        known = [name for name in self._option_string_actions if name.startswith("--")]
        own = self._words_before_another_program()
        for word in words:
            if word == "--" or own == 0 or (self._subparsers and not word.startswith("-")):
                return
            own -= not word.startswith("-")
            name = word.partition("=")[0]
            # A word with a space is a value; the beginning of an option may stand for it.
            if name.startswith("--") and " " not in name and not any(o.startswith(name) for o in known):
                yield name

    def _words_before_another_program(self) -> int:
        """How many words of its own a verb takes before another program's; -1 if it runs no other program."""
        plain = [action.nargs for action in self._actions if not action.option_strings]
        return plain.index(argparse.REMAINDER) if argparse.REMAINDER in plain else -1

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raises UserError for a value that is not one of an option's choices."""
        if action.choices is not None and value not in action.choices:
            option = action.option_strings[-1:]
            place = "verb" if self._subparsers else f"word after {self._verb}"
            what = f"value of {option[0]}" if option else place
            raise unknown(what, str(value), [str(choice) for choice in action.choices])
