# Two commands do everything: `make demo` and `make test`. Set PYTHON to choose an interpreter.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.docs-ready

.PHONY: help demo test fuzz check format bench docs clean

help:
	@echo "make demo   set up and run the demo"
	@echo "make test   set up and run the whole test suite"
	@echo "make fuzz   ten thousand odd and damaged files for the readers"
	@echo "make check  formatting, lint, types, import rules"
	@echo "make format format the code"
	@echo "make bench  speed and memory against a plain PyTorch Geometric script"
	@echo "make docs   build the documentation site"
	@echo "make clean  remove the environment and caches"

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
	$(BIN)/python -m pytest -n auto

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

docs: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The site is in site/index.html"

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache site
