# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test compiled papers test-js check format bench applications load endure long faults scale docs services pages hashes release clean

# Installs the packages of the file $(1), which have known hashes, then the project in the folder $(3), in place and without others. It shows the
# packages as they come; pip's own errors are shown as they are.
pip = $(BIN)/pip install --disable-pip-version-check --progress-bar off
install = { $(pip) --require-hashes $(2) -r $(1) && $(pip) --no-deps --no-build-isolation -e $(or $(3),.); echo $$? > .venv/status; } | \
	awk '/^(Collecting|Processing)/ { sub(/.*\//, "", $$2); sub(/([^A-Za-z0-9._-]|-[0-9]).*/, "", $$2); printf " %s", $$2; fflush() } \
	/^Installing collected/ { printf "\nunpacking all of this into .venv\n"; fflush() }'; exit "$$(cat .venv/status)"

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Deniable needs Python 3.11 or newer; try make PYTHON=python3.12"; exit 1; }
	@echo "making an environment in .venv, only this once"
	@$(PYTHON) -m venv .venv

.venv/ready: pyproject.toml hashes/test.txt | .venv/bin/python
	@echo "fetching all that the tests need, 1.8 GB, in a few minutes, only this once:"
	@$(call install,hashes/test.txt,--no-compile)
	@touch .venv/demo-ready $@

.venv/docs-ready: hashes.txt .venv/ready
	@echo "fetching what makes the site beside it, only this once:"
	@$(call install,hashes.txt,--no-compile)
	@touch $@

.venv/papers-ready: papers/pyproject.toml hashes/papers.txt .venv/ready
	@echo "fetching what papers need beside it, 0.4 GB, only this once:"
	@$(call install,hashes/papers.txt,,./papers)
	@touch $@

.venv/demo-ready: pyproject.toml hashes/demo.txt | .venv/bin/python
	@echo "fetching what the demo needs, 0.5 GB, only this once:"
	@$(call install,hashes/demo.txt,--no-compile)
	@touch $@

demo: .venv/demo-ready  ## the whole system on loopback: a collector, people who answer over HTTP, estimates and the truth
	$(BIN)/deniable demo
	@echo "in this folder that is: $(BIN)/deniable demo --keep"

test: .venv/ready  ## everything that must hold; needs nothing beside the clone
	@$(MAKE) --no-print-directory -j3 check test-js compiled  # types are checked and loops compiled on one processor each
	$(BIN)/pytest -n 3 --dist worksteal

compiled: .venv/ready  ## all tests and the loops of mechanisms, once for this machine: tests side by side would each compile them
	$(BIN)/pytest -k test_compiled_loops_equal_numpy

papers: .venv/papers-ready  ## what reproduces publications: types, imports and tests of the package in papers/; takes real calls from the folder DENIABLE_DATA, if it has them
	$(BIN)/mypy papers/src papers/tests papers/bench
	$(BIN)/lint-imports --config papers/pyproject.toml
	$(BIN)/pytest -c pyproject.toml --rootdir . -n 4 --dist worksteal papers

# What the locks name is taken by its hash. `npm ci` would also want every build for other machines, which not all registries have.
NPM := npm install --omit-lockfile-registry-resolved --silent --no-audit --no-fund

js/node_modules/ready: js/package-lock.json js/pages/package-lock.json
	@echo "installing what the TypeScript client is built and tested with; this takes a minute, only this once"
	cd js && $(NPM)
	cd js/pages && $(NPM)
	@touch $@

test-js:  ## the TypeScript client, in Node and in Chromium
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory js/node_modules/ready && cd js && PYTHON=$(abspath $(BIN)/python) npm run --silent check; \
	elif [ "$$CI" = true ]; then echo "the TypeScript client cannot be tested: npm is not installed"; exit 1; \
	else echo "skipped: npm is not installed, so the TypeScript client and most of the pages were not tested"; fi

pages: js/node_modules/ready  ## build the pages, and write them into the Python package
	node js/pages/build.mjs

services:  ## Debian's PostgreSQL, nginx, Caddy, Redis, Chromium and Java (for Spark), for the tests that take real ones; only as root, and where there is apt
	@if [ -x /usr/bin/chromium ] && [ -x /usr/bin/chromium-headless-shell ] && [ -x /usr/sbin/nginx ] && [ -x /usr/bin/caddy ] && [ -x /usr/bin/redis-server ] && [ -x /usr/bin/java ] && ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then echo "PostgreSQL, nginx, Caddy, Redis, Chromium and Java are there"; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql nginx-light caddy redis-server chromium chromium-headless-shell default-jre-headless; \
	else echo "PostgreSQL, nginx, Caddy, Redis, Chromium and Java can be installed only by root, with apt; tests that need them will be skipped"; fi

