# SPDX-License-Identifier: Apache-2.0
"""The computer that records."""

from __future__ import annotations

import contextlib
import os
import platform


def host_facts() -> dict[str, str]:
    """A description of this machine, for the provenance of figures. No names of people or hosts."""
    facts = {
        "system": platform.platform(),
        "python": platform.python_version(),
        "cpus": str(os.cpu_count()),
    }
    with contextlib.suppress(OSError):
        facts["distribution"] = platform.freedesktop_os_release().get("PRETTY_NAME", "unknown")
    return facts
