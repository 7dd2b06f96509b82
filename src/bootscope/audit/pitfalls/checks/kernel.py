# SPDX-License-Identifier: Apache-2.0
"""Pitfalls of the kernel's configuration and command line."""

from __future__ import annotations

import re
from collections import defaultdict

from bootscope.audit.pitfalls.checks.base import check, kernel_has, start_lines
from bootscope.core.text import listed
from bootscope.inventory.inventory import Inventory, Part, number
from bootscope.inventory.log_indicators import COMPRESSIONS
from bootscope.loaders.registry import BUILT


@check("double-compression", Part.KERNEL)
def _twice(known: Inventory) -> str:
    inner = [n for n in COMPRESSIONS if known.on("kernel", f"INITRAMFS_COMPRESSION_{n}")]
    outer = [n for n in COMPRESSIONS if known.on("kernel", f"KERNEL_{n}")]
    if not (known.text("kernel", "INITRAMFS_SOURCE") and inner and outer):
        return ""
    return f"an initramfs with {inner[0].lower()} in a kernel with {outer[0].lower()}"


@check("gpl-builtin-initramfs", Part.KERNEL)
def _builtin(known: Inventory) -> str:
    source = known.text("kernel", "INITRAMFS_SOURCE")
    return f"CONFIG_INITRAMFS_SOURCE is {source}" if source else ""


check("xip-not-a-win", Part.KERNEL)(kernel_has("XIP_KERNEL"))
check("os-slower", Part.KERNEL)(kernel_has("CC_OPTIMIZE_FOR_SIZE"))
_PROCESSORS = r"[Bb]rought up \d+ nodes?, (\d+) CPUs?|SMP: Total of (\d+) processors"


@check("smp-on-up", Part.LOG)
def _one_core(known: Inventory) -> str | None:
    smp = known.symbol("kernel", "SMP")
    found = known.logged(_PROCESSORS)
    if smp == "n":
        return ""
    if smp is None or not found:
        return None
    return "CONFIG_SMP=y, and one processor was brought up" if "1" in found.groups() else ""


@check("lpj-mismatch", Part.COMMAND_LINE)
def _wrong_lpj(known: Inventory) -> str | None:
    given = number(known.word("lpj") or "")
    if given is None:
        return ""
    found = known.logged(r"Calibrating delay loop\.\.\. .{0,80}\(lpj=(\d{1,12})\)")
    if not found:
        return None
    told = int(found[1])
    return f"lpj={given}, but the kernel found {told}" if abs(given - told) * 100 > told else ""


_CHIPS = re.compile(
    r"(MACH_SUN|SOC_IMX|SOC_OMAP|SOC_AM|SOC_DRA|SOC_SAMA|SOC_AT91|SOC_EXYNOS|SOC_LS|SOC_VF|ARCH_TEGRA_|ARCH_R[78][AS]"
    r"|MACH_STM32|MACH_MESON)\w*\d\w*"
)
_FAMILIES = (
    "SUNXI", "MXC", "OMAP2PLUS", "ROCKCHIP", "EXYNOS", "TEGRA", "AT91", "STM32", "BCM", "MVEBU", "QCOM",
    "ZYNQ", "ZYNQMP", "MESON", "MEDIATEK", "RENESAS", "INTEL_SOCFPGA", "K3", "LAYERSCAPE", "VEXPRESS", "HISI",
)  # fmt: skip


@check("defconfig-not-minimal", Part.KERNEL)
def _many_boards(known: Inventory) -> str:
    config = known.configs.get("kernel", {})
    families = [f"ARCH_{name}" for name in _FAMILIES if config.get(f"ARCH_{name}") == "y"]
    groups: dict[str, list[str]] = defaultdict(list)
    for name, value in config.items():
        match = _CHIPS.fullmatch(name)
        if match and value == "y":
            groups[match[1]].append(name)
    largest = max(groups.values(), key=len, default=[])
    if len(families) > 1:
        return f"it supports {len(families)} families of chips: {listed(families)}"
    return f"it supports {len(largest)} chips: {listed(largest)}" if len(largest) > 1 else ""


_TRACERS = (
    "FUNCTION_TRACER", "FUNCTION_GRAPH_TRACER", "DYNAMIC_FTRACE", "STACK_TRACER", "IRQSOFF_TRACER",
    "PREEMPT_TRACER", "SCHED_TRACER", "HWLAT_TRACER", "BLK_DEV_IO_TRACE", "FTRACE_SYSCALLS",
)  # fmt: skip


@check("tracing-left-on", Part.KERNEL)
def _tracing(known: Inventory) -> str:
    return listed([f"CONFIG_{name}=y" for name in _TRACERS if known.on("kernel", name)], 3)


_ADDRESSES = r"^initcall 0x[0-9a-f]{8,16}(?:\+\S+)? returned|^calling +0x[0-9a-f]{8,16}"


@check("kallsyms-removed-then-debug", one_of=(Part.COMMAND_LINE, Part.LOG))
def _nameless(known: Inventory) -> str | None:
    if found := known.logged(_ADDRESSES):
        return f"the log has addresses: {found[0]}"
    if known.word("initcall_debug") is None:
        return ""
    symbol = known.symbol("kernel", "KALLSYMS")
    return None if symbol is None else "initcall_debug with CONFIG_KALLSYMS=n" if symbol == "n" else ""


@check("proc-removed", Part.KERNEL)
def _no_proc(known: Inventory) -> str:
    if known.symbol("kernel", "PROC_FS") != "n":
        return ""
    users = list(start_lines(known, r"/proc\b|\bsysctl\b"))
    return "CONFIG_PROC_FS=n" + (f", and {listed(users, 1)}" if users else "")


@check("appended-dtb-leftover", Part.KERNEL)
def _leftover(known: Inventory) -> str | None:
    symbol = known.symbol("kernel", "ARM_APPENDED_DTB")
    if symbol != "y":
        return None if symbol is None else ""
    image = next((i for i in known.images.values() if "zImage" in (i.kind, i.payload)), None)
    if image:
        return "" if image.appended else "CONFIG_ARM_APPENDED_DTB=y, and no device tree behind the zImage"
    handed = [words for words in known.loader.called("bootz", "bootm") if len(words) > 3]
    return f"CONFIG_ARM_APPENDED_DTB=y, and {BUILT.title} passes a device tree" if handed else None


_BLOCK_ROOT = re.compile(
    r"root=(?:/dev/(?:mmcblk|sd|hd|nvme|vd|mtdblock|ubiblock|ram)|PART(?:UUID|LABEL)=|UUID=|LABEL=)"
)


@check("rootfstype-missing", Part.COMMAND_LINE)
def _tried_types(known: Inventory) -> str:
    root = [word for word in known.words if _BLOCK_ROOT.match(word)]
    if not root or known.word("rootfstype") is not None or known.word("rdinit") is not None:
        return ""
    return f"{root[-1]} without rootfstype="
