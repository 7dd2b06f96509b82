# SPDX-License-Identifier: Apache-2.0
"""What the product is for, as configuration."""

from __future__ import annotations

import msgspec

from bootscope.core.settings import Setting


class Configured(Setting, frozen=True, kw_only=True):
    """A program whose source tree has a configure script and a makefile of its own.

    `source`: a name under [sources]. `options`: of the configure script; ``{prefix}`` is what the
    names of the cross compiler's tools begin with, ``{triplet}`` the same without its last character.
    `makes`: what make is asked for, and the program's path in the folder that it is built in.
    """

    source: str
    options: tuple[str, ...] = ()
    makes: str


class Application(Setting, frozen=True):
    """What the product is for: C sources in a folder beside the system file, and its process name.

    `sources`: empty where the program is `configured`, or is not compiled: the packages of the root file
    system have it (`path`).
    `libc`: ``glibc``, or ``musl`` (linked statically), made from the source that `libc_source` names.
    `strip`: without symbols and debug information.
    """

    process: str
    sources: str
    path: str
    compiler_options: tuple[str, ...] = ("-O2",)
    libc: str = "glibc"
    libc_source: str = "musl"
    strip: bool = True
    configured: Configured | msgspec.UnsetType = msgspec.UNSET
