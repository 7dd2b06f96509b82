# SPDX-License-Identifier: Apache-2.0
"""Falcon mode with OpenSBI: OpenSBI and Linux in one FIT, which the SPL loads instead of U-Boot's.

The SPL starts OpenSBI, and OpenSBI starts what the FIT calls U-Boot, since the SPL must still be able to
start the real one. The system's own file in U-Boot's tree (`uboot.files`) decides which of the two is loaded,
and what is passed to Linux.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from bootscope.boards.profile import Board
from bootscope.builder.step import Context
from bootscope.builder.steps.packing import FOR_LOADERS, pack
from bootscope.core.errors import UserError
from bootscope.devices.model import SECTOR_BYTES
from bootscope.loaders.model import FIRMWARE
from bootscope.system.model import Firmware, Kernel, System

PACKINGS = ("none", "gzip")

SOURCE = """\
/dts-v1/;
/ {{
	description = "Linux, started by OpenSBI";
	#address-cells = <1>;
	images {{
		opensbi {{
			description = "OpenSBI";
			data = /incbin/("opensbi");
			type = "firmware";
			arch = "{arch}";
			os = "opensbi";
			compression = "{packed}";
			load = <{firmware:#x}>;
			entry = <{firmware:#x}>;
		}};
		linux {{
			description = "Linux";
			data = /incbin/("linux");
			type = "standalone";
			arch = "{arch}";
			os = "u-boot";
			compression = "{packed}";
			load = <{kernel:#x}>;
			entry = <{kernel:#x}>;
		}};
	}};
	configurations {{
		default = "linux";
		linux {{
			description = "Linux";
			firmware = "opensbi";
			loadables = "linux";
		}};
	}};
}};
"""


def wanted(system: System) -> bool:
    """Whether a system has this FIT on its card."""
    below = system.firmware
    return system.uboot.falcon and isinstance(below, Firmware) and not below.package_at


def check(kernel: Kernel) -> None:
    """Raises UserError for a kernel that the SPL cannot unpack."""
    if kernel.packed not in PACKINGS:
        raise UserError(f"kernel.packed: the SPL takes {' or '.join(PACKINGS)} in a FIT")


def write(context: Context, system: System, board: Board, kernel: Path, image: Path) -> None:
    """Makes the FIT. `kernel`: as for the boot partition, already packed if it is to be."""
    folder, packed = image.parent / "fit", system.kernel.packed
    folder.mkdir()
    known = board.boot_loader.firmware
    assert known
    opensbi = context.results[FIRMWARE] / known.image
    if packed == "none":
        shutil.copy(opensbi, folder / "opensbi")
    else:
        pack(context, FOR_LOADERS[packed], opensbi, folder / "opensbi")
    shutil.copy(kernel, folder / "linux")
    places = {"firmware": board.addresses[board.boot_loader.needed[-1].name]}
    text = SOURCE.format(
        arch=board.arch.tools.mkimage, packed=packed, kernel=system.kernel.load_address, **places
    )
    (folder / "linux.its").write_text(text)
    # Its contents begin at sector boundaries, so that they can be read directly to their places.
    context.run(["mkimage", "-E", "-B", hex(SECTOR_BYTES), "-f", "linux.its", image], cwd=folder)
