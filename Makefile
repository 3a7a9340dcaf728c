# The verbs of this house. `make` alone lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup setup-dev browser bubblewrap run test quick changed flaky clients test-clients test-oldest check fix bench docs messages pins clean

# The first Python of these that has venv; PYTHON=… chooses another. The distribution's own comes before those of version
# managers, which often build theirs without optimizations: the same code then takes half as long again.
PYTHONS := $(foreach v,3.11 3.12 3.13 3.14 3,/usr/bin/python$(v)) python3.11 python3.12 python3.13 python3.14 python3
PYTHON ?= $(shell for p in $(PYTHONS); do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -qq --progress-bar off
ARGS ?=
TEMPLATES := --indent-width 2 --line-length 140 --extend-exclude "*.j2" templates config/templates
# Of two cores: while the browser or a server is waited for, a third has work to do.
WORKERS ?= 3
RUN_TESTS = $(BIN)/python -m tests.phases --workers $(WORKERS)
# The commit from which `make changed` tells what is new.
SINCE ?= HEAD
OLDEST ?= /usr/lib/postgresql/15/bin

help:  ## list these verbs
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 18

setup: $(VENV)/.runtime  ## make .venv and install what running needs

setup-dev: $(VENV)/.dev

run: setup  ## start everything on this machine and print the address
	@exec $(BIN)/python manage.py up $(ARGS)

test: setup-dev browser bubblewrap  ## run all tests; ARGS='-k word' chooses
	@$(RUN_TESTS) $(ARGS)

quick: setup-dev  ## run the tests that need no service, in a minute
	@$(RUN_TESTS) --name quick tests/engine tests/memory/core tests/memory/logic tests/architecture $(ARGS)

changed: setup-dev browser bubblewrap  ## run the tests of what differs from the commit SINCE
	@$(RUN_TESTS) --name changed --changed $(SINCE) $(ARGS)

flaky: setup-dev browser bubblewrap  ## run each test that failed once and then passed fifty times
	@$(RUN_TESTS) --flaky

clients: setup-dev  ## install the clients of other projects, each into an environment of its own
	@$(BIN)/python -m tests.clients.environments

test-clients: clients  ## run the tests with the clients of other projects
	@CLIENTS_REQUIRED=1 $(RUN_TESTS) --name clients tests/clients $(ARGS)

test-oldest: setup-dev  ## run all tests on PostgreSQL 15, the oldest version that is supported (Debian 12's)
	@[[ -x "$(OLDEST)/initdb" ]] || { echo "PostgreSQL 15 is needed (on Debian 12: apt-get install postgresql)."; exit 1; }
	@TEST_POSTGRES=$(OLDEST) $(RUN_TESTS) --name oldest $(ARGS)

check: setup-dev  ## formatting, lint, types, import contracts, templates, migrations, generated files
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy
	$(BIN)/djangofmt --check $(TEMPLATES)
	$(BIN)/djlint templates --lint --quiet
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py export_env --check
	$(BIN)/python manage.py export_docs --check
	$(BIN)/python -m tests.spec.seeds.requirements --check

fix: setup-dev  ## format, and repair what the linter can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/djangofmt --quiet $(TEMPLATES)

bench: setup-dev  ## list the benchmarks; each is one command
	@grep -m1 -HoE '^"""[^"]*' bench/*.py bench/*/__main__.py | sed -E 's/^([^:]*):"""/  \1\t/' | expand -t 32

docs: setup-dev  ## write the generated files: .env.example and docs/reference
	$(BIN)/python manage.py export_env
	@if $(BIN)/python manage.py help export_docs >/dev/null 2>&1; then $(BIN)/python manage.py export_docs; fi
	$(BIN)/python -m tests.spec.seeds.requirements

messages: setup-dev  ## find new texts to translate and write them to locale/ (needs xgettext)
	@command -v xgettext >/dev/null || { echo "xgettext is needed (on Debian: apt-get install gettext)."; exit 1; }
	@$(BIN)/python manage.py messages

pins:  ## compile pyproject.toml's ranges into requirements*.txt (needs uv)
	uv pip compile --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url -q pyproject.toml -o requirements.txt
	uv pip compile --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url -q pyproject.toml --group test --group check -o requirements-dev.txt

clean:  ## remove caches and the virtual environment; data in .mnemoflow stays
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis htmlcov staticfiles

$(BIN)/python:
	@[[ -n "$(PYTHON)" ]] || { echo "Python 3.11 or newer with venv is needed (on Debian: apt-get install python3-venv)."; exit 1; }
	@echo "  Making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: requirements.txt | $(BIN)/python
	@echo "  Installing what running needs (the first time takes a minute or two)"
	@began=$$SECONDS; $(PIP) -r requirements.txt; touch $@; echo "  Installed in $$((SECONDS - began)) s"

# The development set contains the other one.
$(VENV)/.dev: requirements-dev.txt | $(BIN)/python
	@echo "  Installing what testing and checking need"
	@began=$$SECONDS; $(PIP) -r requirements-dev.txt; touch $@ $(VENV)/.runtime; echo "  Installed in $$((SECONDS - began)) s"

# Journeys drive the system's Chromium: the browser builds of the driver's own come from elsewhere than a registry. The
# headless shell takes fewer of the processors' seconds; where it can't be had, the whole browser does.
browser:
	@if command -v chromium-headless-shell >/dev/null 2>&1; then :; \
	elif [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null; then \
		echo "  Installing Chromium for the browser tests"; \
		apt-get update -qq || :; \
		for package in chromium-headless-shell chromium; do \
			DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$package >/dev/null 2>&1 && break; \
			[[ $$package != chromium ]] || command -v chromium chromium-browser >/dev/null 2>&1 \
				|| { echo "Chromium couldn't be installed."; exit 1; }; \
		done; \
	elif command -v chromium chromium-browser >/dev/null 2>&1; then :; \
	elif [[ -n "$${CI:-}" ]]; then echo "No Chromium, and no right to install one: browser tests can't run."; exit 1; \
	else echo "  No Chromium found: browser tests will be skipped. Install one (on Debian: apt-get install chromium-headless-shell)."; fi

# The walls are tested with bubblewrap and without it; where it can't be had, without it only.
bubblewrap:
	@if command -v bwrap >/dev/null 2>&1; then :; \
	elif [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null; then \
		echo "  Installing bubblewrap for the tests of the walls"; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends bubblewrap; } >/dev/null \
			|| echo "  bubblewrap couldn't be installed: the tests inside its jail will be skipped."; \
	else echo "  No bubblewrap found: the tests inside its jail will be skipped (on Debian: apt-get install bubblewrap)."; fi
