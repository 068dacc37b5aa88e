# Every target does its own set-up: an environment is made once, stamped, and remade when pyproject.toml changes.
# Nothing is needed beforehand but Python >= 3.11 and access to packages (pip's own settings are honoured).
#
#   make demo      differentiate plain code, check it, compile it, fit a model with it
#   make test      the test suite, on JOBS cores            make test ARGS="tests/autograd -x"
#   make lint      ruff and mypy
#   make stubs     the types of functions that are made at run time, see docs/design/types.md
#   make types     these types as mypy, stubtest and pyright read them; installs pyright
#   make distributed   the numbered cases on ranks that are processes    make distributed ARGS="--ranks 4 -k halo"
#   make chains    every transform inside every other, DEPTH derivatives at most, against closed forms
#   make oracle    PROGRAMS random programs, on Pullback and on torch
#   make foreign   tensors on arrays of torch, JAX, dask and others; the table of docs/foreign-arrays.md with TABLE=1
#   make fuzz      all random testers in turn, MINUTES long    make fuzz ONLY=compiled,protocol SEED=7
#   make mutants   MUTANTS changes of one operator, comparison or number each, and whether a test notices
#   make bench     ratios against torch, JAX and HIPS autograd       make bench ARGS="eager --quick"
#   make native    the texts of LLVM that are made from C, see docs/design/machine.md; `make native-check` compares them
#   make docs      the site: tutorials, guides, gallery and the generated reference, as HTML in docs/_site
#   make docs-test the site in a browser, if there is Chromium; `make docs-serve` shows it at http://localhost:8000
#   make docs-links   links to other sites, which may fail for reasons of theirs
#   make matrix    the smoke tests on every interpreter from 3.11 on that is found; ARGS=tests for the whole suite
#   make dist      source distribution and wheel, checked, and tried in an empty environment
#   make release VERSION=0.2.0   all of it, and a tag; with REPOSITORY=pypi the archives are uploaded by twine
#   make clean     remove what was built; `make distclean` removes the environments too

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

JOBS ?= 2
DEPTH ?= 4
PROGRAMS ?= 2000
SEED ?= 0
MUTANTS ?= 400
MINUTES ?= 10
ONLY ?=
ARGS ?=

# The first interpreter that is new enough. Override with `make test PYTHON=/path/to/python`.
PYTHON ?= $(shell for candidate in python3 python3.14 python3.13 python3.12 python3.11; do \
	if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then echo $$candidate; break; fi; done)

VENV := .venv
PEERS := .venv-peers
NATIVE := .venv-native
FOREIGN := .venv-foreign
DOCS := .venv-docs
TYPES := .venv-types
RANKS := .venv-distributed
BIN := $(VENV)/bin
PEERS_BIN := $(PEERS)/bin
DOCS_BIN := $(DOCS)/bin

# Workers share the cores, so BLAS inside each gets one thread.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: help demo test lint stubs types chains oracle foreign fuzz mutants bench native native-check docs docs-test docs-serve
.PHONY: docs-links matrix
.PHONY: dist release distributed clean distclean

help:
	@sed -n 's/^#   //p' Makefile

demo: $(VENV)/.ready
	@$(BIN)/python examples/demo.py $(ARGS)

test: $(VENV)/.ready
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal $(ARGS)

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/mypy

stubs: $(VENV)/.ready
	$(BIN)/python -m tools.stubs

types: $(TYPES)/.ready $(VENV)/.ready
	PULLBACK_PYRIGHT=$(CURDIR)/$(TYPES)/bin/pyright $(BIN)/python -m pytest -q tests/types $(ARGS)
	$(BIN)/python -m mypy.stubtest --mypy-config-file pyproject.toml --concise --ignore-unused-allowlist \
		--allowlist tests/types/stubtest_allowlist.txt pullback

distributed: $(RANKS)/.ready
	$(RANKS)/bin/python -m tests.distributed $(ARGS)

