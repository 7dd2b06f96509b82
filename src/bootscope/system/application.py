# SPDX-License-Identifier: Apache-2.0
"""The application, as configuration."""

from __future__ import annotations

import msgspec

from bootscope.core.settings import Setting


class Configured(Setting, frozen=True, kw_only=True):
    """A program whose source tree has a configure script and a makefile of its own.

    `source`: a name under [sources]. `options`: for the configure script; ``{prefix}`` stands for the prefix
    of the cross tools' names, ``{triplet}`` for the same without its last character.
    `makes`: the target for make, and the program's path in the build folder.
    """

    source: str
    options: tuple[str, ...] = ()
    makes: str


class Application(Setting, frozen=True):
    """The application: C sources in a folder beside the system file, and its process name.

    `sources`: empty where the program is `configured`, or where the packages of the root file system contain
    it (`path`) and nothing is compiled.
    `libc`: ``glibc``, or ``musl`` (linked statically), built from the source that `libc_source` names.
    `strip`: removes symbols and debug information.
    `profile`: how often the program's branches were taken in a boot, for GCC's -fprofile-use (see
    builder/steps/code_profile.py).
    """

    process: str
    sources: str
    path: str
    compiler_options: tuple[str, ...] = ("-O2",)
    libc: str = "glibc"
    libc_source: str = "musl"
    strip: bool = True
    profile: str | msgspec.UnsetType = msgspec.UNSET
    configured: Configured | msgspec.UnsetType = msgspec.UNSET
