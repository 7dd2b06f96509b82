# SPDX-License-Identifier: Apache-2.0
"""Milestones and phases as JUnit test cases with times, as CI servers draw them over their builds.

A boot that did not get to where it should is a failed test case of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree as Xml

from bootscope.export import sums
from bootscope.export.base import Exporter, Subject
from bootscope.export.text import plain, seconds


def _cases(suite: Xml.Element, group: str, times: Mapping[str, int]) -> None:
    for name, ns in times.items():
        Xml.SubElement(
            suite, "testcase", classname=f"bootscope.{group}", name=plain(name), time=seconds(max(0, ns))
        )


def make(subject: Subject) -> bytes:
    """The bytes of a JUnit .xml file."""
    trace = subject.trace
    total = seconds(max(0, trace.total_ns))
    milestones, phases = trace.milestones(), sums.phases(trace)
    counts = {
        "tests": str(1 + len(milestones) + len(phases)),
        "failures": str(int(bool(subject.failure))),
        "errors": "0",
        "time": total,
    }
    top = Xml.Element("testsuites", {"name": "bootscope", **counts})
    suite = Xml.SubElement(top, "testsuite", {"name": plain(trace.title), "skipped": "0", **counts})
    if subject.facts:
        properties = Xml.SubElement(suite, "properties")
        for name, value in subject.facts.items():
            Xml.SubElement(properties, "property", name=plain(name), value=plain(value))
    boot = Xml.SubElement(suite, "testcase", classname="bootscope", name="boot", time=total)
    if subject.failure:
        Xml.SubElement(boot, "failure", message=plain(subject.failure))
    _cases(suite, "milestone", milestones)
    _cases(suite, "phase", phases)
    if trace.notes:
        notes = "\n".join(plain(note) for note in trace.notes)
        Xml.SubElement(suite, "system-out").text = notes
    Xml.indent(top)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(top) + b"\n"


EXPORTER = Exporter(
    name="junit",
    title="JUnit XML: milestones and phases as test cases",
    opened_by="GitLab, Jenkins, GitHub actions that read JUnit",
    suffixes=(".xml",),
    make=make,
)
