# Each target works on a fresh clone: it makes .venv, builds what it needs and goes on.
PYTHON ?= python3
BIN := .venv/bin
NATIVE_SOURCES := $(wildcard native/*/*.hpp native/*/*.cpp)
NATIVE := $(NATIVE_SOURCES) CMakeLists.txt pyproject.toml
COMPILING = Compiling the kernels for three instruction sets: two to three minutes on two cores, once.

.PHONY: demo dev docs pictures test oldest check tidy format coverage bench sanitize races races-free free fuzz soak clients wheels wheel platforms arm clean

demo: .venv/demo
	$(BIN)/python examples/demo.py

# Compiles the kernels for this processor's best instruction-set level alone, in place and only what has
# changed, then runs tests: make dev TESTS=tests/tree, make dev TESTS="tests/tree/test_grower.py -k bounds".
dev: .venv/dev build/dev/build.ninja
	$(BIN)/ninja -C build/dev
	$(if $(TESTS),PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q $(TESTS))

# The site, in out/site: pages, reference, and a gallery whose pictures are drawn now. A warning is an error.
docs: .venv/installed
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs out/site
	$(BIN)/python docs/links.py out/site
	@echo "The site is in out/site/index.html."

# The pictures of docs/*.md, by the pages' own code.
pictures: .venv/demo
	$(BIN)/python examples/pictures.py

# The many processes that tests start are to find modules that are compiled already. A worker takes
# neighbouring tests, so that what these share is made once.
test: check .venv/installed
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist worksteal

# The same with the oldest version of everything that pyproject.toml allows, and a build by the oldest tools:
# tools/oldest.py. It takes the oldest Python: make oldest PYTHON=python3.11.
oldest: .venv-oldest/installed
	PYTHONDONTWRITEBYTECODE= .venv-oldest/bin/python -m pytest -n 2 --dist worksteal

check: .venv/packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@echo "clang-format --dry-run --Werror: $(words $(NATIVE_SOURCES)) files of native/"
	@$(BIN)/clang-format --dry-run --Werror $(NATIVE_SOURCES)
	$(BIN)/mypy

# Static analysis of the kernels, by the rules of .clang-tidy: a few minutes.
tidy: build/dev/build.ninja
	find native -name '*.cpp' | sort | xargs -n 1 -P 2 $(BIN)/clang-tidy -p build/dev --quiet

# The package's stub and the tables of docs/parameters.md are written anew from the declarations of parameters;
# the build of make dev will do.
format: .venv/packages $(if $(wildcard .venv/dev),,.venv/built)
	$(BIN)/python -m tools.stubs
	$(BIN)/python -m tools.parameter_tables
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	@echo "clang-format -i: $(words $(NATIVE_SOURCES)) files of native/"
	@$(BIN)/clang-format -i $(NATIVE_SOURCES)

bench: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks $(ARGS)

# The figures of docs/reliability.md, at full size: hours. Less: ARGS="model_files --share 0.01".
soak: .venv/installed
	$(BIN)/python -m soak $(ARGS)

# Other packages, as their users use them, in their current versions.
clients: .venv-clients/installed
	.venv-clients/bin/python -m soak clients $(ARGS)

# The tests that reach the kernels and 10,000 mutated model files (FILES=1: 100,000), under address and undefined-behaviour
# sanitizers: all of it at this processor's best level, the kernels' own tests at the lower ones too.
#   Leaks are not looked for: the interpreter and other libraries keep thousands of blocks to the end.
#   Allocations that cannot be had fail as they do without the sanitizer, and are not its errors.
#   PYTHONMALLOC: blocks inside the interpreter's own pools would have no guarded ends.
#   CXX, CXXFLAGS: kernels of GPUs, which tests/cuda_shim.py compiles for the processor.
#   --capture=sys: a report goes to the terminal, and not down with the process that pytest captured.
# Left out: a limit on the address space (the sanitizer itself takes terabytes of it), and slow tests that no kernel
# takes part in.
FILES ?= 0.1
SANITIZED = LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	CXX=g++ CXXFLAGS="-g1 -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS -fno-sanitize-recover=all \
	-fsanitize=address,undefined,float-cast-overflow" \
	PYTHONMALLOC=malloc UBSAN_OPTIONS=print_stacktrace=1 \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:detect_stack_use_after_return=1 \
	.venv-sanitize/bin/python
