# SPDX-License-Identifier: Apache-2.0
"""What CI systems are told of budgets and baselines."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from bootscope.analysis.samples import MILESTONE, WHOLE, BootTimes, Quantity, SampleSet
from bootscope.check import formats
from bootscope.check.checked import Checked
from bootscope.check.decide import Outcome, decide
from bootscope.check.markdown import as_markdown
from bootscope.core.errors import UserError
from bootscope.report import check as report

from .boot_noise import MS
from .conftest import Write
from .test_check import BUDGETS, REGRESSION, read_check, run
from .traces import HOSTILE

# ---- what CI systems are told ----


@pytest.fixture
def outcome(write: Write) -> Outcome:
    check = read_check(write(BUDGETS + REGRESSION))
    slow, base = [6000 * MS, 6010 * MS, 6020 * MS, 6030 * MS], [5000 * MS, 5010 * MS, 5020 * MS, 5030 * MS]
    return decide(check, run(slow, system="a|b"), run(base))


@pytest.fixture(params=HOSTILE)
def hostile(request: pytest.FixtureRequest, write: Write) -> Outcome:
    """A check whose names and facts are what somebody would like us to print."""
    text: str = request.param
    evil = Quantity(MILESTONE, text)
    boots = tuple(BootTimes(f"run/{n:03}", {evil: 5 + n, WHOLE: 9}) for n in range(3))
    lost = BootTimes("run/004", {WHOLE: 9}, False, text)
    found = SampleSet("run", (*boots, lost), False, text, 0, {"name": text, text: "x"})
    return decide(read_check(write('[budget]\n"total" = "1 ns"')), found, None)


def test_junit_has_a_case_for_each_finding(outcome: Outcome) -> None:
    top = Xml.fromstring(formats.as_junit([Checked("", outcome)]))
    assert (top.tag, top.get("tests"), top.get("failures")) == ("testsuites", "4", "2")
    cases = top.findall("testsuite/testcase")
    assert [(c.get("classname"), c.get("name"), c.find("failure") is not None) for c in cases] == [
        ("bootscope.boots", "app-ready", False),
        ("bootscope.budget", "app-ready (median)", True),
        ("bootscope.budget", "phase kernel (worst)", False),
        ("bootscope.baseline", "app-ready (median)", True),
    ]
    assert cases[1].get("time") == "6.015"


def test_junit_says_what_had_no_verdict(write: Write) -> None:
    refused = decide(read_check(write(BUDGETS)), run([5000 * MS]), None)
    top = Xml.fromstring(formats.as_junit([Checked("", refused)]))
    assert [s.get("skipped") for s in top.findall("testsuite")] == ["2"]
    assert len(top.findall("testsuite/testcase/skipped")) == 2


def test_kcidb_tests_keep_to_the_schema(outcome: Outcome) -> None:
    document = json.loads(formats.as_kcidb([Checked("", outcome)], "our_lab", "our_lab:build-7"))
    assert document["version"] == {"major": 5, "minor": 3}
    assert [t["status"] for t in document["tests"]] == ["PASS", "FAIL", "PASS", "FAIL"]
    check_kcidb(document)
    assert document["tests"][1]["number"] == {"value": 6.015, "unit": "s", "prefix": "metric"}
    for origin, build in (("Our Lab", "a:b"), ("ours", "build"), ("", "a:b")):
        with pytest.raises(UserError):
            formats.as_kcidb([Checked("", outcome)], origin, build)


def check_kcidb(document: dict[str, Any]) -> None:
    """What the schema says of tests: which fields there are, and their patterns."""
    assert set(document) == {"version", "tests"}
    fields = {"id", "origin", "build_id", "path", "comment", "status", "number", "environment", "misc"}
    assert len({t["id"] for t in document["tests"]}) == len(document["tests"])
    for t in document["tests"]:
        assert {"id", "origin", "build_id"} <= set(t) <= fields
        assert re.fullmatch(r"[a-z0-9_]+:[^\0]*", t["id"])
        assert re.fullmatch(r"[a-zA-Z0-9_-]+(\.[a-zA-Z0-9_-]+)*", t["path"])
        assert t["status"] in ("FAIL", "ERROR", "MISS", "PASS", "DONE", "SKIP")
        assert set(t.get("number", {"value": 0})) <= {"value", "unit", "prefix"}
        assert set(t["environment"]) <= {"compatible", "comment", "misc"}


def test_metrics_have_labels_that_stay_the_same(outcome: Outcome) -> None:
    text = formats.as_metrics([Checked("", outcome)]).decode()
    families = {f.name: f for f in text_string_to_metric_families(text)}
    kept = {tuple(s.labels.items()): s.value for s in families["bootscope_check_kept"].samples}
    assert kept[(("what", "budget"), ("name", "app-ready"), ("of", "median"))] == 0
    assert "run/" not in text


def test_lava_signals_have_measurements(outcome: Outcome) -> None:
    lines = list(formats.as_lava([Checked("", outcome)]))
    measured = "RESULT=fail UNITS=seconds MEASUREMENT=6.015"
    assert lines[1] == f"<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=budget-app-ready-median {measured}>"


def test_annotations_are_errors_with_their_file(outcome: Outcome) -> None:
    lines = formats.as_annotations([Checked("", outcome)], "a,b:c.toml")
    assert len(lines) == 2
    assert lines[0] == (
        "::error file=a%2Cb%3Ac.toml,title=boot time%3A app-ready::"
        "budget app-ready median: 915.0 ms above the budget"
    )
    assert "%25" in lines[1]


def test_nothing_in_a_name_gets_out_of_any_format(hostile: Outcome) -> None:
    top = Xml.fromstring(formats.as_junit([Checked("", hostile)]))
    assert len(top.findall("testsuite/testcase")) == 2
    assert len(list(text_string_to_metric_families(formats.as_metrics([Checked("", hostile)]).decode()))) == 3
    for line in formats.as_metrics([Checked("", hostile)]).decode().splitlines():
        # GitLab cuts comments off and splits the rest like a shell: a name and a value have to come out.
        assert line.startswith("#") or len(shlex.split(line.partition("#")[0])) == 2
    check_kcidb(json.loads(formats.as_kcidb([Checked("", hostile)], "x", "x:1")))
    for line in formats.as_lava([Checked("", hostile)]):
        assert re.fullmatch(r"<LAVA_SIGNAL_TESTCASE [A-Za-z0-9_=. -]+>", line)
        assert len(shlex.split(line[1:-1])) in (3, 5)
    for line in formats.as_annotations([Checked("", hostile)], "check.toml"):
        assert re.fullmatch(r"::error file=check\.toml,title=[^,:\n\r]*::[^\n\r]*", line)
        assert line.isprintable()
    text = as_markdown([Checked("", hostile)]).decode()
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert all(row.count("|") == 7 for row in rows)
    assert not re.search(r"<(?!/?(code|sub|br)>)", text)
    json.dumps(report.document([Checked("", hostile)]))
