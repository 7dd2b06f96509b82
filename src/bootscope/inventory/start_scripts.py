# SPDX-License-Identifier: Apache-2.0
"""Start scripts of BusyBox's kind, /etc/init.d/SNNname: the role of each, found by the programs it runs."""

from __future__ import annotations

import glob
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

_SCRIPT = re.compile(r"/etc/init\.d/S(\d\d)([\w.+-]+)")
ROLES: dict[str, tuple[str, ...]] = {
    "application": (),
    "mount": ("mount",),
    "devices": ("mdev", "udevd", "systemd-udevd"),
    "network": ("ifup", "ip", "ifconfig", "udhcpc", "dhcpcd"),
    "seed": ("seedrng", "urandom"),
    "logging": ("syslogd", "klogd", "rsyslogd"),
    "remote_login": ("telnetd", "dropbear", "sshd"),
    "cron": ("crond", "cron"),
    "sysctl": ("sysctl",),
    "hostname": ("hostname",),
}
"""Roles of start scripts, and the programs that show them. The first match counts: a script that mounts does
not count as one for logging, whatever else it starts."""

_SETUP, _SETUP_LAST, _LATE_LAST = ("mount", "devices"), 5, 6
"""Roles that all others need; by convention they have numbers up to 05, and services up to 69."""
_REMOUNT = re.compile(r"^[ \t]*(?:/bin/)?mount -o remount,rw /[ \t]*\n", re.MULTILINE)
_VARIABLE = re.compile(
    r"(?:^|[;\s])(\w+)=(?:\"([^\"$`\n]*)\"|'([^'\n]*)'|([^\s;&|\"'$`]+))(?=[\s;&]|$)", re.MULTILINE
)
_LOW_PRIORITY = "renice -n 19 -p $$ > /dev/null 2>&1 || true # the CPU is the application's first\n"
_LONGEST_PATH = 400
_SETS = re.compile(r"\b(\w+)\+?=|\b(?:read|for|getopts)\b(?:\s+-\S+)*\s+(\w+)")
"""Matches everything that gives a variable a value."""
_SEED = re.compile(r"(?:\b\w*seed\w*|\bof)=[\"']?(/[\w./-]+)", re.IGNORECASE)


@dataclass(frozen=True)
class StartScripts:
    """The start scripts of a system: `texts` by path, `roles` by path where they are known."""

    texts: Mapping[str, str]
    roles: Mapping[str, str]

    @staticmethod
    def of(scripts: Mapping[str, str], application: str) -> StartScripts:
        """The start scripts among a root file system's scripts; `application` is its application's path."""
        texts = {path: scripts[path] for path in sorted(scripts) if _SCRIPT.fullmatch(path)}
        return StartScripts(texts, {path: _role(text, application) for path, text in texts.items()})

    def path(self, role: str) -> str:
        """The first script with a role; empty where there is none."""
        return next((path for path, told in self.roles.items() if told == role), "")

    def name(self, role: str) -> str:
        """The part of that script's name after its number."""
        return _parts(self.path(role))[1]

    def patterns(self, role: str) -> str:
        """Patterns of the scripts with a role, whatever their numbers are."""
        names = (_parts(path)[1] for path, told in self.roles.items() if told == role)
        return " ".join(dict.fromkeys(f"/etc/init.d/S*{glob.escape(name)}" for name in names))

    @property
    def late_devices(self) -> str:
        """A path for the script that makes device nodes, after the application's; empty where one of the two
        is missing, or they are in this order already."""
        own, devices = self.path("application"), self.path("devices")
        return f"/etc/init.d/S{_parts(own)[0]:02}zz{_parts(devices)[1]}" if "" < devices < own else ""

    @property
    def device_text(self) -> str:
        """The script that makes device nodes, changed to give way to everything else that needs the CPU."""
        first, _, rest = self.texts.get(self.path("devices"), "").partition("\n")
        return f"{first}\n{_LOW_PRIORITY}{rest}" if rest else ""

    @property
    def seed_file(self) -> str:
        """The file that carries randomness to the next boot."""
        found = _SEED.search(self.texts.get(self.path("seed"), ""))
        return found[1] if found else ""

    @property
    def without_remount(self) -> str:
        """The script that mounts, without the line that makes the root writable; empty where it has none."""
        text = self.texts.get(self.path("mount"), "")
        shorter = _REMOUNT.sub("", text)
        return shorter if shorter != text else ""

    @property
    def _last_of_setup(self) -> int:
        return max([_SETUP_LAST, *(_parts(path)[0] for path, role in self.roles.items() if role in _SETUP)])

    @property
    def setup(self) -> str:
        """Patterns of what everything needs: all up to the scripts that mount and make device nodes."""
        tens, ones = divmod(self._last_of_setup, 10)
        return " ".join(
            [f"/etc/init.d/S{t}[0-9]*" for t in range(tens)] + [f"/etc/init.d/S{tens}[0-{ones}]*"]
        )

    @property
    def after_setup(self) -> str:
        """Patterns of all others."""
        tens, ones = divmod(self._last_of_setup, 10)
        rest = [f"/etc/init.d/S{tens}[{ones + 1}-9]*"] if ones < 9 else []
        return " ".join([*rest, *([f"/etc/init.d/S[{tens + 1}-9][0-9]*"] if tens < 9 else [])])

    @property
    def tens(self) -> tuple[str, str, str]:
        """The first digits, as patterns, of scripts before services, of services, and of the application; all
        empty where no number is free between."""
        early = self._last_of_setup // 10
        own = _parts(self.path("application"))[0]
        before = [_parts(path)[0] for path, role in self.roles.items() if role != "application"]
        late = max([_LATE_LAST, *(number // 10 for number in before if number < (own or 100) // 10 * 10)])
        late = min(late, own // 10 - 1 if own else 8)
        if not self.path("application") or not early < late < 9:
            return "", "", ""
        return ("0" if not early else f"[0-{early}]"), f"[{early + 1}-{late}]", f"[{late + 1}-9]"


def _parts(path: str) -> tuple[int, str]:
    """(number, name) of a script; (0, "") for any other file."""
    match = _SCRIPT.fullmatch(path)
    return (int(match[1]), match[2]) if match else (0, "")


def _role(text: str, application: str) -> str:
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    lines = expanded(lines)
    for role, programs in ROLES.items():
        if any(runs(lines, p) for p in (programs or (application,)) if p):
            return role
    return ""


def expanded(text: str) -> str:
    """A script in which variables that hold the same plain text throughout are replaced by it."""
    values: dict[str, list[str]] = {}
    for name, *texts in _VARIABLE.findall(text):
        values.setdefault(name, []).append("".join(texts))
    sets = Counter(name or other for name, other in _SETS.findall(text))
    known = {
        name: told[0] for name, told in values.items() if len(set(told)) == 1 and sets[name] == len(told)
    }

    def value(match: re.Match[str]) -> str:
        return known.get(match[1] or match[2], match[0])

    return re.sub(r"\$(?:(\w+)|\{(\w+)\})", value, text)


def runs(text: str, program: str) -> bool:
    """Whether a script runs a program, directly or as a daemon, or (urandom) reads or writes a device."""
    name = program.rpartition("/")[2]
    if name not in text:
        return False
    path = rf"(?:/[\w./-]{{0,{_LONGEST_PATH}}}/)?{re.escape(name)}"
    starts = r"(?:^|[;&|()`]|\b(?:then|do|else|exec|nice)\s|\s(?:-x|-a|--exec|--startas)\s|DAEMON=|/dev/)"
    return bool(re.search(rf"{starts}[ \t\"']*{path}(?![\w.-])", text, re.MULTILINE))
