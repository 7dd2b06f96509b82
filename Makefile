# SPDX-License-Identifier: Apache-2.0
# make demo    a first report: boots a system that Debian has built, writes report.html (5 minutes)
# make test    sets up, then runs the tests that a change needs: real tools, real boots, no compiling (up to an hour)
.PHONY: agent campaigns demo test test-full test-unit fuzz setup setup-test setup-test-full bench lint lock clean help kills reproduce stories measure optimize

VENV := .venv
# Tests start the command some thousand times: it is compiled once, also where PYTHONDONTWRITEBYTECODE is set.
PYTEST := env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX=$(CURDIR)/$(VENV)/pycache $(VENV)/bin/python -m pytest

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

demo:
	@sh tools/setup.sh demo
	bin/bootscope record debian
	bin/bootscope show debian
	bin/bootscope report debian -o report.html
	@echo
	@echo "Open report.html in a browser. Then:"
	@echo "  bin/bootscope audit debian     what would make this boot shorter, and what it would save"
	@echo "  bin/bootscope show debian --view critical-path   what the picture waited for"
	@echo "  make setup && bin/bootscope record stock    the reference system, built from source:"
	@echo "                                 more system packages, 8 GB of disk, about 20 minutes on two cores"

# What neither compiles nor boots what was compiled: first most of it, two workers a core, because the tests of
# boards mostly wait; then what measures this computer's own clocks, alone. A file stays with one
# worker, so that what its tests share is made once; long files begin first.
QUICK := tests/installed tests/prebuilt tests/board tests/browser tests/unit tests/readers
test: setup-test
	status=0; \
	$(PYTEST) -m 'not alone and not campaign' -n $$((2 * $$(nproc))) --dist loadfile --no-loadscope-reorder $(QUICK) || status=$$?; \
	$(PYTEST) -m 'alone and not campaign' $$(grep -rl --include='test_*.py' 'mark\.alone' $(QUICK)) || status=$$?; \
	echo "ran: unit, readers, browser, boards, boots of what Debian has built."; \
	echo "'make test-full' runs the rest (tests/lab): systems built from source, their boots and searches."; \
	exit $$status

# make test-full   everything else: builds systems from source and boots them (about an hour more)
test-full: setup-test-full
	status=0; \
	$(PYTEST) -m 'not alone and not campaign' -n $$(($$(nproc) + 1)) --dist worksteal tests/lab || status=$$?; \
	$(PYTEST) -m 'alone and not campaign' tests/lab || status=$$?; \
	echo "ran: systems built from source (tests/lab). 'make test' runs everything else."; \
	exit $$status

# make campaigns   tests too long for CI: bisections, searches on clusters, the other boards, the tools container (hours)
campaigns: setup-test-full
	status=0; \
	$(PYTEST) -m 'campaign and not alone' -n $$(nproc) --dist loadfile tests/prebuilt tests/lab || status=$$?; \
	$(PYTEST) -m 'campaign and alone' tests/lab || status=$$?; \
	exit $$status

# make test-unit   only what needs no build and no boot (minutes)
test-unit: setup-test
	$(PYTEST) -n auto --dist worksteal tests/unit tests/readers

# make fuzz   damaged files for every reader, SECONDS each (default 600), in as many processes as there are CPUs
SECONDS := 600
fuzz: setup-test
	$(VENV)/bin/python tools/fuzz.py --seconds $(SECONDS) $(if $(ONLY),--only $(ONLY))
	$(if $(ONLY),,$(VENV)/bin/python tools/fuzz_images.py --seconds $(SECONDS))

# make setup   system packages (apt) and Python packages (.venv)
setup:
	@sh tools/setup.sh build

setup-test:
	@sh tools/setup.sh test

setup-test-full:
	@sh tools/setup.sh test-full

# make agent   builds the collector for 32-bit ARM targets (docs/agent.md) as ./bootscope-agent
agent: setup
	$(VENV)/bin/python tools/build_agent.py bootscope-agent

# make dist   builds the wheel and the sdist in dist/, the same bytes from the same commit
dist: setup-test
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(VENV)/bin/python -m hatchling build -d dist

# make bench   the cost of recording, against plain QEMU in the same run; how long the command takes to start
bench: setup
	$(VENV)/bin/python benchmarks/plugin_cost.py
	$(VENV)/bin/python benchmarks/timing_pass.py
	$(VENV)/bin/python benchmarks/guest_clock.py
	$(VENV)/bin/python benchmarks/startup.py

# make reproduce   runs the published tables on the emulated board and writes docs/reproduced.md (hours)
# make reproduce TABLES="quiet lpj"   only these
reproduce: setup
	$(VENV)/bin/python tools/reproduce.py $(TABLES)

# make stories   tells the published stories again and writes docs/stories (an hour or more)
stories: setup
	$(VENV)/bin/python tools/stories.py $(STORIES)

# make measure   tries every technique alone and writes docs/techniques.md (hours where nothing was built)
measure: setup
	$(VENV)/bin/python tools/measure_techniques.py
	$(VENV)/bin/python tools/techniques_page.py

# make optimize   makes the reference system boot as fast as bootscope can, and writes docs/optimized.md
optimize: setup
	$(VENV)/bin/python tools/optimize.py --beside console,updating

# make kills   kills builds, recordings and searches a thousand times, and looks for damage after each (half an hour)
kills: setup-test
	$(VENV)/bin/python tools/kill_loop.py

# make lock   renews the lock files from pyproject.toml (needs pip-tools)
lock:
	pip-compile -q --strip-extras --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
		--output-file=requirements.lock pyproject.toml
	pip-compile -q --strip-extras --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
		--extra dev --output-file=requirements-dev.lock pyproject.toml
	pip-compile -q --strip-extras --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
		--constraint requirements-dev.lock --extra cluster --extra share \
		--output-file=src/bootscope/container/python.lock pyproject.toml
	sed -n 's/^ *"\(labgrid.*\)",$$/\1/p' pyproject.toml | pip-compile -q --strip-extras --generate-hashes \
		--no-header --no-annotate --no-emit-index-url --no-emit-find-links \
		--output-file=requirements-labgrid.lock -

# make clean   removes the virtual environment (caches and recordings stay where they are)
clean:
	rm -rf $(VENV)
