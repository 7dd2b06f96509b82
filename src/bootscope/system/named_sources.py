# SPDX-License-Identifier: Apache-2.0
"""The sources that [prebuilt] and `toolchain` name, beside those of the programs of every system."""

from __future__ import annotations

import msgspec

from bootscope.system.application import Configured
from bootscope.system.model import Prebuilt, System


def loader_symbols(system: System) -> str:
    """The source with the symbols of a prebuilt boot loader; empty for none."""
    found = system.prebuilt.uboot_symbols if isinstance(system.prebuilt, Prebuilt) else ""
    return found if isinstance(found, str) else ""


def unpacker_sources(system: System) -> tuple[str, ...]:
    """The sources of a prebuilt kernel and of its compiler, which give symbols to the code that unpacks it;
    empty for none."""
    prebuilt = system.prebuilt
    found = prebuilt.unpacker_symbols if isinstance(prebuilt, Prebuilt) and prebuilt.kernel else ()
    return found if isinstance(found, tuple) else ()


def packaged_root(system: System) -> str:
    """The source of packages that the root file system is made of; empty where it is made with BusyBox."""
    root = system.prebuilt.root if isinstance(system.prebuilt, Prebuilt) else msgspec.UNSET
    return root if isinstance(root, str) else ""


def application_source(system: System) -> str:
    """The source of an application with its own configure script; empty for another application."""
    configured = system.application.configured
    return configured.source if isinstance(configured, Configured) else ""


def toolchain(system: System) -> str:
    """The source with the compiler of BusyBox and the application; empty for this computer's."""
    return system.toolchain if isinstance(system.toolchain, str) else ""


def of_one_build(system: System) -> dict[str, str]:
    """Sources that must be of the very same build as another one -> that one: headers and compiler of a
    kernel, symbols of a boot loader."""
    if not isinstance(system.prebuilt, Prebuilt):
        return {}
    found = {name: system.kernel.source for name in (*system.prebuilt.headers, *unpacker_sources(system))}
    if symbols := loader_symbols(system):
        found[symbols] = system.uboot.source
    return found
