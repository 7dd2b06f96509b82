# SPDX-License-Identifier: Apache-2.0
"""bootscope image: the content of a prebuilt image, and how it boots."""

from __future__ import annotations

import argparse
from pathlib import Path

from bootscope.cli.arguments import option
from bootscope.cli.common import refuse
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import printable


class ImageVerb(Verb):
    example = "bootscope image sdcard.img.xz"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "path",
            nargs="+",
            metavar="FILE|FOLDER",
            help="a disk image, also packed; or kernel, device tree, initramfs and root file system; or the "
            "folder of images that a build made (bootscope help your-image)",
        )
        what = "write the kernel that boots, its initramfs, device tree and symbols into this folder"
        option(parser, "-o --output", "FOLDER", what, type=Path)
        option(parser, "--machine", "M", "the machine, if the folder of a build has several", default="")

    def run(self, args: argparse.Namespace) -> int:
        if not any(Path(name).is_dir() for name in args.path):
            refuse(args, ("machine",), "is for the folder of a build")
        import msgspec

        from bootscope.bootimage import handout
        from bootscope.bootimage.understand import open_image
        from bootscope.report import bootimage

        with open_image(args.path, args.machine) as image:
            known = image.understood
            written = handout.write(image, args.output).written if args.output else []
        if args.json:
            about = msgspec.to_builtins(known)
            # In all JSON documents `kind` is the kind of the document.
            paths = [str(path) for path in written]
            print_json("image", {"what": about.pop("kind"), **about, "written": paths})
        else:
            bootimage.show(terminal(), known)
            for path in written:
                print(f"written: {printable(str(path))}")
        return 2 if known.problems else 0
