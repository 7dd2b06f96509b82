# SPDX-License-Identifier: Apache-2.0
"""The texts of `systemd-analyze` for people: time, blame and critical-chain, alone or one after another."""

from __future__ import annotations

from bootscope.readers.base import Options, Reader, Reading, Source
from bootscope.readers.systemd_text import FINISHED, Said, boot_of, understands
from bootscope.readers.tally import MAX_BOOTS, Tally, sample

NAME = "systemd-analyze"


def sure(source: Source) -> int:
    lines = sample(source)
    if not lines:
        return 0
    said = Said()
    fit = sum(understands(line.decode("utf-8", "backslashreplace"), said) for line in lines)
    share = 98 * fit // len(lines)
    # A list of spans and names could be someone's own; the other texts are systemd's words.
    return share if said.parts or said.reached or said.chain else min(share, 85)


def read(source: Source, options: Options) -> Reading:
    tally, boots = Tally(), [Said()]

    def take(_number: int, text: str) -> bool:
        if text.startswith(FINISHED) and boots[-1].parts and len(boots) < MAX_BOOTS:
            boots.append(Said())
        return understands(text, boots[-1])

    repairs = tally.lines(source, NAME, "output of systemd-analyze", take)
    return tally.reading([boot_of(said) for said in boots], repairs)


READERS = (
    Reader(
        NAME,
        "systemd-analyze time, blame, critical-chain",
        "systemd-analyze; systemd-analyze blame; systemd-analyze critical-chain",
        sure,
        read,
    ),
)
