# SPDX-License-Identifier: Apache-2.0
"""Where the application computes in a recorded boot, and how its profile gets into a system."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import msgspec
import pytest

from bootscope.audit.findings import audit
from bootscope.builder.steps import code_profile
from bootscope.capture.store import Store
from bootscope.changes.applies import filled, not_known, why_not
from bootscope.changes.compose import with_values
from bootscope.changes.experiment import variant
from bootscope.core.errors import ToolError, UserError
from bootscope.inventory.application_profile import PLACEHOLDER, Untrained, computes, samples
from bootscope.inventory.recorded import Recorded
from bootscope.search import training
from bootscope.search.emulated import EmulatedBench
from bootscope.system.changes import Change, apply
from bootscope.system.load import LoadedSystem
from bootscope.techniques.model import technique

from .lab_scenes import MS, boot, known, stock

ID = "app-profile-hot-code"
RECIPE = technique(ID).recipes["profile"]
IN_PROGRAM, IN_KERNEL = 0x10400, 0xC0100000


def computing(store: Store, count: int, profile: str = "", process: bytes = b"testcard") -> Recorded:
    """A boot with so many samples in code of a process, between others."""
    story = boot().switch(9, name=b"sh").fork(10, name=b"sh").switch(10, name=b"sh")
    story.exec(b"/usr/bin/" + process)
    for _ in range(count):
        story.work(MS).sample(IN_PROGRAM).work(1000).sample(IN_KERNEL)
    story.switch(9, name=b"sh").work(MS).sample(IN_PROGRAM)
    change = Change(settings={code_profile.SETTING: profile} if profile else {})
    return known(store, story.records, apply(stock().system, {"it": change}))


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("store"))


def test_samples_of_the_application_are_told(store: Store) -> None:
    facts = computing(store, 40)
    assert computes(facts).startswith("40 samples in code of testcard: ")
    found = list(samples(facts))
    assert len(found) == 40
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize(("count", "profile", "process"), [(3, "", b"testcard"), (40, "", b"other")])
def test_who_hardly_computes_gets_no_profile(store: Store, count: int, profile: str, process: bytes) -> None:
    facts = computing(store, count, profile, process)
    assert computes(facts) == ""
    assert "computes" in why_not(RECIPE, facts)


def test_who_has_a_profile_gets_no_other(store: Store) -> None:
    facts = computing(store, 40, code_profile.packed({"a.gcda": b"1"}))
    assert computes(facts) == ""
    assert why_not(RECIPE, facts)


def test_an_audit_names_it_before_anything_was_counted(store: Store) -> None:
    facts = computing(store, 40)
    assert (why_not(RECIPE, facts), not_known(RECIPE, facts)) == ("", "")
    (finding,) = (f for f in audit(facts).findings if f.technique.id == ID)
    assert finding.change.settings[code_profile.SETTING] == f"@{PLACEHOLDER}@"
    assert filled(RECIPE.change, facts) == RECIPE.change
    with pytest.raises(Untrained):
        with_values(RECIPE.change, facts)
    with pytest.raises(Untrained):
        variant(stock(), facts, [ID])
    counted = dataclasses.replace(facts, profile="text")
    assert variant(stock(), counted, [ID]).system.application.profile == "text"


def test_who_compiles_no_application_is_told_so(store: Store) -> None:
    facts = computing(store, 40)
    packaged = {key: "" if key == "application.sources" else value for key, value in facts.settings.items()}
    assert "not compiled here" in why_not(RECIPE, dataclasses.replace(facts, settings=packaged))


def test_a_search_counts_once_and_only_if_it_has_to() -> None:
    counted: list[LoadedSystem] = []

    def profile(bench: object, loaded: LoadedSystem) -> str:
        counted.append(loaded)
        return "text"

    bench = EmulatedBench(cast(Any, type("Scheduler", (), {"bench": None})), stock(), profile)
    quiet = {"kernel-quiet": Change(command_line=("quiet",))}
    assert bench.system(quiet).system.kernel.command_line.endswith(" quiet")
    assert not counted
    for _ in range(2):
        found = bench.system({**quiet, ID: RECIPE.change}).system
        assert (found.application.profile, found.kernel.command_line[-6:]) == ("text", " quiet")
    assert counted == [stock()]


def test_the_system_that_counts() -> None:
    loaded = stock()
    counting = training.training(loaded).system
    assert counting.name == "stock.training"
    assert counting.application.compiler_options == (
        *loaded.system.application.compiler_options,
        *code_profile.TRAINING,
    )
    musl = msgspec.structs.replace(
        loaded.system.application, libc="musl", compiler_options=("-Os", "-static-pie"), profile="text"
    )
    system = msgspec.structs.replace(loaded.system, application=musl)
    application = training.training(LoadedSystem(system, loaded.path)).system.application
    assert (application.libc, application.profile) == ("glibc", msgspec.UNSET)
    assert application.compiler_options == ("-Os", "-static", *code_profile.TRAINING)


def test_only_a_system_that_is_built_here_is_counted() -> None:
    with pytest.raises(UserError, match="that bootscope builds"):
        training.profile(cast(Any, object()), stock())


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("/cache/tmp/x1/scratch/program-it.gcda", "program-it.gcda"),
        ("/cache/tmp/x1/scratch/build/lib/a.gcda", "lib/a.gcda"),
        ("/scratch/cache/tmp/x1/scratch/build/build/a.gcda", "build/a.gcda"),
    ],
)
def test_a_file_is_named_by_its_place_in_the_build(name: str, inside: str) -> None:
    assert training.in_build(name) == inside


def test_a_file_of_another_place_is_an_error() -> None:
    with pytest.raises(ToolError, match="no file of its build"):
        training.in_build("/home/me/a.gcda")
