# SPDX-License-Identifier: Apache-2.0
from bootscope.cli.main import entry

entry()
