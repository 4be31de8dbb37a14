# Two commands do everything: `make demo` and `make test`. Set PYTHON to choose an interpreter.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.docs-ready
LOWEST := .venv-lowest

.PHONY: help demo test coverage lowest fuzz check format bench results docs screenshots clean

help:
	@echo "make demo      set up and run the demo"
	@echo "make test      set up and run the whole test suite"
	@echo "make coverage  the test suite, and which lines it leaves out"
	@echo "make lowest    the test suite with the lowest versions that pyproject.toml allows"
	@echo "make fuzz      ten thousand odd and damaged files for the readers"
	@echo "make check     formatting, lint, types, import rules"
	@echo "make format    format the code"
	@echo "make bench     speed and memory against a plain PyTorch Geometric script"
	@echo "make results   fill the pages with the records in docs/results"
	@echo "make docs      build the documentation site"
	@echo "make screenshots  the pictures of the pages in README and documentation; needs Chromium"
	@echo "make clean     remove the environments and caches"

# Set up once; again only when the pins or the package's metadata change.
$(READY): constraints.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(READY)

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $(DOCS_READY)

demo: $(READY)
	$(BIN)/gaug demo

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist loadgroup

coverage: $(READY)
	$(BIN)/python -m pytest -n auto --dist loadgroup --cov --cov-report=term-missing

# Not every lowest version has a release for every Python: use 3.11. What old versions warn of is
# theirs, so warnings are no errors here.
lowest:
	$(PYTHON) -m venv $(LOWEST)
	$(PYTHON) .ci/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check -c $(LOWEST)/constraints.txt -e '.[test]'
	$(LOWEST)/bin/python -m pytest -n auto --dist loadgroup -W default

fuzz: $(READY)
	GAUG_FUZZ=10000 $(BIN)/python -m pytest tests/data/test_fuzz.py

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	$(BIN)/python -m benchmarks

results: $(READY)
	$(BIN)/python -m docs.generate

docs: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The site is in site/index.html"

screenshots: $(READY)
	$(BIN)/python -m benchmarks.screenshots

clean:
	rm -rf $(VENV) $(LOWEST) .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache site
