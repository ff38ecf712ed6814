# Two commands do everything: `make run` and `make test`. Both are safe to repeat.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: run test lint docs clean

run: .venv/.installed-run
	@$(BIN)/one2set generate examples/abstract.txt

test: lint
	$(BIN)/pytest --numprocesses 2

lint: .venv/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The stamps make a repeated call skip what is done; a changed dependency list installs again.
.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.installed-run: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable .
	@touch $@

.venv/.installed-dev: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable ".[dev]"
	@touch $@ .venv/.installed-run

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
