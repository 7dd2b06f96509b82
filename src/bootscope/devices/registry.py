# SPDX-License-Identifier: Apache-2.0
"""All devices of board profiles. To add one, write a file beside this one and list it here."""

from __future__ import annotations

from collections.abc import Mapping

from bootscope.devices import sdhci_pci
from bootscope.devices.boot_memory import BootMemory
from bootscope.devices.cadence_uart import CadenceUart
from bootscope.devices.cfi_nor import CfiNor
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
from bootscope.devices.virtio_disk import VirtioDisk

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
    | VirtioDisk
    | ImxUart
    | Usdhc
    | CfiNor
)
"""What ``[devices.NAME]`` of a board profile may be, by its ``kind``."""


def device_kind(device: AnyDevice) -> str:
    """Its `kind` in a board profile."""
    return str(type(device).__struct_config__.tag)


def standard_controller(device: object) -> int | None:
    """The address of the registers of an SD controller on PCI that follows the SD Association's
    specification, so that a standard driver can operate it; None for any other device."""
    return device.base if isinstance(device, SdhciPci) else None


def asks_in_memory(device: object) -> bool:
    """Whether a device's requests are in the guest's memory, where the plugin reads them."""
    return isinstance(device, VirtioDisk)


def linux_drivers(device: object) -> Mapping[str, tuple[str, str]]:
    """What Linux needs for a storage controller: symbol of its configuration -> (module, a function of the
    driver); empty if unknown."""
    return sdhci_pci.DRIVERS if isinstance(device, SdhciPci) else {}
