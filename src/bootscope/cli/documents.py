# SPDX-License-Identifier: Apache-2.0
"""The documents that come with bootscope, by topic: docs/real-boards.md is `real-boards`."""

from __future__ import annotations

from pathlib import Path

from bootscope.core.errors import unknown
from bootscope.core.paths import data_dir, docs_dir

NEWS = "news"
FOR_CONTRIBUTORS = {"style"}
"""Documents that are not topics of `help`."""


def topics() -> dict[str, Path]:
    """Topic -> file."""
    files = (path for path in sorted(docs_dir().glob("*.md")) if path.stem not in FOR_CONTRIBUTORS)
    found = {path.stem: path for path in files}
    news = data_dir() / "NEWS.md"
    return {**found, **({NEWS: news} if news.exists() else {})}


def title(path: Path) -> str:
    """The first heading of a document; its name if there is none."""
    with path.open() as lines:
        return next((line[2:].strip() for line in lines if line.startswith("# ")), path.stem)


def topic_of(name: str) -> str:
    """The topic meant by `real-boards`, `docs/real-boards.md` or `real-boards.md`."""
    return name.removeprefix("docs/").removesuffix(".md").lower()


def find(name: str, others: list[str]) -> Path:
    """The document on a topic. Raises UserError for an unknown one, with similar names, also from
    `others`."""
    known = topics()
    if topic_of(name) not in known:
        raise unknown("topic", name, sorted({*known, *others}), "bootscope help")
    return known[topic_of(name)]
