# SPDX-License-Identifier: Apache-2.0
"""A check as the files and lines that CI systems read. Names and reasons in it are untrusted.

JUnit: as :mod:`bootscope.export.junit`. Metrics: OpenMetrics, with labels that stay the same from run to run,
because GitLab compares them by name. KCIDB: the JSON of KernelCI's database, schema 5.3
(https://github.com/kernelci/kcidb-io). LAVA: the signals by which a test tells its results
(https://docs.lavasoftware.org).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from bootscope.check.checked import Checked
from bootscope.check.decide import MISSED, NONE, OK, UNSURE, Finding
from bootscope.check.markdown import facts_of
from bootscope.core.errors import UserError, printable
from bootscope.export import junit
from bootscope.export.openmetrics import family
from bootscope.export.text import plain, seconds

_KCIDB = {OK: "PASS", MISSED: "FAIL", UNSURE: "DONE", NONE: "MISS"}
_LAVA = {OK: "pass", MISSED: "fail", UNSURE: "pass", NONE: "skip"}
_ORIGIN = re.compile(r"[a-z0-9_]+")
_BUILD = re.compile(r"[a-z0-9_]+:[^\0]*")


Told = Sequence[Checked]


def as_junit(checked: Told) -> bytes:
    """A suite for each product, a test case for each finding; its time is the figure that was checked."""
    return junit.document([_suite(each) for each in checked])


def _suite(checked: Checked) -> junit.Suite:
    outcome, product = checked.outcome, checked.product
    group = f"bootscope.{word(product)}" if product else "bootscope"
    cases = [
        junit.Case(
            f"{group}.{f.what}",
            _case(f),
            f.value_ns or 0,
            failure=f.words if f.status == MISSED else "",
            skipped=outcome.refused if f.status == NONE else "",
        )
        for f in outcome.findings
    ]
    notes = [*(f"{f.ident}: {f.words}" for f in outcome.findings), *outcome.notes]
    total_ns = sum(max(0, case.time_ns or 0) for case in cases)
    title = f"boot time of {product}" if product else "boot time"
    return junit.Suite(title, cases, total_ns, facts_of(outcome), notes)


def _case(f: Finding) -> str:
    """A name that stays the same from run to run, so that servers can draw it over time."""
    return f"{f.name} ({f.of})" if f.of else f.name


def as_annotations(checked: Told, check_file: str) -> list[str]:
    """GitHub's workflow commands: an error for each miss, a warning for what is undecided."""
    lines = []
    for product, f in _findings(checked):
        if f.status != OK:
            level = "error" if f.status == MISSED else "warning"
            whose = f"boot time of {plain(product)}" if product else "boot time"
            title = _property(f"{whose}: {plain(f.name)}")
            words = _data(f"{plain(f.ident)}: {plain(f.words)}")
            lines.append(f"::{level} file={_property(check_file)},title={title}::{words}")
    return lines


def _findings(checked: Told) -> Iterator[tuple[str, Finding]]:
    """All findings with their products."""
    for each in checked:
        for finding in each.outcome.findings:
            yield each.product, finding


def _data(text: str) -> str:
    """Text of a workflow command: escaped as GitHub expects, so that it cannot end or change the command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(printable(text)).replace(":", "%3A").replace(",", "%2C")


def as_metrics(checked: Told) -> bytes:
    """OpenMetrics with the figures, the limits and whether each was kept."""

    def labels(product: str, f: Finding) -> dict[str, str]:
        # GitLab takes a # for the beginning of a comment, also within a label, and then reads nothing at all.
        named = {"product": product} if product else {}
        named |= {"what": f.what, "name": f.name.replace("#", "_")}
        return named | ({"of": f.of} if f.of else {})

    findings = list(_findings(checked))
    values = [(labels(p, f), seconds(f.value_ns)) for p, f in findings if f.value_ns is not None]
    limits = [(labels(p, f), seconds(f.limit_ns)) for p, f in findings if f.limit_ns is not None]
    kept = [(labels(p, f), "0" if f.status == MISSED else "1") for p, f in findings]
    lines = [
        *family("bootscope_check_value_seconds", "The figure checked.", values, "seconds"),
        *family("bootscope_check_limit_seconds", "Its limit.", limits, "seconds"),
        *family("bootscope_check_kept", "1 if it was met, 0 if it was missed.", kept),
        "# EOF",
    ]
    return ("\n".join(lines) + "\n").encode()


def as_kcidb(checked: Told, origin: str, build: str) -> bytes:
    """Tests of KernelCI's schema 5.3; `origin` names the CI system, `build` is the id of the tested build.

    Raises UserError when these do not have the form that the schema requires.
    """
    if not _ORIGIN.fullmatch(origin):
        raise UserError(f"'{printable(origin)}' is not a valid origin", hint="small letters, digits and _")
    if not _BUILD.fullmatch(build):
        raise UserError(f"'{printable(build)}' is not a build id", hint="ORIGIN:ID, as in its submission")
    tests = [
        _test(each, number, origin, build) for each in checked for number in range(len(each.outcome.findings))
    ]
    document = {"version": {"major": 5, "minor": 3}, "tests": tests}
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def _test(checked: Checked, place: int, origin: str, build: str) -> Mapping[str, object]:
    outcome, f = checked.outcome, checked.outcome.findings[place]
    path = ".".join(word(part) for part in ("boot", checked.product, f.what, f.name, f.of) if part)
    number = {} if f.value_ns is None else {"value": f.value_ns / 10**9, "unit": "s", "prefix": "metric"}
    return {
        "id": f"{origin}:{word(outcome.boots.run_id)}.{place + 1}.{path}",
        "origin": origin,
        "build_id": build,
        "path": path,
        "comment": plain(f.words),
        "status": _KCIDB[f.status],
        **({"number": number} if number else {}),
        "environment": {"misc": {plain(k): plain(v) for k, v in outcome.boots.facts.items()}},
        "misc": {"boots": f.count, "limit_ns": f.limit_ns, "p": f.p},
    }


def word(text: str) -> str:
    """`text` as a word of letters, digits, `-` and `_`, which is valid in every format."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-") or "x"


def as_lava(checked: Told) -> Iterator[str]:
    """Lines that LAVA finds in the output of a test: results with measurements."""
    for product, f in _findings(checked):
        name = "-".join(word(part) for part in (product, f.what, f.name, f.of) if part)
        measured = "" if f.value_ns is None else f" UNITS=seconds MEASUREMENT={seconds(f.value_ns)}"
        yield f"<LAVA_SIGNAL_TESTCASE TEST_CASE_ID={name} RESULT={_LAVA[f.status]}{measured}>"
