# SPDX-License-Identifier: Apache-2.0
"""The verbs by name: where each is, and what it does in one line.

Listing them (`--help`, completion) loads none of them; tests/unit/test_startup.py compares the lines with
the verbs' own.
"""

from __future__ import annotations

VERBS: dict[str, tuple[str, str]] = {
    "record": ("record:Record", "boot a system on a board, N times, and keep everything"),
    "import": ("imports:Import", "read logs and traces that you already have, and join them on one clock"),
    "show": ("show:Show", "show where the time of a recorded boot goes"),
    "what-if": ("whatif:WhatIf", "predict a boot with something changed, from a recording"),
    "calibrate": (
        "calibrate:Calibrate",
        "fit a board profile to boots of the real board, so that the emulator speaks for it",
    ),
    "compare": (
        "show:Compare",
        "compare two runs phase by phase, and what booted; with statistics where boots vary",
    ),
    "check": (
        "check:CheckVerb",
        "check a run against budgets and a baseline, for CI; exit code 3 when one is missed",
    ),
    "report": ("report:Report", "write recorded boots as one HTML file that opens without a network"),
    "export": ("export:Export", "write a recorded boot in a format that other programs open"),
    "list": ("store:List", "list the recorded runs, oldest first"),
    "rm": ("store:Remove", "remove recorded runs for good"),
    "audit": (
        "audit:AuditVerb",
        "what takes the time, which techniques apply, what is each worth, what to beware of?",
    ),
    "optimize": ("optimize:Optimize", "try techniques, keep what is proven to make the boot shorter"),
    "trim": (
        "trim:TrimVerb",
        "switch off what a run of the application does not need, from evidence of what code ran",
    ),
    "try": (
        "trial:Try",
        "boot a system with and without techniques: what are they worth, does it still work?",
    ),
    "techniques": ("techniques:Techniques", "list the known ways to save boot time, or explain one"),
    "pitfalls": (
        "pitfalls:Pitfalls",
        "list what misleads or breaks while a boot is made shorter, or explain one",
    ),
    "reproduce": (
        "reproduce:Reproduce",
        "run a published table on the emulated board, and put its figures beside the published ones",
    ),
    "apply": ("apply:Apply", "write changes as the users of Buildroot, Yocto or OpenWrt write them"),
    "build": ("build:Build", "turn a system into images, taking from the cache what is there"),
    "system": (
        "systems:SystemVerb",
        "read a system out of the folder in which Buildroot, Yocto, OpenWrt or make built it",
    ),
    "cache": ("store:CacheVerb", "show what the cache of sources and builds holds, or make room"),
    "doctor": ("doctor:Doctor", "say what works on this machine, what is missing, and how to get it"),
    "help": ("help:Help", "show a document on a topic, or list them"),
    "completion": ("completion:Completion", "print shell completion for bash, zsh or fish"),
}
"""Verb -> (module:class below bootscope.cli, summary)."""

GROUPS = {
    "Measure": ("record", "import", "calibrate"),
    "Understand": ("show", "compare", "report", "export"),
    "Shorten": ("audit", "what-if", "try", "optimize", "trim", "apply"),
    "Guard": ("check",),
    "Learn": ("techniques", "pitfalls", "reproduce", "help"),
    "Manage": ("list", "rm", "system", "build", "cache", "doctor", "completion"),
}
"""What the verbs are for, in the order in which they are needed; each verb is in one group."""
