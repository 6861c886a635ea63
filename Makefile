# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check format bench docs clean

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Deniable needs Python 3.11 or newer; try make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: .venv/ready  ## one complete story: people, reports, estimates, loss, attack; writes out/demo.html
	$(BIN)/deniable demo

test: .venv/ready check  ## everything that must hold; tests on public data use the folder DENIABLE_DATA where there is one
	DENIABLE_DATA="$${DENIABLE_DATA:-$(abspath ../shared/datasets)}" $(BIN)/pytest -n 2

check: .venv/ready  ## style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/ready  ## the speed table beside the peers, in an environment of their own
	DENIABLE_DATA="$${DENIABLE_DATA:-$(abspath ../shared/datasets)}" $(BIN)/python bench/run.py

docs: .venv/ready  ## the documentation as a site in site/
	$(BIN)/zensical build --clean

clean:
	rm -rf .venv out site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
