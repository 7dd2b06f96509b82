# SPDX-License-Identifier: Apache-2.0
"""--cluster: what names none, what is not there, and what it is not for."""

from __future__ import annotations

import socket

import pytest

from .conftest import Command


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("local:0", "a number of workers, 1 to 256"),
        ("local:many", "a number of workers, 1 to 256"),
        ("build1", "is not the address of a cluster"),
        ("http://build1:8786", "is not the address of a cluster"),
        ("ssh:", "names no hosts"),
        ("ssh:-oProxyCommand=true", "names no hosts"),
        ("tls://127.0.0.1:1", "needs a certificate"),
    ],
)
def test_words_that_name_no_cluster_are_refused(bootscope: Command, where: str, words: str) -> None:
    done = bootscope("optimize", "debian", "--cluster", where)
    assert done.returncode == 2
    assert words in done.stderr
    assert "hint:" in done.stderr


def test_where_no_scheduler_is_that_is_said(bootscope: Command) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{nobody.getsockname()[1]}"
        done = bootscope("try", "kernel-quiet", "--system", "debian", "--cluster", address)
    assert done.returncode == 3
    assert f"no scheduler answers at {address}" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_boots_no_system_of_ours_takes_no_cluster(bootscope: Command) -> None:
    done = bootscope("reproduce", "quiet", "--stored", "--cluster", "local:2")
    assert done.returncode == 2
    assert "--cluster" in done.stderr
