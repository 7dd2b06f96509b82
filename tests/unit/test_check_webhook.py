# SPDX-License-Identifier: Apache-2.0
"""A webhook: what is sent keeps to its schema, and is signed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from bootscope.cli.schema import schema_of
from bootscope.posting import http
from bootscope.posting.http import Secret
from bootscope.posting.webhook import KEY, signature

from .boot_noise import MS
from .conftest import Command, Write
from .platforms import Fault, Platform, serving
from .test_boot_samples import imported

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def hook(
    main_here: Command, tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Platform]:
    imported(main_here, tmp_path, "mslow", [6000 * MS, 6001 * MS, 6002 * MS])
    write('[budget]\n"app-ready" = "5.1 s"')
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv(KEY, SECRET)
    monkeypatch.setenv("CI_COMMIT_SHA", "c0ffee")
    monkeypatch.setattr(http, "PAUSES_S", (0, 0))
    with serving("hook") as served:
        yield served


def test_the_signature_is_that_of_the_standards_example() -> None:
    """The example of the reference libraries of Standard Webhooks."""
    found = signature(
        Secret(KEY, SECRET), "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
    )
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_what_is_sent_keeps_to_its_schema_and_is_signed(main_here: Command, hook: Platform) -> None:
    done = main_here("check", "--webhook", f"{hook.address}/team/abc?key=hidden")
    assert (done.returncode, done.stderr) == (3, "")
    assert hook.asked == [("POST", "/team/abc?key=hidden")]
    ((headers, body),) = hook.received
    given = {name.lower(): value for name, value in headers.items()}
    sent_s = int(given["webhook-timestamp"])
    assert abs(time.time() - sent_s) < 60
    assert given["content-type"] == "application/json"
    assert given["webhook-signature"] == signature(Secret(KEY, SECRET), given["webhook-id"], sent_s, body)
    document = json.loads(body)
    jsonschema.Draft202012Validator(schema_of("webhook")).validate(document)
    assert (document["kind"], document["schema"], document["kept"]) == ("bootscope-check", 1, False)
    assert document["job"]["commit"] == "c0ffee"
    (product,) = document["products"]
    assert product["product"] == ""
    assert [f["status"] for f in product["findings"]] == ["ok", "missed"]


def test_a_receiver_that_is_busy_is_sent_it_again_under_the_same_id(
    main_here: Command, hook: Platform
) -> None:
    hook.faults = [Fault(503, times=1), Fault(504, after_work=True, times=1)]
    assert main_here("check", "--webhook", hook.address).returncode == 3
    ids = [headers["Webhook-Id"] for headers, _ in hook.received]
    assert len(ids) == 2
    assert len(set(ids)) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 307, 500, 0])
def test_a_receiver_that_refuses_is_told_without_its_path(
    main_here: Command, hook: Platform, tmp_path: Path, status: int
) -> None:
    imported(main_here, tmp_path, "xgood", [5000 * MS, 5001 * MS, 5002 * MS])
    hook.faults = [Fault(status, {"Location": hook.address}, json.dumps({"message": SECRET}), times=9)]
    done = main_here("check", "--webhook", f"{hook.address}/team/hidden?key=hidden")
    assert done.returncode == (3 if status in (500, 0) else 2)
    assert f"the webhook at {hook.address}" in done.stderr or "connection to the webhook" in done.stderr
    assert "hidden" not in done.stderr
    assert SECRET not in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("secret", "address", "words"),
    [
        ("", "", f"{KEY} is not set"),
        ("abc", "", "does not begin with whsec_"),
        ("whsec_abc", "", "is not base64"),
        ("whsec_YWJj", "", "is too short"),
        (SECRET, "git.example.org/x", "--webhook is not an address"),
        (SECRET, "https://me:hidden@git.example.org/x", "--webhook has a user name"),
    ],
)
def test_what_cannot_be_sent_is_told_before_anything_is_checked(
    main_here: Command, hook: Platform, monkeypatch: pytest.MonkeyPatch, secret: str, address: str, words: str
) -> None:
    monkeypatch.setenv(KEY, secret)
    done = main_here("check", "--webhook", address or hook.address)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert "hidden" not in done.stderr
