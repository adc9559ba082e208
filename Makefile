# The C libraries: libdat.so.1 (DAT 1.2) and libdat2.so.2 (DAT 2.0).
#
#   make                     builds both, shared and static, into target/capi/lib
#   make demo                builds the dat command, connects two endpoints and measures
#   make test                all tests; installs or names the tools that they need
#   make tools               builds the command, as target/release/dat, and what make verbs does
#   make verbs               builds libibverbs.so.1 and librdmacm.so.1 for machines without an RDMA device,
#                            into target/capi/soft-verbs, where `dat verbs` finds them
#   make check               installs them into a temporary prefix and tests what is there
#   make install             installs everything; packagers split it into
#   make install-lib           the shared libraries, and runs ldconfig if DESTDIR is empty
#   make install-dev           headers, archives, pkg-config files, manual pages 3, examples, valgrind.supp
#   make install-tools         the dat command, its completions, manual pages 1, 5 and 7, and the libraries of
#                              make verbs in the folder soft-verbs of LIBDIR, which the loader does not search
#   make uninstall           removes what install put there
#   make deb, make rpm       packages for Debian and for RPM, into target/packages
#   make bench               each provider through libdat2, next to what the machine itself needs and to
#                            UCX; ADAPTERS="loopback shm tcp-lo auto", BATCHES=31; the tables of docs/speed.md
#                            are target/capi/cost/providers.md
#   make bench-scale         the same with many endpoints and connections; CONNECTIONS="1 100 1000"
#   make bench-verbs         RDMA on soft-RoCE in a guest: libdat2 next to the incumbent's, and to
#                            raw verbs; once by a clock that counts instructions, and ROUNDS=5 by
#                            the host's, into target/capi/cost/verbs
#
# DESTDIR, PREFIX, LIBDIR, INCLUDEDIR, BINDIR, MANDIR and DATADIR say where things are installed.
# CARGO, CARGOFLAGS (--offline), RUSTFLAGS, CC, CPPFLAGS, CFLAGS and LDFLAGS are respected, and for another processor
# CARGO_BUILD_TARGET, NM, OBJCOPY, STRIP and OUT (.ci/cross does it).
# Symbols for debuggers are next to the libraries in target/capi/lib and are not installed;
# STRIP=: leaves them in what is installed. DAT=FILE installs another build of the command.

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR ?= $(PREFIX)/bin
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
DOC = $(DATADIR)/doc/dat
EXAMPLES = $(DOC)/examples
CARGO ?= cargo
CARGOFLAGS ?= --locked
CFLAGS ?= -O2 -g
INSTALL ?= install
OBJCOPY ?= objcopy
STRIP ?= strip
LDCONFIG ?= ldconfig
export CC AR OBJCOPY STRIP LDFLAGS

# What is built does not depend on the directory it was built in, and keeps its symbols until STRIP.
CARGO_BUILD = CARGO_PROFILE_RELEASE_STRIP=none RUSTFLAGS="$(RUSTFLAGS) --remap-path-prefix=$(CURDIR)=. \
    --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=/cargo" $(CARGO)

# The release of this project; the versions below are those of the DAT API.
RELEASE := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
# The first number of a version is that of the soname; all of it is in the name of the file.
VERSION_dat = 1.2.0
VERSION_dat2 = 2.0.0
PACKAGE_dat = dat1
PACKAGE_dat2 = dat2
DESCRIPTION_dat = DAT 1.2 (uDAPL): RDMA for programs
DESCRIPTION_dat2 = DAT 2.0 (uDAPL): RDMA for programs

TARGET = $(or $(CARGO_TARGET_DIR),target)
# Tests build with PROFILE=dev, whose folder is debug. Otherwise the archives of the C libraries are optimized as a whole;
# the crates below them are compiled once, for the command too.
PROFILE ?= release
WHOLE = $(if $(PROFILE:dev=),-C lto=fat)
BUILD = $(TARGET)$(addprefix /,$(CARGO_BUILD_TARGET))/$(PROFILE:dev=debug)
OUT = $(TARGET)/capi/lib
NAMES = dat dat2
SHARED = $(foreach name,$(NAMES),$(OUT)/lib$(name).so.$(VERSION_$(name)))

.PHONY: all demo test tools verbs check install install-lib install-dev install-tools uninstall deb rpm bench bench-scale bench-verbs bench-verbs-program cost clean FORCE
.SECONDARY:
.DELETE_ON_ERROR:

all: $(SHARED)

demo:
	@.ci/demo

