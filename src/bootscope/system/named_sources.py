# SPDX-License-Identifier: Apache-2.0
"""The sources that [prebuilt] and `toolchain` name, beside those of programs that every system has."""

from __future__ import annotations

import msgspec

from bootscope.system.application import Configured
from bootscope.system.model import Prebuilt, System


def loader_symbols(system: System) -> str:
    """The source with the symbols of a boot loader that is built already; empty for none."""
    found = system.prebuilt.uboot_symbols if isinstance(system.prebuilt, Prebuilt) else ""
    return found if isinstance(found, str) else ""


def unpacker_sources(system: System) -> tuple[str, ...]:
    """The sources of a kernel that is built already and of its compiler, by which the code that unpacks it
    has names; empty for none."""
    prebuilt = system.prebuilt
    found = prebuilt.unpacker_symbols if isinstance(prebuilt, Prebuilt) and prebuilt.kernel else ()
    return found if isinstance(found, tuple) else ()


def packaged_root(system: System) -> str:
    """The source of packages that the root file system is made of; empty where it is BusyBox's."""
    root = system.prebuilt.root if isinstance(system.prebuilt, Prebuilt) else msgspec.UNSET
    return root if isinstance(root, str) else ""


def application_source(system: System) -> str:
    """The source of an application that has a configure script of its own; empty for one that has not."""
    configured = system.application.configured
    return configured.source if isinstance(configured, Configured) else ""


def toolchain(system: System) -> str:
    """The source with the compiler of BusyBox and the application; empty for that of the computer."""
    return system.toolchain if isinstance(system.toolchain, str) else ""


def of_one_build(system: System) -> dict[str, str]:
    """Sources that go with another, of whose very build they are -> that: headers and compiler of a kernel,
    the symbols of a boot loader."""
    if not isinstance(system.prebuilt, Prebuilt):
        return {}
    found = {name: system.kernel.source for name in (*system.prebuilt.headers, *unpacker_sources(system))}
    if symbols := loader_symbols(system):
        found[symbols] = system.uboot.source
    return found
