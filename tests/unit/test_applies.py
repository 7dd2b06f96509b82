# SPDX-License-Identifier: Apache-2.0
"""Whether a technique applies: what is known of a boot, placeholders, reasons against it, signs."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootscope.analysis.views import view
from bootscope.capture.store import Store
from bootscope.changes.applies import filled, why_not
from bootscope.core.errors import UserError
from bootscope.inventory.indicators import INDICATORS
from bootscope.inventory.machine import architecture, processors
from bootscope.inventory.recorded import Recorded, facts
from bootscope.system.changes import Change, Settings, apply
from bootscope.techniques.model import Applies, Recipe

from ..fixtures.stock_boot import unpack
from .known_builders import inventory_of
from .lab_scenes import CONFIGS, FILES, boot, keep, kept_view, known, listed, stock

SO_ALREADY = "already in effect"


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A boot of the stock system with every sign."""
    return known(Store(tmp_path_factory.mktemp("applies") / "store"))


def reason(some: Recorded, change: Change, **applies: object) -> str:
    return why_not(Recipe(change=change, applies=Applies(**applies)), some)  # type: ignore[arg-type]


# ---- what is known ----


def test_what_is_known_comes_from_the_recording(some: Recorded) -> None:
    assert some.configs == CONFIGS
    assert some.files == FILES
    assert some.words == ["console=ttyS0,115200", "root=/dev/mmcblk0p2", "rootwait", "rw"]
    assert some.compiler_options == ["-O2", "-Wall", "-Wextra", "-Werror"]
    assert some.settings["rootfs.filesystem"] == "ext4"
    assert "(lpj=4980736)" in some.console


def test_a_long_list_of_files_is_kept_packed_and_read(store: Store) -> None:
    files = {f"/etc/{number:06}": "file 0123456789abcdef" for number in range(40_000)}
    assert known(store, files=files).files == files


def test_a_recording_of_the_first_days_tells_less_and_breaks_nothing(store: Store) -> None:
    old = facts(store, view(store, store.load(unpack(store))))
    assert old.files == {}
    assert reason(old, Change(write={"/x": "1"})) == ""


# ---- placeholders ----


def test_placeholders_are_filled_with_what_the_boot_tells(some: Recorded) -> None:
    change = Change(
        command_line=("lpj=@lpj@", "init=@application@"),
        write={"/etc/@process@": "exec @application@ # @lpj@\n"},
        link={"/sbin/@process@": "@application@"},
        remove=("/etc/@process@*", "/etc/kept"),
    )
    found = filled(change, some)
    assert found.command_line == ("lpj=4980736", "init=/usr/bin/testcard")
    assert found.write == {"/etc/testcard": "exec /usr/bin/testcard # 4980736\n"}
    assert found.link == {"/sbin/testcard": "/usr/bin/testcard"}
    assert found.remove == ("/etc/testcard*", "/etc/kept")


def test_a_text_without_placeholders_stays_as_it_is(some: Recorded) -> None:
    change = Change(write={"/x": "a@b.example \\1 \\g<0> @@ @ a @"})
    assert filled(change, some) == change


@pytest.mark.parametrize("word", ["lpj=@lpj@", "x=@nonsense@"])
def test_what_the_boot_does_not_tell_is_a_reason_against_it(store: Store, word: str) -> None:
    silent = known(store, boot(calibration=False).records)
    with pytest.raises(UserError, match="the boot does not show") as caught:
        filled(Change(command_line=(word,)), silent)
    assert caught.value.hint
    assert reason(silent, Change(command_line=(word,))) == caught.value.message


def test_a_calibration_that_was_skipped_tells_nothing_to_preset(store: Store) -> None:
    story = boot(calibration=False)
    story.typed(b"Calibrating delay loop (skipped) preset value..\r\n")
    assert "does not show lpj" in reason(known(store, story.records), Change(command_line=("lpj=@lpj@",)))


