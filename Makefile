# Two targets that set everything up themselves: their own .venv, no root, no system packages.
#   make demo   the main job: a picture, a stepper page and a comparison of both engines, in plusequals-demo/
#   make test   the tests
# For developers: make lint, and make bench (speed beside other engines and beside NumPy by hand,
# written to tests/benchmarks/RESULTS.md; what pages, the monitor and memory cost).

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
DEMO ?= plusequals-demo
PYTEST_ARGS ?=

.PHONY: demo test lint bench clean

demo: $(VENV)/.demo-ready
	$(BIN)/plusequals demo $(DEMO)

# One thread: on matrices as small as the tests', several wait for each other longer than they work.
test: $(VENV)/.test-ready
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.test-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# torch by this exact release, as in .ci/run: a plain `torch` brings gigabytes that are of no use here.
bench: $(VENV)/.test-ready
	$(BIN)/python -m pip install --quiet --editable ".[bench]" torch==2.13.0
	$(BIN)/python -m pip install --quiet --target $(VENV)/original --upgrade micrograd==0.1.0
	$(BIN)/python tests/benchmarks/run.py
	$(BIN)/python tests/benchmarks/debug.py
	$(BIN)/python tests/benchmarks/selection.py
	$(BIN)/python tests/benchmarks/stepper.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/benchmarks/monitor.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/benchmarks/attention.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/benchmarks/checkpoint.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/benchmarks/linear_cross_entropy.py

$(VENV)/.demo-ready: pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'plusequals needs Python 3.11 or newer: make PYTHON=python3.11 ...')"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[dot]"
	touch $@

$(VENV)/.test-ready: $(VENV)/.demo-ready
	$(BIN)/python -m pip install --quiet --editable ".[dot,test]"
	touch $@

clean:
	rm -rf $(VENV) $(DEMO)
