# SPDX-License-Identifier: Apache-2.0
"""The pages of the server except those of the report: escaping templates, styles and scripts as files."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlencode

import jinja2
from starlette.responses import HTMLResponse, Response

from bootscope.report import html
from bootscope.report.pages import sources, template

_TEMPLATES = Path(__file__).parent / "templates"
_STATIC = {
    "style.css": ("text/css", ("serve.css",)),
    "runs.js": ("text/javascript", ("runs.js",)),
    "live.js": ("text/javascript", ("live.js",)),
    "search_live.js": ("text/javascript", ("search_live.js",)),
}
"""The files that pages refer to: name -> media type, and the sources they are made of."""


@functools.cache
def _template(name: str) -> jinja2.Template:
    return template(name, folder=_TEMPLATES)


def path(*parts: str) -> str:
    """The path of a page; each part stays one segment, whatever it contains."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def page(name: str, status: int = 200, /, **values: object) -> HTMLResponse:
    """A page from a template."""
    return HTMLResponse(_template(f"{name}.html.j2").render(path=path, **values), status)


def trouble(status: int, title: str, message: str, hint: str | None = None) -> HTMLResponse:
    """A page about an error; `message` and `hint` must be safe to show."""
    return page("trouble", status, title=title, message=message, hint=hint or "")


def static(name: str) -> Response | None:
    """One of the files that pages refer to; None for anything else."""
    if name not in _STATIC:
        return None
    kind, files = _STATIC[name]
    text = "".join((_TEMPLATES / file).read_text() for file in files)
    if name == "live.js":  # the report's timeline, fed while the boot runs
        text = str(html.script(html.TIMELINE)) + text
    if kind == "text/css":
        text = sources("report.css") + text
    return Response(text, media_type=kind)


def report(text: str) -> HTMLResponse:
    """A page of the report, which contains its scripts: only those may run."""
    return HTMLResponse(text, headers={"Content-Security-Policy": _report_policy()})


@functools.cache
def _report_policy() -> str:
    """Allows only the report's own script, by its hash. Widths of bars are inline styles."""
    digest = base64.b64encode(hashlib.sha256(html.script().encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    )


def query(values: Mapping[str, str]) -> str:
    """The query of an address, without empty values."""
    found = urlencode({key: value for key, value in values.items() if value})
    return f"?{found}" if found else ""
