# SPDX-License-Identifier: Apache-2.0
from bootscope.cli.main import entry

if __name__ == "__main__":
    entry()
