# SPDX-License-Identifier: Apache-2.0
"""`bootscope serve` on the command line: what it says at its start and end, and without its libraries."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from bootscope.core.needs import SERVER_PACKAGES, state

from .builders import environment, python
from .conftest import Command

WITHOUT = """
import sys
sys.modules["uvicorn"] = None
from bootscope.cli.main import main
sys.exit(main(["serve", "--port", "0"]))
"""


def test_without_its_libraries_it_says_how_to_get_them(surroundings: dict[str, str]) -> None:
    done = subprocess.run(
        python(WITHOUT), env=environment(**surroundings), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "bootscope: serve needs the Python package uvicorn" in done.stderr
    assert "pip install starlette uvicorn" in done.stderr


def test_doctor_knows_them_and_needs_them_for_nothing_else() -> None:
    checks = {check.name: check for check in state("logs", []).checks}
    for name in SERVER_PACKAGES:
        assert not checks[name].required
        assert "serve" in checks[name].purpose


def test_wrong_options_are_told(main_here: Command) -> None:
    assert "not a port" in main_here("serve", "--port", "70000").stderr
    assert "not a host" in main_here("serve", "--host", "no such host").stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_answers_until_it_is_ended(surroundings: dict[str, str], number: signal.Signals) -> None:
    command = [sys.executable, "-m", "bootscope", "serve", "--port", "0"]
    with subprocess.Popen(
        command, env=environment(**surroundings), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        found = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
        assert found
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(found[0]) as answer:
            assert "The store has no runs" in answer.read().decode()
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert "Traceback" not in said


def test_every_other_address_needs_a_token(surroundings: dict[str, str]) -> None:
    command = [sys.executable, "-m", "bootscope", "serve", "--port", "0", "--host", "0.0.0.0", "--json"]
    with subprocess.Popen(
        command, env=environment(**surroundings), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        text = ""
        while not text.endswith("}\n"):
            text += process.stdout.readline()
        told = json.loads(text)
        assert process.stderr
        said = process.stderr.readline() + process.stderr.readline()
        process.terminate()
        process.communicate(timeout=60)
    assert len(told["token"]) > 40
    assert "unencrypted" in said
    assert f"{told['address']}/enter/" in said
    assert told["token"] not in said
