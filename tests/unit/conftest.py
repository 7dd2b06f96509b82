# SPDX-License-Identifier: Apache-2.0
"""Settings that all unit tests share."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# No deadline: a busy machine is slow, not wrong. In CI a failure must come back when it is run again.
settings.register_profile(
    "unit",
    deadline=None,
    database=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("unit")
