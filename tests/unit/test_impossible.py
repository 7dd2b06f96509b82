# SPDX-License-Identifier: Apache-2.0
"""What an audit must not advise for the machine that a log is of."""

from __future__ import annotations

import pytest

from .known_builders import log_of
from .test_audit_files import found_in

PROCESSORS = "smp: Brought up 1 node, {} CPUs"


@pytest.mark.parametrize(("count", "why"), [(4, "4 processors were brought up"), (1, None)])
def test_a_kernel_for_one_processor_is_none_for_four(count: int, why: str | None) -> None:
    log = log_of(["Linux version 6.1.0", PROCESSORS.format(count)])
    assert found_in(kernel="SMP", log=log).not_for_us.get("kernel-no-smp") == why


def test_a_root_on_a_server_gets_no_other_file_system() -> None:
    found = found_in(command_line="console=ttyS0 root=/dev/nfs ip=dhcp", log=log_of("Linux version 6.1.0"))
    assert found.not_for_us["fs-squashfs-ro=gzip"] == "the root is on a server (root=/dev/nfs)"
