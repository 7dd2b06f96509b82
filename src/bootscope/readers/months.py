# SPDX-License-Identifier: Apache-2.0
"""Short names of months, in English and as journalctl and dmesg write them for other languages (`abmon` of
glibc's locales)."""

from __future__ import annotations

import re

_NAMES = (
    "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
    "janv. févr. mars avril mai juin juil. août sept. oct. nov. déc.",
    "ene feb mar abr may jun jul ago sep oct nov dic",
    "jan fev mar abr mai jun jul ago set out nov dez",
    "gen feb mar apr mag giu lug ago set ott nov dic",
    "jan feb mrt apr mei jun jul aug sep okt nov dec",
    "jan feb mar apr maj jun jul aug sep okt nov dec",
    "sty lut mar kwi maj cze lip sie wrz paź lis gru",
    "led úno bře dub kvě čen čec srp zář říj lis pro",
    "янв фев мар апр мая июн июл авг сен окт ноя дек",
)
MONTHS = {name.encode(): n for names in _NAMES for n, name in enumerate(names.split(), 1)}
"""A month's name -> its number from 1. No name is of two months."""
OTHERS = b"|".join(re.escape(name) for name in sorted(MONTHS) if not re.fullmatch(b"[A-Z][a-z]{2}", name))
"""A regular expression for those that are not written as English ones are."""
