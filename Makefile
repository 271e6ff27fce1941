# README's commands. Each does its own set-up; NO_INSTALL=1 skips it.

CARGO ?= cargo
# Rust is often installed without its folder on the path of a fresh shell.
export PATH := $(PATH):$(HOME)/.cargo/bin
target := $(or $(CARGO_TARGET_DIR),target)

.PHONY: help run test build setup
.DEFAULT_GOAL := help

help:
	@echo 'make run     measure this host and write a report; ARGS="--budget 60" passes flags'
	@echo 'make test    every test, with the counts at the end'
	@echo 'make build   only the program: $(target)/release/lockgate'
	@echo 'make setup   only the packages (the others do this first; NO_INSTALL=1 skips it)'

setup:
	@./scripts/setup.sh

build: setup
	$(CARGO) build --release --locked --package lockgate

run: build
	@$(target)/release/lockgate run $(ARGS)

test: setup
	@./scripts/count-tests.sh $(CARGO) test --workspace --locked --no-fail-fast