test:
	@.ci/test

tools: $(TARGET)/release/dat verbs

# Cargo knows what is new. Where it can't be found (sudo make install), what was built will do.
$(BUILD)/lib%.a: FORCE
	@if command -v $(CARGO) >/dev/null; then \
	    $(CARGO_BUILD) rustc --profile $(PROFILE) $(CARGOFLAGS) -p $(subst _,-,$*) --lib --crate-type staticlib -- $(WHOLE) \
	        --print native-static-libs=$(abspath $(BUILD))/$*.libs; \
	elif test -e $@; then echo "$(CARGO) is not found: $@ is used unchanged"; \
	else echo "$(CARGO) is not found: install Rust (https://rustup.rs)" >&2; exit 1; fi

$(OUT)/%.o: capi/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -Iinclude $(CFLAGS) -ffile-prefix-map=$(CURDIR)=. -fPIC -c -o $@ $<

# Verbs without a device.
VERBS_OUT = $(TARGET)/capi/soft-verbs
VERBS = $(VERBS_OUT)/libibverbs.so.1 $(VERBS_OUT)/librdmacm.so.1

verbs: $(VERBS_OUT)/librdmacm.so.1

$(VERBS_OUT)/librdmacm.so.1: $(BUILD)/libdat_ibverbs.a $(wildcard capi/ibverbs/link/* capi/ibverbs/symbols/*)
	capi/ibverbs/link/libraries $< $(BUILD)/dat_ibverbs.libs $(VERBS_OUT)

# What differs between the two libraries.
define library
$(OUT)/lib$(1).so.$(VERSION_$(1)): $(BUILD)/lib$(PACKAGE_$(1)).a capi/$(PACKAGE_$(1))/lib$(1).map \
        capi/link/library $(patsubst capi/%.c,$(OUT)/%.o,$(wildcard capi/$(PACKAGE_$(1))/*.c))
	capi/link/library $(1) $(VERSION_$(1)) capi/$(PACKAGE_$(1))/lib$(1).map \
	    $$< $(BUILD)/$(PACKAGE_$(1)).libs $(OUT) $$(filter %.o,$$^)

.PHONY: install-lib-$(1) install-dev-$(1)
install-lib-$(1): all
	$(INSTALL) -d $(DESTDIR)$(LIBDIR)
	$(INSTALL) -m 755 $(OUT)/lib$(1).so.$(VERSION_$(1)) $(DESTDIR)$(LIBDIR)
	cp -Pf $(OUT)/lib$(1).so.$(firstword $(subst ., ,$(VERSION_$(1)))) $(DESTDIR)$(LIBDIR)

install-dev-$(1): all
	$(INSTALL) -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)/$(1)
	$(INSTALL) -m 644 include/$(1)/*.h $(DESTDIR)$(INCLUDEDIR)/$(1)
	cp -Pf $(OUT)/lib$(1).so $(DESTDIR)$(LIBDIR)
	$(INSTALL) -m 644 $(OUT)/lib$(1).a $(DESTDIR)$(LIBDIR)
	sed -e 's|@PREFIX@|$(PREFIX)|;s|@NAME@|$(1)|;s|@VERSION@|$(VERSION_$(1))|;s|@RELEASE@|$(RELEASE)|' \
	    -e 's|@LIBDIR@|$(patsubst $(PREFIX)/%,$$$${prefix}/%,$(LIBDIR))|' \
	    -e 's|@INCLUDEDIR@|$(patsubst $(PREFIX)/%,$$$${prefix}/%,$(INCLUDEDIR))|' \
	    -e 's|@DESCRIPTION@|$(DESCRIPTION_$(1))|' \
	    -e "s|@PRIVATE@|$$$$(sed 's/-lgcc_s *//;s/ *-lc *$$$$//' $(BUILD)/$(PACKAGE_$(1)).libs)|" \
	    capi/link/dat.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/$(1).pc
	chmod 644 $(DESTDIR)$(LIBDIR)/pkgconfig/$(1).pc

.PHONY: uninstall-$(1)
uninstall-$(1):
	rm -f $(DESTDIR)$(LIBDIR)/lib$(1).a $(DESTDIR)$(LIBDIR)/lib$(1).so \
	    $(DESTDIR)$(LIBDIR)/lib$(1).so.$(firstword $(subst ., ,$(VERSION_$(1)))) \
	    $(DESTDIR)$(LIBDIR)/lib$(1).so.$(VERSION_$(1)) $(DESTDIR)$(LIBDIR)/pkgconfig/$(1).pc
	rm -f $(patsubst include/%,$(DESTDIR)$(INCLUDEDIR)/%,$(wildcard include/$(1)/*.h))
	@rmdir $(DESTDIR)$(INCLUDEDIR)/$(1) 2>/dev/null || true
endef
$(foreach name,$(NAMES),$(eval $(call library,$(name))))

install: install-lib install-dev install-tools

# The loader finds new libraries by its cache, which only root can write.
install-lib: $(addprefix install-lib-,$(NAMES))
	@if test -z "$(DESTDIR)" && test "$$(id -u)" = 0; then \
	    $(LDCONFIG) || echo "run ldconfig, so that programs find the libraries" >&2; \
	elif test -z "$(DESTDIR)"; then \
	    echo "programs find the libraries with LD_LIBRARY_PATH=$(LIBDIR)"; fi

PAGES_3 = $(wildcard docs/man/man3/*.3)
PAGES_5 = $(wildcard docs/man/man5/*.5)
PAGES_7 = $(wildcard docs/man/man7/*.7)
EXAMPLE_FILES = $(wildcard tests/c/examples/*.[ch] docs/examples/tutorial/*.[ch])

install-dev: $(addprefix install-dev-,$(NAMES))
	$(INSTALL) -d $(DESTDIR)$(MANDIR)/man3 $(DESTDIR)$(EXAMPLES)
	$(INSTALL) -m 644 $(PAGES_3) $(DESTDIR)$(MANDIR)/man3
	$(INSTALL) -m 644 $(EXAMPLE_FILES) $(DESTDIR)$(EXAMPLES)
	$(INSTALL) -m 644 capi/valgrind.supp $(DESTDIR)$(DOC)

COMPLETIONS = bash-completion/completions/dat zsh/site-functions/_dat fish/vendor_completions.d/dat.fish
DAT ?= $(TARGET)/release/dat

$(TARGET)/release/dat: FORCE
	@if command -v $(CARGO) >/dev/null; then $(CARGO_BUILD) build --release $(CARGOFLAGS) -p dat-cli; \
	elif test -e $@; then echo "$(CARGO) is not found: $@ is used unchanged"; \
	else echo "$(CARGO) is not found: install Rust (https://rustup.rs)" >&2; exit 1; fi

install-tools: $(DAT) verbs
	$(INSTALL) -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(MANDIR)/man5 \
	    $(DESTDIR)$(MANDIR)/man7 $(addprefix $(DESTDIR)$(DATADIR)/,$(dir $(COMPLETIONS)))
	$(INSTALL) -m 755 $(DAT) $(DESTDIR)$(BINDIR)/dat
	$(STRIP) $(DESTDIR)$(BINDIR)/dat
	$(INSTALL) -d $(DESTDIR)$(LIBDIR)/soft-verbs
	$(INSTALL) -m 755 $(VERBS) $(DESTDIR)$(LIBDIR)/soft-verbs
	$(DAT) man $(DESTDIR)$(MANDIR)/man1 >/dev/null
	$(INSTALL) -m 644 $(PAGES_5) $(DESTDIR)$(MANDIR)/man5
	$(INSTALL) -m 644 $(PAGES_7) $(DESTDIR)$(MANDIR)/man7
	$(DAT) completions bash >$(DESTDIR)$(DATADIR)/$(word 1,$(COMPLETIONS))
	$(DAT) completions zsh >$(DESTDIR)$(DATADIR)/$(word 2,$(COMPLETIONS))
	$(DAT) completions fish >$(DESTDIR)$(DATADIR)/$(word 3,$(COMPLETIONS))

uninstall: $(addprefix uninstall-,$(NAMES))
	rm -f $(patsubst $(VERBS_OUT)/%,$(DESTDIR)$(LIBDIR)/soft-verbs/%,$(VERBS))
	@rmdir $(DESTDIR)$(LIBDIR)/soft-verbs 2>/dev/null || true
	rm -f $(DESTDIR)$(BINDIR)/dat $(DESTDIR)$(MANDIR)/man1/dat.1 $(DESTDIR)$(MANDIR)/man1/dat-*.1 \
	    $(patsubst docs/man/%,$(DESTDIR)$(MANDIR)/%,$(PAGES_3) $(PAGES_5) $(PAGES_7)) \
	    $(addprefix $(DESTDIR)$(EXAMPLES)/,$(notdir $(EXAMPLE_FILES))) $(DESTDIR)$(DOC)/valgrind.supp \
	    $(addprefix $(DESTDIR)$(DATADIR)/,$(COMPLETIONS))
	@rmdir $(DESTDIR)$(EXAMPLES) $(DESTDIR)$(DOC) 2>/dev/null || true
	@if test -z "$(DESTDIR)" && test "$$(id -u)" = 0; then $(LDCONFIG) || true; fi

deb: all $(DAT)
	packaging/debian/build $(abspath $(TARGET))/packages

rpm: all $(DAT)
	packaging/rpm/build $(abspath $(TARGET))/packages

check:
	.ci/capi

# The calls whose instructions .ci/instructions counts, as a C program makes them: an object for each library.
COST = $(TARGET)/capi/cost
$(COST)/dat.so: VERSION_OF_API = -DDAT_1_2
$(COST)/%.so: tests/cost/operations.c tests/c/examples/end.h all
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(VERSION_OF_API) -Iinclude $(CFLAGS) -fPIC -shared $(LDFLAGS) -o $@ $< \
	    -L$(OUT) -l$* -Wl,-rpath,$(abspath $(OUT)) -pthread

cost: $(foreach name,$(NAMES),$(COST)/$(name).so)
	$(CARGO_BUILD) rustc --release $(CARGOFLAGS) -p dat-cost --bin dat-cost -- -C lto=fat

# Each provider through libdat2: ADAPTERS=shm BATCHES=31. UCX and libfabric are measured alternately if their
# headers are installed.
ADAPTERS ?= loopback shm tcp-lo auto
BATCHES ?= 31
has_header = $(shell $(CC) $(CPPFLAGS) -include $(1) -x c -E /dev/null >/dev/null 2>&1 && echo yes)
UCX = $(call has_header,ucp/api/ucp.h)
LIBFABRIC = $(call has_header,rdma/fabric.h)
BENCH = tests/bench
BENCH_FLAGS = $(CPPFLAGS) -Iinclude $(CFLAGS) $(LDFLAGS)
BENCH_LIBS = -L$(OUT) -ldat2 -Wl,-rpath,$(abspath $(OUT)) -pthread
$(COST)/providers: $(wildcard $(BENCH)/*.[ch]) tests/c/examples/end.h all
	@mkdir -p $(@D)
	$(CC) $(BENCH_FLAGS) $(if $(UCX),-DHAVE_UCX) $(if $(LIBFABRIC),-DHAVE_LIBFABRIC) -o $@ \
	    $(filter %.c,$(filter-out %/scale.c,$^)) $(BENCH_LIBS) $(if $(UCX),-lucp -lucs) $(if $(LIBFABRIC),-lfabric)

bench: $(COST)/providers
	$< -b $(BATCHES) -j $(COST)/providers.json $(ADAPTERS)
	$(BENCH)/tables $(COST)/providers.json $(ADAPTERS) >$(COST)/providers.md

# Many endpoints and connections: ADAPTERS=shm CONNECTIONS="100 1000".
CONNECTIONS ?= 1 100 1000
$(COST)/scale: $(BENCH)/scale.c $(BENCH)/session.c $(BENCH)/session.h tests/c/examples/end.h all
	@mkdir -p $(@D)
	$(CC) $(BENCH_FLAGS) -o $@ $(filter %.c,$^) $(BENCH_LIBS)

bench-scale: $(COST)/scale
	for adapter in $(ADAPTERS); do $< -b $(BATCHES) $$adapter $(CONNECTIONS) || exit; done

# The same program over both libraries: it takes the libdat2 that the environment names.
$(COST)/verbs/dat: tests/guest/bench/dat.c all
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -Iinclude $(CFLAGS) $(LDFLAGS) -o $@ $< -L$(OUT) -ldat2

bench-verbs-program: $(COST)/verbs/dat

ROUNDS ?= 5
BENCH_VERBS = $(abspath tests/guest/bench)
bench-verbs: $(COST)/verbs/dat
	.ci/guest run --seconds 3600 --share $(COST)/verbs -- $(BENCH_VERBS)/instructions \
	    $(abspath $(OUT)) $(abspath $<)
	.ci/guest run --counted --seconds 3600 --share $(COST)/verbs/counted -- $(BENCH_VERBS)/bench \
	    $(abspath $(OUT)) $(abspath $<) 1
	.ci/guest run --seconds 3600 --share $(COST)/verbs -- $(BENCH_VERBS)/bench \
	    $(abspath $(OUT)) $(abspath $<) $(ROUNDS)

clean:
	rm -rf $(OUT) $(VERBS_OUT)
