# `make run`: a call. `make test`: everything that proves it works. Both install what is missing.
PREFIX ?= /usr/local
SWIFT_FLAGS ?=
release := .build/release/otchat

.PHONY: run build test test-unit test-calls test-devices test-devices-if-possible lint format bench bench-network bench-connectivity fuzz sanitize install
.PHONY: clean setup bench-load bench-server smoke deb examples

run: build
	$(release) connect $(ARGS)

build: setup
	swift build -c release --product otchat --static-swift-stdlib $(SWIFT_FLAGS)

# The programs of docs/custom-media.md, in .build/debug.
examples: setup
	for each in Examples/*; do swift build --product "$${each#*/}" $(SWIFT_FLAGS) || exit; done

setup:
	scripts/setup build

test: setup-test test-unit build test-calls test-devices-if-possible

setup-test:
	scripts/setup build test

# A few at a time: whole calls in real time share the machine's cores.
test-unit: setup-test
	swift test --experimental-maximum-parallelization-width 4 $(SWIFT_FLAGS)

# Real processes, real browsers, an independent WebRTC stack.
test-calls: setup-test build examples
	Tests/run
	Tests/browser/run

lint:
	scripts/setup build lint
	scripts/lint

format:
	swift format -i -r Package.swift Sources Tests Examples

# Cameras and a sound card of an emulated machine, by their real drivers; needs root.
test-devices: build
	scripts/setup build devices
	Tests/devices/run $(ARGS)

# The same where that can be; where not, it says why.
test-devices-if-possible: build
	Tests/devices/run --if-possible

bench: setup-test build
	swift build -c release --product bench --static-swift-stdlib
	Tests/Bench/run

# Media on bad links beside Chromium; needs root. `make bench-network ARGS="--quick --only loss5"` for one case.
bench-network: build
	scripts/setup build network
	Tests/Network/run $(ARGS)

# Calls whose network changes, breaks, or lets little through, with what is promised of them. Needs root.
bench-connectivity: setup-test build
	OTCHAT_PROMISES=1 Tests/run -k connectivity -s

# What receivers cost: 40 that count packets of one stream, 10 that decode it, tabs of Chromium.
bench-load: setup-test build
	Tests/Bench/run --only load

# The session server: 200 connections, 50 signals a second, kill -9 in the middle; `make bench-server ARGS=5` for 5 minutes.
bench-server: setup-test build
	Tests/Bench/server $(ARGS)

# The smoke scenario 100 times in a row, none of which may fail; `make smoke ARGS="--page --runs 10"` with a browser.
smoke: build
	Tests/Bench/smoke $(ARGS)

# A minute of libFuzzer for each parser of what strangers send; `make fuzz SECONDS=600` for longer.
fuzz: setup
	scripts/fuzz $(or $(SECONDS),60)

# The unit tests under ThreadSanitizer and AddressSanitizer; `make sanitize SANITIZERS=thread` under one.
sanitize: setup-test
	scripts/sanitize $(SANITIZERS)

install: build
	install -D -m 755 $(release) $(DESTDIR)$(PREFIX)/bin/otchat
	$(release) man > .build/otchat.1
	install -D -m 644 .build/otchat.1 $(DESTDIR)$(PREFIX)/share/man/man1/otchat.1
	$(release) completions bash > .build/otchat.bash
	install -D -m 644 .build/otchat.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/otchat
	$(release) completions zsh > .build/_otchat
	install -D -m 644 .build/_otchat $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_otchat
	$(release) completions fish > .build/otchat.fish
	install -D -m 644 .build/otchat.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/otchat.fish

# A Debian package, in .build, and what Debian's policy says of it.
deb: build
	scripts/setup package
	package=$$(scripts/deb) && echo "$$package" && lintian --allow-root --fail-on error,warning "$$package"

clean:
	rm -rf .build
