# SPDX-License-Identifier: Apache-2.0
"""`bootscope schema`: editors accept what bootscope accepts, and refuse what it refuses."""

from __future__ import annotations

import functools
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from bootscope.cli.schema import DRAFT, KINDS, schema_of

from .builders import SOURCE
from .conftest import Command
from .test_cli import assert_refused
from .test_cli_verbs import json_of

FOLDERS = {
    "system": "systems.d",
    "board": "boards.d",
    "technique": "techniques/catalogue",
    "table": "published/tables",
}
SHIPPED = [
    (kind, path)
    for kind, folder in FOLDERS.items()
    for path in sorted((SOURCE / "bootscope" / folder).rglob("*.toml"))
]


@functools.cache
def validator(kind: str) -> Any:
    """A validator of one kind of file, whose schema is valid itself."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = schema_of(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def faults(kind: str, data: dict[str, Any]) -> list[str]:
    """What a validator of JSON schemas finds wrong in a file."""
    found = validator(kind).iter_errors(data)
    return [f"{'.'.join(map(str, error.path))}: {error.message[:200]}" for error in found]


@pytest.mark.parametrize("kind", FOLDERS)
def test_every_file_that_comes_with_bootscope_is_valid(kind: str) -> None:
    paths = [path for of, path in SHIPPED if of == kind]
    assert len(paths) >= 5
    found = {path.name: faults(kind, tomllib.loads(path.read_text())) for path in paths}
    assert {name: told for name, told in found.items() if told} == {}


WRONG = {
    "unknown key": ("check", '[budgets]\na = "1 s"'),
    "missing key": ("check", '[baseline]\nfile = "x"'),
    "wrong type": ("check", "[budget]\na = 5"),
    "not a table": ("system", 'uboot = "x"'),
    "unknown key inside": ("check", '[history]\nmax_regression = "1 ms"\nlasts = 3'),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_bootscope_refuses_is_marked(name: str) -> None:
    kind, text = WRONG[name]
    assert faults(kind, tomllib.loads(text)) != []


def test_documented_examples_are_valid() -> None:
    page = (SOURCE.parent / "docs/history.md").read_text()
    (example,) = [block for block in page.split("\n\n") if block.strip().startswith("[history]")]
    text = "\n".join(line.strip() for line in example.splitlines())
    assert faults("check", tomllib.loads(text)) == []
    budget = 'milestone = "m"\n[budget]\n"m" = "2.5 s"\n"phase kernel" = { limit = "900 ms", of = "worst" }'
    assert faults("check", tomllib.loads(budget)) == []


def test_they_are_written_listed_and_printed(main_here: Command, tmp_path: Path) -> None:
    listed = main_here("schema").stdout
    assert [line.split()[0] for line in listed.splitlines()] == list(KINDS)
    printed = json.loads(main_here("schema", "check").stdout)
    assert printed["$schema"] == DRAFT
    assert json_of(main_here("schema", "check", "--json"), "schemas")["schemas"]["check"] == printed
    assert main_here("schema", "-o", "made/here").returncode == 0
    assert json.loads((tmp_path / "made/here/check.schema.json").read_text()) == printed
    assert len(list((tmp_path / "made/here").iterdir())) == len(KINDS)
    assert_refused(main_here("schema", "chekc"), "did you mean check?")
    assert_refused(main_here("schema", "check", "-o", "x"), "--output writes the schemas of all kinds")
