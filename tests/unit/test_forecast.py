# SPDX-License-Identifier: Apache-2.0
"""What leaving parts out of a kernel is predicted to save: on a kernel of three files, and a boot by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks
from bootscope.analysis.views import View
from bootscope.analysis.whatif import predict
from bootscope.analysis.whatif_root import root_kinds
from bootscope.audit.forecast import can_be_told, forecast, uncounted, without_devices, without_objects
from bootscope.builder.cache import Cache
from bootscope.capture import objects
from bootscope.capture.record import Extent, SourceFact
from bootscope.capture.store import Store
from bootscope.core.errors import UserError
from bootscope.cores.changes import changed
from bootscope.cores.profile import load_core
from bootscope.image.symbols import Symbols
from bootscope.inventory import closure
from bootscope.inventory.closure import Closures, Lost, source_of
from bootscope.kbuild.kconfig import parse
from bootscope.system.changes import Change
from bootscope.techniques.model import Recipe

from .builders import KERNEL_SECTOR
from .lab_scenes import known
from .scenes import Story, evidence_of, run_of

MS = 1_000_000
USB, CORE = 0xC0100000, 0xC0200000
TABLES = {"kernel": Symbols([(USB, "usb_init"), (CORE, "core_init"), (0xC0300000, "end")])}
LINKED = (
    b"c0100000 20000 .text drivers/usb.o\nc0200000 10000 .text core.o\nc0210000 8000 .bss drivers/usb.o\n"
)
MAP = b"c0000000 T _text\nc0300000 D _edata\n"
CONFIG = b"CONFIG_USB=y\nCONFIG_USB_HUB=y\nCONFIG_MMC=y\n"
KCONFIG = """
config USB
\tbool "usb"

config USB_HUB
\tbool "hubs"
\tdepends on USB

config MMC
\tbool "cards"
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sources of a kernel of three files, found instead of those of the recording."""
    tree = tmp_path / "tree"
    (tree / "drivers").mkdir(parents=True)
    (tree / "Kconfig").write_text(KCONFIG)
    (tree / "Makefile").write_text("obj-y += core.o drivers/\n")
    (tree / "drivers/Makefile").write_text("obj-$(CONFIG_USB) += usb.o\nobj-$(CONFIG_MMC) += mmc.o\n")
    monkeypatch.setattr(closure, "source_of", lambda run, cache: tree)
    return tree


def boot(*, usb: bool = True) -> Evidence:
    """An initcall that prints nothing and waits for nobody, and its code running once more later."""
    story = (
        Story()
        .hook("uboot.start")
        .read(KERNEL_SECTOR, 50_000)
        .hook("kernel.start")
        .work(2 * MS)
        .sample(CORE)
        .switch(1, name=b"swapper/0")
    )
    if usb:
        story.enter("initcall", USB).work(11 * MS).sample(USB + 64).work(MS).leave("initcall")
    story.enter("initcall", CORE).work(2 * MS).sample(CORE + 64).leave("initcall")
    if usb:
        story.work(2 * MS).sample(USB + 128)
    story.work(2 * MS).sample(CORE)
    kept = {objects.KERNEL_CONFIG: CONFIG, objects.KERNEL_OBJECTS: LINKED, objects.KERNEL_SYMBOLS: MAP}
    return evidence_of(story.records, run_of(), TABLES, kept=kept)


def closures(evidence: Evidence, tmp_path: Path) -> Closures:
    return Closures(Store(tmp_path / "store"), Cache(tmp_path / "cache"), evidence)


def test_what_goes_with_a_symbol_is_told_by_kconfig_and_makefiles(tree: Path, tmp_path: Path) -> None:
    lost = closures(boot(), tmp_path).lost(["USB"])
    assert lost.symbols == ("USB", "USB_HUB")
    assert lost.objects == ("drivers/usb.o",)
    assert lost.image_bytes == 0x20000  # what is only reserved takes no place in the image


def test_from_nothing_up_everything_goes_but_what_is_named(tree: Path, tmp_path: Path) -> None:
    assert closures(boot(), tmp_path).lost([], ["MMC"]).symbols == ("USB", "USB_HUB")
    assert closures(boot(), tmp_path).lost([], ["MMC", "USB", "USB_HUB"]).symbols == ()


def test_the_answer_is_kept(tree: Path, tmp_path: Path) -> None:
    first = closures(boot(), tmp_path).lost(["USB"])
    (tree / "Kconfig").unlink()
    assert closures(boot(), tmp_path).lost(["USB"]) == first
    with pytest.raises(UserError, match="no Kconfig"):
        closures(boot(), tmp_path).lost(["MMC"])


def test_an_answer_is_that_of_the_kernel_asked_about(tree: Path, tmp_path: Path) -> None:
    """Also where the system calls its kernel's source something else than `linux`."""

    def of(sha256: str) -> Closures:
        run = boot().run
        source = SourceFact(version="6.1", origin="here", sha256=sha256)
        settings = {**run.system.settings, "kernel.source": "linux-6-1"}
        system = msgspec.structs.replace(run.system, settings=settings)
        run = msgspec.structs.replace(run, system=system, sources={"linux-6-1": source})
        return closures(replace(boot(), run=run), tmp_path)

    assert of("a" * 64).lost(["USB"]).symbols == ("USB", "USB_HUB")
    (tree / "Kconfig").unlink()
    with pytest.raises(UserError, match="no Kconfig"):
        of("b" * 64).lost(["USB"])