SANITIZED_PYTEST = $(SANITIZED) -m pytest -q -p no:xdist --capture=sys --timeout=0
KERNEL_TESTS := tests/tree tests/neighbors tests/svm/linear/test_kernels.py \
tests/svm/kernel/test_kernels.py tests/svm/kernel/test_solver.py tests/data/test_binning.py \
tests/data/test_bundle.py tests/data/test_joint_columns.py tests/data/test_random_parts.py \
tests/data/test_target_statistics.py tests/test_math.py tests/test_sums.py tests/test_sparse_tables.py \
tests/boosting/test_loss_derivatives.py tests/boosting/test_sampling.py tests/boosting/test_linear_leaves.py \
tests/boosting/test_multi_strategy.py tests/boosting/test_symmetric.py tests/boosting/ranking/test_losses.py \
tests/boosting/survival/test_losses.py tests/boosting/survival/test_metrics.py tests/explain/test_shap.py tests/explain/test_partial.py \
tests/explain/test_accumulated.py tests/explain/test_interaction.py

sanitize: .venv-sanitize/installed
	@echo "The tests that reach the kernels, under the sanitizers:"
	@$(SANITIZED_PYTEST) $(KERNEL_TESTS) tests/test_model_file.py tests/test_threads.py \
	tests/test_concurrency.py tests/test_determinism.py tests/test_sparse_doors.py tests/cluster/test_fit.py \
	tests/cluster/test_forests.py tests/cuda tests/boosting/test_hostile.py \
	tests/forest/test_random_forest.py tests/adaboost/test_regressor.py \
	-k "not scikit_learn_check and not no_more_can_be_started and not loky and not survive_json and not automatic_fits"
	@echo "The kernels' own tests at the lower levels:"
	@for level in $$($(SANITIZED) -c "from hedgerow import _native; \
	print(*(level for level in _native.LEVELS if level < _native.isa_level()))"); do \
	HEDGEROW_ISA=$$level $(SANITIZED_PYTEST) $(KERNEL_TESTS) -k "not instruction_set and not scikit_learn_check" || exit 1; done
	PYTHONPATH=. $(SANITIZED) -m soak model_files --share $(FILES)

# Which lines of src/ and native/ the suite executes, in the processes that tests start too; the pages are in
# out/coverage. Left out are tests of the exit codes and output of processes, to which counters add their own. A
# process that is killed may leave a file of counters damaged: the lines of its source then count as not executed.
COVERAGE = COVERAGE_FILE=$(abspath out/coverage/data) .venv-coverage/bin/python -m coverage

coverage: .venv-coverage/installed
	rm -rf out/coverage && mkdir -p out/coverage/native
	find build/coverage -name '*.gcda' -delete
	$(COVERAGE) run -m pytest -n 2 --dist worksteal \
	-k "not ends_cleanly and not ends_while and not signal_ends and not fails_at_the_end and not death_of_a_worker \
	and not no_more_can_be_started"
	$(COVERAGE) combine --quiet
	$(COVERAGE) html --quiet --directory out/coverage/python
	$(COVERAGE) report --skip-covered --skip-empty
	.venv-coverage/bin/gcovr --root . --filter native/ --merge-lines --exclude-throw-branches --print-summary \
	--gcov-ignore-parse-errors=all --gcov-ignore-errors=no_working_dir_found \
	--html-details out/coverage/native/index.html build/coverage

