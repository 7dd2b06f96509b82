# SPDX-License-Identifier: Apache-2.0
"""Comments on pull requests of GitHub (https://docs.github.com/rest/issues/comments): each is an issue."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

import msgspec

from bootscope.core.damaged import DAMAGED
from bootscope.core.errors import UserError
from bootscope.posting.comment import PER_PAGE, Platform, Written, decoded, file_in, number_of, pages
from bootscope.posting.http import Secret, StatusError, checked_address, secret_of

API = "https://api.github.com"
_VERSION = "2022-11-28"
_PERMISSION = "in the workflow: permissions: pull-requests: write"
_FORK = f"{_PERMISSION}; the token of a pull request from a fork may only read"


class _User(msgspec.Struct):
    login: str = ""
    type: str = ""


class _Comment(msgspec.Struct):
    id: int
    body: str | None = None
    user: _User | None = None


class _Numbered(msgspec.Struct):
    number: int


class _Event(msgspec.Struct):
    pull_request: _Numbered | None = None


class PullRequest(Platform):
    """A pull request: `repository` is `OWNER/NAME`."""

    name, replaces, found_at = "GitHub", "PATCH", "/repos"

    def __init__(self, address: str, repository: str, number: int, token: Secret) -> None:
        headers = {
            "Authorization": f"Bearer {token.text}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": _VERSION,
        }
        super().__init__(address, headers, token)
        self._repository, self._number = repository, number

    @cached_property
    def _login(self) -> str:
        """The login of the token's user; empty for an app such as GitHub Actions, which may not ask."""
        try:
            return decoded(self.call("GET", "/user"), _User, self.name).login
        except UserError as error:
            if isinstance(error.__cause__, StatusError) and error.__cause__.status == 403:
                return ""
            raise

    def own(self) -> Iterator[Written]:
        login = self._login
        for comment in pages(self._page):
            who = comment.user or _User()
            if who.login == login if login else who.type == "Bot":
                yield Written(comment.id, comment.body or "")

    def _page(self, page: int) -> list[_Comment]:
        path = f"{self.comments}?per_page={PER_PAGE}&page={page}"
        return decoded(self.call("GET", path), list[_Comment], self.name)

    def change(self, number: int, text: str) -> None:
        path = f"/repos/{self._repository}/issues/comments/{number}"
        self.call(self.replaces, path, msgspec.json.encode({"body": text}))

    @property
    def comments(self) -> str:
        return f"/repos/{self._repository}/issues/{self._number}/comments"

    def refused(self, status: int, said: str, *, missing: bool) -> UserError | None:
        token = self._token.name
        if status == 401:
            return UserError(f"GitHub does not accept {token} (401{said})", hint="has the token expired?")
        if status == 403:
            words = f"{token} may not comment on {self._repository} (403{said})"
            return UserError(words, hint=_FORK)
        if missing:
            words = f"{self._repository} has no pull request {self._number} that {token} may see (404)"
            return UserError(words, hint=f"GITHUB_REPOSITORY and --comment-on name it; {_PERMISSION}")
        return None


def pull_request(environ: Mapping[str, str], number: int | None) -> PullRequest | None:
    """The pull request of a GitHub Actions job, by its environment, or the one with that `number`.

    None if the job has none. Raises UserError if the environment lacks something.
    """
    repository = environ.get("GITHUB_REPOSITORY", "")
    if not re.fullmatch(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+", repository):
        raise UserError(
            "GITHUB_REPOSITORY does not name a repository",
            hint="GITHUB_REPOSITORY=OWNER/NAME outside of Actions",
        )
    number = number or _number(environ)
    if number is None:
        return None
    token = secret_of(environ, "GITHUB_TOKEN", "GH_TOKEN", hint="env: GITHUB_TOKEN: ${{ github.token }}")
    api = environ.get("GITHUB_API_URL") or API
    return PullRequest(checked_address(api, "GITHUB_API_URL", secret=True), repository, number, token)


def _number(environ: Mapping[str, str]) -> int | None:
    """The number of the job's pull request: from the event, otherwise from the ref that was checked out."""
    try:
        event = msgspec.json.decode(file_in(environ, "GITHUB_EVENT_PATH") or b"{}", type=_Event)
    except DAMAGED:
        event = _Event()
    if event.pull_request:
        return event.pull_request.number
    match = re.fullmatch(r"refs/pull/([0-9]+)/(merge|head)", environ.get("GITHUB_REF", ""))
    return number_of(match[1], "GITHUB_REF") if match else None
