# SPDX-License-Identifier: Apache-2.0
"""Unit files of systemd as text: their settings, which file a name refers to, and which an image has.

Files are a mapping from the path in the image to the text, or to `-> TARGET` for a link. Units that
generators write at boot are not included.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

ENABLED = "/etc/systemd/system"
FOLDERS = (ENABLED, "/usr/local/lib/systemd/system", "/usr/lib/systemd/system")
"""Folders of unit files; the first one that has a name counts."""
LINK = "-> "
"""What the text of a link starts with."""
KINDS = (
    "service",
    "socket",
    "device",
    "mount",
    "automount",
    "swap",
    "target",
    "path",
    "timer",
    "slice",
    "scope",
)
_NAME = re.compile(r"[A-Za-z0-9:_.\\@%-]{1,255}\.(?:" + "|".join(KINDS) + ")")
_MASK = "/dev/null"
_LONGEST_CHAIN = 8

Settings = Mapping[tuple[str, str], tuple[str, ...]]
"""(section, key) -> the values in order; an empty assignment discards the earlier ones."""


@dataclass(frozen=True)
class UnitFile:
    """A unit as its files describe it; `dropped_in`: what folders beside it add, as (key, unit)."""

    name: str
    path: str
    settings: Settings
    masked: bool = False
    dropped_in: tuple[tuple[str, str], ...] = ()

    def words(self, section: str, *keys: str) -> list[str]:
        """All words of these keys, in order."""
        return [
            word for key in keys for value in self.settings.get((section, key), ()) for word in value.split()
        ]

    def last(self, section: str, key: str, default: str = "") -> str:
        """The last value, for a key that can only have one."""
        return (self.settings.get((section, key)) or (default,))[-1]


def is_unit(name: str) -> bool:
    """Whether a text is the name of a unit."""
    return _NAME.fullmatch(name) is not None


def settings(*texts: str) -> Settings:
    """The settings in a unit file and its drop-ins, which follow it."""
    found: dict[tuple[str, str], list[str]] = {}
    for section, key, value in (each for text in texts for each in _lines(text)):
        values = found.setdefault((section, key), [])
        if value:
            values.append(value)
        else:
            values.clear()
    return {key: tuple(values) for key, values in found.items()}


def _lines(text: str) -> Iterator[tuple[str, str, str]]:
    section, kept = "", ""
    for raw in text.split("\n"):
        line = raw.strip()
        if line.startswith(("#", ";")):
            continue  # also inside a continued line
        kept += line
        if kept.endswith("\\"):
            kept = kept[:-1] + " "
            continue
        line, kept = kept, ""
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif "=" in line:
            key, _, value = line.partition("=")
            yield section, key.strip(), value.strip()


@dataclass(frozen=True)
class UnitFiles:
    """The unit files of an image."""

    files: Mapping[str, str]
    _found: dict[str, UnitFile | None] = field(default_factory=dict)

    def names(self) -> list[str]:
        """The names of all units and templates that have a file, links included."""
        places = (PurePosixPath(path) for path in self.files)
        return sorted({path.name for path in places if str(path.parent) in FOLDERS and is_unit(path.name)})

    def unit(self, name: str) -> UnitFile | None:
        """The unit of that name, or the one that this is an alias of; None where there is no file."""
        if name not in self._found:
            self._found[name] = self._read(name)
        return self._found[name]

    def real_name(self, name: str) -> str:
        """The unit that a name refers to: that of the file that a link points to."""
        for _ in range(_LONGEST_CHAIN):
            path = self._path(name)
            target = self.files.get(path, "")
            other = PurePosixPath(target.removeprefix(LINK)).name
            if not target.startswith(LINK) or target == LINK + _MASK or other == name or not is_unit(other):
                return name
            if other == template_of(name):
                return name  # an instance
            name = instance_name(other, instance_of(name)) if template_of(name) else other
        return name

    def _path(self, name: str) -> str:
        """The file for a name, its own or its template's; empty where there is none."""
        for known in (name, template_of(name)):
            for folder in FOLDERS if known else ():
                if f"{folder}/{known}" in self.files:
                    return f"{folder}/{known}"
        return ""

    def _read(self, name: str) -> UnitFile | None:
        name = self.real_name(name)
        path = self._path(name)
        if not path:
            return None
        text = self.files[path]
        masked = text == LINK + _MASK or not text.strip()
        if text.startswith(LINK) and not masked:
            text = self._linked(path, text)
        texts = (text, *(self.files[each] for each in self._dropped_in(name)))
        return UnitFile(name, path, settings(*texts), masked, tuple(self._folders(name)))

    def _linked(self, path: str, text: str) -> str:
        for _ in range(_LONGEST_CHAIN):
            target = PurePosixPath(path).parent / text.removeprefix(LINK)
            path = str(target)
            text = self.files.get(path, "")
            if not text.startswith(LINK):
                return text
        return ""

    def _beside(self, name: str, ending: str) -> Iterator[PurePosixPath]:
        """What the folders NAME.ending contain, by name; the first folder that has a name counts."""
        found: dict[str, PurePosixPath] = {}
        for known in (name, template_of(name)):
            for folder in FOLDERS if known else ():
                prefix = f"{folder}/{known}.{ending}/"
                for path in self._under.get(prefix, ()):
                    found.setdefault(PurePosixPath(path).name, PurePosixPath(path))
        return (found[key] for key in sorted(found))

    @property
    def _under(self) -> Mapping[str, list[str]]:
        if "" not in self._folders_cache:
            for path in self.files:
                self._folders_cache.setdefault(path[: path.rfind("/") + 1], []).append(path)
            self._folders_cache[""] = []
        return self._folders_cache

    _folders_cache: dict[str, list[str]] = field(default_factory=dict)

    def _dropped_in(self, name: str) -> Iterator[str]:
        return (str(path) for path in self._beside(name, "d") if path.suffix == ".conf")

    def _folders(self, name: str) -> Iterator[tuple[str, str]]:
        for ending, key in (("requires", "Requires"), ("wants", "Wants"), ("upholds", "Upholds")):
            yield from ((key, path.name) for path in self._beside(name, ending) if is_unit(path.name))