chains: $(VENV)/.ready
	$(ONE_THREAD) $(BIN)/python -m tests.func.transform_chains --depth $(DEPTH) --jobs $(JOBS) $(ARGS)

# Warnings are errors. A second build makes only what changed; nothing is loaded from another host.
docs: $(DOCS)/.ready
	$(ONE_THREAD) PATH="$(CURDIR)/$(DOCS_BIN):$$PATH" $(DOCS_BIN)/python -m sphinx -W --keep-going -n -q -j $(JOBS) \
		-d docs/_build/doctrees docs docs/_site $(ARGS)
	@test -s docs/_site/index.html || { echo "no site was built: an example left the process" >&2; exit 1; }
	@echo "open docs/_site/index.html"

docs-test: docs $(DOCS)/.browser
	$(DOCS_BIN)/python -m pytest -q tests/site $(ARGS)

docs-serve: docs
	$(DOCS_BIN)/python -m http.server --directory docs/_site 8000

docs-links: $(DOCS)/.ready
	$(DOCS_BIN)/python -m sphinx -b linkcheck -q -d docs/_build/doctrees docs docs/_build/links $(ARGS)

# Environments are below build/matrix, and stay for the next time.
matrix:
	@for version in 3.11 3.12 3.13 3.14 3.14t; do \
		if ! python$$version -c '' 2>/dev/null; then echo "== $$version: not found"; continue; fi; \
		echo "== $$version"; \
		test -x build/matrix/$$version/bin/pytest || { python$$version -m venv build/matrix/$$version && \
			build/matrix/$$version/bin/python -m pip install --quiet -e '.[compile,scipy]' pytest hypothesis; }; \
		$(ONE_THREAD) build/matrix/$$version/bin/python -m pytest -q -p no:cacheprovider $(or $(ARGS),tests/smoke); \
	done

# Without torch there is nothing to compare with: that is said, and is no error. `make test` has the say on the package.
oracle:
	@if $(MAKE) --no-print-directory $(PEERS)/.torch; then \
		$(PEERS_BIN)/python -m tests.oracle --programs $(PROGRAMS) --seed $(SEED) --jobs $(JOBS) $(ARGS); \
	else \
		echo "oracle: SKIPPED, no program was compared: the pinned torch could not be installed into $(PEERS)"; \
		echo "        (the reason is above; the pin is the extra 'oracle' of pyproject.toml)"; \
	fi

# With TABLE=1 the table of operators and libraries in docs/foreign-arrays.md is written anew.
foreign: $(FOREIGN)/.ready
	$(ONE_THREAD) $(FOREIGN)/bin/python -m pytest -q -n $(JOBS) tests/foreign tests/conformance/test_ragged_derivatives.py $(ARGS)
	@if test -n "$(TABLE)"; then $(ONE_THREAD) $(FOREIGN)/bin/python -m tests.foreign.table; fi

# Without a SEED the programs are those that come after the last run. Torch is used where `make oracle` put it.
fuzz: $(VENV)/.ready
	@if test -x $(PEERS_BIN)/python && $(PEERS_BIN)/python -c 'import torch' 2>/dev/null; then \
		export PULLBACK_TORCH_PYTHON=$${PULLBACK_TORCH_PYTHON:-$(CURDIR)/$(PEERS_BIN)/python}; fi; \
	$(ONE_THREAD) $(BIN)/python -m tests.fuzz --minutes $(MINUTES) --only "$(ONLY)" --jobs $(JOBS) \
		$(if $(filter command line environment,$(origin SEED)),--seed $(SEED)) $(ARGS)

mutants: $(VENV)/.ready
	$(BIN)/python -m tests.mutants --count $(MUTANTS) --seed $(SEED) --jobs $(JOBS) $(ARGS)

bench: $(PEERS)/.peers
	$(PEERS_BIN)/python -m bench $(ARGS)

native: $(NATIVE)/.ready
	$(NATIVE)/bin/python -m tools.native

