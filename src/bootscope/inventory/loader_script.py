# SPDX-License-Identifier: Apache-2.0
"""A boot loader's commands, as far as they can be followed without running them: `run`, variables."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from bootscope.loaders.registry import BUILT

_COMMANDS = BUILT.settings.commands_variable
_VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)")
_TOKEN = re.compile(
    r"'[^']*'|\"[^\"]*\"|\\\n|\\.|[;\n]|&&|\|\||#[^\n]*|[ \t\r]+|[^\s;'\"\\&|#]+|.", re.DOTALL
)
_KEYWORDS = ("if", "then", "else", "elif", "do", "while", "until", "!")
_LOADS = ("load", "fatload", "ext2load", "ext4load", "fsload", "sqfsload", "btrload")
_NETWORK = ("tftpboot", "tftp", "dhcp", "bootp", "nfs", "pxe", "wget", "rarpboot")
_LONGEST_TEXT = 256 * 1024
_DEEPEST, _MOST_COMMANDS = 20, 5000


@dataclass(frozen=True, slots=True)
class Load:
    """A command that reads a file: `address` None where unknown, `file` empty where it names none, `device`
    the interface and the partition, such as `mmc 0:1`."""

    command: str
    address: int | None
    file: str
    device: str = ""


@dataclass(frozen=True)
class LoaderScript:
    """The commands run at boot: those of the script `text`, or else of a variable of `environment`."""

    environment: Mapping[str, str]
    text: str = ""

    @cached_property
    def commands(self) -> list[list[str]]:
        """Simple commands as words, with known variables filled in and `run` followed.

        Both branches of a condition are included: only the boot loader knows which one it takes.
        """
        start = self.text or self.environment.get(_COMMANDS, "")
        found: list[list[str]] = []
        for words in self._follow(start, dict(self.environment), 0):
            found.append(words)
            if len(found) >= _MOST_COMMANDS:
                break
        return found

    def _follow(self, text: str, variables: dict[str, str], depth: int) -> Iterator[list[str]]:
        for simple in _simple(text):
            words = [_filled(word, variables) for word in simple]
            yield words
            if words[0] == "setenv" and len(words) > 1:
                variables[words[1]] = " ".join(words[2:])
            if words[0] == "run" and depth < _DEEPEST:
                for name in words[1:]:
                    yield from self._follow(variables.get(name, ""), variables, depth + 1)

    def called(self, *names: str) -> list[list[str]]:
        """The commands with these names, in order."""
        return [words for words in self.commands if words[0] in names]

    @property
    def loads(self) -> list[Load]:
        """Files read from a file system."""
        found = []
        for words in self.called(*_LOADS):
            address = hexadecimal(words[3]) if len(words) > 3 else None
            found.append(Load(words[0], address, words[4] if len(words) > 4 else "", " ".join(words[1:3])))
        return found

    @property
    def network(self) -> list[str]:
        """Commands that load over a network."""
        return sorted({words[0] for words in self.called(*_NETWORK)})

    def value(self, name: str) -> str | None:
        """The last value that a variable is set to; None where that is unknown."""
        told = [words for words in self.called("setenv", "env") if name in words[1:3]]
        if told:
            return " ".join(told[-1][told[-1].index(name) + 1 :])
        return self.environment.get(name)

    @property
    def bootargs(self) -> str | None:
        """The command line given to the kernel; None where that is unknown."""
        return self.value("bootargs")

    def deepest(self) -> list[str]:
        """The names of scripts that run each other, from the top, along the deepest chain."""
        known: dict[str, list[str]] = {}
        return self._deepest(self.environment.get(_COMMANDS, self.text), known, 0)

    def _deepest(self, text: str, known: dict[str, list[str]], depth: int) -> list[str]:
        best: list[str] = []
        names = [name for simple in _simple(text) if simple[0] == "run" for name in simple[1:]]
        for inner in (n for name in dict.fromkeys(names) for n in self._named(name)):
            if inner not in known and depth < _DEEPEST:
                known[inner] = []  # a script that runs itself goes no deeper
                known[inner] = [inner, *self._deepest(self.environment[inner], known, depth + 1)]
            best = max(best, known.get(inner, []), key=len)
        return best

    def _named(self, name: str) -> list[str]:
        """The variables that a name with a variable in it may refer to (`boot_${target}`)."""
        if name in self.environment:
            return [name]
        if "$" not in name:
            return []
        pattern = re.compile(r"\w*".join(re.escape(part) for part in _VARIABLE.sub("\0", name).split("\0")))
        return [known for known in self.environment if pattern.fullmatch(known)][:50]


def _simple(text: str) -> Iterator[list[str]]:
    """The simple commands of a script, as words; quoted text stays in one word."""
    words: list[str] = []
    word: str | None = None
    for token in _TOKEN.findall(text[:_LONGEST_TEXT]):
        if token in (";", "\n", "&&", "||"):
            yield from _command([*words, *([word] if word is not None else [])])
            words, word = [], None
        elif token == "\\\n" or token.isspace() or (token.startswith("#") and word is None):
            words += [word] if word is not None else []
            word = None
        else:
            quoted = len(token) > 1 and token[0] in "'\""
            word = (word or "") + (token[1:-1] if quoted else token)
    yield from _command([*words, *([word] if word is not None else [])])


def _command(words: list[str]) -> Iterator[list[str]]:
    """The command in these words, without a condition's words in front of it."""
    found = list(itertools.dropwhile(_KEYWORDS.__contains__, words))
    if found and found[0]:
        yield found


def _filled(word: str, variables: Mapping[str, str]) -> str:
    """A word with known variables filled in; the others stay as written."""

    def value(match: re.Match[str]) -> str:
        return variables.get(match[1] or match[2], match[0])[:4096]

    for _ in range(5):
        filled = _VARIABLE.sub(value, word, count=100)[:65536]
        if filled == word:
            break
        word = filled
    return word


def hexadecimal(word: str) -> int | None:
    """A number as the boot loader reads it: hexadecimal, with or without 0x."""
    word = word.partition(":")[0]
    return int(word, 16) if re.fullmatch(r"(?:0[xX])?[0-9a-fA-F]{1,16}", word) else None