# Concurrent fits, predictions and forks under the thread sanitizer. What starts them needs
# ordinary kernels; the build of make dev will do.
races: .venv-tsan/installed .venv/packages $(if $(wildcard .venv/dev),,.venv/built)
	HEDGEROW_TSAN_PYTHON=.venv-tsan/bin/python $(BIN)/python -m soak data_races $(ARGS)

# Fuzz targets, a minute each, or make fuzz ARGS="xgboost_json --seconds 600". Indices beyond the ends of vectors and
# spans end the process.
fuzz: .venv-fuzz/installed
	.venv-fuzz/bin/python -m fuzz $(ARGS)

# The same on a free-threaded Python that is itself compiled for the sanitizer: its configure takes --disable-gil and
# --with-thread-sanitizer. make races-free PYTHON=/opt/python-tsan/bin/python3.13t.
races-free: .venv-tsan-free/installed
	HEDGEROW_TSAN_PYTHON=.venv-tsan-free/bin/python .venv-tsan-free/bin/python -m soak data_races $(ARGS)

# The tests of threads on a free-threaded Python: make free PYTHON=python3.13t.
free: .venv-free/installed
	PYTHONDONTWRITEBYTECODE= .venv-free/bin/python -m pytest -q tests/test_free_threading.py tests/test_concurrency.py \
	tests/test_threads.py tests/test_chains.py tests/test_determinism.py tests/tree/test_grower.py

# Wheels in dist/ for Python 3.12 and every later version, checked as tools/wheels.py says: for all platforms, compiled
# on this machine, or for its own alone. It takes such a Python: make wheels PYTHON=python3.13.
wheels:
	$(PYTHON) tools/wheels.py $(ARGS)

wheel:
	$(PYTHON) tools/wheels.py --twice manylinux_2_17_$$(uname -m)

# The wheels in dist/ on aarch64 and Windows, as far as qemu and Wine are these, and on Linux with musl: the tests of the
# kernels, and the same models as this build's; tools/platforms says what it needs. One of them: make platforms ARGS=musl.
platforms: dev
	$(BIN)/python -m tools.platforms $(ARGS)

# The kernels for aarch64, built with Debian's cross compiler: their tests, and the same models as this processor's
# under qemu; tools/arm.py says what it needs.
arm: dev
	$(BIN)/python -m tools.arm

# What is compiled is compiled once: the packages that demo and tests need are added to it.
# .venv holds either this build, with all instruction-set levels, or the one of make dev.
.venv/built: $(NATIVE)
	test -d .venv || $(PYTHON) -m venv .venv
	@rm -f .venv/dev
	@echo "$(COMPILING)"
	$(BIN)/python tools/install.py --editable .
	@touch $@

.venv/demo: .venv/built
	@echo "Installing what the demo needs: a minute, once."
	$(BIN)/python tools/install.py 'hedgerow[demo]'
	@touch $@

.venv/installed: .venv/built .venv/packages
	@touch $@

.venv/packages: pyproject.toml tools/install.py
	test -d .venv || $(PYTHON) -m venv .venv
	@echo "Installing what tests and documentation need: a minute or two, once."
	$(BIN)/python tools/install.py --dependencies-of dev
	@touch $@

# The Python sources where they are, without a build of the kernels.
.venv/dev: .venv/packages
	@rm -f .venv/built .venv/installed
	$(BIN)/python tools/install.py --no-deps --editable . \
	--config-settings=wheel.cmake=false --config-settings=wheel.py-api=py3 \
	--config-settings=editable.mode=inplace
	@touch $@

build/dev/build.ninja: CMakeLists.txt .venv/dev
	$(BIN)/cmake -S . -B build/dev -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
	-DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE=$(abspath $(BIN))/python \
	-DHEDGEROW_INPLACE=ON -DHEDGEROW_LEVELS=native -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
	$(if $(shell command -v ccache),-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)

