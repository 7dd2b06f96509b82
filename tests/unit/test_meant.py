# SPDX-License-Identifier: Apache-2.0
"""What was mistyped is answered with what was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.capture.store import Store
from bootscope.cli.parsers import parser
from bootscope.cli.verbs import VERBS
from bootscope.core.errors import similar, unknown
from bootscope.techniques.model import technique_ids

from .builders import BOOT, keep_run
from .conftest import Command
from .test_cli import assert_refused

REPRODUCERS = [
    (["shwo"], "unknown verb 'shwo'", "show"),
    (["repotr", "last"], "unknown verb 'repotr'", "report"),
    (["--verison"], "unknown option of bootscope '--verison'", "--version"),
    (["show", "--veiw", "initcalls"], "unknown option of show '--veiw'", "--view"),
    (["show", "--veiw=initcalls"], "unknown option of show '--veiw'", "--view"),
    (["compare", "--jsn"], "unknown option of compare '--jsn'", "--json"),
    (["show", "--view", "initcals"], "unknown value of --view 'initcals'", "initcalls"),
    (["show", "last", "--view", "functions", "--phase", "kernl"], "unknown phase 'kernl'", "kernel"),
    (["record", "stok"], "unknown system 'stok'", "stock"),
    (["build", "Stock"], "unknown system 'Stock'", "stock"),
    (["record", "stock", "--until", "frist-frame"], "unknown milestone 'frist-frame'", "first-frame"),
    (["record", "--board", "serial:x", "--until", "logni"], "unknown milestone 'logni'", "login"),
    (["record", "stock", "--board", "cubiboard"], "unknown board 'cubiboard'", "cubieboard"),
    (["techniques", "kernel-quite"], "unknown technique 'kernel-quite'", "kernel-quiet"),
    (["try", "kernel-quite"], "unknown technique 'kernel-quite'", "kernel-quiet"),
    (["optimize", "stock", "--only", "kernel-quite"], "unknown technique 'kernel-quite'", "kernel-quiet"),
    (["optimize", "stock", "--keep", "consol"], "unknown capability 'consol'", "console"),
    (["pitfalls", "saving-overlap"], "unknown pitfall 'saving-overlap'", "savings-overlap"),
    (["reproduce", "falcn"], "unknown table or story 'falcn'", "falcon"),
    (["export", "--format", "perfeto", "-o", "-"], "unknown format 'perfeto'", "perfetto"),
    (["import", "--format", "grabseral", "x"], "unknown format 'grabseral'", "grabserial"),
    (["what-if", "last", "quite"], "unknown change 'quite'", "quiet"),
    (["cache", "prun"], "unknown word after cache 'prun'", "prune"),
    (["system", "improt"], "unknown word after system 'improt'", "import"),
]


@pytest.mark.parametrize(("words", "message", "meant"), REPRODUCERS, ids=lambda x: " ".join(x))
def test_what_was_meant_is_named(
    main_here: Command, store: Store, words: list[str], message: str, meant: str
) -> None:
    keep_run(store, BOOT)
    done = main_here(*words)
    assert_refused(done, message)
    assert f"hint: did you mean {meant}?" in done.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_names_the_option_that_was_meant(main_here: Command, verb: str) -> None:
    """Also where something else is missing, as it is for verbs that need a run."""
    done = main_here(verb, "--jsno")
    assert_refused(done, f"unknown option of {verb} '--jsno'", "did you mean --json?")


@pytest.mark.parametrize(("words", "message"), [
    (["list", "more"], "bootscope: list does not take more\n"),
    (["list", "-x"], "bootscope: list does not take -x\n"),
    (["list", "--", "--odd"], "bootscope: list does not take"),
    (["list", "\x1b[31m"], r"bootscope: list does not take \x1b[31m"),
    (["compare", "a"], "bootscope: the following arguments are required: b\n"),
])  # fmt: skip
def test_what_a_verb_does_not_take_is_its_own_error(
    main_here: Command, words: list[str], message: str
) -> None:
    done = main_here(*words)
    assert_refused(done, message)
    assert done.stderr.endswith(f"  hint: bootscope {words[0]} --help\n")


def test_values_that_look_like_options_are_values(main_here: Command, tmp_path: Path) -> None:
    args = parser(["try"]).parse_args(["try", "x", "--check", "--a b", "--jso", "--system=--odd"])
    assert (args.check, args.json, args.system) == ("--a b", True, "--odd")
    assert_refused(main_here("show", "--", "--odd"), "no boot has been recorded")


def test_a_run_or_its_name_that_is_mistyped_is_answered_with_the_one_that_was_meant(
    main_here: Command, store: Store
) -> None:
    run_id = keep_run(store, BOOT, system="gateway")
    for typed in ("gatewya", run_id.replace("gateway", "gatway")):
        done = main_here("show", typed)
        meant = "gateway" if typed == "gatewya" else run_id
        assert_refused(done, f"unknown run '{typed}'", f"did you mean {meant}", "(bootscope list)")
    assert_refused(main_here("show", "zzz"), "unknown run 'zzz'", f"hint: the newest are: {run_id}")


def test_a_column_that_is_mistyped_and_a_system_for_a_technique(main_here: Command, store: Store) -> None:
    keep_run(store, BOOT)
    wrong = main_here("show", "last", "--view", "functions", "--sort", "totl")
    assert_refused(wrong, "unknown column 'totl'", "did you mean total?")
    assert_refused(
        main_here("try", "debian"), "debian is a system", "bootscope try TECHNIQUE --system debian"
    )


# ---- likeness ----


def test_nothing_alike_is_not_guessed() -> None:
    assert unknown("verb", "help", ["show", "list"]).hint == "there are: list, show"
    assert similar("zzz", technique_ids()) == []


def test_only_the_likest_are_named() -> None:
    assert similar("kernel-quite", technique_ids()) == ["kernel-quiet"]
    assert similar("fs-ext-choise", ["fs-ext-choice", "fs-ext-choices", "boat"]) == [
        "fs-ext-choice",
        "fs-ext-choices",
    ]


@given(st.text(max_size=300), st.lists(st.text(max_size=30), max_size=80))
def test_whatever_is_typed_is_answered_in_two_printable_lines(typed: str, known: list[str]) -> None:
    error = unknown("thing", typed, [name for name in known if name.isprintable()])
    assert error.message.isprintable()
    assert str(error.hint).isprintable()
    assert set(similar(typed, known)) <= set(known)
