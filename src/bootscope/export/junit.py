# SPDX-License-Identifier: Apache-2.0
"""Milestones and phases as JUnit test cases with times, which CI servers plot over their builds.

A boot that failed is a failed test case of its own.
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
    """A test case: its group, its name (untrusted), how long it took (None: unknown), and why it failed or
    was not run (empty if it passed)."""

    group: str
    name: str
    time_ns: int | None
    failure: str = ""
    skipped: str = ""


@dataclass(frozen=True)
class Suite:
    """A group of test cases, which took `total_ns` (None: unknown)."""

    title: str
    cases: Sequence[Case]
    total_ns: int | None
    facts: Mapping[str, str]
    notes: Sequence[str]


def document(suites: Sequence[Suite]) -> bytes:
    """The bytes of a JUnit .xml file."""
    known_ns = [suite.total_ns for suite in suites if suite.total_ns is not None]
    whole_ns = sum(known_ns) if len(known_ns) == len(suites) else None
    every = [case for suite in suites for case in suite.cases]
    top = Xml.Element("testsuites", {"name": "bootscope", **_counts(every, whole_ns)})
    for suite in suites:
        _add(top, suite)
    Xml.indent(top)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(top) + b"\n"


def _counts(cases: Sequence[Case], total_ns: int | None) -> dict[str, str]:
    failures = str(sum(bool(case.failure) for case in cases))
    return {"tests": str(len(cases)), "failures": failures, "errors": "0", **_time(total_ns)}


def _add(top: Xml.Element, told: Suite) -> None:
    skipped = str(sum(bool(case.skipped) for case in told.cases))
    named = {"name": plain(told.title), "skipped": skipped, **_counts(told.cases, told.total_ns)}
    suite = Xml.SubElement(top, "testsuite", named)
    if told.facts:
        properties = Xml.SubElement(suite, "properties")
        for name, value in told.facts.items():
            Xml.SubElement(properties, "property", name=plain(name), value=plain(value))
    for case in told.cases:
        words = {"classname": case.group, "name": plain(case.name), **_time(case.time_ns)}
        made = Xml.SubElement(suite, "testcase", words)
        if case.failure:
            Xml.SubElement(made, "failure", message=plain(case.failure))
        elif case.skipped:
            Xml.SubElement(made, "skipped", message=plain(case.skipped))
    if told.notes:
        Xml.SubElement(suite, "system-out").text = "\n".join(plain(note) for note in told.notes)


def _time(ns: int | None) -> dict[str, str]:
    return {} if ns is None else {"time": seconds(max(0, ns))}


def make(subject: Subject) -> bytes:
    """The bytes of a JUnit .xml file."""
    trace = subject.trace
    cases = [
        Case("bootscope", "boot", trace.known_total_ns, subject.failure),
        *(Case("bootscope.milestone", name, ns) for name, ns in trace.known_milestones().items()),
        *(Case("bootscope.phase", name, ns) for name, ns in sums.known_phases(trace).items()),
    ]
    return document([Suite(trace.title, cases, trace.known_total_ns, subject.facts, trace.notes)])
