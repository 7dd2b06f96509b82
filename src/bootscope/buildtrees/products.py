# SPDX-License-Identifier: Apache-2.0
"""The products of a build that go to the board: found by patterns, kept by content id, restored to their
place; and whether the build took its changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from bootscope.builder.cache import DEFAULT_LIMIT_BYTES, Cache
from bootscope.builder.ids import file_sha256, id_of
from bootscope.builder.step import Meta
from bootscope.buildtrees.look import text
from bootscope.buildtrees.model import Tree
from bootscope.buildtrees.owner import build_files
from bootscope.core import process
from bootscope.core.damaged import DAMAGED
from bootscope.core.errors import ToolError, UserError, printable
from bootscope.core.text import listed
from bootscope.kbuild.kconfig import parse, written
from bootscope.system.changes import TREES, Change

_MOST = 200


@dataclass(frozen=True)
class Products:
    """Files by their path from the tree's folder: their sizes in bytes, and their SHA-256. `missed`: the
    changes that the build did not take, in words. `scripts`: the files that the build command names, by their
    SHA-256."""

    sizes: dict[str, int]
    hashes: dict[str, str]
    missed: tuple[str, ...] = ()
    scripts: dict[str, str] = field(default_factory=dict)


def find_products(tree: Tree) -> Products:
    """The products that are in the tree now; none where its owner configured none.

    Raises UserError when a pattern matches nothing, or leads out of the folder.
    """
    root = Path(tree.folder).resolve()
    sizes: dict[str, int] = {}
    hashes: dict[str, str] = {}
    for pattern in tree.trial.products:
        paths = [p for p in sorted(root.glob(pattern)) if p.is_file()] if _inside(pattern) else []
        if not paths or len(paths) > _MOST:
            what = f"fits more than {_MOST} files" if paths else "fits no file"
            raise UserError(
                f"'{printable(pattern)}' {what} in {printable(tree.folder)}",
                hint="a product is what goes onto the board, for example --product images/sdcard.img",
            )
        for path in paths:
            name = path.relative_to(root).as_posix()
            if not path.resolve().is_relative_to(root):
                raise UserError(f"{printable(name)} leads out of {printable(tree.folder)}")
            sizes[name], hashes[name] = path.stat().st_size, file_sha256(path)
    return Products(sizes, hashes, scripts=build_files(tree))


def _inside(pattern: str) -> bool:
    return bool(pattern) and not pattern.startswith("/") and ".." not in pattern.split("/")


def missed(tree: Tree, change: Change) -> tuple[str, ...]:
    """The parts of a change that the tree's configurations lack after a build with it, a line each.

    A configuration is ignored if it does not exist, or did not when the tree was imported.
    """
    found = (_of_one(tree, name, change) for name in TREES)
    return tuple(line for line in found if line)


def _of_one(tree: Tree, name: str, change: Change) -> str:
    config = tree.first(f"{name}-config")
    symbols = getattr(change, name)
    root = Path(tree.folder).resolve()
    path = (root / config.path).resolve() if config else root
    values = parse(text(path)) if symbols and path.is_relative_to(root) else {}
    wrong = [
        f"CONFIG_{symbol}={values.get(symbol, 'n')} instead of {written(value)}"
        for symbol, value in symbols.items()
        if values and values.get(symbol, "n") != written(value)
    ]
    if not wrong or not config:
        return ""
    has = f"{printable(config.path)} has {printable(listed(wrong))}"
    return f"built with the changes, {has}: does the build use these changes?"


class Keeper:
    """Keeps products of builds in the cache. They belong to the base that they were built with: a different
    base means that somebody has changed the tree."""

    def __init__(self, cache: Cache, tree: Tree) -> None:
        self._cache, self._tree = cache, tree
        self._used: set[str] = set()

    def key(self, base: Products, content: str, made: Products | None = None) -> str:
        """The key for the products of the variant with that content, given that base; `made` are the products
        where they are known.

        Products that seem to lack the changes have another key, so that no later run finds them: the owner
        may repair the build, not necessarily in a file that its command names.
        """
        command = [self._tree.folder, self._tree.build, self._tree.shell, base.scripts]
        doubtful = made is not None and (made.missed or made.hashes == base.hashes)
        lacks = [made.hashes, made.missed] if made and doubtful else []
        return id_of(["products", command, base.hashes, content, lacks])

    def known(self, key: str) -> Products | None:
        """The products under a key; None where there are none."""
        path = self._cache.find(key)
        self._used.add(key)
        try:
            return msgspec.json.decode((path / "products.json").read_bytes(), type=Products) if path else None
        except (OSError, *DAMAGED):
            return None

    def keep(self, key: str, products: Products) -> None:
        """Keeps the products that are in the tree now. Raises ToolError when there is no room."""
        self._used.add(key)
        if self._cache.find(key) or not products.sizes:
            return
        with self._cache.workspace() as work:
            out = work / "out"
            for name in products.sizes:
                _copy(Path(self._tree.folder, name), out / "files" / name)
            (out / "products.json").write_bytes(msgspec.json.encode(products))
            meta = Meta(f"products of {self._tree.name}", key, {}, 0)
            (out / "meta.json").write_bytes(msgspec.json.encode(meta))
            self._cache.commit(out, self._cache.steps / key)
        self._cache.prune(DEFAULT_LIMIT_BYTES, frozenset(self._used))

    def put_back(self, key: str) -> None:
        """Restores kept products in the tree, replacing what is there; writes through links, so that these
        stay.

        Raises ToolError when they are no longer kept, or cannot be written.
        """
        products, path = self.known(key), self._cache.find(key)
        if not products or not path:
            raise ToolError(f"what was built of {self._tree.name} is no longer in the cache")
        root = Path(self._tree.folder).resolve()
        for name in products.sizes:
            target = (root / name).resolve()
            if not target.is_relative_to(root):
                raise ToolError(f"{printable(name)} leads out of {printable(self._tree.folder)}")
            if target.is_file() and file_sha256(target) == products.hashes[name]:
                continue
            try:
                _replace(path / "files" / name, target)
            except OSError as error:
                raise ToolError(f"cannot write {printable(str(target))}: {error.strerror}") from error


def _replace(source: Path, target: Path) -> None:
    new = target.with_name(f".{target.name}.bootscope")
    try:
        _copy(source, new)
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    """Copies an image with its holes, as a reflink where the file system supports that."""
    target.parent.mkdir(parents=True, exist_ok=True)
    process.run(["cp", "--reflink=auto", "--sparse=always", "--preserve=mode", "--", source, target])