def test_initcalls_and_code_of_what_goes_are_saved(tree: Path, tmp_path: Path) -> None:
    """The initcall as a whole, and the sample after it: a fifth of the CPU time of the kernel."""
    evidence = boot()
    found = closures(evidence, tmp_path)
    lost = msgspec.structs.replace(found.lost(["USB"]), image_bytes=0)

    def add(plan, evidence, steps):  # type: ignore[no-untyped-def]
        without_objects(plan, evidence, steps, found, lost)

    prediction = predict(evidence, Stacks(evidence), [], [add])
    cpu_ns = evidence.timeline.phases[-1].cpu_ns
    assert prediction.saving_ns == 12 * MS + cpu_ns // 5
    assert "1 initcalls are gone, with their drivers' probes" in prediction.assumptions


def test_a_kernel_that_was_not_kept_cannot_be_taken_apart(tmp_path: Path) -> None:
    evidence = evidence_of(Story().work(MS).sample().records, run_of(), TABLES)
    found = closures(evidence, tmp_path)
    with pytest.raises(UserError, match="linked from"):
        _ = found.linked
    with pytest.raises(UserError, match="configuration"):
        found.lost(["USB"])
    with pytest.raises(UserError, match="sources of this kernel"):
        source_of(evidence.run, found.cache)


@pytest.mark.parametrize(("change", "told"), [
    (Change(kernel={"USB": False}), True),
    (Change(kernel={"EXPERT": True, "USB": False}), True),
    (Change(kernel={"USB": True}), False),
    (Change(kernel={"USB": False}, command_line=("x",)), False),
    (Change(settings={"kernel.defconfig": "allnoconfig"}, kernel_wishes={"MMC": True}), True),
    (Change(settings={"kernel.disabled_nodes": ("/soc/usb@1",)}), True),
    (Change(uboot={"USB": False}), False),
])  # fmt: skip
def test_there_is_a_model_of_what_only_leaves_out(change: Change, told: bool) -> None:
    assert can_be_told(Recipe(change=change)) == told
    assert can_be_told(Recipe(change=change, predict=("quiet",)))


def test_without_sources_or_a_model_nothing_is_predicted(tmp_path: Path) -> None:
    here = known(Store(tmp_path / "store"))
    with pytest.raises(UserError, match="no model"):
        forecast(here, [Recipe(change=Change(kernel={"USB": True}))])
    with pytest.raises(UserError, match="sources are not available"):
        forecast(here, [Recipe(change=Change(kernel={"USB": False}))])


def test_counts_that_a_prediction_lacks_are_told(tmp_path: Path) -> None:
    """Of other caches than those that were counted; there is nothing to count for a boot without a core."""
    here, core = known(Store(tmp_path / "store")), load_core("cortex-a8")
    caches = Recipe(change=Change(), predict=("quiet", "dcache=on-in-load"))
    assert uncounted(here, [caches]) is None
    on_core = replace(here, view=replace(here.view, core=core))
    lacks = uncounted(on_core, [caches])
    assert lacks and lacks.geometry_id == changed(core, ["dcache=on-in-load"]).core.geometry_id
    assert uncounted(on_core, [Recipe(change=Change(), predict=("quiet",))]) is None
    with pytest.raises(UserError, match="does not say where"):
        uncounted(on_core, [Recipe(change=Change(), predict=("dcache=on",))])


