# SPDX-License-Identifier: Apache-2.0
"""`audit` of loose files, of systems and of imports, and `pitfalls`, as a user meets them."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bootscope.artefacts.identify import gather
from bootscope.audit.findings import Audit, audit
from bootscope.audit.pitfalls.find import find_pitfalls
from bootscope.audit.pitfalls.model import pitfalls
from bootscope.audit.subject import subject
from bootscope.builder.cache import Cache
from bootscope.capture.store import Store
from bootscope.changes.applies import not_known, why_not
from bootscope.inventory.inventory import Inventory, Part
from bootscope.report import audited
from bootscope.system.changes import Change
from bootscope.system.load import load_system, system_dir
from bootscope.techniques.model import Applies, Recipe

from . import artefact_builders as made
from .conftest import Command
from .known_builders import MS, inventory_of, log_of, timed
from .lab_scenes import boot, keep
from .test_cli_verbs import json_of
from .test_lab_cli import refused


def found_in(**given: Any) -> Audit:
    return audit(inventory_of(**given))


def predicted(found: Audit, name: str) -> int | None:
    """The prediction for a technique, which must be among the findings."""
    return next(f.saving_ns for f in found.findings if f.spec == name)


# ---- what is known, what is not ----


def test_of_nothing_known_every_technique_is_unknown() -> None:
    found = audit(Inventory())
    assert found.findings == ()
    other_goals = {s for s, why in found.not_for_us.items() if why.startswith("it only makes ")}
    assert all(name.startswith("splash-") for name in other_goals)
    hardware = {s for s, why in found.not_for_us.items() if why == "it is a hardware change: try it"}
    assert hardware == {"hw-faster-storage", "hw-memory-timing"}
    assert found.not_for_us.keys() == other_goals | hardware
    assert all(found.unknown.values())
    assert found.unknown["kernel-no-net"] == Part.KERNEL


def test_a_configuration_alone_tells_what_it_tells() -> None:
    found = found_in(kernel="NET MODULES KERNEL_GZIP PRINTK")
    applies = {f.spec for f in found.findings}
    assert {"kernel-no-net", "kernel-no-modules", "kernel-compression=lz4"} <= applies
    assert found.not_for_us["kernel-compression=gzip"] == "already in effect"
    # Whether it writes to a console no configuration tells.
    assert found.unknown["kernel-no-printk"] == ("a boot that may show a kernel that writes to the console")
    assert found.unknown["uboot-bootdelay"].startswith(Part.LOADER)


def test_nothing_is_taken_for_granted_of_a_fragment() -> None:
    found = found_in(kernel="NET", partial=frozenset({"kernel"}))
    assert "kernel-no-net" in {f.spec for f in found.findings}
    assert found.unknown["kernel-no-modules"] == Part.KERNEL


@pytest.mark.parametrize(
    ("change", "given", "missing"),
    [
        (Change(command_line=("quiet",)), {}, Part.COMMAND_LINE),
        (Change(command_line=("lpj=@lpj@",)), {"command_line": ""}, "the boot does not show lpj"),
        (Change(write={"/x": "1"}), {"command_line": ""}, Part.FILES),
        (Change(write={"/x": "1"}), {"files": {"/x": "file"}}, "the content of /x"),
        (Change(compiler_options=("-Os",)), {"files": {}}, Part.SETTINGS),
        (Change(settings={"rootfs.filesystem": "ext2"}), {}, Part.SETTINGS),
        (Change(kernel={"SMP": False}), {"uboot": ""}, Part.KERNEL),
    ],
)
def test_what_would_have_to_be_known_is_named(change: Change, given: dict[str, Any], missing: str) -> None:
    known = inventory_of(**given)
    assert why_not(Recipe(change=change), known) == ""
    assert not_known(Recipe(change=change), known) == missing


@pytest.mark.parametrize(
    ("change", "given"),
    [
        (Change(command_line=("quiet",)), {"command_line": ""}),
        (Change(command_line=("quiet",), kernel={"SMP": False}), {"command_line": ""}),
        (Change(write={"/x": "1"}), {"files": {}}),
        (Change(settings={"rootfs.filesystem": "ext2"}), {"settings": {"rootfs.filesystem": "ext4"}}),
    ],
)
def test_one_difference_that_is_known_is_enough(change: Change, given: dict[str, Any]) -> None:
    known = inventory_of(**given)
    assert (why_not(Recipe(change=change), known), not_known(Recipe(change=change), known)) == ("", "")


def test_conditions_that_cannot_be_told() -> None:
    change = Change(command_line=("quiet",))
    known = inventory_of(command_line="")
    wanted = Applies(uboot={"SPL": True}, filesystem=("ext4",), shows="countdown")
    assert not_known(Recipe(change=change, applies=wanted), known) == (
        "U-Boot configuration, the kind of root file system, a boot that may show a countdown in U-Boot"
    )
    assert why_not(
        Recipe(change=change, applies=Applies(filesystem=("ext4",))),
        inventory_of(command_line="rootfstype=jffs2"),
    )


# ---- predictions from logs ----

STAMPED = [f"[    1.{n:06}] {'x' * 69}" for n in range(100)]


def test_quiet_is_predicted_from_bytes_and_line_rate() -> None:
    found = found_in(log=STAMPED, command_line="console=ttyS0,57600")
    # 100 lines of 15 + 69 + 2 bytes at ten bits a byte.
    assert predicted(found, "kernel-quiet") == 100 * 86 * 10 * 1_000_000_000 // 57600
    finding = next(f for f in found.findings if f.spec == "kernel-quiet")
    assert "57600 baud: the command line says so" in " ".join(finding.assumptions)
    assert "has no levels" in " ".join(finding.assumptions)
    assert finding.evidence.startswith("100 lines, 8.6 kB of console: 1.493 s at 57600 baud")


def test_levels_are_heeded_where_they_are_told(tmp_path: Path) -> None:
    path = tmp_path / "dmesg"
    lines = [f"<{3 if n < 40 else 6}>[    1.{n:06}] {'x' * 69}\n" for n in range(100)]
    path.write_text("".join(lines))
    (tmp_path / "cmdline").write_text("console=ttyS0,115200 rootwait\n")
    known, _ = gather([str(path), str(tmp_path / "cmdline")])
    assert predicted(audit(known), "kernel-quiet") == 60 * 86 * 10 * 1_000_000_000 // 115200


def test_what_is_quiet_already_saves_nothing() -> None:
    found = found_in(log=STAMPED, command_line="console=ttyS0,115200 quiet")
    assert found.not_for_us["kernel-quiet"] == "already in effect"
    assert "kernel-no-printk" in {*found.not_for_us, *found.unknown}


@pytest.mark.parametrize(
    ("given", "ns"),
    [
        (
            {"log": timed([(0, "U-Boot 2025.01"), (5, "Hit any key to stop autoboot:  2"), (2105, "a")])},
            2100 * MS,
        ),
        ({"log": log_of("Hit any key to stop autoboot:  3  2  1  0")}, 3000 * MS),
        ({"environment": {"bootdelay": "5"}}, 5000 * MS),
        ({}, 2000 * MS),
    ],
)
def test_the_countdown_is_predicted_from_what_there_is(given: dict[str, Any], ns: int) -> None:
    assert predicted(found_in(uboot="BOOTDELAY=2", **given), "uboot-bootdelay") == ns


def test_the_calibration_is_predicted_from_its_gap() -> None:
    rows = [
        "[    0.000000] Linux version 6.1",
        "[    0.001000] Calibrating delay loop... 9 BogoMIPS (lpj=4980736)",
    ]
    found = found_in(log=[*rows, "[    0.041000] x"], command_line="quiet")
    assert predicted(found, "kernel-lpj") == 40 * MS
    assert "may be less" in next(f for f in found.findings if f.spec == "kernel-lpj").assumptions[0]


def test_a_clock_of_seconds_tells_no_gap_of_milliseconds() -> None:
    rows = [(0, "Linux version 6.1"), (0, "Calibrating delay loop... 9 BogoMIPS (lpj=4980736)"), (0, "x")]
    found = found_in(log=timed(rows, resolution_ns=1_000_000_000), command_line="quiet")
    assert predicted(found, "kernel-lpj") is None


# ---- the verb ----


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Loose files of one system."""
    texts = {
        "config": made.KERNEL_CONFIG, "cmdline": made.COMMAND_LINE, "env.txt": made.PRINTENV,
        "boot.log": made.CONSOLE,
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    made.made_tree(tmp_path / "root")
    return {name: tmp_path / name for name in (*texts, "root")}


def test_loose_files_are_audited(main_here: Command, files: dict[str, Path]) -> None:
    done = main_here("audit", *files.values(), "--top", "99")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "5 files"
    assert lines[1] == f"  {files['config']}: kernel configuration (Linux/arm 6.12.1): 7 symbols set"
    text = done.stdout
    assert "2.000 s  uboot-bootdelay" in text
    assert "kernel-no-modules" in text
    assert "undecided: input is missing (--all says why)" in text
    named = text[text.index("pitfalls:") :]
    assert "three-runs" in named
    assert "many-shells" not in named  # init-source-scripts says so above
    assert "bootdelay" not in named


def test_all_says_what_is_missing(main_here: Command, files: dict[str, Path]) -> None:
    text = main_here("audit", files["config"], "--all").stdout
    assert "uboot-silent: undecided, needs: U-Boot configuration, a boot that may show" in text
    assert "nobody can tell" not in text


def test_pitfalls_tells_advice_and_what_was_not_looked_at(main_here: Command, files: dict[str, Path]) -> None:
    (files["cmdline"]).write_text("console=ttyS0 root=/dev/sda1 lpj=1000\n")
    text = main_here("audit", files["cmdline"], "--pitfalls").stdout
    assert "needs manual review" in text
    assert "failure-modes" in text
    assert "tracing-left-on: not checked, it needs: kernel configuration" in text
    assert "rootfstype-missing" in text


def test_loose_files_as_json(main_here: Command, files: dict[str, Path]) -> None:
    found = json_of(main_here("audit", *files.values(), "--json"), "audit")
    assert found["boot"] is None
    assert [f["kind"] for f in found["files"]] == [
        "kernel configuration", "kernel command line", "U-Boot environment", "root file system", "log",
    ]  # fmt: skip
    assert list(found["files"][0]) == ["name", "kind", "told", "notes"]
    assert found["techniques"][0]["technique"] == "uboot-bootdelay"
    assert found["unknown"]["uboot-silent"]
    warned = {w["pitfall"]: w for w in found["pitfalls"]}
    assert list(warned["bootdelay"]) == ["pitfall", "about", "title", "evidence", "technique", "do"]
    assert warned["bootdelay"]["technique"] == "uboot-bootdelay"
    assert found["undecided"]["falcon-slow-spl-driver"] == Part.BOOT
    assert set(found["undecided"]) | set(warned) | {a["pitfall"] for a in found["advice"]} < set(pitfalls())


def test_a_file_that_is_not_understood_is_an_error(main_here: Command, tmp_path: Path) -> None:
    path = tmp_path / "poem"
    path.write_text("no such thing\n")
    refused(main_here("audit", path), f"{path} is not a file that audit can read: text", "kernel log")
    refused(main_here("audit", path, "--json"), f"{path} is not a file")
    refused(main_here("audit", tmp_path / "none"), f"cannot read {tmp_path / 'none'}: No such file")


def test_a_name_is_a_run_before_it_is_a_file(main_here: Command, store: Store, tmp_path: Path) -> None:
    run_id = keep(store)
    (tmp_path / "last").write_text(made.KERNEL_CONFIG)
    (tmp_path / "thing").write_text(made.KERNEL_CONFIG)
    assert main_here("audit", "last").stdout.startswith(f"{run_id}/001: ")
    assert main_here("audit", f"{run_id}/1").stdout.startswith(f"{run_id}/001: ")
    assert main_here("audit", "./last").stdout.startswith("1 file\n  ./last: kernel configuration")
    assert main_here("audit", "thing").stdout.startswith("1 file\n  thing: ")
    refused(main_here("audit", "nonsense"), "unknown run 'nonsense'", "or the path of a file: .config")


def test_evidence_from_files_is_made_safe(main_here: Command, tmp_path: Path) -> None:
    tree = {**made.TREE, "/etc/init.d/S99x": "#!/bin/sh\nx=`cat /a\x1b[31m | cut -c1`" + "y" * 5000 + "\n"}
    root = made.made_tree(tmp_path / "root", tree)
    done = main_here("audit", root, "--pitfalls")
    assert "useless-fork" in done.stdout
    assert "\x1b" not in done.stdout
    assert "\\x1b[31m" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 200


# ---- systems ----


def own_system(folder: Path, **words: str) -> Path:
    """A copy of the reference system with some texts replaced."""
    shutil.copytree(system_dir() / "stock", folder / "stock")
    text = (system_dir() / "stock.toml").read_text()
    for old, new in words.items():
        text = text.replace(old, new)
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_a_system_that_was_never_recorded(main_here: Command, tmp_path: Path) -> None:
    done = main_here("audit", own_system(tmp_path), "--all")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("stock: never recorded; not built: kernel, uboot, busybox, rootfs\n")
    assert "note: no timing data: no boot was given" in done.stdout
    assert "fs-rootfstype" in done.stdout
    found = json_of(main_here("audit", "stock", "--json"), "audit")
    assert found["unknown"]["kernel-no-modules"] == Part.KERNEL
    assert found["boot"] is None


def test_a_system_is_known_by_its_last_boot(main_here: Command, store: Store, tmp_path: Path) -> None:
    keep(store, boot(countdown=False).records)
    run_id = keep(store)
    keep(store, boot().records[:30], ended="panic")
    path = own_system(tmp_path)
    for name in (path, "stock"):
        assert main_here("audit", name).stdout.startswith(f"{run_id}/001: application after 0.388 s\n")


def test_a_system_that_has_changed_since_is_said_to_have(store: Store, tmp_path: Path) -> None:
    run_id = keep(store)
    path = own_system(tmp_path, rootwait="rootwait quiet")
    found = subject(store, Cache(tmp_path / "cache"), [str(path)])
    assert found.boot == f"{run_id}/001"
    assert found.notes == ("the system has changed since this recording: kernel.command_line",)


def test_a_system_is_looked_at_alone(main_here: Command, files: dict[str, Path], tmp_path: Path) -> None:
    refused(main_here("audit", own_system(tmp_path / "x"), files["config"]), "", "name loose files only")


def test_what_is_built_is_known(store: Store, tmp_path: Path) -> None:
    loaded = load_system("stock")
    found = subject(store, Cache(tmp_path / "cache"), ["stock"])
    assert found.known.word("root") == "/dev/mmcblk0p2"
    assert found.known.symbol("kernel", "FB_SIMPLE") == "y"
    assert found.known.symbol("kernel", "SMP") is None
    assert found.known.loader.bootargs == loaded.system.kernel.command_line


def test_an_import_is_audited(main_here: Command, files: dict[str, Path]) -> None:
    run_id = json_of(main_here("import", files["boot.log"], "--json"), "import")["run_id"]
    done = main_here("audit", run_id)
    assert done.stdout.startswith(f"{run_id}: ")
    assert "uboot-bootdelay" in done.stdout


# ---- pitfalls ----


def test_warnings_keep_their_names_whole_on_a_narrow_terminal() -> None:
    known = inventory_of(kernel="CC_OPTIMIZE_FOR_SIZE XIP_KERNEL", command_line="root=/dev/sda1 lpj=1")
    out = io.StringIO()
    audited.pitfalls(Console(file=out, width=80, color_system=None), find_pitfalls(known), True)
    for name in ("os-slower", "xip-not-a-win", "rootfstype-missing", "failure-modes"):
        assert name in out.getvalue().split()
    assert all(len(line) <= 80 for line in out.getvalue().splitlines())
