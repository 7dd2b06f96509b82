# SPDX-License-Identifier: Apache-2.0
"""How a kernel's log shows its instruction set, including sets that are not emulated here.

Sources: Linux arch/*/kernel/setup.c, arch/arm64/kernel/setup.c (MPIDR with ten digits),
arch/riscv/kernel/sbi.c, arch/x86/kernel/e820.c; systemd.unit(5), ConditionArchitecture=, for systemd's names.
"""

from __future__ import annotations

import re

ARCHITECTURES = ("arm", "arm64", "mips", "powerpc", "riscv", "x86")
"""Names; 32 and 64 bits of an instruction set share one where no part of a boot depends on it."""
_SYSTEMD = {
    "arm": "arm(?:-be)?", "arm64": "arm64(?:-be)?", "mips": "mips64?(?:-le)?", "powerpc": "ppc64?(?:-le)?",
    "riscv": "riscv(?:32|64)", "x86": "x86(?:-64)?",
}  # fmt: skip
_KERNEL = {
    "arm64": r"^Booting Linux on physical CPU 0x[0-9a-f]{10}\b|\bAArch64 Processor|^CPU features: detected: "
    r"|^Linux version .{1,80}\(aarch64-",
    "arm": r"^CPU: ARM\w* [Pp]rocessor|^CPU: ARMv\d|^CPU: Testing write buffer|^Linux version .{1,80}\(arm-",
    "mips": r"^CPU0 revision is: |\(MIPS |^MIPS: machine is ",
    "powerpc": r"^Using .{1,40} machine description|^opal: |^Linux version .{1,80}\(powerpc",
    "riscv": r"^SBI specification v|^riscv: |^OpenSBI v|^Linux version .{1,80}\(riscv\d\d-",
    "x86": r"^BIOS-provided physical RAM map|^BIOS-e820: |^x86/|^smpboot: |^tsc: ",
}
PATTERNS = {
    name: re.compile(f"{_KERNEL[name]}|Detected architecture {_SYSTEMD[name]}\\.", re.MULTILINE)
    for name in _KERNEL
}
"""Name -> texts in its logs, without stamps. The first line of older arm64 kernels matches arm, which
therefore comes later."""
