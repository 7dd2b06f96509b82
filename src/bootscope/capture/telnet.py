# SPDX-License-Identifier: Apache-2.0
"""Telnet's own bytes (RFC 854, and RFC 2217 inside of them) taken out of what a serial server sends."""

from __future__ import annotations

from collections.abc import Generator

_IAC, _SB, _SE = 255, 250, 240
_OPTIONS = range(251, 255)
"""WILL, WON'T, DO, DON'T: one more byte follows."""


class Telnet:
    """Parses a conversation, however it is cut into pieces."""

    def __init__(self) -> None:
        self._out = bytearray()
        self._bytes = self._conversation()
        next(self._bytes)

    def plain(self, data: bytes) -> bytes:
        """`data` without commands, and without the NUL after a carriage return."""
        self._out = bytearray()
        for byte in data:
            self._bytes.send(byte)
        return bytes(self._out)

    def _conversation(self) -> Generator[None, int, None]:
        after_return = False
        while True:
            byte = yield
            if byte != _IAC:
                if byte or not after_return:
                    self._out.append(byte)
                after_return = byte == 13
                continue
            command = yield
            if command == _IAC:
                self._out.append(_IAC)
            elif command in _OPTIONS:
                yield
            elif command == _SB:
                # A doubled byte is data of the option; the option ends only at its end mark.
                while (yield) != _IAC or (yield) != _SE:
                    pass
