# SPDX-License-Identifier: Apache-2.0
"""Milestones and phases as JUnit test cases with times, as CI servers draw them over their builds.

A boot that did not get to where it should is a failed test case of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as Xml

from bootscope.export import sums
from bootscope.export.base import Subject
from bootscope.export.text import plain, seconds


@dataclass(frozen=True)
class Case:
    """A test case: its group, its name (untrusted), how long it took, and why it failed or was not run
    (empty where it did not fail, or was run)."""

    group: str
    name: str
    time_ns: int
    failure: str = ""
    skipped: str = ""


def document(
    title: str, cases: Sequence[Case], total_ns: int, facts: Mapping[str, str], notes: Sequence[str]
) -> bytes:
    """The bytes of a JUnit .xml file with one suite."""
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(bool(case.failure) for case in cases)),
        "errors": "0",
        "time": seconds(max(0, total_ns)),
    }
    top = Xml.Element("testsuites", {"name": "bootscope", **counts})
    skipped = str(sum(bool(case.skipped) for case in cases))
    suite = Xml.SubElement(top, "testsuite", {"name": plain(title), "skipped": skipped, **counts})
    if facts:
        properties = Xml.SubElement(suite, "properties")
        for name, value in facts.items():
            Xml.SubElement(properties, "property", name=plain(name), value=plain(value))
    for case in cases:
        group, took = case.group, seconds(max(0, case.time_ns))
        made = Xml.SubElement(suite, "testcase", classname=group, name=plain(case.name), time=took)
        if case.failure:
            Xml.SubElement(made, "failure", message=plain(case.failure))
        elif case.skipped:
            Xml.SubElement(made, "skipped", message=plain(case.skipped))
    if notes:
        Xml.SubElement(suite, "system-out").text = "\n".join(plain(note) for note in notes)
    Xml.indent(top)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(top) + b"\n"


def make(subject: Subject) -> bytes:
    """The bytes of a JUnit .xml file."""
    trace = subject.trace
    cases = [
        Case("bootscope", "boot", trace.total_ns, subject.failure),
        *(Case("bootscope.milestone", name, ns) for name, ns in trace.milestones().items()),
        *(Case("bootscope.phase", name, ns) for name, ns in sums.phases(trace).items()),
    ]
    return document(trace.title, cases, trace.total_ns, subject.facts, trace.notes)
