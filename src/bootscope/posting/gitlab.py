# SPDX-License-Identifier: Apache-2.0
"""Notes on merge requests of GitLab (https://docs.gitlab.com/api/notes/)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from urllib.parse import quote

import msgspec

from bootscope.core.errors import UserError
from bootscope.posting.comment import PER_PAGE, Platform, Written, decoded, number_of, pages
from bootscope.posting.http import Secret, checked_address, secret_of

API = "https://gitlab.com/api/v4"
_TOKEN = "a project access token with the scope api, as a masked CI/CD variable GITLAB_TOKEN"


class _Account(msgspec.Struct):
    id: int


class _Note(msgspec.Struct):
    id: int
    body: str = ""
    author: _Account | None = None
    system: bool = False


class MergeRequest(Platform):
    """A merge request: `project` is the number or the path of the target project."""

    name, replaces, found_at = "GitLab", "PUT", "/projects"

    def __init__(self, address: str, project: str, number: int, token: Secret) -> None:
        super().__init__(address, {"PRIVATE-TOKEN": token.text, "Content-Type": "application/json"}, token)
        self._project, self._number = project, number

    @cached_property
    def _account(self) -> int:
        return decoded(self.call("GET", "/user"), _Account, self.name).id

    def own(self) -> Iterator[Written]:
        account = self._account
        for note in pages(self._page):
            if not note.system and note.author and note.author.id == account:
                yield Written(note.id, note.body)

    def _page(self, page: int) -> list[_Note]:
        path = f"{self.comments}?sort=asc&order_by=created_at&per_page={PER_PAGE}&page={page}"
        return decoded(self.call("GET", path), list[_Note], self.name)

    def change(self, number: int, text: str) -> None:
        self.call(self.replaces, f"{self.comments}/{number}", msgspec.json.encode({"body": text}))

    @property
    def comments(self) -> str:
        return f"/projects/{quote(self._project, safe='')}/merge_requests/{self._number}/notes"

    def refused(self, status: int, said: str, *, missing: bool) -> UserError | None:
        token = self._token.name
        if status == 401:
            hint = f"has it expired? It has to be {_TOKEN}; CI_JOB_TOKEN may not write notes"
            return UserError(f"GitLab does not accept {token} (401{said})", hint=hint)
        if status == 403:
            words = f"{token} may not comment in project {self._project} (403{said})"
            return UserError(words, hint=f"it has to be {_TOKEN}")
        if missing:
            words = f"project {self._project} has no merge request {self._number} that {token} may see (404)"
            hint = "CI_PROJECT_ID and --comment-on name it; is the token of this project?"
            return UserError(words, hint=hint)
        return None


def merge_request(environ: Mapping[str, str], number: int | None) -> MergeRequest | None:
    """The merge request of a GitLab CI job, by its environment, or the one with that `number`.

    None if the job has none. Raises UserError if the environment lacks something.
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
