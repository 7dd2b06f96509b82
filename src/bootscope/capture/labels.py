# SPDX-License-Identifier: Apache-2.0
"""Labels of a run: statements of people about it (`product=router`, `commit=1a2b3c`), beside the recording.

runs/RUN/labels.json    schema and label -> text; no such file: no labels

People and other programs write the file: its content is cut to the limits below, and shown as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from bootscope.capture.record import read_json, write_whole
from bootscope.core.errors import UserError, printable

LABELS = "labels.json"
SCHEMA = 1
MOST = 20
"""Labels of one run."""
LONGEST = 200
"""Characters of a value."""
_KEY = re.compile(r"[a-z][a-z0-9_.-]{0,39}")


class _File(msgspec.Struct, frozen=True):
    """The content of labels.json."""

    labels: dict[str, str]
    schema: int = SCHEMA


def parse(given: Iterable[str]) -> dict[str, str]:
    """`key=value`... as labels; an empty value removes a label. Raises UserError for anything else."""
    found: dict[str, str] = {}
    for item in given:
        key, equals, value = item.partition("=")
        if not equals:
            raise UserError(f"not KEY=VALUE: '{printable(item[:80])}'", hint="such as branch=main")
        if not _KEY.fullmatch(key):
            hint = "small letters, digits, '.', '_' and '-', at most 40, a letter first"
            raise UserError(f"'{printable(key[:80])}' is not a valid label name", hint=hint)
        if len(value) > LONGEST:
            raise UserError(f"label {key} has {len(value)} characters; at most {LONGEST} are kept")
        if not value.isprintable():
            raise UserError(f"label {key} has control characters: '{printable(value)}'")
        found[key] = value.strip()
    return found


def read(run: Path) -> dict[str, str]:
    """The labels of the run in this folder, by name. Raises UserError when the file is damaged."""
    if not (run / LABELS).exists():
        return {}
    found = read_json(run / LABELS, _File, SCHEMA).labels
    kept = sorted((key, value[:LONGEST]) for key, value in found.items() if _KEY.fullmatch(key) and value)
    return dict(kept[:MOST])


def known(run: Path) -> dict[str, str]:
    """The same, but empty if they cannot be read: a damaged file must not hide a run."""
    try:
        return read(run)
    except UserError:
        return {}


def write(run: Path, labels: Mapping[str, str]) -> dict[str, str]:
    """Adds labels to those of a run and removes those without a value; returns the result.

    Raises UserError for too many, OSError if the file cannot be written.
    """
    merged = {key: value for key, value in sorted({**known(run), **labels}.items()) if value}
    if len(merged) > MOST:
        raise UserError(f"{len(merged)} labels; a run has at most {MOST}")
    write_whole(run / LABELS, msgspec.json.encode(_File(merged)))
    return merged


def fits(labels: Mapping[str, str], wanted: Iterable[str]) -> bool:
    """Whether a run has all requested labels: `branch=main`, or `branch` with any value."""
    asked = (each.partition("=") for each in wanted)
    return all(labels.get(key) == value if equals else key in labels for key, equals, value in asked)


def words(labels: Mapping[str, str]) -> str:
    """Labels in a row; safe to show on a terminal."""
    return "  ".join(f"{printable(key)}={printable(value)}" for key, value in labels.items())