native-check: $(NATIVE)/.ready
	$(NATIVE)/bin/python -m pytest -q tests/compiler/test_native_c.py $(ARGS)

# Times in the archives are those of the last commit, so that two builds are equal.
dist:
	$(require_python)
	rm -rf dist build
	$(PYTHON) -m venv build/dist
	build/dist/bin/python -m pip install --quiet build twine check-wheel-contents pytest
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || echo 315532800) build/dist/bin/python -m build
	build/dist/bin/python -m twine check --strict dist/*
	build/dist/bin/check-wheel-contents dist/*.whl
	build/dist/bin/python -m pip install --quiet dist/*.whl
	cp -r tests/smoke build/smoke && cd build/smoke && ../dist/bin/python -m pytest -q -c /dev/null .

# Whoever releases has named the version in pyproject.toml and in CHANGELOG.md, and has committed that.
release:
	@grep -qx 'version = "$(VERSION)"' pyproject.toml || { echo "pyproject.toml has another version than VERSION=$(VERSION)" >&2; exit 1; }
	@grep -qx '## $(VERSION)' CHANGELOG.md || { echo "CHANGELOG.md has no section '## $(VERSION)'" >&2; exit 1; }
	@test -z "$$(git status --porcelain)" || { echo "there are changes that are not committed" >&2; exit 1; }
	.ci/run
	$(MAKE) matrix
	$(MAKE) docs
	$(MAKE) dist
	git tag -a v$(VERSION) -m "Pullback $(VERSION)"
	@if test -n "$(REPOSITORY)"; then build/dist/bin/python -m twine upload --repository $(REPOSITORY) dist/*; \
		else echo "v$(VERSION) is tagged and lies in dist/; REPOSITORY=... uploads it"; fi

clean:
	rm -rf build dist src/*.egg-info docs/_site docs/_build docs/reference docs/errors docs/gallery docs/jupyter_execute \
		.pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests bench examples docs -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV) $(PEERS) $(FOREIGN) $(NATIVE) $(DOCS) $(TYPES) $(RANKS) bench/results

define require_python
@test -n "$(PYTHON)" || { echo "Python 3.11 or newer was not found; say which one with PYTHON=..." >&2; exit 1; }
endef

$(VENV)/.ready: pyproject.toml
	$(require_python)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[compile,scipy,dev]'
	@touch $@

$(NATIVE)/.ready: pyproject.toml
	$(require_python)
	$(PYTHON) -m venv $(NATIVE)
	$(NATIVE)/bin/python -m pip install --quiet --editable '.[compile,native-build]' 'pytest>=8'
	@touch $@

$(DOCS)/.ready: pyproject.toml docs/constraints.txt
	$(require_python)
	$(PYTHON) -m venv $(DOCS)
	$(DOCS_BIN)/python -m pip install --quiet --constraint docs/constraints.txt --editable '.[compile,scipy,docs]'
	@touch $@

$(DOCS)/.browser: $(DOCS)/.ready
	$(DOCS_BIN)/python -m pip install --quiet --constraint docs/constraints.txt --editable '.[site-test]'
	@touch $@

# Pyright is a program for node; its package on PyPI brings it along. NumPy is there to be read.
$(TYPES)/.ready: pyproject.toml
	$(require_python)
	$(PYTHON) -m venv $(TYPES)
	$(TYPES)/bin/python -m pip install --quiet pyright 'numpy>=2'
	@touch $@

$(FOREIGN)/.ready: pyproject.toml
	$(require_python)
	$(PYTHON) -m venv $(FOREIGN)
	$(FOREIGN)/bin/python -m pip install --quiet --editable '.[compile,scipy,dev,foreign]'
	@touch $@

# Brings Open MPI along, so that no package of the system is needed.
$(RANKS)/.ready: pyproject.toml
	$(require_python)
	$(PYTHON) -m venv $(RANKS)
	$(RANKS)/bin/python -m pip install --quiet --editable '.[compile,mpi-local,dask,dev]'
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
