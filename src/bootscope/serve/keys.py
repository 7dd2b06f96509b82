# SPDX-License-Identifier: Apache-2.0
"""Who may see the pages: a token in a header, or a cookie that a browser gets for a one-time code.

A code is part of an address, and addresses end up in histories and logs; so a code works only once, and the
cookie that it gives is another secret. All of them end with the server.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable

_BYTES = 32
_MOST_SESSIONS = 100


class Keys:
    """The token of a server, its code for the next browser, and the cookies that it issued.

    `renewed` is called with each new code: a user must be able to open a second browser.
    """

    def __init__(self, renewed: Callable[[str], None]) -> None:
        self.token = secrets.token_urlsafe(_BYTES)
        self._renewed = renewed
        self._sessions: list[str] = []
        self._code = ""

    def renew(self) -> None:
        """Makes a new code, and passes it to `renewed`."""
        self._code = secrets.token_urlsafe(_BYTES)
        self._renewed(self._code)

    def enter(self, code: str) -> str | None:
        """The value of a new browser's cookie for the code; None for a wrong or used one."""
        if not self._code or not _same(code, self._code):
            return None
        session = secrets.token_urlsafe(_BYTES)
        self._sessions = [*self._sessions, session][-_MOST_SESSIONS:]
        self.renew()
        return session

    def knows(self, session: str) -> bool:
        """Whether a cookie's value was issued by this server."""
        # All are compared, so that the time taken reveals nothing.
        return any([_same(session, known) for known in self._sessions])

    def fits(self, authorization: str) -> bool:
        """Whether an `Authorization` header contains the token: `Bearer TOKEN`."""
        kind, _, value = authorization.partition(" ")
        return kind.lower() == "bearer" and _same(value.strip(), self.token)


def _same(given: str, known: str) -> bool:
    """Compares in a time that does not depend on how much of it is right."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), known.encode())
