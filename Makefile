# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo tour test test-js check format bench load docs services pages clean

# Installs $(1), an argument of pip, and shows the packages as they come; pip's own errors are shown as they are.
install = { $(BIN)/pip install --disable-pip-version-check --progress-bar off -c constraints.txt $(1); echo $$? > .venv/status; } | \
	awk '/^(Collecting|Processing)/ { sub(/.*\//, "", $$2); sub(/([^A-Za-z0-9._-]|-[0-9]).*/, "", $$2); printf " %s", $$2; fflush() } \
	/^Installing collected/ { printf "\nunpacking all of this into .venv\n"; fflush() }'; exit "$$(cat .venv/status)"

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Deniable needs Python 3.11 or newer; try make PYTHON=python3.12"; exit 1; }
	@echo "making an environment in .venv, only this once"
	@$(PYTHON) -m venv .venv

.venv/ready: pyproject.toml constraints.txt | .venv/bin/python
	@echo "fetching all that the tests need, 1.6 GB, in a few minutes, only this once:"
	@$(call install,-e '.[dev]')
	@touch .venv/demo-ready .venv/tour-ready $@

.venv/demo-ready: pyproject.toml constraints.txt | .venv/bin/python
	@echo "fetching what the demo needs, 0.5 GB, only this once:"
	@$(call install,--no-compile -e '.[serve]')
	@touch $@

.venv/tour-ready: pyproject.toml constraints.txt | .venv/bin/python
	@echo "fetching what the tour needs, 0.5 GB, only this once:"
	@$(call install,--no-compile -e '.[plot]')
	@touch $@

demo: .venv/demo-ready  ## the whole system on loopback: a collector, people who answer over HTTP, estimates and the truth
	$(BIN)/deniable demo
	@echo "in this folder that is: $(BIN)/deniable demo --keep"

tour: .venv/tour-ready  ## one complete story: people, reports, estimates, loss, attack; writes out/tour.html
	$(BIN)/deniable tour

test: .venv/ready check test-js  ## everything that must hold; tests on public data use the folder DENIABLE_DATA where there is one
	DENIABLE_DATA="$${DENIABLE_DATA:-$(abspath ../shared/datasets)}" $(BIN)/pytest -n 2

js/node_modules/ready: js/package.json js/pages/package.json
	@echo "installing what the TypeScript client is built and tested with; this takes a minute, only this once"
	cd js && npm install --silent --no-audit --no-fund --no-package-lock
	cd js/pages && npm install --silent --no-audit --no-fund --no-package-lock
	@touch $@

test-js:  ## the TypeScript client, in Node and in Chromium
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory js/node_modules/ready && cd js && PYTHON=$(abspath $(BIN)/python) npm run --silent check; \
	elif [ "$$CI" = true ]; then echo "the TypeScript client cannot be tested: npm is not installed"; exit 1; \
	else echo "skipped: npm is not installed, so the TypeScript client was not tested"; fi

pages: js/node_modules/ready  ## build the pages, and write them into the Python package
	node js/pages/build.mjs

services:  ## Debian's PostgreSQL, nginx and Chromium, for the tests that take real ones; only as root, and where there is apt
	@if [ -x /usr/bin/chromium ] && [ -x /usr/sbin/nginx ] && ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then echo "PostgreSQL, nginx and Chromium are there"; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql nginx-light chromium; \
	else echo "PostgreSQL, nginx and Chromium can be installed only by root, with apt; tests that need them will be skipped"; fi

check: .venv/ready  ## style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/ready  ## the speed table, with the peers, in an environment of their own
	DENIABLE_DATA="$${DENIABLE_DATA:-$(abspath ../shared/datasets)}" $(BIN)/python bench/run.py

load: .venv/ready  ## the collector under load, and what its parts can do alone
	$(BIN)/python bench/load.py

docs: .venv/ready  ## the documentation as a site in site/
	$(BIN)/python docs/api.py
	$(BIN)/zensical build --clean

clean:
	rm -rf .venv out site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
