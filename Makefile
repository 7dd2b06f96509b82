# SPDX-License-Identifier: Apache-2.0
# make demo    sets up all that is needed, boots the reference system, writes report.html
# make test    sets up, then runs every test (builds and boots real systems: about an hour)
.PHONY: agent demo dist test test-unit fuzz setup setup-test bench lint lock clean help reproduce measure optimize

VENV := .venv
PYTEST := $(VENV)/bin/python -m pytest

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

demo: setup
	bin/bootscope record stock
	bin/bootscope show
	bin/bootscope report -o report.html
	@echo "open report.html in a browser"

# First most of it on every core (and one more, as boards are mostly waited for); then what measures this
# computer's own clocks, alone.
test: setup-test
	status=0; \
	$(PYTEST) -m 'not alone' -n $$(($$(nproc) + 1)) --dist worksteal tests || status=$$?; \
	$(PYTEST) -m alone tests || status=$$?; \
	exit $$status

# make test-unit   only what needs no build and no boot (minutes)
test-unit: setup-test
	$(PYTEST) -n auto --dist worksteal tests/unit tests/readers

# make fuzz   damaged files for every reader, SECONDS each (default 600), in as many processes as there are CPUs
SECONDS := 600
fuzz: setup-test
	$(VENV)/bin/python tools/fuzz.py --seconds $(SECONDS) $(if $(ONLY),--only $(ONLY))

# make setup   system packages (apt) and Python packages (.venv)
setup:
	@sh tools/setup.sh

setup-test:
	@sh tools/setup.sh test

# make agent   builds the collector for 32-bit ARM targets (docs/agent.md) as ./bootscope-agent
agent: setup
	$(VENV)/bin/python tools/build_agent.py bootscope-agent

# make dist   builds the wheel and the sdist in dist/, the same bytes from the same commit
dist: setup-test
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(VENV)/bin/python -m hatchling build -d dist

# make bench   what recording costs, against plain QEMU in the same run; how long one waits for the command
bench: setup
	$(VENV)/bin/python benchmarks/plugin_cost.py
	$(VENV)/bin/python benchmarks/startup.py

# make reproduce   runs the published tables on the emulated board and writes docs/reproduced.md (hours)
# make reproduce TABLES="quiet lpj"   only these
reproduce: setup
	$(VENV)/bin/python tools/reproduce.py $(TABLES)

# make measure   tries every technique alone and writes docs/techniques.md (hours where nothing was built)
measure: setup
	$(VENV)/bin/python tools/measure_techniques.py
	$(VENV)/bin/python tools/techniques_page.py

# make optimize   makes the reference system boot as fast as bootscope can, and writes docs/optimized.md
optimize: setup
	$(VENV)/bin/python tools/optimize.py --beside console,updating

# make lock   renews the lock files from pyproject.toml (needs pip-tools)
lock:
	pip-compile -q --strip-extras --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
		--output-file=requirements.lock pyproject.toml
	pip-compile -q --strip-extras --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
		--extra dev --output-file=requirements-dev.lock pyproject.toml
	sed -n 's/^ *"\(labgrid.*\)",$$/\1/p' pyproject.toml | pip-compile -q --strip-extras --generate-hashes \
		--no-header --no-annotate --no-emit-index-url --no-emit-find-links \
		--output-file=requirements-labgrid.lock -

# make clean   removes the virtual environment (caches and recordings stay where they are)
clean:
	rm -rf $(VENV)
