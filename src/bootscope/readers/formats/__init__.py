# SPDX-License-Identifier: Apache-2.0
"""One module per format. Each has ``READERS``, a tuple of :class:`bootscope.readers.base.Reader`."""
