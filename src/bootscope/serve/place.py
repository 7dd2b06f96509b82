# SPDX-License-Identifier: Apache-2.0
"""Where the server listens, and which names it has there."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

from bootscope.core.errors import ToolError, UserError, printable

LOOPBACK = "127.0.0.1"
PORT = 8734
_LOCAL_NAMES = frozenset({"localhost"})


@dataclass(frozen=True)
class Place:
    """An open socket; `host` as the user gave it. `local`: only this computer can reach it."""

    socket: socket.socket
    host: str
    local: bool

    @property
    def address(self) -> str:
        """The beginning of its addresses in a browser."""
        port, host = self.socket.getsockname()[1], self.host
        if not self.local and _is_any(host):
            host = socket.gethostname().lower()
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    @property
    def names(self) -> frozenset[str]:
        """The host names that requests to it may have; IP addresses are not among them."""
        if self.local:
            return _LOCAL_NAMES | {self.host.lower()}
        own = socket.gethostname().lower() if _is_any(self.host) else self.host.lower()
        return _LOCAL_NAMES | {own}


def open_place(host: str, port: int) -> Place:
    """Listens at a host's name or address; port 0 means any free one.

    Raises UserError if this computer has no such host or the port is invalid, ToolError if it is in use.
    """
    if not 0 <= port <= 65535:
        raise UserError(f"{port} is not a port", hint="a number up to 65535")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise UserError(f"'{printable(host)}' is not a host that is known here") from error
    opened = socket.socket(family, kind, protocol)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen()
    except OSError as error:
        opened.close()
        raise ToolError(
            f"cannot listen at {printable(host)}, port {port}: {error.strerror}",
            hint="--port 0 takes a free one; --host names an address of this computer",
        ) from error
    return Place(opened, host, ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback)


def _is_any(host: str) -> bool:
    """Whether a host stands for all addresses of this computer."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return not host
