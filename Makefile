# Everything a person needs: make setup, make run, make test, make format, make install.
PREFIX ?= /usr/local
PACKAGES = libsqlite3-dev libcurl4-openssl-dev libssl-dev libcrypt-dev libmicrohttpd-dev libinotifytools0-dev libwslay-dev libvips42 libmagic-dev
# What tests need beside: a real database for schema.sql, a real git, Python for the real clients, and the editors and tools
# that scenarios are played with; a scenario whose program is missing is skipped by name.
TEST_PACKAGES = postgresql git python3-venv vim nano emacs-nox rsync ed patch jq curl libglib2.0-bin zsh fish systemd
SOURCES = Package.swift Sources Tests Examples
SWIFT ?= swift

CASES ?= Tests/StandInServerTests/Conformance
CLIENTS = .build/clients-venv

.PHONY: help setup setup-tests run test scenarios conformance test-clients sim sim-sabotage fuzz soak lint format release install bench docs clean

help:
	@echo "make setup    install the missing Debian packages"
	@echo "make run      build, and play with a local server and a workspace (Ctrl-C ends it)"
	@echo "make test     check the format and run every test"
	@echo "make scenarios  what real editors, tools and accidents do to a workspace, a line each (ONLY=\"EDITOR-1 GIT-4\" for some)"
	@echo "make conformance  play a folder of answers recorded from a real PostgREST against 'tidemark serve' (CASES=DIR)"
	@echo "make test-clients  run the real Python clients against 'tidemark serve' (SERVICES=\"auth rest\" for some)"
	@echo "make sim      live thousands of simulated days of several replicas (SEEDS=1..2000)"
	@echo "make sim-sabotage  show which classic faults, put in one at a time, the simulated days catch (FAULTS=\"a b\" for some)"
	@echo "make fuzz     let coverage lead strange inputs to the readers of what strangers wrote (SECONDS=60 each, TARGETS=\"json git\" for some)"
	@echo "make soak     hours: long sets of seeds, 500 kills of a real watcher, 10,000 races of saves, an hour of a running one"
	@echo "make release  build the program for use: .build/release/tidemark"
	@echo "make install  put it into $(PREFIX)/bin, with completions for bash, zsh and fish"
	@echo "make bench    measure it beside what this machine can do at best (BENCH=--quick for a short look)"
	@echo "make docs     build the documentation of the OfflineEngine library: .build/docs"
	@echo "make format   lay out the code as .swift-format says"

# Says what it will do before it does it; does nothing where nothing is missing.
setup: WANTED = $(PACKAGES)
setup-tests: WANTED = $(PACKAGES) $(TEST_PACKAGES)
setup setup-tests:
	@command -v $(SWIFT) >/dev/null || { echo "The Swift toolchain (6.3 or newer) is missing: see https://www.swift.org/install"; exit 1; }
	@missing=""; \
	for package in $(WANTED); do \
	  dpkg-query -W -f='$${Status}' $$package 2>/dev/null | grep -q '^install ok installed$$' || missing="$$missing $$package"; \
	done; \
	if [ -n "$$missing" ]; then \
	  echo "Installing with apt-get:$$missing"; \
	  as_root=""; [ "$$(id -u)" = 0 ] || as_root="sudo"; \
	  $$as_root apt-get update -q && \
	  $$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $$missing; \
	fi

run: setup
	@$(SWIFT) build --product tidemark
	@"$$($(SWIFT) build --show-bin-path)/tidemark" demo

# The end-to-end tests run the program that this builds. They start many processes, so they have a process of their own:
# a program being started holds a copy of every file that other tests have open. A simulated day leaves its thread to nobody
# else, so those have one, too, with hashing that is the same each time.
test: setup-tests lint
	$(SWIFT) build --build-tests
	$(SWIFT) test --skip-build --skip EndToEndTests --skip SimulatorTests
	SWIFT_DETERMINISTIC_HASHING=1 $(SWIFT) test --skip-build --filter SimulatorTests
	TIDEMARK="$$($(SWIFT) build --show-bin-path)/tidemark" $(SWIFT) test --skip-build --filter EndToEndTests
	$(MAKE) conformance
	$(MAKE) test-clients

# A line for every scenario with pass, fail, or skipped and why, and a total. TIDEMARK_TEST_EFFORT=10 plays them at full length.
scenarios: setup-tests
	$(SWIFT) build --build-tests
	@bin="$$($(SWIFT) build --show-bin-path)"; \
	TIDEMARK="$$bin/tidemark" /usr/bin/python3 -B Tests/scenarios.py "$$bin/tidemarkPackageTests.xctest" $(ONLY)

# A line for every case that is not answered as recorded, and a score for every file of cases.
conformance:
	@$(SWIFT) build --product tidemark
	@$(SWIFT) build --product tidemark-conformance
	@"$$($(SWIFT) build --show-bin-path)/tidemark-conformance" "$(CASES)" \
	  --schema Tests/StandInServerTests/Conformance/schema.json

