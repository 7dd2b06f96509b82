# SPDX-License-Identifier: Apache-2.0
"""What all HTML pages share: escaping templates, and their styles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jinja2
from markupsafe import Markup

from bootscope.core.text import seconds, span

_TEMPLATES = Path(__file__).parent / "templates"


def template(name: str, folder: Path = _TEMPLATES, **filters: Callable[..., str]) -> jinja2.Template:
    """A template that escapes what is inserted and fails if a value is missing; it formats times with
    `seconds` and `span`. It may include the report's templates."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, _TEMPLATES]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update({"seconds": seconds, "span": span, **filters})
    return environment.get_template(name)


def sources(*names: str) -> Markup:
    """Our own styles or scripts, concatenated, unescaped."""
    return Markup("".join((_TEMPLATES / name).read_text() for name in names))