check: .venv/ready  ## style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/papers-ready  ## the speed table, with the peers, in an environment of their own
	$(BIN)/python bench/run.py

applications: .venv/papers-ready  ## every application at full size beside its specification, in parts that are kept; an hour
	$(BIN)/python papers/bench/applications.py

load: .venv/ready  ## the collector under load, and what its parts can do alone
	$(BIN)/python bench/load.py

endure: .venv/ready  ## the collector through kills, attacks, full and broken disks and a jumping clock; only as root
	$(BIN)/python bench/endure.py

long: .venv/ready  ## what make test leaves to the night: repeats for more mechanisms, sizes and seeds, large samples, a Spark cluster
	$(BIN)/pytest -n 3 --dist worksteal -m long tests device/tests
	@if [ -d js/node_modules ]; then cd js && CASES=600 PYTHON=$(abspath $(BIN)/python) npx vitest run tests/python.node.test.ts; \
	else echo "skipped: js/node_modules is not there, so TypeScript read no more plans of Python"; fi

faults: .venv/papers-ready js/node_modules/ready  ## one-line faults planted in a copy of the source, one by one: which of them do the tests find? resumable; hours
	$(BIN)/python bench/source_faults.py --whole

scale: .venv/ready  ## what a billion reports cost, and a simulated day of a billion people; writes into docs/scale.md
	$(BIN)/python bench/scale.py

docs: .venv/docs-ready  ## the documentation as a site in site/
	$(BIN)/python docs/api.py
	$(BIN)/python docs/notebooks.py
	$(BIN)/zensical build --clean

compile = echo hatchling | $(BIN)/uv pip compile --quiet pyproject.toml - -c constraints.txt --universal --python-version 3.11.7 \
	--generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links

hashes: .venv/bin/python  ## write anew what is installed: the hash of every file that a pin can be installed from, and npm's locks, without hosts
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt uv
	$(compile) --all-extras -o hashes.txt
	$(compile) --extra dev -o hashes/test.txt
	$(compile) --extra serve -o hashes/demo.txt
	$(subst compile --quiet pyproject.toml,compile --quiet papers/pyproject.toml,$(compile)) --no-emit-package deniable -o hashes/papers.txt
	for folder in js js/pages js/release; do \
		rm -rf $$folder/package-lock.json $$folder/node_modules && \
		(cd $$folder && npm install --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund) || exit 1; done

# Everything is installed from build/wheels, whose files have the hashes of hashes.txt, and nothing else.
RELEASE := build/tools/bin
verified = $(RELEASE)/pip --disable-pip-version-check --python $(1) install --quiet --no-index --find-links build/wheels -c constraints.txt

release: js/node_modules/ready  ## the wheel, its sources and two bills of materials (CycloneDX) in dist/, from packages with known hashes
	rm -rf dist build
	$(PYTHON) -m venv build/tools
	$(RELEASE)/pip download --quiet --disable-pip-version-check --require-hashes -r hashes.txt -d build/wheels
	$(call verified,build/tools) build cyclonedx-bom hatchling
	node js/pages/build.mjs build/pages && diff -r build/pages src/deniable/collect/pages
	$(RELEASE)/python -m build --no-isolation
	cd dist && sha256sum * > ../build/before
	$(PYTHON) -m venv --without-pip build/product
	$(call verified,build/product) "$$(ls dist/*.whl)[all]"
	$(RELEASE)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible -o dist/deniable.cdx.json build/product
	cd js/release && $(NPM) --ignore-scripts  # one would fetch a binary that nothing pins
	cd js/pages && ../release/node_modules/.bin/cyclonedx-npm --omit dev --flatten-components --short-PURLs --output-reproducible \
		--output-file ../../dist/deniable-pages.cdx.json
	cd dist && sha256sum --check --quiet ../build/before && sha256sum * > SHA256SUMS  # what npm ran changed nothing

clean:
	rm -rf .venv out site dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find src papers/src -type d -empty -delete  # what a pull leaves of a room that moved imports as an empty one
