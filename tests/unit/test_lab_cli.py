# SPDX-License-Identifier: Apache-2.0
"""`techniques`, `audit` and `try` as a user meets them."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bootscope.audit.findings import audit, groups
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredRun
from bootscope.cli import techniques as techniques_verb
from bootscope.cli import trial
from bootscope.cli.try_board import REFUSED
from bootscope.core.paths import package_dir
from bootscope.report import audited
from bootscope.search.bench import Bench
from bootscope.search.verdict import verdict
from bootscope.system.load import LoadedSystem
from bootscope.techniques.model import Status, figures, technique, techniques

from .builders import ROOT
from .conftest import Command, Done
from .lab_scenes import MS, boot, keep, kept_view, known
from .test_cli_verbs import json_of

WIDTH = 80


def printed(write: Callable[[Console], None], width: int = WIDTH) -> str:
    """What a terminal of that width shows; no line may be longer, except one with an address."""
    out = io.StringIO()
    write(Console(file=out, width=width, highlight=False, color_system=None))
    assert all(len(line) <= width or "://" in line for line in out.getvalue().splitlines())
    return out.getvalue()


def refused(done: Done, message: str, hint: str = "") -> None:
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"bootscope: {message}")
    assert hint in done.stderr
    assert "Traceback" not in done.stderr


# ---- techniques ----


def test_one_technique_as_json(main_here: Command) -> None:
    found = json_of(main_here("techniques", "kernel-quiet", "--json"), "technique", schema=2)
    quiet = technique("kernel-quiet")
    assert found["id"] == "kernel-quiet"
    assert found["loses"] == list(quiet.loses)
    assert [figure["id"] for figure in found["figures"]] == list(quiet.figures)
    assert found["recipes"]["quiet"]["change"]["command_line"] == ["quiet"]
    assert found["recipes"]["quiet"]["predict"] == ["quiet"]


@pytest.mark.parametrize("name", list(techniques()))
def test_every_technique_is_explained_on_a_narrow_terminal(name: str) -> None:
    t = technique(name)
    text = " ".join(printed(lambda out: techniques_verb.explain(out, t)).split())
    for said in (t.what, t.detect, t.apply, t.risk, t.licence, t.status_why):
        assert " ".join(said.split()) in text
    for named in (*t.loses, *t.replaced_by, *t.conflicts, *t.after):
        assert named in text
    assert ("Why not here" in text) == (t.status is Status.HARDWARE)
    assert ("Why it is obsolete" in text) == (t.status is Status.OBSOLETE)
    for figure in t.figures:
        assert figures()[figure].value in text


# ---- audit ----


def test_an_audit_lists_what_applies(main_here: Command, store: Store) -> None:
    run_id = keep(store)
    done = main_here("audit", "stock")
    assert done.returncode == 0
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    at = next(n for n, line in enumerate(lines) if line.startswith("predicted"))
    first, best, rest = lines[0], lines[at + 1], main_here("audit", "stock", "--all").stdout.splitlines()
    assert first == f"{run_id}/001: application after 0.388 s"
    assert lines[1].startswith("what takes the time (bootscope show stock --view")
    assert best.split()[:3] == ["43.0", "ms", "falcon-fat"]
    assert "U-Boot waits for a key" in done.stdout
    assert "-> a boot delay of 0: try uboot-bootdelay; what-if bootdelay=0" in done.stdout
    assert any(line.split()[:3] == ["try", "it", "kernel-lpj"] for line in rest)
    assert any(re.fullmatch(r"\d+ others do not apply; 1 undecided: .* \(--all .*\)", e) for e in lines)
    assert lines[-1] == "bootscope pitfalls ID explains one; --pitfalls shows the evidence"


def test_all_says_why_the_others_do_not_apply(main_here: Command, store: Store) -> None:
    keep(store, boot(countdown=False).records)
    text = main_here("audit", "--all").stdout
    assert "uboot-bootdelay: the boot does not show a countdown in U-Boot" in text
    assert "kernel-no-net: already in effect" in text
    assert "do not apply" not in text


def test_an_audit_as_json(main_here: Command, store: Store) -> None:
    run_id = keep(store)
    found = json_of(main_here("audit", "last", "--json"), "audit")
    assert found["boot"] == f"{run_id}/001"
    best = found["techniques"][0]
    assert list(best) == [
        "technique", "instead_of", "phase", "title", "saving_ns", "evidence", "assumptions", "risk", "loses",
        "made_on",
    ]  # fmt: skip
    assert best["technique"] == "falcon-fat"
    delay = next(f for f in found["techniques"] if f["technique"] == "uboot-bootdelay")
    assert best["saving_ns"] > delay["saving_ns"] == 30 * MS
    told = [f["saving_ns"] for f in found["techniques"]]
    assert None in told
    assert told == sorted(told, key=lambda ns: -(1 << 60) if ns is None else ns, reverse=True)
    assert found["not_applicable"]["kernel-compression=gzip"] == "already in effect"
    assert "\n" not in "".join(f["risk"] for f in found["techniques"])


def test_an_audit_keeps_its_names_whole_on_a_narrow_terminal(store: Store) -> None:
    found = groups(audit(known(store)).findings)
    text = printed(lambda out: audited.techniques(out, found, None, losses=False))
    for group in found:
        assert f" {group[0].spec} " in text
    assert text.count("try it") == sum(group[0].saving_ns is None for group in found)


def test_a_boot_that_did_not_get_there_cannot_be_audited(main_here: Command, store: Store) -> None:
    run_id = keep(store, boot().records[:30], ended="panic")
    refused(main_here("audit"), f"boot {run_id}/001 did not reach its milestone: ended by panic")


def test_what_is_no_recording_cannot_be_audited(main_here: Command) -> None:
    refused(main_here("audit"), "no boot has been recorded", "bootscope record debian")
    refused(main_here("audit", "nonsense", "--json"), "no boot has been recorded")


@pytest.mark.parametrize(
    "arguments",
    [["techniques"], ["techniques", "kernel-quiet"], ["audit"], ["pitfalls"], ["pitfalls", "bootdelay"]],
    ids=" ".join,
)
def test_every_field_of_the_json_is_documented(
    main_here: Command, store: Store, arguments: list[str]
) -> None:
    keep(store)
    told = (ROOT / "docs" / "json.md").read_text()
    document = json.loads(main_here(*arguments, "--json").stdout)
    inner = [item for value in document.values() if isinstance(value, list) for item in value]
    names = {name for part in (document, *inner) if isinstance(part, dict) for name in part}
    assert {name for name in names if f"`{name}" not in told} == set()


# ---- try ----


@pytest.fixture
def bench(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[LoadedSystem]:
    """Stands for builder and board: the stock system boots as it does, a variant a bit faster.

    What was measured is listed.
    """
    measured: list[LoadedSystem] = []

    def measure(_self: object, loaded: LoadedSystem, until: str = "") -> StoredRun:
        measured.append(loaded)
        line = loaded.system.kernel.command_line
        if until:
            ended = "hang" if "quiet" in line else "milestone"
            records = boot().records[:30]
            return store.load(keep(store, records, ended=ended, system=loaded.system, until=until))
        story = boot(init_ms=20 if "quiet" in line else 80 if "lpj" in line else 50)
        fields: dict[str, Any] = {"system": loaded.system}
        if "rootfstype" in line:
            return store.load(keep(store, story.records[:30], ended="panic", **fields))
        frame = b"other" if loaded.system.uboot.config else b"picture"
        return store.load(keep(store, story.records, frame=frame, **fields))

    monkeypatch.setattr(Bench, "measured", measure)
    return measured


def test_a_try_says_what_it_saves(main_here: Command, store: Store, bench: list[LoadedSystem]) -> None:
    done = main_here("try", "kernel-quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert [loaded.system.name for loaded in bench] == ["stock", "stock.try"]
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["phase", "without", "with", "change"]
    assert ["init", "0.050", "0.020", "-30.0", "ms"] in [line.split() for line in lines]
    assert ["=", "application", "0.388", "0.358", "-30.0", "ms"] in [line.split() for line in lines]
    assert "kernel-quiet saves 30.0 ms of 0.388 s" in done.stdout
    assert lines[-1] == f"recordings: {', '.join(store.run_ids())}"


def requiring_login(tmp_path: Path) -> str:
    """A system that must come to a login."""
    systems = package_dir() / "systems.d"
    shutil.copytree(systems / "stock", tmp_path / "stock")
    path = tmp_path / "product.toml"
    text = (systems / "stock.toml").read_text()
    path.write_text(f'{text}\n[milestones.login]\nconsole = "login:"\nrequired = true\n')
    return str(path)


@pytest.mark.usefixtures("bench")
def test_a_service_that_does_not_answer_any_more_is_a_refusal(main_here: Command, tmp_path: Path) -> None:
    system = requiring_login(tmp_path)
    done = main_here("try", "kernel-quiet", "--system", system, "--json")
    assert done.returncode == REFUSED
    assert json.loads(done.stdout)["faults"] == ["login does not answer: ended by hang"]
    done = main_here("try", "kernel-lpj", "--system", system, "--json")
    assert (done.returncode, json.loads(done.stdout)["faults"]) == (0, [])


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("true", ""),
        ('test -d "$BOOTSCOPE_RUN"', ""),
        ("exit 1", "ended with status 1"),
        ("echo no picture; exit 4", "ended with status 4: no picture"),
        ("printf '\\033[31mred'; exit 1", "ended with status 1: \\x1b[31mred"),
    ],
)
@pytest.mark.usefixtures("bench")
def test_a_check_of_the_users_decides_too(main_here: Command, tmp_path: Path, body: str, fault: str) -> None:
    # What does not pass for the base either says nothing of the variant.
    script = tmp_path / "check"
    script.write_text(f"case $BOOTSCOPE_SYSTEM in *.try) {body} ;; esac\n")
    done = main_here("try", "kernel-quiet", "--check", f"/bin/sh {script}", "--json")
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)["faults"]
    assert found == ([f"the check /bin/sh {script} {fault}"] if fault else [])
    assert done.returncode == (REFUSED if fault else 0)


@pytest.mark.parametrize(
    ("check", "words", "boots"),
    [
        ("/bin/false", "stock itself does not work", 1),
        ("", "the check is empty", 0),
        ("'", "the check ' is not a command", 0),
        ("/no/such", "the check /no/such cannot be started", 1),
    ],
)
def test_no_check(main_here: Command, bench: list[LoadedSystem], check: str, words: str, boots: int) -> None:
    refused(main_here("try", "kernel-quiet", "--check", check), words)
    assert len(bench) == boots  # what is no command at all is refused before the first boot


def test_a_try_of_something_slower_says_what_it_costs(main_here: Command, bench: list[LoadedSystem]) -> None:
    done = main_here("try", "kernel-lpj")
    assert done.returncode == 0
    assert "kernel-lpj costs 30.0 ms" in done.stdout
    assert bench


@pytest.mark.parametrize(
    ("specs", "words"),
    [
        (["uboot-bootdelay"], "does not work: the picture on the screen differs"),
        (["fs-rootfstype", "kernel-quiet"], "does not work: ended by panic"),
    ],
)
@pytest.mark.usefixtures("bench")
def test_a_try_that_breaks_the_boot_ends_with_3(main_here: Command, specs: list[str], words: str) -> None:
    done = main_here("try", *specs)
    assert done.returncode == REFUSED == 3
    assert words in done.stdout
    assert ("but does not work" in done.stdout) == ("picture" in words)
    found = json_of(main_here("try", *specs, "--json"), "try")
    assert found["works"] is False
    assert [f"does not work: {fault}" for fault in found["faults"]] == [words]


def test_a_try_as_json(main_here: Command, store: Store, bench: list[LoadedSystem]) -> None:
    found = json_of(main_here("try", "kernel-quiet", "fs-ext-choice=ext2", "--json"), "try")
    assert found["techniques"] == ["kernel-quiet", "fs-ext-choice=ext2"]
    assert [found["base"], found["variant"]] == store.run_ids()
    assert (found["works"], found["faults"]) == (True, [])
    assert found["saving_ns"] == found["base_ns"] - found["variant_ns"] == 30 * MS
    assert sum(p["a_ns"] - p["b_ns"] for p in found["phases"]) == 30 * MS
    assert found["sizes"] == {}
    assert bench[1].system.rootfs.filesystem == "ext2"


@pytest.mark.usefixtures("bench")
def test_a_try_that_never_got_there_has_no_times(main_here: Command) -> None:
    found = json_of(main_here("try", "fs-rootfstype", "--json"), "try")
    assert [found[key] for key in ("base_ns", "variant_ns", "saving_ns")] == [None, None, None]
    assert found["phases"] == []


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["nonsense"], "unknown technique 'nonsense'", f"are {len(techniques())}: bootscope techniques"),
        (["kernel-quiet", "nonsense", "--json"], "unknown technique 'nonsense'", ""),
        (["kernel-compression"], "kernel-compression has several recipes", "kernel-compression=lz4"),
        (["kernel-quiet=loud"], "unknown recipe of kernel-quiet 'loud'", "there are: quiet"),
        (["fs-yaffs2"], "fs-yaffs2 cannot be tried: it needs hardware: ", "bootscope techniques"),
        (["kernel-no-printk", "kernel-quiet", "--system", "none"], "unknown system 'none'", "stock"),
        ([], "the following arguments are required", "--help"),
        (["init-replace-by-app", "init-source-scripts"], "init-replace-by-app and init-source-scripts", ""),
    ],
)
def test_what_cannot_be_tried_is_said_before_anything_is_built(
    main_here: Command, bench: list[LoadedSystem], arguments: list[str], message: str, hint: str
) -> None:
    refused(main_here("try", *arguments), message, hint)
    assert bench == []


def test_what_does_not_apply_is_refused_unless_forced(main_here: Command, bench: list[LoadedSystem]) -> None:
    refused(
        main_here("try", "kernel-no-net"),
        "kernel-no-net does not apply to stock: already in effect",
        "--force",
    )
    assert len(bench) == 1
    assert main_here("try", "kernel-no-net", "--force").returncode == 0


def test_a_system_that_does_not_boot_itself_is_told(
    main_here: Command, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(_self: object, _loaded: LoadedSystem) -> StoredRun:
        return store.load(keep(store, boot().records[:20], ended="hang"))

    monkeypatch.setattr(Bench, "measured", measure)
    refused(main_here("try", "kernel-quiet"), "stock itself does not boot: ended by hang")


def test_a_try_fits_a_narrow_terminal(store: Store) -> None:
    a, b = kept_view(store, frame=b"1"), kept_view(store, boot(init_ms=20).records, frame=b"2", parts=())
    found = verdict(store, a, b)
    names = [f"{name}={name}" for name in ("a-rather-long-name", "another-long-name", "third")]
    text = printed(lambda out: trial.show(out, names, a, 12_000_000, found))
    assert "  kernel/zImage: 4.0 MB -> 0 B\n" in text
    assert "saves 30.0 ms" in " ".join(text.split())
    assert "predicted: 12.0 ms" in " ".join(text.split())
    assert "but does not work" in " ".join(text.split())