def test_a_run_without_settings_is_no_bug(store: Store) -> None:
    """Such as one of a version that did not keep them."""
    bare = Recorded(view=kept_view(store), configs={"kernel": {}, "uboot": {}, "busybox": {}})
    with pytest.raises(UserError, match="does not show application"):
        filled(Change(command_line=("init=@application@",)), bare)


# ---- what is so already ----


@pytest.mark.parametrize(
    "change",
    [
        Change(),
        Change(kernel={"MODULES": True}),
        Change(kernel={"SMP": True, "NEVER_HEARD_OF": False}),
        Change(kernel={"LOG_BUF_SHIFT": 14}),
        Change(uboot={"BOOTDELAY": 2, "PREBOOT": ""}),
        Change(busybox={"FEATURE_PREFER_APPLETS": False}),
        Change(command_line=("rw", "root=/dev/mmcblk0p2")),
        Change(command_line_drop=("quiet", "ro")),
        Change(command_line=("rw",), command_line_drop=("rw",)),
        Change(link={"/bin/sh": "/bin/busybox"}),
        Change(remove=("/etc/init.d/K*", "/usr")),
        Change(remove=("/bin/s?",), link={"/bin/sh": "/bin/busybox"}),
        Change(compiler_options=("-O2",), compiler_options_drop=("-g",)),
        Change(settings={"rootfs.filesystem": "ext4", "card.boot_sector": 2048, "rootfs.options": ()}),
    ],
)
def test_what_is_so_already_need_not_be_tried(some: Recorded, change: Change) -> None:
    assert reason(some, change) == SO_ALREADY


@pytest.mark.parametrize(
    "change",
    [
        Change(kernel={"MODULES": False}),
        Change(kernel={"SMP": True, "MODULES": "m"}),
        Change(uboot={"BOOTDELAY": 0}),
        Change(uboot={"PREBOOT": "setenv silent 1"}),
        Change(busybox={"FEATURE_PREFER_APPLETS": True}),
        Change(command_line=("rw", "quiet")),
        Change(command_line=("root=/dev/sda",)),
        Change(command_line_drop=("root",)),
        Change(command_line_drop=("root=/dev/sda",)),
        Change(write={"/etc/init.d/rcS": "#!/bin/sh\n"}),
        Change(link={"/bin/sh": "/bin/ash"}),
        Change(link={"/etc/init.d/rcS": "x"}),
        Change(remove=("/etc/init.d/S*",)),
        Change(remove=("/etc",)),
        Change(compiler_options=("-Os",)),
        Change(compiler_options_drop=("-O2",)),
        Change(settings={"rootfs.filesystem": "ext2"}),
        Change(settings={"rootfs.options": ("-I", "128")}),
    ],
)
def test_what_changes_something_applies(some: Recorded, change: Change) -> None:
    assert reason(some, change) == ""


def test_options_to_drop_are_found_as_they_are_dropped(store: Store) -> None:
    """By their name, that is, and whatever their value."""
    system = apply(stock().system, {"x": Change(compiler_options=("-march=armv7-a",))})
    assert reason(known(store, system=system), Change(compiler_options_drop=("-march=x",))) == ""


def test_a_file_with_this_very_text_is_so_already(store: Store) -> None:
    text = "#!/bin/sh\necho h\u00e9\n"
    there = known(store, files={"/etc/init.d/rcS": listed(text)})
    assert reason(there, Change(write={"/etc/init.d/rcS": text})) == SO_ALREADY
    assert reason(there, Change(write={"/etc/init.d/rcS": text + " "})) == ""


def test_settings_with_several_values_are_compared_as_they_were_kept(store: Store) -> None:
    change = Change(settings={"rootfs.options": ("-I", "128")})
    there = known(store, system=apply(stock().system, {"it": change}))
    assert reason(there, change) == SO_ALREADY


# ---- conditions ----

QUIET = Change(command_line=("quiet",))


