# SPDX-License-Identifier: Apache-2.0
"""Texts of other people that were made to take long: they are read in a time that grows with their length."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootscope.arch.arm import ARM
from bootscope.image.uboot_env import default_environment
from bootscope.inventory.application_start import commands
from bootscope.inventory.single_script import single_script
from bootscope.inventory.start_scripts import StartScripts
from bootscope.kbuild import expressions
from bootscope.kbuild.makefiles import Makefiles

from .time_bound import within

LONG = 100_000
CPU_S = 10


def script(line: str) -> StartScripts:
    return StartScripts.of({"/etc/init.d/S50app": f"#!/bin/sh\n{line}\n"}, "/usr/bin/app")


def test_an_environment_of_many_variables_that_does_not_end() -> None:
    begin = b"\0bootcmd=run a"
    with within(CPU_S):
        assert default_environment(begin + b"\0a=" * LONG) == {}
    # One that ends is read, also behind such a one.
    whole = begin + b"\0bootdelay=2\0\0"
    assert default_environment(whole) == {"bootcmd": "run a", "bootdelay": "2"}


@pytest.mark.parametrize("line", [f"/usr/bin/app{' ' * LONG}x", f"/usr/bin/app {'1' * LONG} x"])
def test_a_start_of_an_application_with_a_long_line(line: str) -> None:
    with within(CPU_S):
        assert commands(script(line), "/usr/bin/app").startswith("exec /usr/bin/app")


def test_what_starts_in_the_background_is_started_in_its_place() -> None:
    assert commands(script("/usr/bin/app -x & "), "/usr/bin/app") == "exec /usr/bin/app -x\n"


def test_a_script_with_a_long_line_of_blanks() -> None:
    with within(CPU_S):
        assert single_script(script(f"{' ' * LONG}x")).endswith("x\n")
    for line in ("  exit 1", "a; exec b", "\tcd /tmp", "set -e"):
        assert single_script(script(line)).startswith("set -- start\n(\n")


def test_a_makefile_with_many_functions_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("$()" * LONG + "\nobj-$(CONFIG_A) += a.o\n")
    with within(CPU_S):
        assert Makefiles(tmp_path, ARM).ways("a.o") == (frozenset({"A"}),)


@pytest.mark.parametrize("text", ["(" * LONG + "A" + ")" * LONG, "!" * LONG + "A"])
def test_expressions_that_are_nested_too_deeply(text: str) -> None:
    assert expressions.parse(text) is expressions.TRUE
    assert expressions.parse("(" * 20 + "!A" + ")" * 20) == expressions.parse("!A")


@pytest.mark.parametrize("line", ["echo hi\n", "; /dev//dev//dev//dev/", "mounted mounts"])
def test_long_start_scripts(line: str) -> None:
    """Each of some dozen techniques looks for some twenty programs in each of them."""
    texts = {f"/etc/init.d/S{number}x": f"#!/bin/sh\n{line * 20_000}\n" for number in range(10, 40)}
    with within(CPU_S):
        assert set(StartScripts.of(texts, "/usr/bin/app").roles.values()) == {""}
