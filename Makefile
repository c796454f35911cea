# `make demo` and `make test` do all of their own set-up: a virtual environment in .venv, re-used until
# pyproject.toml or the C launcher changes. Needs Python 3.10 to 3.14 with venv and pip, nothing else; launches are
# faster where there is a C compiler.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14 python3.10 python; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info[:2] < (3, 15))' 2>/dev/null \
	&& echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
LOCK := requirements/dev.lock
INSTALLED := pyproject.toml $(LOCK) setup.py tma_mlir/runtime/native_build.py tma_mlir/runtime/native_launch.c
WORKERS ?= auto
PYTEST_FLAGS ?=

FUZZERS ?= planner irtext bytecode pipelines arrays specs driver launches commands misuse threads artifacts
FUZZ_FLAGS ?= --seeds 0:1000000 --seconds 60

.PHONY: demo test matrix bindings lint audit lock sbom bench coverage mutation fuzz clean

demo: $(READY)
	$(BIN)/tma-run examples/copy_8x256.mlir

# pytest runs the lit tests too (conftest.py); its closing line is the last.
test: lint
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $(PYTEST_FLAGS)

# Every cell of the matrix of copies, chips and options; `make test` takes a sample.
matrix: $(READY)
	TMA_MLIR_MATRIX=full $(BIN)/python -m pytest -q -n $(WORKERS) test/py/matrix

# Other builds of MLIR's bindings, each in an environment and a process of its own: what they can do, or the error that
# says what they lack. NAME:DISTRIBUTION; all of them run, whatever one of them finds.
BINDINGS ?= numba_cuda_mlir._mlir:numba-cuda-mlir torch_mlir:torch-mlir iree.compiler:iree-base-compiler jaxlib.mlir:jaxlib
bindings:
	@failed=0; for each in $(BINDINGS); do \
		name=$${each%%:*}; home=build/bindings/$$name; \
		test -e $$home/ready || { $(PYTHON) -m venv --clear $$home \
			&& $$home/bin/python -m pip install --quiet --pre $${each#*:} \
			&& $$home/bin/python -m pip install --quiet pytest -e '.[cuda,tools]' && touch $$home/ready; } \
			|| { failed=1; continue; }; \
		echo "$$name"; TMA_MLIR_BINDINGS=$$name $$home/bin/python -m pytest -q test/py/bindings || failed=1; \
	done; exit $$failed

lint: $(READY)
	$(BIN)/ruff check --quiet .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-logo --no-cache

# Known vulnerabilities and licences of what is installed.
audit: $(READY)
	$(BIN)/python tools/audit.py

# Pins the newest versions that pyproject.toml allows, for every Python and system, with hashes.
lock: $(READY)
	$(BIN)/python -m pip install --quiet '.[release]'
	$(BIN)/uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-annotate \
		--extra test --extra dev --custom-compile-command "make lock" pyproject.toml -o $(LOCK)

# What a release is made with, as CycloneDX.
sbom: $(READY)
	$(BIN)/python -m pip install --quiet cyclonedx-bom
	mkdir -p build
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible -o build/sbom.json $(BIN)/python

# Line and branch coverage of the planner and the layouts by their own tests; fails below 95 %.
coverage: export PYTHONPATH := test/py:$(PYTHONPATH)
coverage: $(READY)
	$(BIN)/python -m pytest -q -n $(WORKERS) -p support.in_process --cov=tma_mlir/plan --cov=tma_mlir/layout \
		--cov-branch --cov-report= test/py/plan test/py/layout test/py/passes test/py/dialect test/py/lower
	$(BIN)/coverage report --skip-covered --fail-under=95 --include='tma_mlir/layout/*'
	$(BIN)/coverage report --skip-covered --fail-under=95 --include='tma_mlir/plan/*'

# Changes the code that plans, lowers and passes parameters, one place at a time, and lists what no test notices:
# docs/mutation.md. Hours on two cores.
mutation: export PYTHONPATH := tools:test/py:$(PYTHONPATH)
mutation: $(READY)
	$(BIN)/python -m mutation record --workers 2
	$(BIN)/python -m mutation run --workers 2 $(MUTATION_FLAGS)

# A minute of each, without a GPU: CONTRIBUTING.md. All run, whatever one of them finds.
fuzz: export TMA_FUZZ_DRIVER ?= fake
fuzz: $(READY)
	failed=0; for each in $(FUZZERS); do $(BIN)/python test/fuzz/run.py $$each $(FUZZ_FLAGS) || failed=1; done; exit $$failed

bench: $(READY)
	$(BIN)/python bench/compile_time.py

$(READY): $(INSTALLED)
	@test -n "$(PYTHON)" || { echo "error: no Python 3.10 to 3.14 with venv found; set PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCK)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

clean:
	rm -rf $(VENV) build