# A line for every call of the clients, and a score.
test-clients: setup-tests $(CLIENTS)/ready
	@$(SWIFT) build --product tidemark
	@cd Tests && "$(CURDIR)/$(CLIENTS)/bin/python" -B -m Clients "$$($(SWIFT) build --show-bin-path)/tidemark" $(SERVICES)

$(CLIENTS)/ready: Tests/Clients/requirements.txt
	python3 -m venv $(CLIENTS)
	$(CLIENTS)/bin/pip install --quiet --requirement $<
	@touch $@

# A failing seed is told with the command that lives it again. Hours of it: make sim SEEDS=1..100000
SEEDS ?= 1..2000
sim:
	$(SWIFT) build -c release --product tidemark-sim
	@"$$($(SWIFT) build -c release --show-bin-path)/tidemark-sim" --seeds $(SEEDS)

# A line a fault: the first seed that catches it, and by what. The faults are text edits of a copy of the sources.
FAULTS ?=
sim-sabotage:
	@cd Tests && SEEDS=$(SEEDS) SWIFT="$(SWIFT)" python3 -B -m Sabotage run $(FAULTS)

# What it finds lies in .build/fuzz, and is kept for the next time.
SECONDS ?= 60
TARGETS ?= json rows merges names settings git photos frames realtime answers query requests
fuzz:
	$(SWIFT) build -c release --product tidemark-fuzz --scratch-path .build/fuzz-build --sanitize=fuzzer -Xswiftc -DFUZZER
	@for target in $(TARGETS); do \
	  mkdir -p .build/fuzz/$$target; \
	  echo "$$target:"; \
	  FUZZ=$$target SEEDS=.build/fuzz/$$target \
	    "$$($(SWIFT) build -c release --scratch-path .build/fuzz-build --show-bin-path)/tidemark-fuzz" \
	    -max_total_time=$(SECONDS) -max_len=4096 -artifact_prefix=.build/fuzz/$$target- -verbosity=0 -print_final_stats=1 \
	    .build/fuzz/$$target $$(ls -d Tests/FuzzingTests/Corpus/$$target 2>/dev/null) \
	    $$(if [ $$target = photos ]; then echo Tests/ImagesTests/Fixtures; fi) || exit 1; \
	done

# What `make test` does of each in seconds, to the full: some four hours, of which the soak itself takes one.
SOAK_SEEDS ?= 1..100000
SOAK_FUZZ_SECONDS ?= 600
soak: setup-tests
	$(MAKE) sim SEEDS=$(SOAK_SEEDS)
	$(SWIFT) build --build-tests
	TIDEMARK_KILLS=500 TIDEMARK_RACES=10000 TIDEMARK_SOAK_SECONDS=3600 \
	  TIDEMARK="$$($(SWIFT) build --show-bin-path)/tidemark" \
	  $(SWIFT) test --skip-build --filter WatchKillTests --filter SaveRaceTests --filter SoakTests
	$(MAKE) fuzz SECONDS=$(SOAK_FUZZ_SECONDS)

# The library's documentation, from its comments and its articles.
docs: setup
	@mkdir -p .build/symbols
	$(SWIFT) build --target OfflineEngine --scratch-path .build/docs-build \
	  -Xswiftc -emit-symbol-graph -Xswiftc -emit-symbol-graph-dir -Xswiftc "$(CURDIR)/.build/symbols"
	@mkdir -p .build/symbols-of-the-library && cp .build/symbols/OfflineEngine*.json .build/symbols-of-the-library/
	@"$$(dirname "$$(readlink -f "$$(command -v $(SWIFT))")")/docc" convert Sources/OfflineEngine/OfflineEngine.docc \
	  --additional-symbol-graph-dir .build/symbols-of-the-library --output-path .build/docs \
	  --fallback-display-name OfflineEngine --fallback-bundle-identifier tidemark.OfflineEngine
	@echo "The documentation is in .build/docs"

lint:
	@cd Tests && python3 -B -m Sabotage check
	$(SWIFT) format lint --strict --recursive $(SOURCES)

format:
	$(SWIFT) format --in-place --recursive $(SOURCES)

# Only the C libraries above are needed where the program runs: Swift's own are inside it.
release: setup
	$(SWIFT) build -c release --static-swift-stdlib --product tidemark

install: release
	install -D -m 755 "$$($(SWIFT) build -c release --static-swift-stdlib --show-bin-path)/tidemark" "$(DESTDIR)$(PREFIX)/bin/tidemark"
	@set -e; share="$(DESTDIR)$(PREFIX)/share"; \
	lay() { mkdir -p "$$(dirname "$$2")"; "$(DESTDIR)$(PREFIX)/bin/tidemark" completions "$$1" > "$$2"; }; \
	lay bash "$$share/bash-completion/completions/tidemark"; \
	lay zsh "$$share/zsh/site-functions/_tidemark"; \
	lay fish "$$share/fish/vendor_completions.d/tidemark.fish"

# Ten minutes or so; nothing else should run meanwhile.
bench: release
	$(SWIFT) build -c release --static-swift-stdlib --product tidemark-bench
	@"$$($(SWIFT) build -c release --static-swift-stdlib --show-bin-path)/tidemark-bench" $(BENCH)

clean:
	rm -rf .build
