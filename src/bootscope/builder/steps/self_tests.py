# SPDX-License-Identifier: Apache-2.0
"""Compiles a kernel's cryptographic library without the tests that it runs at each boot.

Linux has one symbol for that, CRYPTO_MANAGER_DISABLE_TESTS, which also counts for its library (lib/crypto).
But Kconfig offers the symbol only in a kernel with the whole crypto API. A small kernel has the library for
its random numbers alone, and tests it at length. So make and the compiler are told the symbol.
"""

from __future__ import annotations

SETTING = "kernel.library_self_tests"
_SYMBOL = "CONFIG_CRYPTO_MANAGER_DISABLE_TESTS"
_TESTED = ("blake2s", "chacha20poly1305", "curve25519")
"""Object files of lib/crypto that have a test."""
OPTIONS = (f"{_SYMBOL}=y", *(f"CFLAGS_{name}.o=-D{_SYMBOL}=1" for name in _TESTED))
"""Words for make."""
