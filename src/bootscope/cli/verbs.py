# SPDX-License-Identifier: Apache-2.0
"""The verbs by name: where each is implemented, and what it does in one line.

Listing them (`--help`, completion) loads none of them.
"""

from __future__ import annotations

VERBS: dict[str, tuple[str, str]] = {
    "record": ("record:Record", "boot a system on a board N times, and record everything"),
    "import": ("imports:Import", "read existing logs and traces, and join them on one clock"),
    "show": ("show:Show", "show where the time of a recorded boot goes"),
    "debug": ("debug:Debug", "stop a recorded boot at a moment: its registers, or gdb"),
    "what-if": ("whatif:WhatIf", "predict the effect of changes, from a recording"),
    "calibrate": (
        "calibrate:Calibrate",
        "fit a board profile to boots of the real board, so that the emulator predicts it",
    ),
    "compare": (
        "show:Compare",
        "compare two runs and what booted, phase by phase; with statistics where boots vary",
    ),
    "check": (
        "check:CheckVerb",
        "check a run against budgets and a baseline, for CI (exit code 3: missed)",
    ),
    "bisect": ("bisect:Bisect", "find the commit, symbol, package or file that makes the boot slower"),
    "soak": (
        "soak:Soak",
        "cut the power at random moments, and check the file systems and the next boot",
    ),
    "history": ("history:History", "show a milestone or phase over commits or days, and where it changed"),
    "report": (
        "report:Report",
        "write recorded boots as an HTML page, a picture, one page of PDF, or Markdown",
    ),
    "serve": ("serve:Serve", "show the recorded runs in a browser: lists, reports, trends, live recordings"),
    "image": ("image:ImageVerb", "show what a finished image contains, and how it boots"),
    "export": ("export:Export", "write a recorded boot in another program's format"),
    "list": ("runs:List", "list the recorded runs, oldest first"),
    "label": ("label:Label", "label a run (product=, branch=, commit=, note=...), or show its labels"),
    "save": ("sharing:Save", "write runs, or the whole store, to one file for another computer"),
    "load": ("sharing:Load", "load runs that were saved on another computer"),
    "rm": ("runs:Remove", "delete recorded runs"),
    "audit": (
        "audit:AuditVerb",
        "find what takes the time, which techniques apply and what they save, and known pitfalls",
    ),
    "optimize": ("optimize:Optimize", "try techniques; keep those that verifiably shorten the boot"),
    "trim": (
        "trim:TrimVerb",
        "disable configuration symbols that the application does not need, judged by the code that ran",
    ),
    "try": (
        "trial:Try",
        "boot a system with and without techniques: measure the saving, check that it works",
    ),
    "techniques": ("techniques:Techniques", "list the known techniques to save boot time, or explain one"),
    "pitfalls": (
        "pitfalls:Pitfalls",
        "list the known pitfalls of boot-time work, or explain one",
    ),
    "reproduce": (
        "reproduce:Reproduce",
        "reproduce a published table on the emulated board, and compare the figures",
    ),
    "apply": ("apply:Apply", "write changes for Buildroot, Yocto or OpenWrt, or as plain files"),
    "build": ("build:Build", "build the images of a system, from the cache where possible"),
    "system": (
        "systems:SystemVerb",
        "import a system that Buildroot, Yocto, OpenWrt or make built; list and copy those that come with "
        "bootscope",
    ),
    "schema": (
        "schema:Schema",
        "write JSON schemas of the TOML files, with which editors complete and check",
    ),
    "cache": ("store:CacheVerb", "show the cache of sources and builds, or make room"),
    "container": (
        "container:Container",
        "make a folder with all tools at fixed versions, or run a program in it, without root",
    ),
    "doctor": ("doctor:Doctor", "show what works on this machine, what is missing, and how to install it"),
    "help": ("help:Help", "show a document on a topic, or list them"),
    "completion": ("completion:Completion", "print shell completion for bash, zsh or fish"),
}
"""Verb -> (module:class below bootscope.cli, summary)."""

GROUPS = {
    "Measure": ("record", "import", "calibrate"),
    "Understand": ("show", "compare", "report", "serve", "export", "image", "debug"),
    "Shorten": ("audit", "what-if", "try", "optimize", "trim", "apply"),
    "Guard": ("check", "history", "bisect", "soak"),
    "Learn": ("techniques", "pitfalls", "reproduce", "help"),
    "Manage": (
        "list",
        "label",
        "save",
        "load",
        "rm",
        "system",
        "build",
        "schema",
        "cache",
        "container",
        "doctor",
        "completion",
    ),
}
"""The verbs by purpose, in the order in which they are needed; each verb is in one group."""
