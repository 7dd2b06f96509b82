# SPDX-License-Identifier: Apache-2.0
"""All devices of board profiles. To add one, write a file beside this one and list it here."""

from __future__ import annotations

from bootscope.devices.boot_memory import BootMemory
from bootscope.devices.cadence_uart import CadenceUart
from bootscope.devices.imx_uart import ImxUart
from bootscope.devices.on_chip_memory import OnChipMemory
from bootscope.devices.pflash import Pflash
from bootscope.devices.pl011 import Pl011
from bootscope.devices.sdhci import Sdhci
from bootscope.devices.sdhci_pci import SdhciPci
from bootscope.devices.sunxi_gpio import SunxiGpio
from bootscope.devices.sunxi_mmc import SunxiMmc
from bootscope.devices.uart16550 import Uart16550
from bootscope.devices.usdhc import Usdhc
from bootscope.devices.vga import Vga

AnyDevice = (
    Uart16550
    | SunxiMmc
    | SunxiGpio
    | Pl011
    | SdhciPci
    | Pflash
    | BootMemory
    | Vga
    | CadenceUart
    | Sdhci
    | OnChipMemory
    | ImxUart
    | Usdhc
)
"""What ``[devices.NAME]`` of a board profile may be, by its ``kind``."""


def standard_controller(device: object) -> int | None:
    """Where the registers of an SD controller on PCI are that follows the SD Association's specification, so
    that a driver made after that works it; None for any other device."""
    return device.base if isinstance(device, SdhciPci) else None
