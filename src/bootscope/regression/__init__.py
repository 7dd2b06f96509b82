# SPDX-License-Identifier: Apache-2.0
"""Which commit of a source tree makes a boot slower, or breaks it: by building and booting as few as
possible."""
