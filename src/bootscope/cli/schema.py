# SPDX-License-Identifier: Apache-2.0
"""bootscope schema: JSON schemas of the TOML files, so that editors complete and check them."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import Any

import msgspec

from bootscope import __version__
from bootscope.cli.arguments import option
from bootscope.cli.output import write_file
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError, unknown

KINDS = {
    "system": ("a system (systems.d)", "system.model:System"),
    "board": ("an emulated board (boards.d)", "boards.profile:Board"),
    "real-board": ("a board on your desk or in a farm", "boards.physical:RealBoard"),
    "check": ("budgets and baselines: bootscope-check.toml", "check.model:CheckFile"),
    "webhook": ("what check --webhook sends, as JSON", "check.message:Message"),
    "technique": ("a technique (techniques/catalogue)", "techniques.model:Technique"),
    "table": ("a published table (published/tables)", "published.tables:Table"),
    "tree": ("what system import writes", "buildtrees.model:Tree"),
}
"""Kind -> a description of such files, and the structure that they are read as."""
DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema_of(kind: str) -> dict[str, Any]:
    """The JSON schema of a kind of file, made from the structure that reads it."""
    title, where = KINDS[kind]
    module, _, name = where.partition(":")
    struct = getattr(importlib.import_module(f"bootscope.{module}"), name)
    made = msgspec.json.schema(struct)
    return {"$schema": DRAFT, "title": f"bootscope {__version__}: {title}", **made}


class Schema(Verb):
    example = "bootscope schema -o schemas; bootscope schema check"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "name", nargs="?", help="kind of file: print its schema (default: list the kinds)"
        )
        option(parser, "-o --output", "FOLDER", "write the schemas of all kinds there", type=Path)

    def run(self, args: argparse.Namespace) -> int:
        if args.name and args.name not in KINDS:
            raise unknown("kind of file", args.name, list(KINDS))
        if args.name and args.output:
            raise UserError(
                "--output writes the schemas of all kinds", hint=f"without {args.name}, or without -o"
            )
        if args.output:
            return _write(args)
        if args.json:
            names = [args.name] if args.name else list(KINDS)
            print_json("schemas", {"schemas": {name: schema_of(name) for name in names}})
        elif args.name:
            print(_text(args.name).decode(), end="")
        else:
            for name, (title, _) in KINDS.items():
                terminal().print(f"{name:<11} {title}", markup=False)
        return 0


def _text(kind: str) -> bytes:
    return msgspec.json.format(msgspec.json.encode(schema_of(kind)), indent=2) + b"\n"


def _write(args: argparse.Namespace) -> int:
    try:
        args.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot write {args.output}: {error.strerror}") from error
    paths = [args.output / f"{kind}.schema.json" for kind in KINDS]
    for kind, path in zip(KINDS, paths, strict=True):
        write_file(path, _text(kind))
    if args.json:
        print_json("schemas", {"files": [str(path) for path in paths]})
    else:
        terminal().print(f"wrote {len(paths)} schemas to {args.output}", markup=False, soft_wrap=True)
    return 0
