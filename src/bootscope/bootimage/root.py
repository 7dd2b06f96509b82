# SPDX-License-Identifier: Apache-2.0
"""Describes a root file system: its system, its init, the kernels that it has modules for.

Sources: the manuals of the init systems; os-release(5).
"""

from __future__ import annotations

import re

from bootscope.arch import in_files
from bootscope.artefacts.tree import FILE, PROGRAM_BYTES, is_root
from bootscope.bootimage.files import Files
from bootscope.bootimage.records import Place, Root

_INITS = ("/sbin/init", "/usr/sbin/init", "/etc/init", "/bin/init", "/init", "/linuxrc")
_BUSYBOX = re.compile(rb"BusyBox (v\d+\.\d+[\w.-]{0,20})")
_SYSTEMD = re.compile(r"libsystemd-(?:core|shared)-(\d[\w.~+-]*)\.so$")
_SYSTEMD_FOLDERS = ("/usr/lib/systemd", "/lib/systemd", "/usr/lib64/systemd", "/usr/lib/*-linux-gnu*/systemd")
_BY_NAME = (
    ("systemd", "systemd"), ("busybox", "BusyBox init"), ("openrc-init", "OpenRC"), ("runit-init", "runit"),
    ("runit", "runit"), ("dinit", "dinit"), ("finit", "Finit"), ("s6-linux-init", "s6"), ("procd", "procd"),
    ("dash", "a shell script"), ("bash", "a shell script"), ("toybox", "Toybox init"),
)  # fmt: skip
_TREES = ("/boot/*.dtb", "/boot/dtb*/*.dtb", "/boot/dtb*/*/*.dtb", "/boot/dtbs/*/*/*.dtb",
          "/usr/lib/linux-image-*/*.dtb", "/usr/lib/linux-image-*/*/*.dtb")  # fmt: skip


def describe(files: Files, place: Place) -> Root | None:
    """The root file system that these files form; None if they do not."""
    if not is_root(files.folder("/")):
        return None
    path, init = init_of(files)
    trees = sum(1 for pattern in _TREES for _ in files.matching(pattern))
    modules = tuple(name for name in files.folder("/lib/modules") if re.match(r"\d", name))
    program = files.read(path, 64) if path else None
    architecture = in_files.of_elf(program or b"") or _architecture(files)
    return Root(place, files.kind, _system(files), init, path, architecture, tuple(sorted(modules)), trees)


def init_of(files: Files, paths: tuple[str, ...] = _INITS) -> tuple[str, str]:
    """(path of the program that the kernel starts, what it is in words); empty texts where there is none."""
    for path in paths:
        entry = files.find(path)
        if entry and entry.kind == FILE:
            return entry.path, _what(files, entry.path)
    return "", ""


def _what(files: Files, path: str) -> str:
    name = path.rpartition("/")[2]
    known = next((what for stem, what in _BY_NAME if name == stem), "")
    if known == "systemd":
        return f"systemd {version}" if (version := _systemd_version(files)) else "systemd"
    if known == "BusyBox init":
        found = _BUSYBOX.search(files.read(path, PROGRAM_BYTES) or b"")
        return f"BusyBox init {found[1].decode('ascii')}" if found else known
    if known:
        return known
    head = files.read(path, 256) or b""
    if head.startswith(b"#!"):
        line = head[2:].split(b"\n")[0].decode("utf-8", "backslashreplace").strip()
        return f"a script for {line[:60]}"
    if files.find("/sbin/procd"):
        return "procd"
    if files.find("/sbin/openrc"):
        return "sysvinit, with OpenRC"
    data = files.read(path, PROGRAM_BYTES) or b""
    if b"INIT: " in data and files.find("/etc/inittab"):
        return "sysvinit"
    return "an init program that is not known"


def _systemd_version(files: Files) -> str:
    for folder in _SYSTEMD_FOLDERS:
        for entry in files.matching(f"{folder}/libsystemd-*.so"):
            if match := _SYSTEMD.search(entry.path):
                return match[1]
    return ""


def _system(files: Files) -> str:
    """The system's name in os-release."""
    text = files.text("/etc/os-release") or files.text("/usr/lib/os-release") or ""
    said = dict(re.findall(r"^([A-Z_]+)=[\"']?([^\"'\n]*)", text, re.MULTILINE))
    return said.get("PRETTY_NAME") or said.get("NAME") or ""


def _architecture(files: Files) -> str:
    """From any program, where init is a script."""
    for path in ("/bin/busybox", "/bin/sh", "/usr/bin/env", "/sbin/ldconfig"):
        if found := in_files.of_elf(files.read(path, 64) or b""):
            return found
    return ""
