# The house: set-up, run, lint, test. Needs Python 3.11 or later, Rust (cargo) and make.
#
# Everything lives in .venv and target; stamps in .venv say what is done, so a
# second `make run` starts at once and only changed Rust is built again.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
PYTEST_WORKERS ?= 2

RUST := $(shell find rust -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1
export VIRTUAL_ENV := $(abspath $(VENV))
unexport PYTHONHOME PYTHONPATH CONDA_PREFIX

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help build run play test lint lint-rust lint-python test-rust test-python format lock clean

help:
	@echo 'make run     set up what playing needs and start the web page; its address is printed'
	@echo 'make play    the same for a game in the terminal (ARGS="human turing" chooses the players)'
	@echo 'make test    set up what the tests need; lint, Rust tests, Python tests'
	@echo 'make lint    ruff, mypy, clippy and rustfmt alone'
	@echo 'make format  let ruff and rustfmt lay out the code'
	@echo 'make lock    pin the newest Python packages in requirements/'
	@echo 'make clean   remove .venv and everything built'

run: build
	$(BIN)/tabiya serve $(ARGS)

play: build
	$(BIN)/tabiya play $(ARGS)

build: $(VENV)/built.stamp

# Two at a time: packages arrive while Rust is compiled.
test:
	+@$(MAKE) --no-print-directory --jobs 2 --output-sync=line lint-python lint-rust test-rust test-python

lint: lint-python lint-rust

lint-python: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lint-rust:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

# The Python door has no Rust tests of its own: Python tests it.
test-rust:
	cargo test --locked --quiet --package tabiya-core --package tabiya-engine

test-python: $(VENV)/dev.stamp build
	$(BIN)/pytest -n $(PYTEST_WORKERS)

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	cargo fmt --all

$(VENV)/python.stamp:
	@command -v $(PYTHON) >/dev/null || { echo 'no $(PYTHON) here: install Python 3.11 or later, or name one with PYTHON=' >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'Python 3.11 or later is needed, $(PYTHON) is older: name another with PYTHON=' >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/run.stamp: $(VENV)/python.stamp requirements/run.txt requirements/build.txt
	$(BIN)/python -m pip install -r requirements/run.txt -r requirements/build.txt
	@touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp requirements/dev.txt
	$(BIN)/python -m pip install -r requirements/dev.txt
	@touch $@

$(VENV)/built.stamp: $(VENV)/run.stamp pyproject.toml $(RUST)
	@command -v cargo >/dev/null || { echo 'no cargo here: install Rust, see https://rustup.rs' >&2; exit 2; }
	$(BIN)/maturin develop --release --locked
	@touch $@

# Pins are what pip finds today for the ranges in pyproject.toml, each set in an environment of its own.
lock:
	$(PYTHON) requirements/lock.py

clean:
	rm -rf $(VENV) target src/tabiya/_core*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis
