# Coffre: everything a person or CI runs. `make help` lists it.
PREFIX ?= /usr/local
DESTDIR ?=
SWIFT ?= swift
BUILD ?= .build
SOURCES = Package.swift Sources Tests Fuzz

.PHONY: help packages build demo test check format soak mutations sanitize fuzz bench bench-quick bench-engine install \
	uninstall freeze clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 24

packages: ## Install the Debian packages that are missing
	@scripts/packages

build: ## Build the command, optimised
	@$(SWIFT) build -c release --static-swift-stdlib --product coffre --scratch-path $(BUILD)

demo: packages build ## Make a vault, mount it, work in it, lock it: the whole of it on one screen
	@scripts/demo $(BUILD)/release/coffre

test: packages ## Everything CI runs: format, build, unit and mount tests
	@SWIFT="$(SWIFT)" BUILD="$(BUILD)" scripts/test

check: ## Format and tidiness only
	@$(SWIFT) format lint --strict --recursive $(SOURCES)

format: ## Format the sources
	@$(SWIFT) format --in-place --recursive $(SOURCES)

soak: packages build ## The long tests: every power loss, 200 kills, every fault, every alteration, fuzzing: hours
	@SWIFT="$(SWIFT)" BUILD="$(BUILD)" scripts/soak

mutations: packages ## Break each invariant on purpose and see a test notice
	@SWIFT="$(SWIFT)" BUILD="$(BUILD)" scripts/mutations

sanitize: packages ## Engine and volume tests under the address and thread sanitizers
	@SWIFT="$(SWIFT)" BUILD="$(BUILD)" scripts/sanitize

fuzz: packages ## Every decoder under libFuzzer, FUZZ_SECONDS each (60)
	@SWIFT="$(SWIFT)" BUILD="$(BUILD)" scripts/fuzz

bench: packages build ## Measure against the peers: hours; needs root and 16 GiB of memory
	@BUILD="$(BUILD)" scripts/bench --results $(BUILD)/bench.jsonl

bench-quick: packages build ## The same with small inputs and one round: under 3 minutes
	@BUILD="$(BUILD)" scripts/bench --quick --results $(BUILD)/bench-quick.jsonl

bench-engine: ## Measure engine calls without FUSE
	@scripts/bench-engine

install: build ## Install the command and its man page under PREFIX
	install -D -m 0755 $(BUILD)/release/coffre $(DESTDIR)$(PREFIX)/bin/coffre
	install -D -m 0755 mount-scripts/mount.fuse.coffre $(DESTDIR)/sbin/mount.fuse.coffre
	install -D -m 0644 docs/coffre.1 $(DESTDIR)$(PREFIX)/share/man/man1/coffre.1

uninstall: ## Remove what `make install` installed
	rm -f $(DESTDIR)/sbin/mount.fuse.coffre $(DESTDIR)$(PREFIX)/bin/coffre $(DESTDIR)$(PREFIX)/share/man/man1/coffre.1

freeze: build ## Make the frozen vaults of Tests/FrozenVaults anew, while the format is not released
	@scripts/freeze-vault $(BUILD)/release/coffre

clean: ## Remove everything that was built
	rm -rf $(BUILD)