GONE, STAYS = "/soc/usb@1c14000", "/soc/mmc@1c0f000"


def messages(*said: str) -> Evidence:
    story = Story().hook("uboot.start").work(MS).read(KERNEL_SECTOR, 50_000).hook("kernel.start")
    story.work(MS).sample(CORE).switch(1, name=b"swapper/0").work(MS)
    for text in said:
        story.hook("printk", (1 << 32) - 1, 0, text=f"\x016{text}\n".encode())
        story.typed(f"[    0.000000] {text}\r\n".encode(), 2_000).work(MS)
    return evidence_of(story.work(MS).sample(CORE).records, run_of(), TABLES)


@pytest.mark.parametrize(("text", "stays"), [
    (f"{GONE}: Fixed dependency cycle(s) with {STAYS}", False),
    (f"{STAYS}: Fixed dependency cycle(s) with {GONE}", False),
    ("ehci-platform 1c14000.usb: EHCI Host Controller", False),
    (f"{GONE}0: another node", True),
    ("x1c14000.usb: another device", True),
    ("1c14000.usb-phy: another device", True),
    (f"{STAYS}: still there", True),
])  # fmt: skip
def test_what_the_kernel_says_of_a_disabled_device_is_not_printed(text: str, stays: bool) -> None:
    evidence, without = messages("a line before", text), messages("a line before")
    saved = predict(evidence, Stacks(evidence), [], [without_devices([GONE])]).saving_ns
    line_ns = evidence.timeline.total_ns - without.timeline.total_ns - MS
    assert saved == (0 if stays else line_ns)


def test_parts_of_source_files_are_not_taken_for_nothing(tmp_path: Path) -> None:
    """A symbol without an object file of its own may be worth much: a contest of routines, for one."""
    symbols_only = SimpleNamespace(lost=lambda _off, _only: Lost(("CONTEST",), (), 0))
    here = replace(known(Store(tmp_path / "store")), closures=cast(Closures, symbols_only))
    recipe = Recipe(change=Change(kernel={"CONTEST": False}))
    with pytest.raises(UserError, match="parts of source files"):
        forecast(here, [recipe])
    # What is known of it otherwise holds.
    assert forecast(here, [msgspec.structs.replace(recipe, predict=("no-console",))]).saving_ns > 0


def sleeping(*, usb: bool = True) -> Evidence:
    """Thread 2 sleeps 20 ms for the code of USB, and thread 1 waits for thread 2."""
    story = Story().hook("uboot.start").read(KERNEL_SECTOR, 50_000).hook("kernel.start").work(2 * MS)
    story.switch(1, name=b"swapper/0").fork(2, b"scsi_eh_0", kernel=True)
    story.switch(2, name=b"scsi_eh_0", kernel=True).switch(1, 2, b"swapper/0").stack(USB if usb else CORE)
    story.work(MS).switch(0, 2, b"swapper").stack(CORE).idle(20 * MS).interrupt(name=b"timer")
    story.wake(2).switch(2, name=b"scsi_eh_0", kernel=True).work(MS).wake(1).switch(1, 2, b"swapper/0")
    story.work(MS).sample(CORE)
    kept = {objects.KERNEL_CONFIG: CONFIG, objects.KERNEL_OBJECTS: LINKED, objects.KERNEL_SYMBOLS: MAP}
    return evidence_of(story.records, run_of(), TABLES, kept=kept)


@pytest.mark.parametrize("usb", [True, False])
def test_sleeps_that_code_asked_for_go_with_it(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, usb: bool
) -> None:
    monkeypatch.setattr(Stacks, "addresses", lambda self, record, phase: [0xC02F0000, record.pc])
    evidence = sleeping(usb=usb)
    found = closures(evidence, tmp_path)
    lost = msgspec.structs.replace(found.lost(["USB"]), image_bytes=0)

    def add(plan, evidence, steps):  # type: ignore[no-untyped-def]
        without_objects(plan, evidence, steps, found, lost)

    prediction = predict(evidence, Stacks(evidence), [], [add])
    assert prediction.saving_ns == (20 * MS if usb else 0)
    told = "without this code its delays of 20.0 ms are gone"
    assert (told in prediction.assumptions) is usb


