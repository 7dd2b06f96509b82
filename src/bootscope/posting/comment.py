# SPDX-License-Identifier: Apache-2.0
"""A single comment of ours on a pull or merge request, which later results replace.

It is found by an invisible mark at its beginning, and only among the comments of the token's own account: a
mark copied by somebody else never leads to their comment.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import msgspec

from bootscope.core.damaged import DAMAGED
from bootscope.core.errors import ToolError, UserError
from bootscope.posting.http import Secret, Server, StatusError, patiently

CREATED, UPDATED, THE_SAME = "created", "updated", "already up to date"
PER_PAGE = 100
_MOST_PAGES = 50
_GONE = 404
_MOST_TEXT = 60_000
"""GitHub takes 65,536 characters."""
_Type = TypeVar("_Type")


@dataclass(frozen=True)
class Written:
    """An existing comment: its number, and its text."""

    number: int
    text: str


class Request(Protocol):
    """A pull request or merge request on a server."""

    @property
    def name(self) -> str:
        """The name of the platform."""

    def own(self) -> Iterator[Written]:
        """The comments written by this token's account, oldest first."""

    def create(self, text: str) -> None:
        """Writes a comment."""

    def change(self, number: int, text: str) -> None:
        """Replaces the text of a comment."""


class Platform:
    """What requests on all platforms share. `replaces` is the method that changes a comment, `found_at` the
    beginning of the project's addresses."""

    name: ClassVar[str]
    replaces: ClassVar[str]
    found_at: ClassVar[str]

    def __init__(self, address: str, headers: Mapping[str, str], token: Secret) -> None:
        self._server, self._token = Server(self.name, address, headers, token), token

    @property
    def comments(self) -> str:
        """The path of the request's comments."""
        raise NotImplementedError

    def create(self, text: str) -> None:
        """Writes a comment."""
        self.call("POST", self.comments, msgspec.json.encode({"body": text}))

    def call(self, method: str, path: str, data: bytes | None = None) -> bytes:
        """Calls the API. Raises UserError for what the user can fix, otherwise as :meth:`Server.call`."""
        try:
            return self._server.call(method, path, data)
        except StatusError as error:
            # A missing comment was deleted; anything else that is missing was named wrongly.
            missing = error.status == _GONE and path.startswith(self.found_at) and method != self.replaces
            told = self.refused(error.status, f": {error.said}" if error.said else "", missing=missing)
            if told is None:
                raise
            raise told from error

    def refused(self, status: int, said: str, *, missing: bool) -> UserError | None:
        """The error for a token that is invalid or lacks permission, or for a request that is `missing`."""
        raise NotImplementedError


def keep(request: Request, name: str, text: str) -> str:
    """Makes `text` the comment called `name`; returns CREATED, UPDATED or THE_SAME.

    Raises UserError for a token, a project or a request that the server refuses, BusyError if the server
    cannot be reached or is busy in three attempts.
    """
    mark = _mark(name)
    whole = f"{mark}\n{_cut(text)}"

    def once() -> str:
        # Searched at each attempt: one that seemed to fail may have succeeded.
        found = next((comment for comment in request.own() if comment.text.startswith(mark)), None)
        if found is None:
            request.create(whole)
            return CREATED
        if _lines(found.text) == _lines(whole):
            return THE_SAME
        try:
            request.change(found.number, whole)
        except StatusError as error:
            if error.status != _GONE:
                raise
            request.create(whole)
            return CREATED
        return UPDATED

    return patiently(once)


def _mark(name: str) -> str:
    return f"<!-- bootscope-check {hashlib.sha256(name.encode()).hexdigest()[:16]} -->"


def _cut(text: str) -> str:
    if len(text) <= _MOST_TEXT:
        return text
    return f"{text[: text.rindex(chr(10), 0, _MOST_TEXT)]}\n\n(cut off: the comment is too long)\n"


def _lines(text: str) -> list[str]:
    """The lines without the changes that servers make at their ends."""
    return text.strip().splitlines()


def decoded(data: bytes, kind: type[_Type], server: str) -> _Type:
    """A server's answer, decoded. Raises ToolError if it has another form."""
    try:
        return msgspec.json.decode(data, type=kind)
    except DAMAGED as error:
        words = f"{server} answered with something else than its API says: {error}"
        raise ToolError(words, hint="is the address that of the API?") from error


def pages(ask: Any) -> Iterator[Any]:
    """All items of the lists that `ask(page)` returns, PER_PAGE at a time."""
    for page in range(1, _MOST_PAGES + 1):
        found = ask(page)
        yield from found
        if len(found) < PER_PAGE:
            return


def number_of(text: str, what: str) -> int:
    """The number of a request. Raises UserError for anything else."""
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
        raise UserError(f"{what} is not the number of a request", hint="--comment-on N")
    return int(text)


def file_in(environ: Mapping[str, str], name: str) -> bytes:
    """The content of the file named by a variable; empty if there is none."""
    path = Path(environ.get(name) or os.devnull)
    try:
        return path.read_bytes()
    except OSError:
        return b""
