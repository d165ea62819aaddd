# Each target works on a fresh clone: it makes .venv, builds the kernels and goes on.
PYTHON ?= python3
BIN := .venv/bin
NATIVE := $(wildcard native/* native/bind/*) CMakeLists.txt pyproject.toml

.PHONY: demo test check format bench native clean

demo: .venv/installed
	$(BIN)/python examples/demo.py

test: check
	$(BIN)/python -m pytest -n 2

check: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror native/*.hpp native/*.cpp native/bind/*.hpp
	$(BIN)/mypy

format: .venv/installed
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i native/*.hpp native/*.cpp native/bind/*.hpp

bench: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks $(ARGS)

.venv/installed: $(NATIVE)
	test -d .venv || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

.venv-bench/installed: $(NATIVE) benchmarks/requirements.txt
	test -d .venv-bench || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --editable . -r benchmarks/requirements.txt
	touch $@

clean:
	rm -rf .venv .venv-bench build dist out src/hedgerow/_native/*.so
