#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One job of a CI system: makes or imports a run, then checks it. All it needs to know is in the environment:
#
#   BOOTSCOPE_COMMAND     a shell command that makes the run, such as: bootscope record my-system.toml
#   BOOTSCOPE_LOGS        or: logs of boots to import as one run, a file or pattern in each line
#   BOOTSCOPE_MILESTONES  what those logs say when a milestone is reached, NAME=TEXT in each line
#   BOOTSCOPE_RUN         the run to check (default: the last one, which is the one made here; of a check file
#                         with products the last one of each)
#   BOOTSCOPE_CHECK       the check file (default: bootscope-check.toml)
#   BOOTSCOPE_JUNIT       where JUnit XML goes (default: boot.xml)
#   BOOTSCOPE_METRICS     where metrics for GitLab go (default: boot-metrics.txt)
#   BOOTSCOPE_COMMENT     github or gitlab: comment on the pull or merge request (bootscope help comments)
#   BOOTSCOPE_REPORT      a report to write as well: boot.html, or boot.md with its picture, or boot.svg
#
# The exit code is that of bootscope: 0 kept, 3 missed (or the board or a tool failed), 2 a mistake in what is
# asked for, 1 a bug. If the command ends with 3, as `record` does when a boot fails, its run is still
# checked, and the exit code is never 0.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
newline='
'

failed() {
	echo "ci/check.sh: $1" >&2
	exit 3
}

# A wheel brings this script beside a command that is installed already; a checkout prepares its own.
if [ ! -d "$root/bin" ]; then
	command -v bootscope > /dev/null || failed "bootscope is installed but not in PATH"
elif [ ! -x "$root/.venv/bin/python" ]; then
	python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
		failed "python3 must be Python 3.11 or newer: choose another image, or set one up in a step before this"
	# What is half made would be taken for whole the next time.
	trap 'rm -rf "$root/.venv"' EXIT
	trap 'exit 130' INT HUP TERM
	python3 -m venv "$root/.venv" || failed "python3 cannot make a virtual environment (python3-venv?)"
	"$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
		-r "$root/requirements.lock" || failed "pip cannot install what requirements.lock names"
	trap - EXIT INT HUP TERM
fi
if [ -d "$root/bin" ]; then
	PATH="$root/bin:$PATH"
	export PATH
fi

# Lines of a log or a console could look like commands to GitHub: it reads none until the word comes again.
quietly() {
	if [ "${GITHUB_ACTIONS:-}" != true ]; then
		"$@"
		return
	fi
	word=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
	status=0
	echo "::stop-commands::$word"
	"$@" || status=$?
	# Whatever came before may lack the end of its line.
	printf '\n::%s::\n' "$word"
	return $status
}

# 3 says that boots failed: their run is checked all the same, and the job fails whatever the check says.
made=0
if [ -n "${BOOTSCOPE_COMMAND:-}" ]; then
	before=$(bootscope list --json)
	quietly sh -euc "$BOOTSCOPE_COMMAND" || made=$?
	if [ $made -ne 0 ] && [ $made -ne 3 ]; then
		exit $made
	fi
	# An older run would be checked in place of the one that is missing.
	if [ $made -eq 3 ] && [ "$(bootscope list --json)" = "$before" ]; then
		failed "the command ended with 3 and made no run"
	fi
fi

if [ -n "${BOOTSCOPE_LOGS:-}" ]; then
	set --
	IFS=$newline
	for pattern in $BOOTSCOPE_LOGS; do # a pattern becomes its files here
		set -- "$@" "$pattern"
	done
	set -f
	for milestone in ${BOOTSCOPE_MILESTONES:-}; do
		set -- "$@" --milestone "$milestone"
	done
	set +f
	unset IFS
	quietly bootscope import "$@"
fi

# What cannot be drawn is no reason to leave out the check.
if [ -n "${BOOTSCOPE_REPORT:-}" ] && [ $made -ne 0 ] && [ -z "${BOOTSCOPE_RUN:-}" ]; then
	# `report` would take the newest complete run, which may be an older one.
	echo "ci/check.sh: no report: the command ended with $made" >&2
elif [ -n "${BOOTSCOPE_REPORT:-}" ]; then
	quietly bootscope report "${BOOTSCOPE_RUN:-last}" -o "$BOOTSCOPE_REPORT" ||
		echo "ci/check.sh: no report" >&2
fi

set -- --file "${BOOTSCOPE_CHECK:-bootscope-check.toml}" --junit "${BOOTSCOPE_JUNIT:-boot.xml}"
set -- "$@" --gitlab "${BOOTSCOPE_METRICS:-boot-metrics.txt}"
if [ -n "${BOOTSCOPE_RUN:-}" ]; then
	set -- "$BOOTSCOPE_RUN" "$@"
fi
if [ -n "${BOOTSCOPE_COMMENT:-}" ]; then
	set -- "$@" --comment "$BOOTSCOPE_COMMENT"
fi
if [ "${GITHUB_ACTIONS:-}" = true ]; then
	set -- "$@" --github
fi
bootscope check "$@" || exit $?
exit $made