def template_of(name: str) -> str:
    """`getty@.service` for `getty@tty1.service`; empty where the name is not an instance."""
    stem, _, kind = name.rpartition(".")
    before, at, instance = stem.partition("@")
    return f"{before}@.{kind}" if at and instance else ""


def instance_of(name: str) -> str:
    """`tty1` for `getty@tty1.service`; empty where the name is not an instance."""
    return name.rpartition(".")[0].partition("@")[2]


def instance_name(template: str, instance: str) -> str:
    """The name of an instance of a template; any other name is returned as it is."""
    stem, _, kind = template.rpartition(".")
    return f"{stem}{instance}.{kind}" if stem.endswith("@") else template


def filled_in(words: Iterable[str], name: str) -> list[str]:
    """Words of a unit with the specifiers that depend on its name filled in: %i, %I, %j, %n, %N, %p."""
    stem = name.rpartition(".")[0]
    prefix, _, instance = stem.partition("@")
    known = {"i": instance, "I": unescaped(instance), "j": prefix.rpartition("-")[2], "n": name, "N": stem}
    known |= {"p": prefix, "%": "%"}
    return [re.sub(r"%([iIjnNp%])", lambda found: known[found[1]], word) for word in words]


def unescaped(text: str) -> str:
    """A path or text as it was before it became part of a name: `/` for `-`, `-` for `\\x2d`."""
    parts = re.split(r"(\\x[0-9a-f]{2})", text)
    return "".join(
        chr(int(part[2:], 16)) if part.startswith("\\x") else part.replace("-", "/") for part in parts
    )


def mount_name(path: str) -> str:
    """The mount unit of a path: `-.mount` for `/`, `var-log.mount` for `/var/log`."""
    parts = [part for part in path.split("/") if part]
    return f"{escaped('/'.join(parts)) or '-'}.mount"


def escaped(text: str) -> str:
    """A path, escaped as part of a unit's name."""
    found = []
    for at, character in enumerate(text):
        if character == "/":
            found.append("-")
        elif (character.isascii() and (character.isalnum() or character in ":_.")) and (
            at or character != "."
        ):
            found.append(character)
        else:
            found += [f"\\x{byte:02x}" for byte in character.encode("utf-8", "replace")]
    return "".join(found)
