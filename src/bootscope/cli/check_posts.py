# SPDX-License-Identifier: Apache-2.0
"""Sends the result of a check to servers: as a comment on a pull or merge request, to a webhook."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from bootscope.check.checked import Checked
from bootscope.check.markdown import as_markdown
from bootscope.check.message import message
from bootscope.cli.arguments import option
from bootscope.core.errors import BootscopeError, UserError, to_stderr

PLATFORMS = ("github", "gitlab")


def add_posts(parser: argparse.ArgumentParser) -> None:
    """Adds the options that send to a server."""
    parser.add_argument("--comment", choices=PLATFORMS, help="comment on the pull or merge request there")
    option(
        parser, "--comment-on", "N", "the number of that request (default: the one of this CI job)", type=int
    )
    option(parser, "--comment-name", "NAME", "which of several comments to update (default: the check file)")
    option(parser, "--webhook", "URL", "POST the result as signed JSON to this address")


def check_posts(args: argparse.Namespace) -> None:
    """Raises UserError for what cannot be sent as requested, before anything is checked."""
    if not args.comment and (args.comment_on is not None or args.comment_name):
        name = "--comment-on" if args.comment_on is not None else "--comment-name"
        raise UserError(f"{name} goes with --comment", hint="bootscope help comments")
    if args.comment_on is not None and not 0 < args.comment_on < 10**9:
        raise UserError("--comment-on is the number of a request, 1 or more")
    if args.webhook:
        from bootscope.posting.http import checked_address
        from bootscope.posting.webhook import key_of

        checked_address(args.webhook, "--webhook", secret=False)
        key_of(os.environ)


def post(args: argparse.Namespace, checked: Sequence[Checked]) -> Iterator[BootscopeError]:
    """Sends what was requested; returns an error for each result that could not be sent."""
    if args.comment:
        try:
            _comment(args, checked)
        except BootscopeError as error:
            yield error
    if args.webhook:
        from bootscope.posting.webhook import key_of, send

        body = message(checked, job_of(os.environ), datetime.now(UTC))
        try:
            send(args.webhook, body, key_of(os.environ))
        except BootscopeError as error:
            yield error


def _comment(args: argparse.Namespace, checked: Sequence[Checked]) -> None:
    from bootscope.posting.comment import keep
    from bootscope.posting.github import pull_request
    from bootscope.posting.gitlab import merge_request

    on_github = args.comment == "github"
    request = (pull_request if on_github else merge_request)(os.environ, args.comment_on)
    if request is None:
        what = "pull request" if on_github else "merge request"
        to_stderr(f"no comment: this job does not belong to a {what} (--comment-on N names one)")
        return
    text = as_markdown(checked, job_of(os.environ)).decode()
    to_stderr(f"comment on {request.name}: {keep(request, args.comment_name or str(args.file), text)}")


def job_of(environ: Mapping[str, str]) -> dict[str, str]:
    """Facts about this job from the CI system: `commit`, and `job`, its address."""
    found = {"commit": environ.get("GITHUB_SHA") or environ.get("CI_COMMIT_SHA") or "", "job": _job(environ)}
    return {name: value for name, value in found.items() if re.fullmatch(r"[!-~]{1,400}", value)}


def _job(environ: Mapping[str, str]) -> str:
    parts = [environ.get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID")]
    if all(parts):
        return f"{parts[0]}/{parts[1]}/actions/runs/{parts[2]}"
    return environ.get("CI_JOB_URL", "")