def test_the_table_of_names_goes_with_its_symbol_and_shrinks_with_others(tree: Path, tmp_path: Path) -> None:
    (tree / "Kconfig").write_text(KCONFIG + '\nconfig KALLSYMS\n\tbool "names"\n')
    linked = LINKED + b"c0220000 3000 .rodata .tmp_vmlinux2.kallsyms.o\n"
    kept = {objects.KERNEL_CONFIG: CONFIG + b"CONFIG_KALLSYMS=y\n", objects.KERNEL_OBJECTS: linked}
    evidence = evidence_of(Story().work(MS).sample().records, run_of(), TABLES, kept=kept)
    # The table names 0x20000 bytes of USB and 0x10000 of all else, and packs worse than code.
    table = 0x3000 * 146 // 100
    assert closures(evidence, tmp_path).lost(["USB"]).image_bytes == 0x20000 + table * 2 // 3
    assert closures(evidence, tmp_path).lost(["KALLSYMS"]).image_bytes == table


ROOT_KCONFIG = "".join(f'\nconfig {name}\n\tbool "{name}"\n' for name in ("EXT4_FS", "SQUASHFS", "EROFS_FS"))
ROOT_CONFIG = b"CONFIG_EXT4_FS=y\nCONFIG_SQUASHFS=y\nCONFIG_EROFS_FS=n\n"


@pytest.mark.parametrize(("present", "change"), [
    ("squashfs", {"EROFS_FS": True, "EXT4_FS": False}), ("squashfs", {"EROFS_FS": True, "SQUASHFS": False}),
    ("ext4", {"EROFS_FS": True, "EXT4_FS": False}),
])  # fmt: skip
def test_another_root_is_told_whatever_the_root_is_today(
    tree: Path, tmp_path: Path, present: str, change: Mapping[str, bool]
) -> None:
    """Also where what goes is a driver that the root does not need, or has no object files."""
    (tree / "Kconfig").write_text(ROOT_KCONFIG)
    extents = (
        Extent(name="kernel", sector=KERNEL_SECTOR, sectors=100),
        Extent(name="root file system", sector=10_000, sectors=1000),
    )
    made = run_of(extents=extents)
    options = "('-comp', 'xz')" if present == "squashfs" else "()"
    settings = {"rootfs.filesystem": present, "rootfs.options": options}
    run = msgspec.structs.replace(made, system=msgspec.structs.replace(made.system, settings=settings))
    story = Story().hook("uboot.start").read(KERNEL_SECTOR, 50_000).hook("kernel.start").work(2 * MS)
    story.read(10_008, 1 << 17).work(80 * MS).hook("kernel.init", text=b"/init").work(MS).sample(CORE)
    kept = {objects.KERNEL_CONFIG: ROOT_CONFIG, objects.KERNEL_OBJECTS: LINKED, objects.KERNEL_SYMBOLS: MAP}
    evidence = evidence_of(story.records, run, TABLES, "8\t256\t/bin/busybox\n", kept=kept)
    view = SimpleNamespace(evidence=evidence, stacks=Stacks(evidence), ground=None)
    facts = replace(
        known(Store(tmp_path / "other")),
        view=cast("View", view),
        closures=closures(evidence, tmp_path),
        configs={"kernel": parse(ROOT_CONFIG.decode())},
        settings=settings,
    )
    recipe = Recipe(change=Change(kernel={**change}), predict=("left-out", "rootfs=erofs-none"))
    saving_ns = forecast(facts, [recipe]).saving_ns
    driver = {"squashfs": "SQUASHFS", "ext4": "EXT4_FS"}[present]
    told = predict(evidence, Stacks(evidence), ["rootfs=erofs-none"]).saving_ns
    # What today's kind takes is told by the table, unless its driver goes: then by the kernel, where there is
    # nothing of it to be seen.
    kind = root_kinds()["squashfs-xz" if present == "squashfs" else "ext4"]
    in_ext4 = (1 << 17) * 1_000_000 // kind.files_ppm
    old_ns = kind.mount_ns + in_ext4 * kind.use_ps // 1000
    gone_ns = old_ns if change.get(driver) is False else 0
    # Code weighs next to nothing where so little is loaded.
    assert saving_ns == pytest.approx(told - gone_ns, abs=MS)
