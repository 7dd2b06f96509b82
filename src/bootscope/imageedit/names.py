# SPDX-License-Identifier: Apache-2.0
"""Names of files of an image in the form that editing tools take."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bootscope.core.errors import UserError, printable

_LONGEST_BYTES = 1024


def checked(path: str) -> str:
    """A path from the root of a file system, with one leading slash. Raises UserError for one that leads out
    of it, or that a tool would not take for a name."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    good = parts and ".." not in parts and path.isprintable() and '"' not in path and "\\" not in path
    if not good or len(path.encode("utf-8", "replace")) > _LONGEST_BYTES:
        raise UserError(f"'{printable(path)[:80]}' is not a path that can be written in an image")
    return "/" + "/".join(parts)


def target(text: str) -> str:
    """The target of a link: any text in one line. Raises UserError for others."""
    if not text or '"' in text or not text.isprintable():
        raise UserError(f"'{printable(text)[:80]}' is not a target that a link in an image can have")
    return text


def above(path: str) -> list[str]:
    """The folders around a path, from the top."""
    parts = path.strip("/").split("/")[:-1]
    return ["/" + "/".join(parts[: n + 1]) for n in range(len(parts))]


def deepest_first(paths: Iterable[str]) -> list[str]:
    """Paths, sorted so that the content of a folder comes before the folder."""
    return sorted(set(paths), key=lambda path: (-path.count("/"), path))


def inside(path: str) -> str:
    """A path without `..`, which stops at the top of the file system as in the kernel. Raises UserError as
    :func:`checked` does."""
    found: list[str] = []
    for part in path.split("/"):
        if part == "..":
            found = found[:-1]
        elif part not in ("", "."):
            found.append(part)
    return checked("/" + "/".join(found))


_MOST_LINKS = 20


def through_links(path: str, link_of: Callable[[str], str | None]) -> str:
    """A path with links in its folders followed, within the image; `link_of` returns the target of a link,
    None for anything else. Raises UserError for a circle, and as :func:`checked` does."""
    found = checked(path)
    for _ in range(_MOST_LINKS):
        link = next((p for p in above(found) if link_of(p) is not None), None)
        if link is None:
            return found
        to = link_of(link) or ""
        base = "" if to.startswith("/") else link.rpartition("/")[0]
        found = inside(f"{base}/{to}{found[len(link) :]}")
    raise UserError(f"'{printable(path)}': links lead in a circle")
