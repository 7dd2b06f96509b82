# SPDX-License-Identifier: Apache-2.0
"""Changes of the kernel's source for a foreign build: the files, and what to do with them."""

from __future__ import annotations

from bootscope.builder.steps import function_order, probe_later, self_tests
from bootscope.core.errors import printable

FOLDER = "kernel-code"
ORDER, LATER = f"{FOLDER}/function-order.txt", f"{FOLDER}/{probe_later.SOURCE.name}"


def by_hand(settings: dict[str, object]) -> tuple[dict[str, str], list[str]]:
    """(path -> text, what a person has to do) for the settings that concern the kernel's source; removes the
    settings that were understood."""
    files: dict[str, str] = {}
    steps: list[str] = []
    order = settings.pop(function_order.SETTING, "")
    if isinstance(order, str) and order.split():
        files[ORDER] = "".join(f"{printable(name)}\n" for name in order.split())
        steps.append(
            f"link the kernel's functions in the order of DIR/{ORDER}: make {function_order.OPTION}, and one "
            "*(.text.NAME) for each at the beginning of TEXT_TEXT in include/asm-generic/vmlinux.lds.h"
        )
    if settings.pop(probe_later.SETTING, False) is True:
        files[LATER] = probe_later.SOURCE.read_text()
        steps.append(
            f"build DIR/{LATER} into drivers/base of the kernel (obj-y in its Makefile), "
            "and begin really_probe() in dd.c with: if (probe_is_put_off(drv)) return -EPROBE_DEFER;"
        )
    if settings.pop(self_tests.SETTING, True) is False:
        steps.append(
            f"compile the kernel's lib/crypto without self-tests: make {' '.join(self_tests.OPTIONS)}"
        )
    return files, steps
