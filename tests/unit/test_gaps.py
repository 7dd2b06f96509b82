# SPDX-License-Identifier: Apache-2.0
"""What usually stands in a gap of the console: the table of kinds, and what of it is shown."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.analysis.gaps import KNOWN, LIKELY, kinds, reason, same_probe
from bootscope.capture.store import Store
from bootscope.techniques.model import techniques

from .conftest import Command, Give
from .test_import_cli import document

SECOND = 10**9

CASES = [
    ("Hit any key to stop autoboot:  2", "Starting", "countdown", KNOWN),
    ("Starting kernel ...", "Uncompressing Linux... done", "kernel-start", LIKELY),
    ("Starting kernel ...", "Booting Linux on physical CPU 0x0000000000 [0x410f]", "kernel-start-64", LIKELY),
    ("Run /sbin/init as init process", "imx8mp login:", "user-space", KNOWN),
    ("Starting kernel ...", "board login:", "quiet", KNOWN),
    ("Run /sbin/init as init process", "random: crng init done", "init-starts", LIKELY),
    ("BOOTP broadcast 1", "DHCP client bound to address 10.0.0.2", "loader-dhcp", KNOWN),
    ("Waiting for PHY auto negotiation to complete......", "done", "loader-phy", KNOWN),
    ("Calibrating delay loop... 99.73 BogoMIPS (lpj=498688)", "pid_max: default: 32768", "delay-loop", KNOWN),
    ("mmcblk1: p1 p2", "ubi0: scanning is finished", "ubi-attach", KNOWN),
    ("Waiting for root device /dev/mmcblk0p2...", "mmc0: new SDHC card", "root-wait", KNOWN),
    ("Waiting for root device PARTUUID=0...", "x.mmc: deferred probe pending", "deferred-root", KNOWN),
    ("Sending DHCP requests .", "sd 0:0:0:0: [sda] 100 512-byte blocks", "kernel-dhcp", KNOWN),
    ("printk: console [ttyS0] enabled", "vc4-drm gpu: bound hvs", "console-replay", LIKELY),
    ("Unpacking initramfs...", "Freeing initrd memory: 8288K", "initramfs-unpack", KNOWN),
    ("Unpacking initramfs...", "workingset: timestamp_bits=30", "initramfs-unpacking", LIKELY),
    ("eth0: link is not ready", "asix 1-1:1.0 eth0: link up, 100Mbps", "link", KNOWN),
    ("ata1: SATA max UDMA/133 mmio", "ata1: SATA link down (SStatus 0)", "sata-link", KNOWN),
    ("raid6: neonx8 gen() 1500 MB/s", "raid6: neonx4 gen() 1400 MB/s", "raid6-benchmark", KNOWN),
    ("EXT4-fs (a): INFO: recovery required on readonly filesystem", "b: c", "journal-replaying", KNOWN),
    ("a: b", "EXT4-fs (a): INFO: recovery required on readonly filesystem", None, ""),
    ("FAT-fs (a): Volume was not properly unmounted. Please run fsck.", "b: c", None, ""),
    ("random: crng init", "Please press Enter to activate this console.", None, ""),
    ("systemd[1]: Hostname set to <board>.", "systemd[1]: Queued start job", "systemd-units", LIKELY),
    ("EXT4-fs (a): resizing filesystem from 1 to 2 blocks", "EXT4-fs (a): resized", "resize", KNOWN),
    ("omap_i2c 2.i2c: controller timed out", "omap_i2c 2.i2c: controller timed out", "i2c-timeout", KNOWN),
    ("[*     ] A start job is running for dev-x.device", "[ TIME ] Timed out", "start-job", KNOWN),
    ("  generating ssh RSA key...", "  generating ssh ECDSA key...", "key-generation", KNOWN),
    ("dhclient[300]: DHCPDISCOVER on eth0 to 255.255.255.255 port 67", "a: b", "dhcp-client", KNOWN),
    ("udhcpc: sending discover", "udhcpc: sending select", "dhcp-client", KNOWN),
    (" * Waiting for network configuration...", "a: b", "upstart-network", KNOWN),
    ("Waiting up to 60 more seconds for network configuration...", "a: b", "upstart-network", KNOWN),
    ("Waiting up to 110 more seconds for network.", "a: b", "kernel-dhcp", KNOWN),
    ("a: b", "init: failsafe main process (702) killed by TERM signal", "upstart-failsafe", LIKELY),
    ("smpboot: CPU 6 Converting physical 0 to logical die 1", "#7", "secondary-processors", LIKELY),
    ("a: b", "spi0: transfer timed out", "driver-timeout", LIKELY),
    ("vio28: disabling", "random: fast init done", "regulator-cleanup", LIKELY),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "kind", "sure"), CASES)
def test_lines_around_a_gap_tell_its_reason(before: str, after: str, kind: str | None, sure: str) -> None:
    found = reason(before, after, 3 * SECOND)
    assert (found.kind if found else None) == kind
    if found:
        assert found.sure == sure
        assert found.words.startswith(LIKELY) == (sure == LIKELY), "what is only likely says so"


RECORD = 'audit: type=1400 audit(1700000000.000:5): apparmor="STATUS" operation="profile_load" '
NO_REASON = [
    RECORD + 'name="/usr/lib/NetworkManager/nm-dhcp-client.action" comm="apparmor_parser"',
    RECORD + 'name="/{,usr/}sbin/dhclient" pid=401 comm="apparmor_parser"',
    'type=1400 audit(1700000000.000:6): avc: denied { read } for comm="ModemManager" name="fsck"',
    "audit[1]: SERVICE_START pid=1 uid=0 msg='unit=plymouth-start comm=\"systemd\" res=success'",
    "dhclient[300]: XMT: Solicit on eth0, interval 113300ms.",
    "systemd[1]: Finished Load Kernel Modules.",
    "systemd[1]: Reached target Network is Online (network-online.target).",
    "systemd[1]: Listening on fsck to fsckd communication Socket.",
    "systemd[1]: Condition check resulted in Rebuild Hardware Database being skipped.",
    "systemd[1]: ldconfig.service: was skipped because of an unmet condition check",
    "systemd 252 running in system mode (+PAM +AUDIT +LIBCRYPTSETUP +GCRYPT)",
    "usbcore: registered new interface driver cdc_mbim",
    "pstore_zone: registered blk as backend for kmsg(Oops,panic_write)",
]  # fmt: skip


@pytest.mark.parametrize("line", NO_REASON)
def test_a_name_in_a_record_or_in_the_past_is_no_reason_for_a_gap(line: str) -> None:
    assert reason(line, "eth1: something else", 3 * SECOND) is None


@pytest.mark.parametrize(
    "after",
    ["wdt: watchdog (timeout=16 sec, nowayout=0)", "hci0: Firmware timestamp 2022.48 buildtype 1"],
)
def test_a_length_of_a_time_out_is_not_one_that_passed(after: str) -> None:
    assert reason("eth1: something", after, 70 * SECOND) is None


def test_firmware_times_out_after_a_minute_only() -> None:
    lines = "Bluetooth: x", "x: Direct firmware load for a.bin failed with error -2"
    found = reason("foo", lines[1], 60 * SECOND)
    assert found and found.kind == "firmware-timeout"
    assert reason("foo", lines[1], 2 * SECOND) is None


def test_one_device_on_both_sides_is_the_same_probe() -> None:
    before = "sun20i-codec 2030000.audio-codec: error -EINVAL: Failed"
    found = reason(before, "sun20i-codec 2030000.audio-codec: ASoC: no routing", SECOND)
    assert found and found.words == "likely: same probe: sun20i-codec 2030000.audio-codec"
    assert same_probe(before, "sun20i-codec 2040000.audio-codec: other") == ""
    assert same_probe("systemd[1]: a", "systemd[1]: b") == ""
    both = reason("ath10k_ahb a.wifi: board_file api 2", "ath10k_ahb a.wifi: wmi init", SECOND)
    assert both and both.kind == "wlan" and both.words.endswith("(same probe: ath10k_ahb a.wifi)")


def test_each_kind_has_a_source_and_names_techniques_that_there_are() -> None:
    assert len(kinds()) >= 100
    for ident, kind in kinds().items():
        assert re.fullmatch(r"[a-z0-9-]+", ident)
        assert kind.source and kind.do and kind.sure in (KNOWN, LIKELY), ident
        assert kind.before or kind.after or kind.span, ident
        assert set(kind.techniques) <= set(techniques()), ident


@given(st.text(max_size=60), st.text(max_size=60), st.integers(0, 10**12))
def test_any_lines_are_taken(before: str, after: str, gap_ns: int) -> None:
    found = reason(before, after, gap_ns)
    assert found is None or found.words


def test_long_lines_cost_no_time() -> None:
    for part in ("a: ", "[ ", "ubi0 ", "link ", "Starting ", "x" * 9, "-110 ", "mmc1: "):
        reason(part * 100_000, part * 100_000, SECOND)


LOG = """\
[    0.000000] Linux version 6.1.0 (a@b) #1
[    0.500000] mmcblk1: p1 p2
[    6.900000] ubi0: scanning is finished
[    7.000000] Run /sbin/init as init process
[    7.400000] foo: bar
"""


def test_views_and_json_tell_the_reason(main_here: Command, give: Give, store: Store) -> None:
    give("a.log", LOG.encode())
    document(main_here("import", "a.log", "--json"))
    (table,) = document(main_here("show", "last", "--view", "silences", "--json"))["tables"]
    first = table["rows"][0]
    assert (first["length_ns"], first["kind"], first["sure"]) == (6_400_000_000, "ubi-attach", "known")
    assert first["phase"] == "kernel" and first["source"]
    found = document(main_here("show", "last", "--json"))["silences"][0]
    assert found["reason"].startswith("UBI attaches") and "fastmap" in found["do"]
    assert "UBI attaches" in main_here("show", "last").stdout
    rows = document(main_here("show", "last", "--view", "silences", "--phase", "init", "--json"))
    assert {row["phase"] for row in rows["tables"][0]["rows"]} == {"init"}
    assert main_here("report", "last", "-o", "a.html").returncode == 0
