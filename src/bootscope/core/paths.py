# SPDX-License-Identifier: Apache-2.0
"""Where bootscope keeps things.

Two roots: the *store* (recorded boots, never deleted by us) and the *cache* (sources and built images, which
can be made again). ``BOOTSCOPE_STORE`` and ``BOOTSCOPE_CACHE`` override them. ``BOOTSCOPE_STORE`` may be a
URL: then the folder is this computer's copy of that store. ``BOOTSCOPE_SHARE`` is the URL of a second cache,
behind that of this computer.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import platformdirs

_FILE = "file://"
_URL = re.compile(r"[a-z][a-z0-9+.-]*://")


def store_dir() -> Path:
    """The folder of recorded runs on this computer, even if the store is on a server; not created here."""
    override = os.environ.get("BOOTSCOPE_STORE")
    own = Path(platformdirs.user_data_dir("bootscope"))
    if url := store_url():
        words = re.sub(r"[^A-Za-z0-9]+", "-", url.partition("://")[2].rpartition("@")[2]).strip("-")[:40]
        return own / "servers" / f"{words}-{hashlib.sha256(url.rstrip('/').encode()).hexdigest()[:12]}"
    return Path(override.removeprefix(_FILE)) if override else own


def store_url() -> str:
    """The URL of the store on a server; empty if it is a folder."""
    override = os.environ.get("BOOTSCOPE_STORE", "")
    return override if _URL.match(override) and not override.startswith(_FILE) else ""


def cache_dir() -> Path:
    """The folder of sources and builds; not created here."""
    override = os.environ.get("BOOTSCOPE_CACHE")
    return Path(override) if override else Path(platformdirs.user_cache_dir("bootscope"))


def share_url() -> str:
    """The URL of a cache that several computers share; empty for none."""
    return os.environ.get("BOOTSCOPE_SHARE", "")


def package_dir() -> Path:
    """The folder of this package, for the data files that come with it."""
    return Path(__file__).resolve().parent.parent


def is_installed() -> bool:
    """Whether this package was installed from a wheel; else it runs from a checkout."""
    return (package_dir() / "data").is_dir()


def data_dir() -> Path:
    """The folder that holds native/, docs/, ci/ and LICENSES/: a checkout, or its counterpart in a wheel."""
    return package_dir() / "data" if is_installed() else package_dir().parent.parent


def docs_dir() -> Path:
    """The documents."""
    return data_dir() / "docs"


def plugin_source_dir() -> Path:
    """The C sources of the QEMU plugin."""
    return data_dir() / "native" / "plugin"


def agent_source_dir() -> Path:
    """The C sources of the collector that runs on a target."""
    return data_dir() / "native" / "agent"


def steady_source() -> Path:
    """The C source of the library that makes file systems come out the same each time."""
    return data_dir() / "native" / "steady" / "steady.c"
