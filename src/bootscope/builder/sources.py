# SPDX-License-Identifier: Apache-2.0
"""Fetching sources: the user's own tree or tarball, the upstream tarball, Debian's archive.

They are tried in that order and always checked: a download against the SHA-256 in the system file, a
file of the archive against the archive's signed index. A download with another hash is refused and
kept for inspection; no other place is tried then, since something is wrong.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import shutil
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bootscope.builder.archive import MIRROR, Archives
from bootscope.builder.cache import Cache
from bootscope.builder.ids import file_sha256, id_of, tree_id
from bootscope.builder.progress import Progress
from bootscope.core.damaged import DAMAGED
from bootscope.core.errors import ToolError, UserError
from bootscope.system.source import Archive, Package, PackageSet, Source

# Failures of this computer's disk; another place of the source would not help.
OURS = {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS}
_BLOCK_BYTES = 1 << 18


class Resolved(msgspec.Struct, frozen=True):
    """A source on this computer: a tarball or a tree, its hash, and where it came from."""

    path: str
    sha256: str
    origin: str
    version: str

    @property
    def is_tree(self) -> bool:
        """Whether it is a folder of the user's, used in place."""
        return Path(self.path).is_dir()


@dataclass(frozen=True)
class Wanted:
    """A source as a system file names it; `base` is the folder that its paths are relative to."""

    name: str
    source: Source
    base: Path

    @property
    def key(self) -> str:
        """The name of its place in the cache."""
        return f"{self.name}-{id_of([self.source, str(self.base) if self.source.path else ''])[:16]}"


def resolved(wanted: Wanted, cache: Cache) -> Resolved | None:
    """The source if it is on this computer already; fetches nothing."""
    if wanted.source.path:
        return _local(wanted)
    try:
        found = msgspec.json.decode(
            (cache.sources / wanted.key / "resolved.json").read_bytes(), type=Resolved
        )
    except (OSError, *DAMAGED):
        return None
    return found if Path(found.path).exists() else None


def fetch_all(wanted: Iterable[Wanted], cache: Cache, progress: Progress) -> dict[str, Resolved]:
    """All these sources by name, fetched if need be; raises what :func:`fetch` does."""
    with cache.workspace() as work:
        archives = Archives(work)
        return {w.name: fetch(w, cache, progress, archives) for w in wanted}


def fetch(wanted: Wanted, cache: Cache, progress: Progress, archives: Archives | None = None) -> Resolved:
    """The source, fetched if necessary; `archives` keeps indexes for the next fetch.

    Raises ToolError when no place has it or a hash is wrong, UserError when the user's own is missing.
    """
    with cache.lock(
        f"source-{wanted.key}", lambda: progress.note(f"waiting for another fetch of {wanted.name}")
    ):
        found = resolved(wanted, cache)
        if found:
            return found
        progress.begin(f"fetch-{wanted.name}", f"{wanted.name} {wanted.source.version}")
        with cache.workspace() as work:
            found = from_somewhere(wanted, cache, work, progress, archives or Archives(work))
        progress.finish(f"{wanted.name} {found.version} from {found.origin}")
        return found


def _local(wanted: Wanted) -> Resolved:
    path = (wanted.base / (wanted.source.path or "")).expanduser().resolve()
    if not path.exists():
        raise UserError(f"sources.{wanted.name}.path: {path} does not exist")
    if path.is_dir():
        return Resolved(str(path), tree_id(path), "your own tree", wanted.source.version)
    sha256 = file_sha256(path)
    if wanted.source.sha256 and sha256 != wanted.source.sha256.lower():
        raise ToolError(
            f"{path} does not match sources.{wanted.name}",
            hint=f"expected sha256 {wanted.source.sha256}, found {sha256}",
        )
    return Resolved(str(path), sha256, "your own tarball", wanted.source.version)


def from_somewhere(
    wanted: Wanted, cache: Cache, work: Path, progress: Progress, archives: Archives
) -> Resolved:
    failures: list[str] = []
    if wanted.source.url:
        try:
            path = _download(wanted, cache, work, progress)
            return _keep(wanted, cache, work, path, "upstream", wanted.source.version)
        except (OSError, http.client.HTTPException, ValueError) as error:
            if isinstance(error, OSError) and error.errno in OURS:
                raise
            reason = getattr(error, "reason", None) or error or type(error).__name__
            failures.append(f"upstream: {reason}")
            progress.note(f"{wanted.name}: upstream cannot be reached ({reason})")
    places = (wanted.source.archive, wanted.source.package, wanted.source.packages)
    for place in (place for place in places if isinstance(place, Archive | Package | PackageSet)):
        try:
            progress.note(f"{wanted.name}: asking Debian's archive, suite {place.suite}")
            got = archives.fetch(place)
            pinned = wanted.source.sha256
            whole = not isinstance(place, Archive) or place.source
            if whole and pinned and file_sha256(got.path) != pinned.lower():
                raise _refused(wanted.name, got.path, cache, pinned)
            return _keep(wanted, cache, work, got.path, "Debian's archive", got.version)
        except ToolError as error:
            if error.hint and "kept" in error.hint:
                raise
            failures.append(f"Debian's archive: {error.message}")
    package, several = wanted.source.package, isinstance(wanted.source.packages, PackageSet)
    if isinstance(package, Package) or several:
        what = package.name if isinstance(package, Package) else "the packages"
        raise ToolError(
            f"cannot fetch {what} for {wanted.name}: " + "; ".join(failures),
            hint=f"check the network; {MIRROR} selects another mirror than apt's; or name "
            f"a folder with what is in it, unpacked, as sources.{wanted.name}.path",
        )
    raise ToolError(
        f"cannot fetch the source of {wanted.name}: " + "; ".join(failures),
        hint=f"download a tarball and set sources.{wanted.name}.path in your system file",
    )


def _download(wanted: Wanted, cache: Cache, work: Path, progress: Progress) -> Path:
    url, expected = wanted.source.url, wanted.source.sha256
    assert url and expected
    path = work / Path(url).name
    digest = hashlib.sha256()
    with urllib.request.urlopen(url, timeout=30) as answer, path.open("wb") as f:
        total = int(answer.headers.get("Content-Length") or 0) or None
        done = 0
        while block := answer.read(_BLOCK_BYTES):
            f.write(block)
            digest.update(block)
            done += len(block)
            progress.update(done >> 20, total and total >> 20, "MiB")
    if total and done < total:
        raise ConnectionError(f"the download stopped after {done:,} of {total:,} bytes")
    if digest.hexdigest() != expected.lower():
        raise _refused(wanted.name, path, cache, expected)
    return path


def _refused(name: str, path: Path, cache: Cache, expected: str) -> ToolError:
    found = file_sha256(path)
    cache.refused.mkdir(exist_ok=True)
    aside = cache.refused / f"{found[:16]}-{path.name}"
    shutil.move(path, aside)
    return ToolError(
        f"the source of {name} has the wrong hash: expected sha256 {expected}, found {found}",
        hint=f"it was rejected and kept as {aside}",
    )


def _keep(wanted: Wanted, cache: Cache, work: Path, path: Path, origin: str, version: str) -> Resolved:
    """Moves a checked file to its place in the cache, with resolved.json beside it."""
    final = cache.sources / wanted.key
    new = work / "new"
    new.mkdir()
    sha256 = file_sha256(path)
    shutil.move(path, new / path.name)
    found = Resolved(str(final / path.name), sha256, origin, version)
    (new / "resolved.json").write_bytes(msgspec.json.encode(found))
    if final.exists():
        shutil.rmtree(final)
    cache.commit(new, final)
    return found