@pytest.mark.parametrize(
    ("applies", "expected"),
    [
        ({"kernel": {"MODULES": True}}, ""),
        ({"kernel": {"MODULES": False}}, "kernel has MODULES=y, it is for MODULES=n"),
        ({"uboot": {"NOT_THERE": True}}, "uboot has NOT_THERE=n, it is for NOT_THERE=y"),
        ({"busybox": {"ASH": False}}, ""),
        ({"command_line_lacks": ("quiet",)}, ""),
        ({"command_line_lacks": ("root",)}, "the command line has root"),
        ({"filesystem": ("ext3", "ext4")}, ""),
        ({"filesystem": ("squashfs",)}, "the root file system is ext4"),
        ({"shows": "countdown"}, ""),
    ],
)
def test_a_condition_that_is_not_met_is_told(
    some: Recorded, applies: dict[str, object], expected: str
) -> None:
    assert reason(some, QUIET, **applies) == expected


def test_what_the_boot_does_not_show_is_told(store: Store) -> None:
    none = known(store, boot(countdown=False).records)
    assert reason(none, QUIET, shows="countdown") == "the boot does not show a countdown in U-Boot"


# ---- signs ----


@pytest.mark.parametrize(
    ("sign", "words"),
    [
        ("loader-console", "lines, 15 B of console: "),
        ("bootloader-or-files", "bootloader takes "),
        ("kernel-console", "2 lines, 93 B of console: "),
        ("countdown", "U-Boot waits 30.0 ms for a key"),
        ("calibration", "delay loop calibration: 4"),
        ("decompress", "decompress takes 8.0 ms"),
        ("init", "init takes 50.0 ms"),
        ("bootloader", "bootloader takes "),
    ],
)
def test_a_sign_is_shown_with_its_figures(some: Recorded, sign: str, words: str) -> None:
    assert words in (INDICATORS[sign].evidence(some) or "")
    assert INDICATORS[sign].what


@pytest.mark.parametrize(
    ("line", "given", "shown"),
    [
        ("a.mmc: deferred probe timeout, ignoring dependency", {}, "waiting for what a.mmc needs"),
        ("platform a.mmc: deferred probe pending", {}, "waiting for what platform a.mmc needs"),
        ("a.mmc: probed", {}, ""),
        ("a.mmc: deferred probe pending", {"command_line": "deferred_probe_timeout=0"}, ""),
    ],
)
def test_the_time_out_of_deferred_probes_is_seen_in_a_log(
    line: str, given: dict[str, str], shown: str
) -> None:
    sign = INDICATORS["deferred-timeout"]
    told = sign.otherwise(inventory_of(log=["[    0.000000] Linux version 6.6.0", line], **given))
    assert told is not None
    assert told.endswith(shown)
    assert bool(told) == bool(shown)
    assert sign.otherwise(inventory_of(log=[line])) is None or given


@pytest.mark.parametrize(("there", "shown"), [(True, "usb-storage 1-1:1.0 is a disk"), (False, "")])
def test_a_disk_at_usb_is_seen_in_a_log(there: bool, shown: str) -> None:
    lines = ["[    0.000000] Linux version 6.6.0"]
    lines += ["[    1.000000] usb-storage 1-1:1.0: USB Mass Storage device detected"] if there else []
    assert INDICATORS["usb-disk"].otherwise(inventory_of(log=lines)) == shown
    assert INDICATORS["usb-disk"].otherwise(inventory_of()) is None


def test_a_recorded_board_is_known_without_its_log(some: Recorded) -> None:
    assert (architecture(some), processors(some)) == ("arm", 1)


def test_every_sign_is_tested() -> None:
    assert len(INDICATORS) == 30


def test_caches_are_told_of_counted_boots_only(some: Recorded) -> None:
    """tests/prebuilt/test_timing.py has a counted one."""
    assert INDICATORS["caches-off"].evidence(some) == ""
    assert INDICATORS["caches-off"].otherwise(some) is None


