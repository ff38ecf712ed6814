# Two commands do everything: `make run` and `make test`. Both are safe to repeat.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

EXTRAS := data serve
PY ?= python3.12
TORCH := tests/data/test_batch.py tests/data/test_head_targets.py
OTHER := .venv/$(notdir $(PY))

.PHONY: run test test-python lint docs lock sbom dist clean

run: .venv/.installed-run
	@$(BIN)/one2set generate examples/abstract.txt

test: lint
	$(BIN)/pytest --numprocesses 2 --dist loadgroup

lint: .venv/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The tests that need no torch, on another Python: make test-python PY=python3.13
test-python:
	$(PY) -m venv $(OTHER)
	$(OTHER)/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt ".[data,serve]" hypothesis nltk pytest safetensors
	$(OTHER)/bin/one2set generate examples/abstract.txt
	$(OTHER)/bin/python -m pytest tests/data tests/evaluation tests/test_atomic.py \
		tests/test_parallel.py $(TORCH:%=--ignore %)

# requirements.lock: every version with its hashes, of what a server needs, for
# pip install --require-hashes -r requirements.lock
lock: .venv/release/.installed
	.venv/release/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-annotate --no-header --constraint constraints.txt $(EXTRAS:%=--extra %) \
		--output-file requirements.lock pyproject.toml

# dist/sbom.cdx.json: what requirements.lock installs, with licences (CycloneDX).
sbom: .venv/release/.installed
	rm -rf .venv/locked
	$(PYTHON) -m venv --without-pip .venv/locked
	$(BIN)/python -m pip --python .venv/locked install --quiet --disable-pip-version-check \
		--require-hashes --requirement requirements.lock
	$(BIN)/python -m pip --python .venv/locked install --quiet --disable-pip-version-check --no-deps .
	mkdir -p dist
	.venv/release/bin/cyclonedx-py environment --pyproject pyproject.toml --mc-type library \
		--output-reproducible --output-file dist/sbom.cdx.json .venv/locked

dist: .venv/release/.installed
	.venv/release/bin/pyproject-build --outdir dist .

.venv/release/.installed: .venv/bin/python constraints.txt
	$(PYTHON) -m venv .venv/release
	.venv/release/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt build cyclonedx-bom uv
	@touch $@

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
