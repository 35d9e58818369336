# SPDX-License-Identifier: Apache-2.0
# make demo | test | program | build | bundle [LLVM=1] | wheel | packages | docs | bench | clean. BUILD=folder builds elsewhere; CMAKE_ARGS adds
# options, JOBS says how many tests run side by side.
BUILD ?= build
CMAKE_ARGS ?=
SETUP ?= scripts/setup.sh
JOBS ?= $(shell nproc)

.PHONY: demo test program build bundle wheel packages docs bench clean

demo: program
	scripts/demo.sh $(BUILD)

test: build
	ctest --test-dir $(BUILD) -LE nightly -j $(JOBS) --output-on-failure

program:
	$(SETUP) program
	scripts/build.sh $(BUILD) -DTILEFUSE_TESTS=OFF $(CMAKE_ARGS)

build:
	$(SETUP) program tests bundle wheel docs
	scripts/build.sh $(BUILD) -DTILEFUSE_TESTS=ON $(CMAKE_ARGS)

bundle: program
	$(SETUP) bundle
	scripts/bundle.sh $(BUILD) . $(if $(LLVM),llvm)

wheel:
	$(SETUP) program wheel
	scripts/build.sh $(BUILD) -DTILEFUSE_TESTS=OFF $(CMAKE_ARGS)
	scripts/wheel.sh $(BUILD) .

packages: program
	$(SETUP) bundle
	cd $(BUILD) && cpack

docs: program
	$(SETUP) docs
	scripts/docs.sh $(BUILD)

bench:
	$(SETUP) program
	scripts/build.sh $(BUILD) -DTILEFUSE_BENCH=ON $(CMAKE_ARGS)
	@ls $(BUILD)/bin/bench_*

clean:
	rm -rf $(BUILD)