def test_a_boot_without_anything_shows_nothing(store: Store) -> None:
    empty = known(store, [], parts=())
    shown = {name for name, sign in INDICATORS.items() if sign.evidence(empty)}
    assert shown <= {"bootloader", "init", "init-by-path", "decompress"}
    assert "countdown" not in shown


def test_a_calibration_at_the_very_end_has_no_length(store: Store) -> None:
    story = boot(calibration=False, info=False)
    story.typed(b"Calibrating delay loop... ", 100)
    assert INDICATORS["calibration"].evidence(known(store, story.records)) == ""


def test_the_run_can_be_one_that_did_not_get_far(store: Store) -> None:
    run = store.load(keep(store, boot().records[:20], ended="hang"))
    assert facts(store, view(store, run)).words


def test_a_static_program_has_no_libraries_to_link(tmp_path: Path) -> None:
    linker = Change(compiler_options=("-Wl,-O1",))
    system = stock().system
    static = apply(system, {"static": Change(compiler_options=("-static",))})
    for found, said in ((system, ""), (static, "the application is compiled with -static")):
        here = known(Store(tmp_path / (said or "dynamic")), None, found)
        assert reason(here, linker, compiler_options_lack=("-static",)) == said


def test_a_file_system_that_the_boot_never_mounts_is_not_worked_on(tmp_path: Path) -> None:
    another = Change(settings={"rootfs.filesystem": "squashfs"})
    system = stock().system
    assert reason(known(Store(tmp_path / "card"), None, system), another) == ""
    gone = Change(command_line=("rdinit=/init",), command_line_drop=("root", "rootwait", "rw"))
    in_memory = known(Store(tmp_path / "memory"), None, apply(system, {"gone": gone}))
    assert "the root is in memory" in reason(in_memory, another)
    assert "the root is in memory" in reason(in_memory, Change(command_line=("rootfstype=ext4",)))
    assert reason(in_memory, Change(command_line=("quiet",))) == ""
    # What only begins in memory, and mounts the root itself, is another matter.
    first = apply(system, {"first": Change(settings={"initramfs.place": "built-in"})})
    assert reason(known(Store(tmp_path / "first"), None, first), another) == ""


def test_what_is_not_in_the_archive_is_not_worked_on(tmp_path: Path) -> None:
    settings: Settings = {"initramfs.place": "built-in", "initramfs.only": ("/usr/bin/testcard",)}
    gone = Change(command_line=("rdinit=/usr/bin/testcard",), command_line_drop=("root",), settings=settings)
    alone = known(Store(tmp_path / "store"), None, apply(stock().system, {"gone": gone}))
    for change in (
        Change(remove=("/etc/*",)),
        Change(busybox={"SH_STANDALONE": True}),
        Change(settings={"busybox.defconfig": "allnoconfig"}),
        Change(settings={"card.root_sectors": 32768}),
    ):
        assert "archive with only the application" in reason(alone, change)
    assert reason(alone, Change(compiler_options=("-Os",))) == ""
    assert reason(alone, Change(remove=("/etc/*",), kernel={"MMC": False})) == ""
    assert reason(alone, Change(write={"/usr/bin/testcard": "another"})) == ""


@pytest.mark.parametrize(("words", "settings", "there"), [
    (("quiet",), {}, True),
    (("init=/usr/bin/testcard",), {}, False),
    (("rdinit=/usr/bin/testcard",), {}, False),
    (("init=/sbin/another",), {}, True),
    (("init=/usr/bin/testcard",), {"initramfs.place": "built-in"}, True),
])  # fmt: skip
def test_an_application_that_is_the_first_process_has_no_init(
    tmp_path: Path, words: tuple[str, ...], settings: dict[str, str], there: bool
) -> None:
    change = Change(command_line=words, settings=settings)  # type: ignore[arg-type]
    here = known(Store(tmp_path / "store"), None, apply(stock().system, {"it": change}))
    assert bool(INDICATORS["init"].evidence(here)) == there
