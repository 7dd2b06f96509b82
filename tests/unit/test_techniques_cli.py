# SPDX-License-Identifier: Apache-2.0
"""`techniques`: the list, as a user meets it."""

from __future__ import annotations

import pytest

from bootscope.cli import techniques as techniques_verb
from bootscope.cli.complete import candidates
from bootscope.techniques.model import PHASES, Status, techniques

from .conftest import Command
from .test_cli_verbs import json_of
from .test_lab_cli import printed, refused


def test_all_techniques_are_listed(main_here: Command) -> None:
    done = main_here("techniques")
    assert done.returncode == 0
    for t in techniques().values():
        assert t.id in done.stdout
        assert t.title in done.stdout
    assert done.stdout.splitlines()[-1].startswith(f"{len(techniques())} techniques: ")


def test_the_list_as_json(main_here: Command) -> None:
    listed = json_of(main_here("techniques", "--json"), "techniques")["techniques"]
    assert [t["id"] for t in listed] == list(techniques())
    for t in listed:
        assert list(t) == ["id", "phase", "status", "title", "saving"]
    assert any(t["saving"] for t in listed)


@pytest.mark.parametrize("status", [str(s) for s in Status])
def test_the_list_can_be_of_one_phase_and_one_status(main_here: Command, status: str) -> None:
    arguments = ("techniques", "--json", "--phase", "kernel", "--status", status)
    listed = json_of(main_here(*arguments), "techniques")["techniques"]
    expected = [t.id for t in techniques().values() if (t.phase, t.status) == ("kernel", status)]
    assert [t["id"] for t in listed] == expected


def test_the_list_keeps_its_names_whole_on_a_narrow_terminal() -> None:
    listed = list(techniques().values())
    text = printed(lambda out: techniques_verb.show_list(out, listed))
    for t in listed:
        assert f" {t.id} " in text
        assert str(t.status) in text


def test_the_list_is_grouped_by_phases_and_fits_a_terminal() -> None:
    listed = list(techniques().values())
    lines = printed(lambda out: techniques_verb.show_list(out, listed)).splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line.partition(" (")[0] for line in lines if line and line[0].isalpha()]
    assert heads == list(dict.fromkeys(t.phase for t in listed))
    assert "--for KIND" in lines[-2]
    assert lines[-3] == "* needs-hardware; - obsolete"
    assert "* efi-stub-no-grub " in "\n".join(lines)
    few = [t for t in listed if t.phase == "spl"]
    assert "--for" not in printed(lambda out: techniques_verb.show_list(out, few))


@pytest.mark.parametrize(
    ("kind", "there", "not_there"),
    [
        ("systemd", "systemd-wait-online", "parallel-init"),
        ("busybox", "parallel-init", "systemd-wait-online"),
        ("arm64", "tfa-kernel-as-bl33", "kernel-thumb2"),
        ("riscv", "opensbi-kernel-payload", "uboot-bootz-not-bootm"),
        ("x86", "kernel-tsc-preset", "falcon-mode"),
        ("network", "uboot-bootdelay", "fs-squashfs-ro"),
    ],
)
def test_the_list_can_be_of_one_kind_of_system(
    main_here: Command, kind: str, there: str, not_there: str
) -> None:
    listed = json_of(main_here("techniques", "--json", "--for", kind), "techniques")["techniques"]
    ids = [t["id"] for t in listed]
    assert there in ids
    assert not_there not in ids
    own = [kind in techniques()[name].applies_to.names for name in ids]
    phases = [techniques()[name].phase for name in ids]
    assert sorted(zip(map(PHASES.index, phases), (not o for o in own), strict=True)) == list(
        zip(map(PHASES.index, phases), (not o for o in own), strict=True)
    ), "its own come first in each phase"


def test_kinds_of_systems_are_completed() -> None:
    assert [word for word, _ in candidates(["techniques", "--for", "sys"])] == ["systemd", "sysvinit"]


def test_an_explanation_tells_what_it_is_for_and_where_that_is_from(main_here: Command) -> None:
    told = " ".join(main_here("techniques", "tfa-kernel-as-bl33").stdout.split())
    assert "Only for arm64" in told
    assert "8.272 s with U-Boot, 2.7 s without" in told
    assert "Trusted Firmware-A, docs/design/alt-boot-flows.rst" in told
    whole = json_of(main_here("techniques", "tfa-kernel-as-bl33", "--json"), "technique", 2)
    assert whole["applies_to"]["architectures"] == ["arm64"]
    assert whole["sources"][1]["figure"].startswith("1 to 2 s")
    assert "8.272" in whole["saving"]


def test_an_explanation_reaches_the_user(main_here: Command) -> None:
    done = main_here("techniques", "app-static-link")
    assert done.returncode == 0
    assert "Licence" in done.stdout
    assert "(app-static-link; " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            ["nonsense"],
            "unknown technique 'nonsense'",
            f"there are {len(techniques())}: bootscope techniques",
        ),
        (["\x1b[31m"], r"unknown technique '\x1b[31m'", ""),
        (["--phase", "colonel"], "unknown phase 'colonel'", "bootloader"),
        (["--for", "amiga"], "unknown kind of system 'amiga'", "openwrt"),
        (["kernel-lpj", "--for", "arm"], "--for is for the list", ""),
        (["--status", "maybe"], "unknown value of --status 'maybe'", "runs-here"),
        (["nonsense", "--json"], "unknown technique", ""),
    ],
)
def test_what_is_no_technique_is_refused(
    main_here: Command, arguments: list[str], message: str, hint: str
) -> None:
    refused(main_here("techniques", *arguments), message, hint)
