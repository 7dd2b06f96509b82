# SPDX-License-Identifier: Apache-2.0
"""A user's tree while changes are tried in it: written, built, deployed to the board, and undone at the end.

The owner's own commands do the work. At the end, whatever happened, the folder of changes is empty of
changes, the tree is built without them, and that build is on the board; after Ctrl-C only what takes no time
is done, and the rest is reported.
"""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from bootscope.buildtrees.building import LONGEST_S
from bootscope.buildtrees.model import Tree
from bootscope.buildtrees.owner import build_words, command_environment, own_folder, words
from bootscope.buildtrees.products import Keeper, Products, find_products, missed
from bootscope.buildtrees.variants import Variant, Variants
from bootscope.core import process
from bootscope.core.errors import BoardError, BootscopeError, ToolError, UserError, printable

_DEPLOY_S = 3600


class BuildFailedError(ToolError):
    """The owner's command fails for the variant with that `key`; `log` is the path of its full output."""

    def __init__(self, message: str, log: str, key: str) -> None:
        super().__init__(message, hint=f"full log, with the changes at its top: {log}")
        self.log, self.key = log, key


@dataclass
class Workshop:
    """The state: which variant's changes, build and images are in the tree and on the board. `brings` is a
    farm's strategy that deploys the images to the board; `tell` is called with progress."""

    tree: Tree
    variants: Variants
    keeper: Keeper
    tell: Callable[[str], None]
    brings: Callable[[], None] | None = None
    _made: dict[str, Products] = field(default_factory=dict)
    _built: str = ""
    """The variant of the latest build; empty while that is unknown."""
    _lies_there: str = ""
    """The variant whose images are in the tree."""
    _on_board: str = ""
    _deployed: bool = False
    _build_s: float = 0.0
    """How long the latest build took, in s."""

    @property
    def keeps(self) -> bool:
        """Whether images are kept, so that no variant is built twice."""
        return bool(self.tree.trial.products)

    @property
    def deploys(self) -> bool:
        """Whether anything but the build deploys the images to the board."""
        return bool(self.tree.trial.deploy or self.brings)

    def make(self, variant: Variant) -> Products:
        """Builds a variant unless it is known; returns its images.

        Raises BuildFailedError, and UserError where the owner's configuration does not fit.
        """
        if variant.key in self._made:
            return self._made[variant.key]
        base = self.variants.base
        if variant.key != base.key:
            self.make(base)
            known = self.keeper.known(self._key(variant)) if self.keeps else None
            if known:
                self.tell(f"{variant.words}: already built, and the base has not changed")
                self._made[variant.key] = known
                return known
        self._build(variant)
        return self._made[variant.key]

    def same(self, one: Variant, other: Variant) -> bool:
        """Whether two variants have the same images, byte by byte."""
        hashes = self.make(one).hashes
        return bool(hashes) and hashes == self.make(other).hashes

    def deploy(self, variant: Variant) -> float:
        """Deploys a variant to the board unless it is there; returns the time taken in s, including its build
        where images are not kept. If only builds deploy, this is always the time of the latest build.

        Raises BuildFailedError, ToolError and BoardError.
        """
        if self._on_board == variant.key:
            return 0.0 if self.deploys else self._build_s
        if self.keeps:
            self.make(variant)
        begun = time.monotonic()
        self.make(variant)
        if self.keeps and self.deploys:
            self._put_back(variant)
        elif self._built != variant.key:
            # Kept images in the tree would not reach a board that only the build deploys to.
            self._build(variant)
        if not self.deploys:
            return self._build_s
        self._on_board, self._deployed = "", True
        if self.tree.trial.deploy:
            self.tell(f"{variant.words}: deploying")
            self._run_deploy(variant)
        if self.brings:
            self.brings()
        self._on_board = variant.key
        return time.monotonic() - begun

    def _key(self, variant: Variant) -> str:
        base = self._made[self.variants.base.key]
        return self.keeper.key(base, variant.content, self._made.get(variant.key))

    def _put_back(self, variant: Variant) -> None:
        if self._lies_there != variant.key:
            self._lies_there = ""
            self.keeper.put_back(self._key(variant))
            self._lies_there = variant.key

    def _build(self, variant: Variant) -> None:
        self.tell(f"{variant.words}: building")
        command = build_words(self.tree)
        self._built = self._lies_there = ""
        if self.brings is None:
            # A build may deploy by itself, or the board may boot from the tree: then it has other images now.
            self._on_board = ""
        self.variants.put(variant)
        log = self._log(variant, "build")
        begun = time.monotonic()
        try:
            self._run(command, variant, log, LONGEST_S)
        except ToolError as error:
            itself = f"{self.tree.name} itself does not build"
            what = f"{self.tree.name} does not build with {variant.words}" if variant.specs else itself
            raise BuildFailedError(f"{what}: {_lines(error.message)}", str(log), variant.key) from error
        made = replace(find_products(self.tree), missed=missed(self.tree, variant.changes.change))
        self._built = self._lies_there = variant.key
        self._build_s = time.monotonic() - begun
        if not self.deploys:
            self._on_board, self._deployed = variant.key, True
        if variant.key not in self._made:
            for line in made.missed:
                self.tell(f"warning: {line}")
            self._made[variant.key] = made
            self.keeper.keep(self._key(variant), made)

    def _run_deploy(self, variant: Variant) -> None:
        log = self._log(variant, "deploy")
        try:
            self._run(words(self.tree, self.tree.trial.deploy), variant, log, _DEPLOY_S)
        except ToolError as error:
            raise BoardError(
                f"{variant.words} cannot be deployed: {_lines(error.message)}",
                hint=f"full log: {log}",
            ) from error

    def _run(self, command: list[str], variant: Variant, log: Path, timeout_s: float) -> None:
        env = process.environment(command_environment(self.tree, variant.key))
        process.run(command, cwd=Path(self.tree.folder), env=env, log=log, timeout_s=timeout_s)

    def _log(self, variant: Variant, what: str) -> Path:
        path = own_folder(self.tree) / "logs" / f"{variant.key[:12]}-{what}.log"
        texts = [f"--- {name}\n{text}" for name, text in variant.output.files.items()]
        links = [f"--- {name} -> {to}\n" for name, to in variant.output.links.items()]
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{variant.words}\n{''.join((*texts, *links))}---\n")
        except OSError as error:
            raise ToolError(f"cannot write {path}: {error.strerror}") from error
        return path

    # ---- the end ----

    def back(self) -> None:
        """Undoes all changes: folder, build and board. Stops at a failure, and reports it."""
        base, before = self.variants.base, self._made.get(self.variants.base.key)
        try:
            self.variants.put(base)
            if before is None:
                return  # it does not build, so nothing else was done
            if self._built != base.key:
                self.tell("the tree is restored: built again without changes")
                self._build(base)
                self._warn_if_not_back(before)
            if self.keeps:
                # Also where nothing was built: putting back kept images may have failed halfway.
                self._put_back(base)
            if self._deployed and self._on_board != base.key:
                self.deploy(base)
        except BootscopeError as error:
            self.tell(f"the tree could not be restored: {error.message}")
            self._warn_of_images()

    def _warn_if_not_back(self, before: Products) -> None:
        now = find_products(self.tree).hashes
        if now and any(now == made.hashes != before.hashes for made in self._made.values()):
            self.tell(
                "warning: a build without the changes gives the same images as with them. What the changes "
                "put into the tree stays there; the build must begin from your own configuration "
                "(bootscope help real-boards)"
            )
        elif now != before.hashes:
            self.tell(
                "two builds without changes differ byte by byte (dates, random numbers): images cannot show "
                "whether changes took effect, and kept variants cannot be used again "
                "(bootscope help real-boards)"
            )

    def leave(self) -> None:
        """Undoes what takes no time, and reports what is left to do."""
        base = self.variants.base
        with contextlib.suppress(BootscopeError):
            self.variants.put(base)
            self.tell("the changes are removed from the tree again")
            if self._made and self.keeps:
                self._put_back(base)
        self._warn_of_images()
        if self._built != base.key:
            name = self.tree.name
            self.tell(f"the last build had changes; to build without them: bootscope build {name}")
        if self._deployed and self._on_board != base.key:
            self.tell("the board still has the images of a variant: deploy your own")

    def _warn_of_images(self) -> None:
        """Reports images in the tree that are not those without changes, although the last build had none."""
        base = self.variants.base.key
        if self.keeps and self._built == base != self._lies_there:
            self.tell(
                "images in the tree are those of a variant, or of different builds; "
                f"to build without changes: bootscope build {self.tree.name}"
            )


def _lines(message: str) -> str:
    return "\n".join(printable(line) for line in message.split("\n"))


@contextlib.contextmanager
def opened(shop: Workshop) -> Iterator[Workshop]:
    """Reserves the tree inside the block, and restores it afterwards.

    Raises UserError while another process tries changes in the same tree.
    """
    folder = own_folder(shop.tree)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(
                f"changes are being tried in {shop.tree.name} already", hint="wait until it has finished"
            ) from error
        try:
            yield shop
        except KeyboardInterrupt:
            shop.leave()
            raise
        except BaseException:
            shop.back()
            raise
        shop.back()
