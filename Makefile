# Every target does its own set-up: an environment is made once, stamped, and remade when pyproject.toml changes.
# Nothing is needed beforehand but Python >= 3.11 and access to packages (pip's own settings are honoured).
#
#   make demo      differentiate plain code, check it, compile it, fit a model with it
#   make test      the test suite, on JOBS cores            make test ARGS="tests/autograd -x"
#   make lint      ruff and mypy
#   make chains    every transform inside every other, DEPTH derivatives at most, against closed forms
#   make oracle    PROGRAMS random programs, on Pullback and on torch
#   make bench     ratios against torch, JAX and HIPS autograd       make bench ARGS="eager --quick"
#   make docs      the pages and the generated reference, as HTML in docs/_site
#   make clean     remove what was built; `make distclean` removes the environments too

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

JOBS ?= 2
DEPTH ?= 4
PROGRAMS ?= 2000
SEED ?= 0
ARGS ?=

# The first interpreter that is new enough. Override with `make test PYTHON=/path/to/python`.
PYTHON ?= $(shell for candidate in python3 python3.14 python3.13 python3.12 python3.11; do \
	if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then echo $$candidate; break; fi; done)

VENV := .venv
PEERS := .venv-peers
BIN := $(VENV)/bin
PEERS_BIN := $(PEERS)/bin

# Workers share the cores, so BLAS inside each gets one thread.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: help demo test lint chains oracle bench docs clean distclean

help:
	@sed -n 's/^#   //p' Makefile

demo: $(VENV)/.ready
	@$(BIN)/python examples/demo.py

test: $(VENV)/.ready
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(JOBS) $(ARGS)

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/mypy

chains: $(VENV)/.ready
	$(ONE_THREAD) $(BIN)/python -m tests.func.transform_chains --depth $(DEPTH) --jobs $(JOBS) $(ARGS)

docs: $(VENV)/.ready
	@$(BIN)/python -m docs.build

# Without torch there is nothing to compare with: that is said, and is no error. `make test` has the say on the package.
oracle:
	@if $(MAKE) --no-print-directory $(PEERS)/.torch; then \
		$(PEERS_BIN)/python -m tests.oracle --programs $(PROGRAMS) --seed $(SEED) --jobs $(JOBS) $(ARGS); \
	else \
		echo "oracle: SKIPPED, no program was compared: the pinned torch could not be installed into $(PEERS)"; \
		echo "        (the reason is above; the pin is the extra 'oracle' of pyproject.toml)"; \
	fi

bench: $(PEERS)/.peers
	$(PEERS_BIN)/python -m bench $(ARGS)

clean:
	rm -rf build dist src/*.egg-info docs/_site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests bench examples docs -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV) $(PEERS) bench/results

define require_python
@test -n "$(PYTHON)" || { echo "Python 3.11 or newer was not found; say which one with PYTHON=..." >&2; exit 1; }
endef

$(VENV)/.ready: pyproject.toml
	$(require_python)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[compile,scipy,dev]'
	@touch $@

$(PEERS)/.package: pyproject.toml
	$(require_python)
	$(PYTHON) -m venv $(PEERS)
	$(PEERS_BIN)/python -m pip install --quiet --editable '.[scipy]'
	@touch $@

$(PEERS)/.torch: $(PEERS)/.package
	$(PEERS_BIN)/python -m pip install --quiet --editable '.[oracle]'
	@touch $@

$(PEERS)/.peers: $(PEERS)/.torch
	$(PEERS_BIN)/python -m pip install --quiet --editable '.[peers]'
	@touch $@
