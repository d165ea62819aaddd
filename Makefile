# Each target works on a fresh clone: it makes .venv, builds the kernels and goes on.
PYTHON ?= python3
BIN := .venv/bin
NATIVE := $(wildcard native/* native/bind/*) CMakeLists.txt pyproject.toml

.PHONY: demo test check format bench sanitize clean

demo: .venv/demo
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

# The tests of the kernels and of the file loader, under address and undefined-behaviour sanitizers.
# Without forks, which the address sanitizer's own locks do not survive, and without other processes.
sanitize: .venv-sanitize/installed
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 .venv-sanitize/bin/python -m pytest -q -p no:xdist --timeout=0 \
	tests/tree tests/data/test_binning.py tests/test_model_file.py -k "not level and not RLIMIT and not disk"
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 .venv-sanitize/bin/python tests/fuzz_model_file.py 10000

.venv/demo: $(NATIVE)
	test -d .venv || $(PYTHON) -m venv .venv
	@echo "Installing, and compiling the kernels for three instruction sets: a few minutes, once."
	$(BIN)/pip install --quiet --editable '.[demo]'
	touch $@

.venv/installed: $(NATIVE)
	test -d .venv || $(PYTHON) -m venv .venv
	@echo "Installing, and compiling the kernels for three instruction sets: a few minutes, once."
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@ .venv/demo

.venv-bench/installed: $(NATIVE) benchmarks/requirements.txt
	test -d .venv-bench || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --editable . -r benchmarks/requirements.txt
	touch $@

.venv-sanitize/installed: $(NATIVE)
	test -d .venv-sanitize || $(PYTHON) -m venv .venv-sanitize
	.venv-sanitize/bin/pip install --quiet '.[dev]' --config-settings=build-dir=build/sanitize \
	--config-settings=cmake.define.HEDGEROW_SANITIZE=ON
	touch $@

clean:
	rm -rf .venv .venv-bench .venv-sanitize build dist out src/hedgerow/_native/*.so
