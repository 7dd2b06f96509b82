# SPDX-License-Identifier: Apache-2.0
"""Fuzzes what `bootscope image` reads: damaged kernels, packages, disks and menus, for a given time each.

    python tools/fuzz_images.py [--seconds 60] [--only NAME]... [--seed N] [--keep FOLDER]

A reader may refuse data only with one of bootscope's errors, and gets 20 s of CPU time. Data that breaks
these rules is written to the folder named by --keep, reduced where that is quick.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src"), str(ROOT / "tools")]

from fuzz import OutOfTimeError, damage, out_of_time
from tests.unit import image_builders as made
from tests.unit.test_kernel_file import FIT

from bootscope.artefacts.tree import FILE, Entry
from bootscope.bootimage import initramfs, menus
from bootscope.bootimage.fat import Fat
from bootscope.bootimage.files import Files, Listed
from bootscope.bootimage.understand import open_image
from bootscope.bootimage.volume import opened
from bootscope.core.errors import BootscopeError
from bootscope.image import efi_program, fit, kallsyms, kernel_file, kernel_says, relocations

CPU_S = 20
MOST_BYTES = 4 << 20
Target = Callable[[bytes], object]


def a_kernel(data: bytes) -> None:
    found = kernel_file.opened("x", data)
    if found:
        kernel_says.configuration(found)
        kernel_says.build_id(found)
        kallsyms.read(found.program, 8)


def a_fat(path: Path) -> Target:
    def run(data: bytes) -> None:
        path.write_bytes(data)
        files = Files(Fat(opened(path, "x")))
        for entry in list(files.matching("*/*"))[:20] + list(files.matching("*"))[:20]:
            entry.read(1 << 20)

    return run


def a_menu(data: bytes) -> None:
    names = (
        "extlinux/extlinux.conf",
        "loader/entries/a.conf",
        "grub/grub.cfg",
        "boot.scr",
        "config.txt",
        "start.elf",
    )
    entries = [Entry(f"/{name}", FILE, len(data), read=lambda most: data[:most]) for name in names]
    menus.entries(Files(Listed("x", entries)))


def an_image(path: Path) -> Target:
    def run(data: bytes) -> None:
        path.write_bytes(data)
        with open_image([str(path)]) as image:
            image.kernel()

    return run


def targets(folder: Path) -> dict[str, tuple[Target, list[bytes]]]:
    """Name -> a function that reads data, and seeds for it."""
    kernel = made.arm64_image()
    (folder / "Image").write_bytes(kernel)
    (folder / "tree").write_bytes(made.device_tree())
    (folder / "a.its").write_text(FIT)
    made.tool("mkimage", "-f", "a.its", "a.itb", cwd=folder)
    itb = (folder / "a.itb").read_bytes()
    fat = made.fat(folder / "fat", made.boot_folder(folder / "boot"), 2).read_bytes()
    root = made.root_folder(folder / "root")
    made.tool("mksquashfs", root, folder / "s", "-quiet", "-no-progress")
    archive = made.cpio({"init": b"#!/bin/sh\n", "kernel/x86/microcode/a": b"x"})
    packed = [
        made.bzimage(gzip.compress(made.program())),
        made.zboot(gzip.compress(kernel)),
        gzip.compress(kernel),
    ]
    script = "label: {}\nstart=64, size=4096, type={}\nstart=4160, size=2048, type={}\n"
    cards = [
        made.disk(folder / f"card-{label}", 4, script.format(label, a, b), [(64, fat)]).read_bytes()
        for label, (a, b) in made.TYPES.items()
    ]
    grub = b"menuentry 'a' {\n linux /vmlinuz root=/dev/sda1 ro\n initrd /initrd\n}\n"
    entry = b"title A\nlinux /vmlinuz\noptions quiet\ninitrd /initrd\n"
    return {
        "kernel": (a_kernel, [kernel, *packed]),
        "relocations": (relocations.read, [kernel]),
        "fit": (fit.read, [itb]),
        "efi": (efi_program.read, [made.zboot(b"x")]),
        "initramfs": (lambda data: initramfs.opened("x", data), [archive, archive + gzip.compress(archive)]),
        "fat": (a_fat(folder / "case"), [fat]),
        "menu": (a_menu, [made.MENU.encode(), grub, entry]),
        "image": (
            an_image(folder / "case"),
            [
                *cards,
                made.qcow2(cards[0], 12),
                made.android_sparse(cards[1]),
                itb,
                (folder / "s").read_bytes(),
                fat,
            ],
        ),
    }


def broken(target: Target, case: bytes) -> str:
    """Why it failed on a case; empty where it did not."""
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    try:
        target(case)
    except BootscopeError:
        return ""
    except OutOfTimeError:
        return f"took more than {CPU_S} s"
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if str(ROOT) in f.filename]
        return f"{type(error).__name__} in {Path(frames[-1].filename).name}:{frames[-1].lineno}: {error}"[
            :300
        ]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return ""


def fuzz(name: str, target: Target, seeds: list[bytes], seconds: float, seed: int, keep: Path) -> int:
    """Fuzzes one target; returns the number of different failures."""
    rng = random.Random(f"{name} {seed}")
    until, cases, found = time.monotonic() + seconds, 0, set[str]()
    while time.monotonic() < until:
        case = bytearray(rng.choice(seeds))
        for _ in range(rng.choice((1, 1, 2, 3, 5, 9, 20))):
            if rng.random() < 0.5 and case:
                # Headers and tables matter most.
                at = rng.randrange(min(len(case), rng.choice((64, 512, 2048, 1 << 16))))
                case[at : at + rng.choice((1, 2, 4, 8))] = rng.randbytes(rng.choice((1, 2, 4, 8)))
            else:
                damage(rng, case, seeds)
        data = bytes(case[:MOST_BYTES])
        why = broken(target, data)
        cases += 1
        if why and why.split(":")[0] not in found:
            found.add(why.split(":")[0])
            path = keep / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
            path.write_bytes(data)
            print(f"{name}: BROKEN: {why}: {path}", flush=True)
    print(f"{name}: {cases:,} cases, {len(found)} kinds of failure", flush=True)
    return len(found)


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz what `bootscope image` reads.")
    parser.add_argument("--seconds", type=float, default=60, help="for each (default: 60)")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="seed of the random numbers")
    parser.add_argument(
        "--keep", type=Path, default=Path(tempfile.gettempdir()), help="folder for the failing cases"
    )
    args = parser.parse_args()
    signal.signal(signal.SIGPROF, out_of_time)
    with tempfile.TemporaryDirectory() as folder:
        known = targets(Path(folder))
        chosen = args.only or list(known)
        bad = sum(fuzz(name, *known[name], args.seconds, args.seed, args.keep) for name in chosen)
    print(f"seed {args.seed}: {bad} kinds of failure" if bad else f"seed {args.seed}: nothing broke")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
