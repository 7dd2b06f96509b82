# SPDX-License-Identifier: Apache-2.0
"""Telnet's own bytes (RFC 854, and RFC 2217 inside of them) taken out of what a serial server sends."""

from __future__ import annotations

_IAC, _SB, _SE = 255, 250, 240
_OPTIONS = range(251, 255)
"""WILL, WON'T, DO, DON'T: one more byte follows."""


class Telnet:
    """Takes a conversation apart, however it is cut into pieces."""

    def __init__(self) -> None:
        self._state = self._text
        self._out = bytearray()
        self._after_return = False

    def plain(self, data: bytes) -> bytes:
        """What is left of `data` without commands; a carriage return's NUL is taken out, too."""
        self._out = bytearray()
        for byte in data:
            self._state(byte)
        return bytes(self._out)

    def _text(self, byte: int) -> None:
        if byte == _IAC:
            self._state = self._command
        elif not (byte == 0 and self._after_return):
            self._out.append(byte)
        self._after_return = byte == 13

    def _command(self, byte: int) -> None:
        if byte == _IAC:
            self._out.append(byte)
            self._state = self._text
        elif byte == _SB:
            self._state = self._inside
        else:
            self._state = self._option if byte in _OPTIONS else self._text

    def _option(self, byte: int) -> None:
        self._state = self._text

    def _inside(self, byte: int) -> None:
        if byte == _IAC:
            self._state = self._inside_command

    def _inside_command(self, byte: int) -> None:
        # A doubled byte is data of the option, and its end is the end of all that.
        self._state = self._text if byte == _SE else self._inside
