# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev

.PHONY: demo test lint types imports unit coverage clean help

help:
	@echo "make demo   install into $(VENV) and run a whole campaign on this CPU"
	@echo "make test   install into $(VENV) and run linters, types, import rules and tests"
	@echo "make coverage  run the tests and print what they do not cover"
	@echo "make clean  remove $(VENV) and caches"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Shakedown needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || echo missing). Install one and run: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "Python's venv module is missing. Install it (Debian, Ubuntu: apt-get install python3-venv) and run make again."; exit 2; }
	@$(PYTHON) -m venv $(VENV)

$(STAMP): $(BIN)/python pyproject.toml
	@echo "Installing into $(VENV); the first time takes a minute or two."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[demo]'
	@touch $@

$(DEV_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[demo,dev]'
	@touch $@

demo: $(STAMP)
	$(BIN)/shakedown demo

test: lint types imports unit

lint: $(DEV_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV_STAMP)
	$(BIN)/mypy

imports: $(DEV_STAMP)
	$(BIN)/lint-imports

unit: $(DEV_STAMP)
	$(BIN)/python -m pytest -n 3 --dist loadfile

coverage: $(DEV_STAMP)
	$(BIN)/python -m pytest -n 3 --dist loadfile --cov --cov-report=term:skip-covered

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
