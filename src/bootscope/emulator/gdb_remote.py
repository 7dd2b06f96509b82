# SPDX-License-Identifier: Apache-2.0
"""A client of QEMU's gdbstub: registers and memory of a stopped machine.

The protocol is GDB's (its manual, "Remote Serial Protocol"): packets `$DATA#SUM`, each acknowledged by `+`.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bootscope.core.errors import ToolError

_PATIENCE_S = 60
_ESCAPE, _REPEAT = ord("}"), ord("*")
_PART_BYTES = 1024
"""How much is requested at once: no stub has a smaller limit for packets."""
_WIDEST_BITS = 64
_INCLUDED = re.compile(r'<xi:include\s+href="([^"]+)"')
_REGISTER, _ATTRIBUTE = re.compile(r"<reg\s([^>]*)>"), re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Register:
    """A register of the core: its number in the protocol, and its size in bits."""

    name: str
    number: int
    bits: int


class Remote:
    """A connection to a gdbstub that listens on the Unix socket `path`.

    The machine must be stopped already. Raises ToolError for an invalid answer.
    """

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(_PATIENCE_S)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise ToolError(f"QEMU's gdbstub does not answer: {error.strerror}") from error
        self._stream = self._socket.makefile("rb")

    def __enter__(self) -> Remote:
        try:
            self.ask("qSupported")
        except ToolError:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        # No detach: a machine would resume after it.
        self._stream.close()
        self._socket.close()

    def ask(self, request: str) -> str:
        """The answer to a request, as text."""
        data = request.encode()
        try:
            self._socket.sendall(b"$%s#%02x" % (data, sum(data) & 255))
            return self._answer()
        except (OSError, ValueError) as error:
            raise ToolError(f"QEMU's gdbstub did not answer '{request[:40]}': {error}") from error

    def _answer(self) -> str:
        while (byte := self._stream.read(1)) != b"$":
            if not byte:
                raise ValueError("it closed the connection")
        data = bytearray()
        while (byte := self._stream.read(1)) != b"#":
            if not byte:
                raise ValueError("it closed the connection")
            data += byte
        if int(self._stream.read(2), 16) != sum(data) & 255:
            raise ValueError("the checksum is wrong")
        self._socket.sendall(b"+")
        return plain(bytes(data)).decode("latin-1")

    def cpus(self) -> list[str]:
        """The names of the CPUs, which GDB treats as threads."""
        found, said = list[str](), self.ask("qfThreadInfo")
        while said.startswith("m"):
            found += said[1:].split(",")
            said = self.ask("qsThreadInfo")
        return found

    def choose(self, cpu: str) -> None:
        """Selects the CPU that further requests refer to."""
        self.ask(f"Hg{cpu}")

    def registers(self) -> list[Register]:
        """The registers of a CPU's core, as the target describes them."""
        return core_registers(self._file("target.xml"), self._file)

    def value(self, register: Register) -> int:
        """The value of a register. Raises ToolError for one that cannot be read."""
        said = self.ask(f"p{register.number:x}")
        if not re.fullmatch(r"(?:[0-9a-f]{2})+", said):
            raise ToolError(f"QEMU's gdbstub does not report register {register.name}: '{said[:40]}'")
        return int.from_bytes(bytes.fromhex(said), "little")

    def memory(self, address: int, count: int) -> bytes | None:
        """`count` bytes of memory as the chosen CPU sees it; None where nothing is mapped for it."""
        data = b""
        while len(data) < count:
            wanted = min(_PART_BYTES // 2, count - len(data))
            said = self.ask(f"m{address + len(data):x},{wanted:x}")
            if not re.fullmatch(r"(?:[0-9a-f]{2})+", said):
                return None
            data += bytes.fromhex(said)
        return data[:count]

    def _file(self, name: str) -> str:
        """A file of the target's description."""
        text = ""
        while True:
            said = self.ask(f"qXfer:features:read:{name}:{len(text):x},{_PART_BYTES:x}")
            if said[:1] not in ("m", "l"):
                raise ToolError(f"QEMU's gdbstub does not describe the target: '{said[:40]}'")
            text += said[1:]
            if said[0] == "l":
                return text


def plain(data: bytes) -> bytes:
    """A packet without its escapes, and with its run lengths expanded."""
    found, at = bytearray(), 0
    while at < len(data):
        if data[at] == _ESCAPE and at + 1 < len(data):
            found.append(data[at + 1] ^ 0x20)
            at += 2
        elif data[at] == _REPEAT and found and at + 1 < len(data):
            found += found[-1:] * (data[at + 1] - 29)
            at += 2
        else:
            found.append(data[at])
            at += 1
    return bytes(found)


def core_registers(target: str, load: Callable[[str], str]) -> list[Register]:
    """The registers of the first feature of a target's description, which is the core; `load` returns the
    files that it includes. Raises ToolError for an invalid description.

    QEMU's is not well-formed XML: it does not declare its prefix for includes.
    """
    included = _INCLUDED.search(target)
    feature = load(included[1]) if included else target
    feature = feature[: feature.find("</feature>")]
    number, found = 0, list[Register]()
    for reg in _REGISTER.finditer(feature):
        said = dict(_ATTRIBUTE.findall(reg[1]))
        number = int(said.get("regnum", number))
        bits, name = int(said.get("bitsize", 0)), said.get("name", "")
        if 0 < bits <= _WIDEST_BITS and name and said.get("group", "general") == "general":
            found.append(Register(name, number, bits))
        number += 1
    if not found:
        raise ToolError("QEMU's gdbstub describes no registers")
    return found
