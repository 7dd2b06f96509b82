# SPDX-License-Identifier: Apache-2.0
"""What a boot loader's files make it start: kernel, initramfs, device tree and command line.

Sources: U-Boot doc/develop/distro.rst (extlinux.conf, boot.scr), the Boot Loader Specification of the UAPI
group (loader/entries), the manuals of GRUB and of Raspberry Pi's firmware (config.txt, cmdline.txt).
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from bootscope.artefacts.loader import script_of_image
from bootscope.bootimage.files import Files
from bootscope.inventory.loader_script import LoaderScript

EXTLINUX, SPEC, GRUB, SCRIPT, PI, UKI = (
    "extlinux",
    "boot entry",
    "grub.cfg",
    "boot script",
    "config.txt",
    "UKI",
)
_MOST_ENTRIES = 64
_MOST_BYTES = 1 << 20
_FOLDERS = ("/", "/boot/", "/efi/", "/boot/efi/")


@dataclass(frozen=True)
class MenuEntry:
    """What one entry starts. `kind` is the format of the file at `path`; texts are as in the file, empty for
    what it does not say. `chosen`: the file marks it as the default."""

    kind: str
    path: str
    title: str = ""
    kernel: str = ""
    initramfs: tuple[str, ...] = ()
    device_tree: str = ""
    command_line: str = ""
    chosen: bool = False


def entries(files: Files) -> list[MenuEntry]:
    """All entries of a file system; those of one file in its order."""
    found: list[MenuEntry] = []
    for reader, patterns in _READERS:
        for folder in _FOLDERS:
            for pattern in patterns:
                for file in files.matching(folder + pattern):
                    data = file.read(_MOST_BYTES)
                    found += list(reader(file.path, data, files, folder))[: _MOST_ENTRIES - len(found)]
    return found


_Reader = Callable[[str, bytes, Files, str], Iterator[MenuEntry]]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace").replace("\r\n", "\n")


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """(key in lower case, value) of lines; without comments and empty lines."""
    for line in text.splitlines():
        key, _, value = line.strip().replace("\t", " ").partition(" ")
        if key and not key.startswith("#"):
            yield key.lower(), value.strip()


def _first(said: dict[str, str], *keys: str) -> str:
    """The value of the first of these keys that exists."""
    return next((said[key] for key in keys if said.get(key)), "")


def _extlinux(path: str, data: bytes, files: Files, folder: str) -> Iterator[MenuEntry]:
    default, label, rows = "", "", list[tuple[str, dict[str, str]]]()
    for key, value in _pairs(_text(data)):
        if key == "label":
            label = value
            rows.append((label, {}))
        elif key == "default":
            default = value
        elif rows:
            rows[-1][1].setdefault(key, value)
    names = [name for name, _ in rows]
    first = default if default in names else next(iter(names), "")
    for name, said in rows:
        tree = _first(said, "fdt", "devicetree", "fdtdir", "devicetreedir")
        kernel = _first(said, "kernel", "linux", "fit")
        initramfs = tuple(said["initrd"].split(",")) if said.get("initrd") else ()
        words = said.get("append", "")
        title = said.get("menu", name).removeprefix("label ")
        yield MenuEntry(EXTLINUX, path, title, kernel, initramfs, tree, words, name == first)


def _spec(path: str, data: bytes, files: Files, folder: str) -> Iterator[MenuEntry]:
    said: dict[str, list[str]] = {}
    for key, value in _pairs(_text(data)):
        said.setdefault(key, []).append(value)
    one = {key: values[0] for key, values in said.items()}
    default = dict(_pairs(files.text(f"{folder}loader/loader.conf") or "")).get("default", "")[:255]
    name = path.rpartition("/")[2]
    names = (name, name.removesuffix(".conf"))
    chosen = bool(default) and any(fnmatch.fnmatchcase(n, default) for n in names)
    words, tree = " ".join(said.get("options", [])), one.get("devicetree", "")
    kernel, initramfs = _first(one, "linux", "efi", "uki"), tuple(said.get("initrd", ()))
    yield MenuEntry(SPEC, path, one.get("title", name), kernel, initramfs, tree, words, chosen)


_GRUB_ENTRY = re.compile(r"^\s*menuentry\s+(?:'([^']*)'|\"([^\"]*)\")")
_GRUB_LINUX = re.compile(r"^\s*(?:linux|linux16|linuxefi)\s+(\S+)\s*(.*)$")
_GRUB_OTHER = re.compile(r"^\s*(initrd|initrd16|initrdefi|devicetree)\s+(.+)$")


def _grub(path: str, data: bytes, files: Files, folder: str) -> Iterator[MenuEntry]:
    """Each `linux` line; only the boot loader knows the effect of variables and conditions."""
    title, found = "", list[MenuEntry]()
    for line in _text(data).replace("\\\n", " ").splitlines():
        entry, linux, other = _GRUB_ENTRY.match(line), _GRUB_LINUX.match(line), _GRUB_OTHER.match(line)
        if entry:
            title = entry[1] or entry[2] or ""
        elif linux:
            words = " ".join(linux[2].split())
            found.append(MenuEntry(GRUB, path, title, linux[1], command_line=words, chosen=not found))
        elif other and found:
            names = tuple(other[2].split())
            if other[1] == "devicetree":
                found[-1] = replace(found[-1], device_tree=names[0])
            else:
                found[-1] = replace(found[-1], initramfs=names)
    yield from found


def _script(path: str, data: bytes, files: Files, folder: str) -> Iterator[MenuEntry]:
    """A script of U-Boot: what it loads last, and the command line unless variables hide it."""
    text = script_of_image(data)
    if text is None:
        return
    script = LoaderScript({}, text)
    boots = script.called("booti", "bootz", "bootm", "bootefi", "bootelf")
    loads = {f"{words[3]}".lower(): words[4] for words in script.called(*_LOADS) if len(words) > 4}
    words = boots[-1] if boots else []
    kernel, initramfs, tree = (_loaded(loads, words, place) for place in (1, 2, 3))
    yield MenuEntry(
        SCRIPT, path, "", kernel, (initramfs,) if initramfs else (), tree, script.bootargs or "", bool(boots)
    )


_LOADS = ("load", "fatload", "ext2load", "ext4load", "sqfsload", "btrload")


def _loaded(loads: dict[str, str], words: list[str], place: int) -> str:
    """The file that was loaded to the address in a word of the command."""
    address = words[place].partition(":")[0].lower() if len(words) > place else ""
    return loads.get(address, "")


_PI_SETTING = re.compile(r"^[ \t]*+(kernel|initramfs|device_tree|cmdline)[ =][ \t]*+(\S+)", re.MULTILINE)


def _pi(path: str, data: bytes, files: Files, folder: str) -> Iterator[MenuEntry]:
    if files.find(f"{folder}start.elf") is None and files.find(f"{folder}start4.elf") is None:
        return
    said = dict(_PI_SETTING.findall(_text(data)))
    words = " ".join((files.text(folder + said.get("cmdline", "cmdline.txt")) or "").split())
    names = (said.get("kernel", ""), "kernel8.img", "kernel7l.img", "kernel7.img", "kernel.img")
    kernel = next((name for name in names if name and files.find(folder + name)), said.get("kernel", ""))
    initramfs = (said["initramfs"],) if "initramfs" in said else ()
    yield MenuEntry(PI, path, "", kernel, initramfs, said.get("device_tree", ""), words, True)


_READERS: tuple[tuple[_Reader, tuple[str, ...]], ...] = (
    (_extlinux, ("extlinux/extlinux.conf", "extlinux.conf", "syslinux/syslinux.cfg")),
    (_spec, ("loader/entries/*.conf",)),
    (_grub, ("grub/grub.cfg", "grub2/grub.cfg", "EFI/BOOT/grub.cfg", "EFI/debian/grub.cfg")),
    (_script, ("boot.scr", "boot.scr.uimg")),
    (_pi, ("config.txt", "firmware/config.txt")),
)
