# SPDX-License-Identifier: Apache-2.0
# make demo | test | build | bundle [LLVM=1] | bench | clean. BUILD=folder builds elsewhere; CMAKE_ARGS adds options.
BUILD ?= build
CMAKE_ARGS ?=
SETUP ?= scripts/setup.sh

.PHONY: demo test build bundle bench setup clean

demo: build
	scripts/demo.sh $(BUILD)

test: build
	ctest --test-dir $(BUILD) -LE nightly --output-on-failure

build: setup
	scripts/build.sh $(BUILD) $(CMAKE_ARGS)

bundle: build
	scripts/bundle.sh $(BUILD) . $(if $(LLVM),llvm)

bench: setup
	scripts/build.sh $(BUILD) -DTILEFUSE_BENCH=ON $(CMAKE_ARGS)
	@ls $(BUILD)/bin/bench_*

setup:
	$(SETUP)

clean:
	rm -rf $(BUILD)
