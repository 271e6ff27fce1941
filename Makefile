# README's commands. Each does its own set-up; NO_INSTALL=1 skips it.

CARGO ?= cargo
# Rust is often installed without its folder on the path of a fresh shell.
export PATH := $(PATH):$(HOME)/.cargo/bin
# The same inputs on every run, so that a failure comes from a change; other ones
# with LOCKGATE_THOROUGH=1, which also takes more of them.
ifneq ($(LOCKGATE_THOROUGH),1)
export PROPTEST_RNG_SEED ?= 20260518
endif
# Many tests wait for guests, for each other and for times to pass: more of them
# than CPUs.
export RUST_TEST_THREADS ?= $(shell echo $$((8 * $$(nproc))))
target := $(or $(CARGO_TARGET_DIR),target)

.PHONY: help run test build setup setup-guests
.DEFAULT_GOAL := help

help:
	@echo 'make run     measure this host and write a report; ARGS="--budget 60" passes flags'
	@echo 'make test    every test, with the counts at the end'
	@echo 'make build   only the program: $(target)/release/lockgate'
	@echo 'make setup-guests  fill the guest cache; GUESTS=all: also a newer kernel and QEMU; GUESTS=host: the module for this kernel'
	@echo 'make setup   only the packages (the others do this first; NO_INSTALL=1 skips it)'

setup:
	@./scripts/setup.sh

setup-guests:
	@GUESTS=$(GUESTS) ./scripts/setup-guests.sh

# Without the cargo feature bpf where it cannot be built: scripts/features.sh says why.
build: setup
	$(CARGO) build --release --locked --package lockgate $$(./scripts/features.sh)

# PROGRAM=path: that one, and nothing is built.
PROGRAM := $(target)/release/lockgate
run: $(if $(filter file,$(origin PROGRAM)),build)
	@$(PROGRAM) run $(ARGS)

test: setup
	@CARGO="$(CARGO)" ./scripts/count-tests.sh ./scripts/test.sh --workspace --locked $$(./scripts/features.sh workspace)
