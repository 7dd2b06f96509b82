# SPDX-License-Identifier: Apache-2.0
"""Users and groups of a root file system, from its files in sysusers.d (sysusers.d(5))."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from bootscope.core.errors import UserError, printable

_LARGEST_FREE, _LARGEST = 999, 0xFFFFFFFE
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,30}")
_HOME, _SHELL, _ROOT_SHELL = "/", "/usr/sbin/nologin", "/bin/sh"


@dataclass
class _Users:
    """Users and groups found so far, in order."""

    groups: dict[str, int | None] = field(default_factory=dict)
    users: dict[str, tuple[int | None, str | int | None, str, str, str]] = field(default_factory=dict)
    members: dict[str, list[str]] = field(default_factory=dict)


def files(texts: Mapping[str, str]) -> dict[str, str]:
    """The files /etc/passwd, /etc/group and /etc/shadow for the files of sysusers.d, by name.

    Unspecified numbers are assigned from 999 down, in order. Nobody has a password: root needs none, all
    others cannot log in. Raises UserError for an invalid line.
    """
    found = _Users()
    for name in sorted(texts):
        for number, line in enumerate(texts[name].splitlines(), start=1):
            if line.strip() and not line.lstrip().startswith("#"):
                _take(found, line, f"{name}:{number}")
    return _written(found)


def _take(found: _Users, line: str, where: str) -> None:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise _wrong(where, str(error)) from error
    kind, name, ident, gecos, home, shell = [*words, *["-"] * 6][:6]
    kind = kind.rstrip("!")
    if kind == "r":
        return
    if kind not in ("u", "g", "m") or not _NAME.fullmatch(name):
        raise _wrong(where, f"'{printable(line.strip())}' is no user, group or member")
    if kind == "m":
        if not _NAME.fullmatch(ident):
            raise _wrong(where, f"'{printable(ident)}' is no group")
        found.members.setdefault(ident, []).append(name)
        found.groups.setdefault(ident, None)
    elif kind == "g":
        found.groups[name] = found.groups.get(name) or _number(ident, where)
    elif name not in found.users:
        first, _, second = ident.partition(":")
        group = None if not second else int(second) if second.isdecimal() else second
        texts = [text for text in (gecos, home, shell) if ":" in text or not text.isprintable()]
        if texts:
            raise _wrong(where, f"'{printable(texts[0])}' cannot be in a file of users")
        gecos, home, shell = ("" if text == "-" else text for text in (gecos, home, shell))
        found.users[name] = (_number(first, where), group, gecos, home, shell)


def _number(text: str, where: str) -> int | None:
    if text == "-" or text.startswith("/"):
        return None
    if not text.isascii() or not text.isdecimal() or int(text) > _LARGEST:
        raise _wrong(where, f"'{printable(text)}' is no number of a user or group")
    return int(text)


def _wrong(where: str, what: str) -> UserError:
    return UserError(f"sysusers.d/{printable(where)}: {what}")


def _written(found: _Users) -> dict[str, str]:
    groups = dict(found.groups)
    for name, (number, group, *_) in found.users.items():
        if group is None:
            groups.setdefault(name, number)
        elif isinstance(group, str):
            groups.setdefault(group, None)
    used = {n for n in (*groups.values(), *(user[0] for user in found.users.values())) if n is not None}
    free = (number for number in range(_LARGEST_FREE, 0, -1) if number not in used)
    numbers: dict[str, int] = {}
    for name, number in groups.items():
        numbers[name] = _next(free) if number is None else number
    passwd, shadow = [], []
    taken = {user[0] for user in found.users.values()}
    for name, (number, group, gecos, home, shell) in found.users.items():
        own = numbers[name] if group is None else group if isinstance(group, int) else numbers[group]
        # Like systemd-sysusers, a user takes the number of its group where that is free.
        like_group = numbers.get(name)
        if number is not None:
            ident = number
        elif like_group is not None and like_group not in taken:
            ident = like_group
        else:
            ident = _next(free)
        taken.add(ident)
        shell = shell or (_ROOT_SHELL if ident == 0 else _SHELL)
        passwd.append(f"{name}:x:{ident}:{own}:{gecos or name}:{home or _HOME}:{shell}")
        shadow.append(f"{name}:{'' if ident == 0 else '!*'}:20454::::::")
    lines = [f"{name}:x:{number}:{','.join(found.members.get(name, ()))}" for name, number in numbers.items()]
    return {"/etc/passwd": _text(passwd), "/etc/group": _text(lines), "/etc/shadow": _text(shadow)}


def _next(free: Iterator[int]) -> int:
    number = next(free, None)
    if number is None:
        raise UserError("sysusers.d: there are more users and groups than numbers for them")
    return number


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