.venv-oldest/installed: $(NATIVE) tools/oldest.py tools/install.py
	@mkdir -p build
	$(PYTHON) tools/oldest.py > build/oldest.txt
	test -d .venv-oldest || $(PYTHON) -m venv .venv-oldest
	@echo "Installing the oldest versions: a minute or two, once."
	.venv-oldest/bin/python tools/install.py -r build/oldest.txt
	@echo "$(COMPILING)"
	.venv-oldest/bin/python tools/install.py --no-deps --no-build-isolation --editable . \
	--config-settings=build-dir=build/oldest --config-settings=cmake.define.HEDGEROW_STUB=OFF
	@touch $@

.venv-bench/installed: $(NATIVE) benchmarks/requirements.txt
	test -d .venv-bench || $(PYTHON) -m venv .venv-bench
	@echo "$(COMPILING)"
	.venv-bench/bin/python tools/install.py --editable . -r benchmarks/requirements.txt
	@touch $@

.venv-clients/installed: $(NATIVE) soak/requirements.txt
	test -d .venv-clients || $(PYTHON) -m venv .venv-clients
	@echo "$(COMPILING)"
	.venv-clients/bin/python tools/install.py --editable . -r soak/requirements.txt
	@touch $@

.venv-fuzz/installed: $(NATIVE) fuzz/requirements.txt
	test -d .venv-fuzz || $(PYTHON) -m venv .venv-fuzz
	@echo "$(COMPILING)"
	.venv-fuzz/bin/python tools/install.py --editable '.[cli]' -r fuzz/requirements.txt \
	--config-settings=build-dir=build/fuzz/kernels --config-settings=cmake.define.HEDGEROW_LEVELS=native \
	--config-settings=cmake.define.CMAKE_CXX_FLAGS=-D_GLIBCXX_ASSERTIONS
	@touch $@

.venv-sanitize/installed: $(NATIVE)
	test -d .venv-sanitize || $(PYTHON) -m venv .venv-sanitize
	@echo "$(COMPILING)"
	.venv-sanitize/bin/python tools/install.py --editable '.[dev]' \
	--config-settings=build-dir=build/sanitize --config-settings=install.strip=false \
	--config-settings=cmake.define.HEDGEROW_SANITIZE=ON
	@touch $@

.venv-coverage/installed: $(NATIVE)
	test -d .venv-coverage || $(PYTHON) -m venv .venv-coverage
	.venv-coverage/bin/python tools/install.py --editable '.[dev]' \
	--config-settings=build-dir=build/coverage --config-settings=install.strip=false \
	--config-settings=cmake.define.HEDGEROW_COVERAGE=ON --config-settings=cmake.define.HEDGEROW_LEVELS=native
	@touch $@

.venv-tsan/installed: $(NATIVE)
	test -d .venv-tsan || $(PYTHON) -m venv .venv-tsan
	.venv-tsan/bin/python tools/install.py --editable '.[dev]' \
	--config-settings=build-dir=build/tsan --config-settings=install.strip=false \
	--config-settings=cmake.define.HEDGEROW_SANITIZE=thread --config-settings=cmake.define.HEDGEROW_LEVELS=native
	@touch $@

# What has wheels for free-threaded Pythons, not always of the latest version, and is enough for these tests.
.venv-free/installed: $(NATIVE)
	test -d .venv-free || $(PYTHON) -m venv .venv-free
	.venv-free/bin/python tools/install.py --prefer-binary --editable . hypothesis pandas pytest pytest-timeout \
	--config-settings=build-dir=build/free --config-settings=cmake.define.HEDGEROW_LEVELS=native
	@touch $@

.venv-tsan-free/installed: $(NATIVE)
	test -d .venv-tsan-free || $(PYTHON) -m venv .venv-tsan-free
	.venv-tsan-free/bin/python tools/install.py --prefer-binary --editable . \
	--config-settings=build-dir=build/tsan-free --config-settings=install.strip=false \
	--config-settings=cmake.define.HEDGEROW_SANITIZE=thread --config-settings=cmake.define.HEDGEROW_LEVELS=native
	@touch $@

clean:
	rm -rf .venv .venv-* build dist out src/hedgerow/_native/*.so
