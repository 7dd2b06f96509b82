# SPDX-License-Identifier: Apache-2.0
"""Changes that speak of what other changes have made."""

from __future__ import annotations

import pytest

from bootscope.capture.store import Store
from bootscope.changes.compose import composed, with_values
from bootscope.core.errors import UserError
from bootscope.system.changes import Change, apply

from .lab_scenes import boot, known, stock

FROZEN = Change(kernel={"CMDLINE": "@command_line@"})
WORDS = "console=ttyS0,115200 root=/dev/mmcblk0p2 rootwait rw"


@pytest.mark.parametrize("first", [True, False])
def test_a_frozen_command_line_is_the_one_that_all_others_made(first: bool) -> None:
    others = {
        "quiet": Change(command_line=("quiet",)),
        "direct": Change(command_line=("init=@application@",)),
    }
    changes = {"frozen": FROZEN, **others} if first else {**others, "frozen": FROZEN}
    made = composed(stock().system, changes)
    assert made["frozen"].kernel == {"CMDLINE": f"{WORDS} quiet init=/usr/bin/testcard"}
    assert apply(stock().system, made).kernel.command_line == f"{WORDS} quiet init=/usr/bin/testcard"


def test_addresses_are_those_of_the_system_with_all_changes() -> None:
    changes = {
        "script": Change(settings={"uboot.script": "load @kernel_address@ @raw_sector@"}),
        "far": Change(settings={"kernel.load_address": 0x43000000, "card.raw_sector": 256}),
    }
    made = composed(stock().system, changes)
    assert made["script"].settings == {"uboot.script": "load 0x43000000 0x100"}


def test_what_the_boot_tells_is_kept_and_the_rest_is_left_open(store: Store) -> None:
    change = Change(command_line=("lpj=@lpj@", "init=@application@"))
    found = with_values(change, known(store))
    assert found.command_line == ("lpj=4980736", "init=@application@")
    silent = known(store, boot(calibration=False).records)
    with pytest.raises(UserError, match="does not show lpj"):
        with_values(change, silent)


def test_changes_that_conflict_are_refused() -> None:
    with pytest.raises(UserError, match="cannot be used together"):
        composed(stock().system, {n: Change(kernel={"A": n}) for n in ("one", "two")})


def test_what_nobody_knows_stays() -> None:
    change = Change(write={"/etc/mail": "me@here@home"})
    assert composed(stock().system, {"a": change}) == {"a": change}
