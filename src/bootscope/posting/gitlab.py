# SPDX-License-Identifier: Apache-2.0
"""Notes on merge requests of GitLab (https://docs.gitlab.com/api/notes/)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from urllib.parse import quote

import msgspec

from bootscope.core.errors import BootscopeError, UserError
from bootscope.posting.comment import PER_PAGE, Written, decoded, number_of, pages
from bootscope.posting.http import Secret, Server, StatusError, checked_address, secret_of

API = "https://gitlab.com/api/v4"
_TOKEN = "a project access token with the scope api, as a masked CI/CD variable GITLAB_TOKEN"


class _Account(msgspec.Struct):
    id: int


class _Note(msgspec.Struct):
    id: int
    body: str = ""
    author: _Account | None = None
    system: bool = False


class MergeRequest:
    """A merge request: `project` is the number or the path of the project that it is to be merged into."""

    name = "GitLab"

    def __init__(self, address: str, project: str, number: int, token: Secret) -> None:
        headers = {"PRIVATE-TOKEN": token.text, "Content-Type": "application/json"}
        self._server = Server(self.name, address, headers, token)
        self._project, self._number, self._token = project, number, token

    @cached_property
    def _account(self) -> int:
        return decoded(self._call("GET", "/user"), _Account, self.name).id

    def own(self) -> Iterator[Written]:
        account = self._account
        for note in pages(self._page):
            if not note.system and note.author and note.author.id == account:
                yield Written(note.id, note.body)

    def _page(self, page: int) -> list[_Note]:
        path = f"{self._notes}?sort=asc&order_by=created_at&per_page={PER_PAGE}&page={page}"
        return decoded(self._call("GET", path), list[_Note], self.name)

    def create(self, text: str) -> None:
        self._call("POST", self._notes, msgspec.json.encode({"body": text}))

    def change(self, number: int, text: str) -> None:
        self._call("PUT", f"{self._notes}/{number}", msgspec.json.encode({"body": text}))

    @property
    def _notes(self) -> str:
        return f"/projects/{quote(self._project, safe='')}/merge_requests/{self._number}/notes"

    def _call(self, method: str, path: str, data: bytes | None = None) -> bytes:
        try:
            return self._server.call(method, path, data)
        except StatusError as error:
            told = self._refused(error, asked=path.startswith("/projects") and method != "PUT")
            if told is None:
                raise
            raise told from error

    def _refused(self, error: StatusError, *, asked: bool) -> BootscopeError | None:
        token, said = self._token.name, f": {error.said}" if error.said else ""
        if error.status == 401:
            hint = f"has it expired? It has to be {_TOKEN}; CI_JOB_TOKEN may not write notes"
            return UserError(f"GitLab does not accept {token} (401{said})", hint=hint)
        if error.status == 403:
            words = f"{token} may not comment in project {self._project} (403{said})"
            return UserError(words, hint=f"it has to be {_TOKEN}")
        if error.status == 404 and asked:
            words = f"project {self._project} has no merge request {self._number} that {token} may see (404)"
            return UserError(
                words, hint="CI_PROJECT_ID and --comment-on name it; is the token of this project?"
            )
        return None


def merge_request(environ: Mapping[str, str], number: int | None) -> MergeRequest | None:
    """The merge request that a job of GitLab CI is of, by its environment, or its request `number`.

    None for a job that is of none. Raises UserError where the environment lacks something.
    """
    project = environ.get("CI_MERGE_REQUEST_PROJECT_ID") or environ.get("CI_PROJECT_ID") or ""
    if not project:
        raise UserError(
            "CI_PROJECT_ID is not set", hint="CI_PROJECT_ID=NUMBER or GROUP/NAME outside of GitLab CI"
        )
    told = environ.get("CI_MERGE_REQUEST_IID", "")
    if not (number or told):
        return None
    number = number or number_of(told, "CI_MERGE_REQUEST_IID")
    token = secret_of(environ, "GITLAB_TOKEN", hint=_TOKEN)
    api = environ.get("CI_API_V4_URL") or API
    return MergeRequest(checked_address(api, "CI_API_V4_URL", secret=True), project, number, token)
