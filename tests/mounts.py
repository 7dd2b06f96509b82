# SPDX-License-Identifier: Apache-2.0
"""Mounts that only a child sees: for tests of full disks, and of caches at their own paths."""

from __future__ import annotations

import os
import subprocess


def own_mounts() -> list[str]:
    """The command that gives a child mounts of its own."""
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode == 0:
        return unshare
    # In a chroot the root is no mount, and how mounts spread cannot be changed.
    return [*unshare, "--propagation", "unchanged"]
