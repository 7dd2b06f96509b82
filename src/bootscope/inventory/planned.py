# SPDX-License-Identifier: Apache-2.0
"""What is known of a system from its file alone, and from its build where the cache contains that."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

import msgspec

from bootscope.boards.profile import load_board
from bootscope.builder.cache import Cache
from bootscope.builder.plan import outlook
from bootscope.builder.steps import kernel, programs, rootfs
from bootscope.emulator.subject import flat
from bootscope.image.uboot_env import default_environment
from bootscope.inventory.inventory import TREE_PARTS, Image, Inventory, Part
from bootscope.inventory.recorded import contents, images, with_stored
from bootscope.kbuild.kconfig import parse, written
from bootscope.loaders.registry import BUILT
from bootscope.system.changes import TREES
from bootscope.system.load import LoadedSystem
from bootscope.system.placeholders import boot_script

_IMAGES = ("kernel", "device-tree", "falcon")


def planned(loaded: LoadedSystem, cache: Cache) -> tuple[Inventory, str]:
    """What is known of a system that was never booted, and the sources of that in words. Builds nothing."""
    system = loaded.system
    built = {step.name: cache.find(step.step_id) for step in outlook(loaded, cache).planned() if step.cached}
    configs, partial = {}, set()
    for tree in TREES:
        folder = built.get(tree)
        if folder and (folder / "config").exists():
            configs[tree] = parse((folder / "config").read_text(errors="replace"))
        else:
            configs[tree] = {name: written(value) for name, value in getattr(system, tree).config.items()}
            partial.add(tree)
    root, boot, settings = built.get("rootfs"), built.get(BUILT.tree), flat(system)
    main = load_board(system.board).boot_loader.last
    code = boot / main.code_file if boot and main else None
    defaults = default_environment(code.read_bytes()) if code and code.exists() else {}
    environment = with_stored(defaults, settings)
    parts = {Part.SETTINGS, Part.COMMAND_LINE, Part.COMMANDS, *TREE_PARTS.values()}
    parts |= {Part.ENVIRONMENT} if environment else set()
    parts |= {Part.FILES, Part.SCRIPTS} if root else set()
    known = Inventory(
        parts=frozenset(parts),
        settings=settings,
        configs=configs,
        partial=frozenset(partial),
        command_line=system.kernel.command_line,
        environment=environment,
        commands=boot_script(settings.get("uboot.script", ""), settings),
        files=contents((root / rootfs.CONTENTS).read_text(errors="replace")) if root else {},
        scripts=_texts(root / programs.SCRIPTS) if root else {},
        units=_texts(root / rootfs.UNITS) if root and (root / rootfs.UNITS).exists() else {},
        images=_images(settings, built),
    )
    missing = [name for name in (*TREES, "rootfs") if not built.get(name)]
    return known, f"not built: {', '.join(missing)}" if missing else "as built"


def _texts(path: Path) -> dict[str, str]:
    return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=dict[str, str])


def _images(settings: Mapping[str, str], built: Mapping[str, Path | None]) -> dict[str, Image]:
    folder = built.get("kernel")
    if not folder:
        return {}
    folders = {step: path for step in _IMAGES if (path := built.get(step))}
    sizes = {f"{step}/{f.name}": f.stat().st_size for step, path in folders.items() for f in path.iterdir()}
    return images(settings, sizes, (folder / kernel.SYMBOLS).read_text(errors="replace"))
