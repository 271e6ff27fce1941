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
	@echo 'make setup   only the packages that these want (all do this first; NO_INSTALL=1 installs none)'
	@echo 'make setup-guests  also the guest cache, as run and test do first; GUESTS=all: a newer kernel and QEMU, too; GUESTS=host: the module for this kernel'

setup:
	@./scripts/setup.sh

# A run and the tests do it too, and can do without: only who asks for it fails.
setup-guests: setup
	@GUESTS=$(GUESTS) ./scripts/setup-guests.sh $(if $(filter $@,$(MAKECMDGOALS)),,--optional)

# Without the cargo feature bpf where it cannot be built: scripts/features.sh says why.
build: setup
	$(CARGO) build --release --locked --package lockgate $$(./scripts/features.sh)

# PROGRAM=path: that one, and nothing is built.
PROGRAM := $(target)/release/lockgate
run: $(if $(filter file,$(origin PROGRAM)),setup-guests build)
	@$(PROGRAM) run $(ARGS)

test: setup-guests
	@CARGO="$(CARGO)" ./scripts/count-tests.sh ./scripts/test.sh --workspace --locked $$(./scripts/features.sh workspace)
