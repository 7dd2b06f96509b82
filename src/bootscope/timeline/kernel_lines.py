# SPDX-License-Identifier: Apache-2.0
"""What the kernel and the programs after it write on every console, as patterns for text without stamps."""

from __future__ import annotations

import re

BEGINS = r"Booting Linux on|Linux version \d"
FREED = r"Freeing (?:unused kernel (?:image \(initmem\) )?|init )memory"
INIT = r"Run \S{1,200} as init process"
LOGIN = r"\S{0,80} ?login: ?$"
PANIC, PANIC_END = "Kernel panic - not syncing", "---[ end Kernel panic"
STAMP = re.compile(r"^\[ *\d+\.\d+\] ?(?:\[ *[TC]\d+\] ?)?")
"""printk's time and caller, as a recorded console has them."""
FINISHED = r"systemd\[1\]: Startup finished in "
"""systemd's own word that all jobs of the boot are done."""
TARGET = (
    r"(?:\[  OK  \] |systemd\[1\]: )Reached target (?:\S{1,80} - )?(?:Multi-User System|Graphical Interface)"
)
SHELL = r"Please press Enter to activate this console"
SWITCH = r"(?:systemd\[1\]: |dracut: )?Switching root"
"""The end of an initramfs, by systemd and dracut."""
