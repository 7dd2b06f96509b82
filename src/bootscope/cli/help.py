# SPDX-License-Identifier: Apache-2.0
"""bootscope help: the documents on the terminal, and the help of each verb."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from bootscope.cli import documents
from bootscope.cli.arguments import flag
from bootscope.cli.common import refuse
from bootscope.cli.parsers import verb_parser
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.cli.verbs import VERBS
from bootscope.core.paths import data_dir


class Help(Verb):
    example = "bootscope help real-boards"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("topic", nargs="?", help="a document or a verb (default: list the documents)")
        flag(
            parser,
            "--folder",
            "print the folder with the documents (docs), the CI files (ci) and the sources of the "
            "plugin, the collector and the analysers (native)",
        )

    def run(self, args: argparse.Namespace) -> int:
        if args.topic is not None:
            refuse(args, ("folder",), "prints the folder of all documents; leave out the topic")
        if args.folder:
            return _print_folder(args.json)
        if args.topic is None:
            return _list(args.json)
        if args.topic in VERBS and args.topic not in documents.topics():
            return _verb(args.topic, args.json)
        return _show(documents.find(args.topic, list(VERBS)), args.json)


def _print_folder(json: bool) -> int:
    if json:
        print_json("help", {"folder": str(data_dir())})
    else:
        print(data_dir())
    return 0


def _list(json: bool) -> int:
    """All topics with their titles."""
    found = {name: documents.title(path) for name, path in documents.topics().items()}
    if json:
        rows = [{"topic": name, "title": title} for name, title in found.items()]
        print_json("help", {"folder": str(data_dir()), "topics": rows})
        return 0
    width = max(map(len, found))
    for name, title in found.items():
        print(f"{name:{width}}  {title}")
    print("\nbootscope help TOPIC shows a document, bootscope VERB --help a verb's options")
    return 0


def _verb(name: str, json: bool) -> int:
    """What `VERB --help` prints."""
    text = verb_parser(name).format_help()
    if json:
        print_json("help", {"topic": name, "title": VERBS[name][1], "text": text})
    else:
        print(text, end="")
    return 0


def _show(path: Path, json: bool) -> int:
    """A document: formatted and paged on a terminal, otherwise as its source."""
    text = path.read_text()
    if json:
        topic = documents.topic_of(path.name)
        print_json("help", {"topic": topic, "title": documents.title(path), "text": text})
    elif sys.stdout.isatty():
        from rich.markdown import Markdown

        # With these, less shows colours, and exits at once if there is less than a page.
        os.environ.setdefault("LESS", "-FRX")
        out = terminal()
        with out.pager(styles=True):
            out.print(Markdown(text, hyperlinks=False))
    else:
        sys.stdout.write(text)
    return 0
