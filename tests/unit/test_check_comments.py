# SPDX-License-Identifier: Apache-2.0
"""One comment on a pull or merge request, kept up to date, by servers that answer as APIs do."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bootscope.posting import http

from .boot_noise import MS
from .conftest import Command, Done, Write
from .platforms import APP_TOKEN, READER, SOMEBODY, STRANGER, TOKEN, USERS, Fault, Platform, serving
from .test_boot_samples import imported

CHECK = """
[budget]
"app-ready" = "5.1 s"
[baseline]
file = "base.json"
max_regression = "2 %"
"""
KINDS = ("github", "gitlab")


@pytest.fixture(params=KINDS)
def platform(
    request: pytest.FixtureRequest, main_here: Command, tmp_path: Path, write: Write,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Platform]:  # fmt: skip
    """A platform's server, in a job of a request, with a run that is slower than its baseline."""
    imported(main_here, tmp_path, "base", [5000 * MS, 5001 * MS, 5002 * MS])
    write(CHECK)
    assert main_here("check", "--save-baseline", "base.json").returncode == 0
    imported(main_here, tmp_path, "mslow", [6000 * MS, 6001 * MS, 6002 * MS])
    with serving(request.param) as served:
        given = {
            "no_proxy": "127.0.0.1",
            "GITHUB_TOKEN": TOKEN,
            "GITHUB_API_URL": served.address,
            "GITHUB_REPOSITORY": "acme/gateway",
            "GITHUB_REF": "refs/pull/7/merge",
            "GITHUB_SHA": "c0ffee",
            "GITLAB_TOKEN": TOKEN,
            "CI_API_V4_URL": served.address,
            "CI_PROJECT_ID": "acme/gateway",
            "CI_MERGE_REQUEST_IID": "7",
        }
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        for name in ("GITHUB_EVENT_PATH", "CI_MERGE_REQUEST_PROJECT_ID", "GH_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(http, "PAUSES_S", (0, 0))
        yield served


def comment(main_here: Command, platform: Platform, *more: str) -> Done:
    done = main_here("check", "--comment", platform.kind, *more)
    for token in (TOKEN, APP_TOKEN, READER, STRANGER):
        assert token not in done.stdout + done.stderr
    return done


def use(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    for name in ("GITHUB_TOKEN", "GITLAB_TOKEN"):
        monkeypatch.setenv(name, token)


def test_one_comment_is_kept_up_to_date(main_here: Command, platform: Platform, tmp_path: Path) -> None:
    platform.add(SOMEBODY, "nice")
    done = comment(main_here, platform)
    assert done.returncode == 3
    assert "created" in done.stderr
    first = platform.comments[1]["body"]
    assert "## Boot time: missed" in first
    assert "| <code>app-ready</code> | 6.001 s | 5.001 s | +1.000 s (+20.00 %) |" in first
    assert "<code>c0ffee</code>" in first
    assert "already up to date" in comment(main_here, platform).stderr
    imported(main_here, tmp_path, "xgood", [5000 * MS, 5001 * MS, 5002 * MS])
    done = comment(main_here, platform)
    assert (done.returncode, "updated" in done.stderr) == (0, True)
    assert len(platform.comments) == 2
    assert "## Boot time: kept" in platform.comments[1]["body"]
    assert "created" in comment(main_here, platform, "--comment-name", "second board").stderr
    assert len(platform.comments) == 3


def test_a_comment_far_behind_is_found_and_what_others_wrote_is_left(
    main_here: Command, platform: Platform
) -> None:
    assert "created" in comment(main_here, platform).stderr
    ours = platform.comments.pop()
    forged = platform.add(SOMEBODY, ours["body"] + "forged")
    for number in range(250):
        platform.add(USERS[TOKEN], f"comment {number}")
    platform.comments.append({**ours, "id": 999, "body": ours["body"].partition("\n")[0] + "\r\nold"})
    assert "updated" in comment(main_here, platform).stderr
    assert platform.comments[-1]["body"] == ours["body"]
    assert forged["body"].endswith("forged")
    assert len(platform.comments) == 252


def test_the_token_of_github_actions_which_cannot_say_who_it_is(
    main_here: Command, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, APP_TOKEN)
    assert "created" in comment(main_here, platform).stderr
    platform.comments.insert(0, {**platform.comments[0], "id": 5, "user": SOMEBODY, "author": SOMEBODY})
    platform.comments[1]["body"] += "old"
    assert "updated" in comment(main_here, platform).stderr
    assert len(platform.comments) == 2


@pytest.mark.parametrize(
    ("token", "words"),
    [
        (STRANGER, "does not accept"),
        (READER, "may not comment"),
        ("", "is not set"),
        ("a b", "is not a token: it has blanks"),
        ("a\nEvil: b", "is not a token: it has blanks or control characters"),
    ],
)
def test_a_token_that_does_not_do_is_told(
    main_here: Command,
    platform: Platform,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    token: str,
    words: str,
) -> None:
    imported(main_here, tmp_path, "xgood", [5000 * MS, 5001 * MS, 5002 * MS])
    use(monkeypatch, token)
    done = comment(main_here, platform, "--markdown", "boot.md", "--junit", "boot.xml")
    assert done.returncode == 2
    assert words in done.stderr
    assert "hint: " in done.stderr
    # Nothing is lost: the result and the files are there.
    assert "below the budget" in done.stdout
    assert (tmp_path / "boot.md").read_text().startswith("## Boot time: kept\n")
    assert (tmp_path / "boot.xml").exists()
    assert platform.comments == []


def test_a_missed_budget_is_not_hidden_by_a_comment_that_fails(
    main_here: Command, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, STRANGER)
    done = comment(main_here, platform)
    assert done.returncode == 3
    assert "does not accept" in done.stderr


def test_a_request_that_is_not_there_is_told(main_here: Command, platform: Platform) -> None:
    done = comment(main_here, platform, "--comment-on", "8")
    assert "request 8 that" in done.stderr
    assert "(404)" in done.stderr


def test_a_job_of_no_request_goes_on_without_a_comment(
    main_here: Command, platform: Platform, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    imported(main_here, tmp_path, "xgood", [5000 * MS, 5001 * MS, 5002 * MS])
    monkeypatch.setenv("GITHUB_REF", "refs/heads/main")
    monkeypatch.delenv("CI_MERGE_REQUEST_IID")
    done = comment(main_here, platform)
    assert (done.returncode, "no comment: this job does not belong to a" in done.stderr) == (0, True)
    assert platform.asked == []
    event = tmp_path / "event.json"
    event.write_text('{"pull_request": {"number": 7}}')
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
    monkeypatch.setenv("CI_MERGE_REQUEST_IID", "7")
    assert "created" in comment(main_here, platform).stderr


BUSY = [
    Fault(429, {"Retry-After": "0"}),
    Fault(403, {"X-RateLimit-Remaining": "0", "Retry-After": "0"}, '{"message": "API rate limit exceeded"}'),
    Fault(503),
    Fault(502, method="POST"),
    Fault(0, method="POST"),
    Fault(0),
]


@pytest.mark.parametrize("fault", BUSY, ids=lambda f: f"{f.status} {f.method}")
def test_a_busy_server_is_asked_again(main_here: Command, platform: Platform, fault: Fault) -> None:
    platform.faults = [Fault(**{**vars(fault), "times": 2})]
    assert "created" in comment(main_here, platform).stderr
    assert len(platform.comments) == 1
    platform.faults = [Fault(**{**vars(fault), "times": 99, "method": ""})]
    done = comment(main_here, platform)
    assert "(3 attempts)" in done.stderr
    assert "run the check again later" in done.stderr


def test_an_answer_that_is_lost_on_its_way_does_not_make_a_second_comment(
    main_here: Command, platform: Platform
) -> None:
    platform.faults = [Fault(504, method="POST", after_work=True)]
    assert comment(main_here, platform).returncode == 3
    assert len(platform.comments) == 1


def test_nobody_waits_an_hour(main_here: Command, platform: Platform) -> None:
    platform.faults = [Fault(429, {"Retry-After": "3600"}, times=99)]
    begun = time.monotonic()
    done = comment(main_here, platform)
    assert "it asks to wait 3600 s" in done.stderr
    assert time.monotonic() - begun < 10
    assert len(platform.asked) == 1


def test_a_server_that_does_not_answer_is_left(
    main_here: Command, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "TIMEOUT_S", 0.2)
    platform.faults = [Fault(200, slow_s=1.0, times=99)]
    done = comment(main_here, platform)
    assert "did not answer within" in done.stderr


def test_a_redirect_takes_the_token_nowhere(main_here: Command, platform: Platform) -> None:
    with serving("hook") as elsewhere:
        platform.faults = [Fault(301, {"Location": f"{elsewhere.address}/user"}, times=99)]
        done = comment(main_here, platform)
        assert "it has moved" in done.stderr
        assert elsewhere.asked == []


@pytest.mark.parametrize("body", ["<html>", "[1]", '{"id": "x", "login": 5}', ""])
def test_something_else_than_the_api_is_told(main_here: Command, platform: Platform, body: str) -> None:
    platform.faults = [Fault(200, body=body, times=99)]
    assert "something else than its API says" in comment(main_here, platform).stderr


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://git.example.org/api", "is not encrypted"),
        ("https://me:secret@git.example.org", "has a user name or password in it"),
        ("ftp://git.example.org", "is not an address of a server"),
        ("https://git.example.org:x", "is not an address of a server"),
        ("http://127.0.0.1:9", "cannot be reached"),
    ],
)
def test_an_address_that_does_not_do_is_told(
    main_here: Command, platform: Platform, monkeypatch: pytest.MonkeyPatch, address: str, words: str
) -> None:
    for name in ("GITHUB_API_URL", "CI_API_V4_URL"):
        monkeypatch.setenv(name, address)
    done = comment(main_here, platform)
    assert words in done.stderr
    assert "secret" not in done.stderr


def test_options_without_a_comment_are_refused(main_here: Command) -> None:
    for options in (["--comment-on", "7"], ["--comment-name", "x"]):
        assert "goes with --comment" in main_here("check", *options).stderr
    assert (
        "--comment-on is the number" in main_here("check", "--comment", "github", "--comment-on", "0").stderr
    )
    assert main_here("check", "--comment", "gitea").returncode == 2


def test_json_stays_json(main_here: Command, platform: Platform) -> None:
    done = comment(main_here, platform, "--json")
    document = json.loads(done.stdout)
    assert document["findings"][2]["base_ns"] == 5001 * MS
    assert {
        "name": "app-ready",
        "value_ns": 6001 * MS,
        "base_ns": 5001 * MS,
        "change_ns": 1000 * MS,
    } in document["changes"]
