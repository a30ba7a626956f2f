# `make demo` and `make test` are all that a newcomer needs. Every target sets up what it needs in
# a virtual environment, and does so again only when the kernels or the build files have changed.
#
#   make demo         real text, real answers (DEMO_ARGS='--ask "how do I ..."')
#   make test         the tests, about 6 minutes on two cores (TEST_ARGS="-k topk", TEST_JOBS=4)
#   make test-full    the same with the large data sets and long runs
#   make test-debug   the kernels' tests on a build with bounds checks compiled in
#   make test-asan    the kernels' tests on a build with the address sanitizer (GCC, Linux)
#   make test-ubsan   the same with the undefined-behaviour sanitizer
#   make fuzz         random input of every kind for FUZZ_SECONDS (60); FUZZ_ARGS="--kinds xc_text"
#   make fuzz-asan    the same with the address sanitizer, fuzz-ubsan with the other
#   make bench        times and accuracy beside other packages (BENCH_ARGS="--help")
#   make lint         style of Python and Cython, types of signatures, habits of sentences
#   make docs         the site with its gallery, into doc/_build/html, two pages at a time
#                     (DOCS_JOBS=1, DOCS_ARGS="-D plot_gallery=0")
#   make test-site    the same, then looks for broken links, external requests and wide pages
#   make wheel        a wheel for other machines and a source distribution, checked, into dist/
#   make clean        removes everything that was built, but not the virtual environment

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TEST_JOBS ?= 2
DOCS_JOBS ?= 2
PYTEST := $(BIN)/pytest -n $(TEST_JOBS) --dist worksteal

BUILD_FILES := setup.py pyproject.toml \
	$(wildcard sklearn_xc/_kernels/*/*.pyx sklearn_xc/_kernels/*/*.pxd sklearn_xc/_kernels/*/*.h)

.PHONY: demo test test-full test-debug test-asan test-ubsan fuzz fuzz-asan fuzz-ubsan bench lint docs test-site \
	wheel clean

demo: $(VENV)/.ready-plots
	$(BIN)/python examples/programs/quickstart.py $(DEMO_ARGS)

# BLAS and OpenMP take one thread unless a test asks for more: two processes of two threads each on
# two cores wait for one another in loops, which took tests of stacks three times the processor.
test test-full test-debug test-asan test-ubsan: export OMP_NUM_THREADS ?= 1

test: $(VENV)/.ready-test
	$(PYTEST) $(TEST_ARGS)

test-full: $(VENV)/.ready-test
	$(PYTEST) --full $(TEST_ARGS)

# The package of build/debug stands before the installed one on the path; tests/test_package.py
# reads SKLEARN_XC_BUILD and fails unless the kernels it imported are of that build.
test-debug: build/debug/.ready
	SKLEARN_XC_BUILD=debug PYTHONPATH=build/debug $(PYTEST) -m kernel $(TEST_ARGS)

# The sanitizer has to be loaded before Python is, and sees only what malloc hands out. The
# interpreter leaks by design, and hnswlib frees arrays as single objects. libstdc++ beside it lets
# other packages throw C++ exceptions.
ASAN := SKLEARN_XC_BUILD=asan PYTHONPATH=build/asan PYTHONMALLOC=malloc \
	ASAN_OPTIONS=detect_leaks=0:alloc_dealloc_mismatch=0:allocator_may_return_null=1 \
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so)" \
	$(BIN)/python
UBSAN := SKLEARN_XC_BUILD=ubsan PYTHONPATH=build/ubsan UBSAN_OPTIONS=print_stacktrace=1 $(BIN)/python

test-asan: build/asan/.ready
	$(ASAN) $(BIN)/pytest -n $(TEST_JOBS) -m kernel $(TEST_ARGS)

test-ubsan: build/ubsan/.ready
	$(UBSAN) $(BIN)/pytest -n $(TEST_JOBS) -m kernel $(TEST_ARGS)

FUZZ_SECONDS ?= 60
FUZZ := tests/fuzz/run.py --seconds $(FUZZ_SECONDS) $(FUZZ_ARGS)

fuzz: $(VENV)/.ready-test
	$(BIN)/python $(FUZZ)

fuzz-asan: build/asan/.ready
	$(ASAN) $(FUZZ)

fuzz-ubsan: build/ubsan/.ready
	$(UBSAN) $(FUZZ)

bench: $(VENV)/.ready-bench
	$(BIN)/python -m benchmarks.peers.run $(BENCH_ARGS)

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PATH="$(abspath $(BIN)):$$PATH" cython-lint sklearn_xc
	$(BIN)/python doc/prose.py

docs: $(VENV)/.ready-docs
	$(BIN)/sphinx-build -W --keep-going -q -j $(DOCS_JOBS) -b html $(DOCS_ARGS) doc doc/_build/html

test-site: docs $(VENV)/.ready-test
	SKLEARN_XC_SITE=doc/_build/html $(BIN)/pytest tests/test_site.py $(TEST_ARGS)

# The wheel is built from the source distribution, so that a file that it lacks is noticed. On Linux
# the OpenMP library goes in with it, as the manylinux standard asks for.
wheel: $(VENV)/.ready-wheel
	rm -rf dist build/wheel
	$(BIN)/python -m build --quiet --sdist --outdir dist
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir build/wheel dist/*.tar.gz
	if [ "$$(uname -s)" = Linux ]; then \
		PATH="$(abspath $(BIN)):$$PATH" auditwheel repair --wheel-dir dist build/wheel/*.whl && \
		$(BIN)/auditwheel show dist/*.whl; \
	else cp build/wheel/*.whl dist; fi
	$(BIN)/twine check --strict dist/*

clean:
	rm -rf build dist doc/_build doc/auto_examples doc/api/generated doc/api/backreferences *.egg-info
	rm -rf doc/sg_execution_times.rst .pytest_cache .ruff_cache .hypothesis
	rm -f sklearn_xc/_kernels/*/*.so $(VENV)/.installed $(VENV)/.ready-*
	find sklearn_xc tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# The project, in place: Python files take effect at once, kernels after another `make`.
# Kernels named after one version of Python, of builds before the stable ABI, would be found first.
$(VENV)/.installed: $(BUILD_FILES) | $(BIN)/python
	rm -f sklearn_xc/_kernels/*/*.cpython-*.so
	$(BIN)/pip install --editable .
	touch $@

# .ready-<extra>: the packages of that extra; the project itself is there already.
$(VENV)/.ready-%: $(VENV)/.installed
	$(BIN)/pip install "sklearn-xc[$*]"
	touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python >= 3.11 is needed")'
	$(PYTHON) -m venv $(VENV)

# build/debug, build/asan and build/ubsan: the package alone, the rest comes from the virtual environment.
build/%/.ready: $(BUILD_FILES) $(wildcard sklearn_xc/*.py sklearn_xc/*/*.py sklearn_xc/*/*/*.py) \
		| $(VENV)/.ready-test $(VENV)/.ready-dev
	SKLEARN_XC_BUILD=$* $(BIN)/pip install --quiet --upgrade --no-deps --no-build-isolation \
		--target build/$* .
	touch $@
