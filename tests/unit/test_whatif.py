# SPDX-License-Identifier: Apache-2.0
"""Predictions: on boots made by hand, whose changed twin can be made as well."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks
from bootscope.analysis.whatif import Prediction, predict
from bootscope.boards.profile import Board
from bootscope.capture.record import RunInfo
from bootscope.capture.stream import Io, Record
from bootscope.core.errors import UserError
from bootscope.devices.uart16550 import Uart16550
from bootscope.image.symbols import Symbols

from .builders import UART
from .scenes import Story, boots, evidence_of, run_of

MS = 1_000_000
BAUD_BYTE_US = 87
TABLES = {
    "u-boot": Symbols(
        [(0x4A001000, "autoboot_command"), (0x4A002000, "mmc_go_idle"), (0x4A003000, "do_bootz")]
    ),
    "kernel": Symbols([(0xC0100000, "slow_init"), (0xC0200000, "quick_init"), (0xC0300000, "end")]),
}
COUNTDOWN, CARD_IDLE, BOOTZ = 0x4A001010, 0x4A002010, 0x4A003010
SLOW, QUICK = 0xC0100000, 0xC0200000
INFO = b"[    0.000000] usb: a long story that nobody reads\r\n"
WELCOME = b"Welcome to the machine\r\n"
ERROR = b"[    0.100000] mmc0: something went wrong\r\n"


def explained(story: Story, run: RunInfo | None = None) -> Evidence:
    return evidence_of(story.records, run, TABLES)


def predicted(story: Story, *changes: str, run: RunInfo | None = None) -> Prediction:
    evidence = explained(story, run)
    found = predict(evidence, Stacks(evidence), changes)
    assert found.now_ns == evidence.timeline.total_ns
    return found


def total_ns(story: Story, run: RunInfo | None = None) -> int:
    return explained(story, run).timeline.total_ns


def with_board(board: Board) -> RunInfo:
    run = run_of()
    return RunInfo(**{**{name: getattr(run, name) for name in run.__struct_fields__}, "board": board})


def boot(
    *,
    info: bool = True,
    countdown: bool = True,
    slow: bool = True,
    reads: bool = True,
    helper: bool = True,
    stamps: bool = True,
) -> Story:
    """A boot in small; each part can be left out, which is what a prediction is compared with."""
    stamp_bytes = 0 if stamps else len("[    0.000000] ")
    story = Story().hook("uboot.start").work(5 * MS)
    story.enter("uboot.delay", 1000, CARD_IDLE).work(1 * MS).leave("uboot.delay").work(2 * MS)
    if countdown:
        for _ in range(3):
            story.enter("uboot.delay", 10_000, COUNTDOWN).work(10 * MS).leave("uboot.delay")
    story.work(3 * MS).enter("uboot.delay", 1000, BOOTZ).work(1 * MS).leave("uboot.delay")
    story.read(4096, 50_000).work(9 * MS).hook("kernel.start").work(30 * MS).switch(1, name=b"swapper/0")
    if slow:
        story.enter("initcall", SLOW).work(12 * MS)
        if reads:
            story.read(6000, 30_000)
        story.work(3 * MS).leave("initcall")
    story.enter("initcall", QUICK).work(1 * MS).leave("initcall").work(1 * MS)
    if info:
        story.hook("printk", (1 << 32) - 1, 0, text=b"\x016usb: a long story that nobody reads\n").typed(
            INFO[stamp_bytes:], 2_000
        )
    story.work(40 * MS).hook("printk", 3, 0, text=b"%s: something went wrong\n").typed(
        ERROR[stamp_bytes:], 2_000
    )
    story.work(40 * MS).hook("kernel.init", text=b"/init").work(2 * MS)
    if helper:
        story.fork(2).work(1_000).sleep(2).exec(b"/sbin/helper", b"-x").work(25 * MS).wake(1).switch(1, 0x80)
    return story.work(20 * MS).sample()


# ---- each change against the boot that has it ----


def test_quiet_leaves_out_what_is_not_urgent() -> None:
    found = predicted(boot(), "quiet")
    assert found.predicted_ns == total_ns(boot(info=False))
    assert found.assumptions[0] == "1 kernel lines of level 4 and above are not printed"
    assert not any("not known" in said for said in found.assumptions)


def test_lines_without_the_kernels_stamps_are_known_by_its_messages() -> None:
    found = predicted(boot(stamps=False).typed(WELCOME, 2_000), "quiet")
    assert found.predicted_ns == total_ns(boot(stamps=False, info=False).typed(WELCOME, 2_000))
    assert found.saving_ns > 0
    assert found.assumptions[0] == "1 kernel lines of level 4 and above are not printed"


def test_without_hooks_on_messages_quiet_says_what_it_takes_for_granted() -> None:
    story = boot()
    story.records = [r for r in story.records if b"%s" not in getattr(r, "text", b"")]
    assert any("have no known level" in said for said in predicted(story, "quiet").assumptions)


def test_no_console_leaves_out_every_byte() -> None:
    story = boot(info=False)
    found = predicted(story, "no-console")
    evidence = explained(story)
    console_ns = sum(phase.console_ns for phase in evidence.timeline.phases)
    assert found.saving_ns == console_ns + (len(ERROR) - 1) * 2_000


def test_the_kernels_console_leaves_the_boot_loaders_as_it_is() -> None:
    story = Story().hook("uboot.start").work(5 * MS).typed(b"U-Boot 2025.01 is here\n", 2_000).work(9 * MS)
    story.hook("kernel.start").work(30 * MS).typed(INFO, 2_000).work(1 * MS).hook(
        "kernel.init", text=b"/init"
    )
    story.work(20 * MS).sample()
    phases = explained(story).timeline.phases
    kernel_ns = sum(p.console_ns for p in phases[[p.name for p in phases].index("kernel") :])
    whole, kernel = (predicted(story, f"{which}=921600") for which in ("console", "kernel-console"))
    share = kernel_ns / sum(p.console_ns for p in phases)
    assert 0 < share < 1
    assert kernel.saving_ns == pytest.approx(whole.saving_ns * share, rel=0.01)
    assert kernel.assumptions[0] == "the kernel and what it starts use 921600 baud"
    with pytest.raises(UserError, match="exclude each other"):
        predicted(story, "console=921600", "kernel-console=921600")


def test_without_a_boot_delay_u_boot_does_not_count_down() -> None:
    """Its other delays, also those of a function called do_bootz, are none of that."""
    assert predicted(boot(), "bootdelay=0").predicted_ns == total_ns(boot(countdown=False))
    none = predicted(boot(countdown=False), "bootdelay=0")
    assert none.saving_ns == 0
    assert "U-Boot did not wait for a key in this boot" in none.assumptions


@pytest.mark.parametrize(("change", "factor"), [("card=2x", 2), ("card=10x", 10), ("card=1x", 1)])
def test_another_card_is_counted_as_the_boot_would_have_counted_it(change: str, factor: int) -> None:
    run = run_of()
    card = run.board.card
    bandwidth = msgspec.structs.replace(
        card.bandwidth_bytes_per_s, value=card.bandwidth_bytes_per_s.value * factor
    )
    latency = msgspec.structs.replace(card.command_latency_ns, value=card.command_latency_ns.value // factor)
    card = msgspec.structs.replace(card, bandwidth_bytes_per_s=bandwidth, command_latency_ns=latency)
    classes = {**run.board.card_classes, run.board.card_class: card}
    faster = msgspec.structs.replace(run.board, card_classes=classes)
    assert predicted(boot(), change).predicted_ns == total_ns(boot(), with_board(faster))


def test_a_card_class_of_the_profile_can_be_asked_for() -> None:
    evidence = explained(boot())
    storage_ns = sum(phase.storage_ns for phase in evidence.timeline.phases)
    assert predicted(boot(), "card=ideal").saving_ns == storage_ns - 50_000 // 1000 - 30_000 // 1000


def test_a_slower_card_costs_time() -> None:
    assert predicted(boot(), "card=0.5x").saving_ns < 0


def at_baud(baud: int) -> RunInfo:
    """The made-up run whose port begins at another rate."""
    run = run_of()
    uart = run.board.devices["uart0"]
    assert isinstance(uart, Uart16550)
    rate = msgspec.structs.replace(uart.default_baud, value=baud)
    devices = {**run.board.devices, "uart0": msgspec.structs.replace(uart, default_baud=rate)}
    return with_board(msgspec.structs.replace(run.board, devices=devices))


# 24 MHz divided by 16 and by 1, 2, 10 and 156.
@pytest.mark.parametrize("baud", [9600, 150_000, 750_000, 1_500_000])
def test_another_line_rate_is_counted_as_the_boot_would_have_counted_it(baud: int) -> None:
    found = predicted(boot(), f"console={baud}")
    # 9600 is not met exactly: 156 makes 9615.
    assert abs(found.predicted_ns - total_ns(boot(), at_baud(baud))) <= found.predicted_ns // 500


def test_a_rate_is_what_the_divisor_of_the_port_makes_of_it() -> None:
    """The rate that the drivers have set already saves nothing; one out of reach is taken as it would be."""
    set_up = [Io(0, UART, 0xC, 4, 0x83), Io(0, UART, 0, 4, 13), Io(0, UART, 4, 4, 0), Io(0, UART, 0xC, 4, 3)]
    story = boot()
    story.records[:0] = set_up
    assert predicted(story, "console=115200").saving_ns == 0
    fast = predicted(boot(), "console=921600")
    assert fast.predicted_ns == predicted(boot(), "console=750000").predicted_ns
    assert "the UART's clock gives 750000 baud, and the receiver accepts that" in fast.assumptions
    assert not any("UART" in said for said in predicted(boot(), "console=115200").assumptions)


@pytest.mark.parametrize("reads", [False, True])
def test_an_initcall_takes_its_reads_with_it(reads: bool) -> None:
    found = predicted(boot(reads=reads), "without:slow_init")
    assert found.predicted_ns == total_ns(boot(slow=False))
    assert any("slow_init" in said for said in found.assumptions)


def test_a_program_that_starts_later_is_not_waited_for() -> None:
    found = predicted(boot(), "later:helper")
    assert found.saving_ns == 25 * MS
    assert predicted(boot(), "later:/sbin/helper").saving_ns == 25 * MS


def test_what_nobody_waited_for_saves_nothing() -> None:
    """The program runs while the boot sleeps anyhow, for something else."""
    story = Story().hook("kernel.start").work(MS).switch(1).fork(2).sleep(2).exec(b"/bin/idler").work(3 * MS)
    story.sleep(0).idle(4 * MS).interrupt(7, b"mmc0").wake(1).leave("irq").switch(1).work(MS).sample()
    assert predicted(story, "later:idler").saving_ns == 0


# ---- several at once ----


@pytest.mark.parametrize(
    ("changes", "less"),
    [
        (("quiet", "quiet"), {"info": False}),
        (("quiet", "bootdelay=0"), {"info": False, "countdown": False}),
        (("without:slow_init", "bootdelay=0", "quiet"), {"slow": False, "countdown": False, "info": False}),
        (("without:slow_init", "without:slow_init"), {"slow": False}),
    ],
)
def test_what_several_changes_save_is_counted_once(changes: tuple[str, ...], less: dict[str, bool]) -> None:
    assert predicted(boot(), *changes).predicted_ns == total_ns(boot(**less))


def test_a_line_that_is_gone_twice_is_gone_once() -> None:
    assert predicted(boot(), "quiet", "no-console").saving_ns == predicted(boot(), "no-console").saving_ns


def test_a_faster_card_saves_nothing_on_reads_that_are_gone() -> None:
    both = predicted(boot(), "without:slow_init", "card=2x").predicted_ns
    assert both == predicted(boot(slow=False), "card=2x").predicted_ns


# ---- what cannot be predicted ----


@pytest.mark.parametrize("name", ["app", "/bin/app", "starter"])
def test_what_the_boot_ends_in_cannot_run_later(name: str) -> None:
    story = Story().hook("kernel.start").work(MS).switch(1).fork(2).sleep(2).exec(b"/bin/starter").work(MS)
    story.fork(3).sleep(3).exec(b"/bin/app").work(3 * MS).sample()
    with pytest.raises(UserError, match="the boot ends in"):
        predicted(story, f"later:{name}")


@pytest.mark.parametrize("changes", [("card=2x", "card=ideal"), ("console=9600", "quiet", "console=115200")])
def test_two_changes_that_cannot_both_be_are_refused(changes: tuple[str, ...]) -> None:
    with pytest.raises(UserError, match="exclude each other"):
        predicted(boot(), *changes)


def test_the_same_change_twice_is_one_change() -> None:
    assert predicted(boot(), "card=2x", "card=2x") == predicted(boot(), "card=2x")


@pytest.mark.parametrize(
    "change",
    [
        "", "x", "Quiet", "quiet=1", "bootdelay", "bootdelay=1", "console", "console=", "console=fast",
        "console=\u00b2", "console=" + "9" * 5000, "console=-1", "console=299", "console=10000001", "card",
        "card=", "card=0x", "card=-1x", "card=99999x", "card=2.0001x", "card=\u0663x", "card=nonsense",
        "without:", "without:nothing", "later:", "later:nothing", "\x1b[31mred", "card=\x1b[31m",
    ],
)  # fmt: skip
def test_an_unknown_change_is_refused_with_a_hint(change: str) -> None:
    with pytest.raises(UserError) as caught:
        predicted(boot(), change)
    assert caught.value.hint
    assert caught.value.message.isprintable()


@given(
    boots(), st.lists(st.sampled_from(["quiet", "no-console", "bootdelay=0", "card=2x", "console=921600"]))
)
def test_any_boot_can_be_asked_about(records: list[Record], changes: list[str]) -> None:
    evidence = evidence_of(records, tables=TABLES)
    found = predict(evidence, Stacks(evidence), changes)
    assert 0 <= found.predicted_ns <= found.now_ns
