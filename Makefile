# SPDX-License-Identifier: GPL-2.0-or-later
#
#   make            build netflowd and netflowctl into build/
#   make run        install missing packages, build, start the daemon, show live data until Ctrl-C
#   make demo       make traffic and drops for 15 s, show them live, then drops, latency and status
#   make check      install missing packages, check the style, build, run the tests of this host
#   make check-deep  build with clang, sanitizers and fuzzers, and run the tests of those, those on
#                   trace events, and the mutations
#   make lint       check the style only: format, shell and Python scripts, texts
#   make check-vm   run the integration suite on stock kernels in QEMU: what has not passed at this
#                   commit before; VM_SUITE=vm-smoke runs a few tests (half an hour)
#   make check-xen  test ring slots on a real Xen in QEMU
#   make check-machines  check-systemd, check-vm and check-xen, whose machines share the CPUs
#   make check-guests  a few of their machines, which the commit draws (NETFLOWD_DRAW=all: a short
#                   form of all of them); .ci/run runs check, check-deep and this, with
#                   NETFLOWD_DRAW set
#   make check-all  everything there is, in three hours: all these checks, soak and fuzz
#   make check-deb  build the Debian packages, run lintian, install, upgrade, remove and purge them
#   make check-trixie  build them on Debian 13; make check-arm64: cross-build and load them for arm64
#   make check-shapes  compare what is shown with the truth in every network and load of tests/shapes
#   make bench      measure what netflowd costs under load, beside an untraced host and other tracers;
#                   BENCH="--load udp --rounds 6" for a quick look; make bench-parts: drops, steps of load, services, disk, replay
#   make soak       check memory, ledger and times under mixed load for SOAK_SECONDS=1800, and then with
#                   SOAK_NAMESPACES=300000 namespaces and cgroups that come and go
#   make fuzz       fuzz each parser; FUZZ_SECONDS=300 for each
#   make packages   install the Debian packages of tests/packages that are missing
#   make format     format the C sources in place
#   make check-systemd  test the packages and the service with systemd, in a Debian 12 in QEMU
#   make generated  rewrite the files that are made from tables: config/netflowd.conf, lists in docs/man
#   make install    install programs, units, pages, completions and rules; PREFIX=/usr/local DESTDIR=
#   make uninstall  remove the installed files, except those in /etc/netflowd
#   make deb        build the Debian packages netflowd and netflowctl into build/deb
#   make clean      delete build/
#
# Attaching probes needs root.  For another user, only the steps that need root ask for it, with
# sudo or su.
#
# V=1 shows the command lines.  A build writes only into build/.

.DELETE_ON_ERROR:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:

CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PREFIX ?= /usr/local
# Programs that netflowd starts itself.
LIBEXEC ?= $(PREFIX)/libexec/netflowd
FUZZ_SECONDS ?= 300
SOAK_SECONDS ?= 1800
SOAK_NAMESPACES ?= 300000

# Each variant has its own directory and flags: plain, asan (ASan and UBSan), clang (the warnings of
# the other compiler) and fuzz.
VARIANT ?= plain
BUILD := build
OUT := $(BUILD)/$(VARIANT)

Q := $(if $(V),,@)
AS_ROOT := tests/as-root
say = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2);)

VERSION := $(shell git describe --always --dirty --tags 2>/dev/null || echo unknown)
# The architecture for which $(CC) compiles, as the kernel's headers spell it.
ARCH := $(shell $(CC) -dumpmachine | sed -e 's/^x86_64-.*/x86/' -e 's/^aarch64-.*/arm64/')

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
CFLAGS ?= -O2 -g
# Packages set it to nothing: a newer compiler may warn about more.
WERROR ?= -Werror
CPPFLAGS += -D_GNU_SOURCE -I. -I$(BUILD) -DNETFLOWD_LIBEXEC='"$(LIBEXEC)"'
override CFLAGS += -std=gnu17 $(WARNINGS) $(WERROR) -fstack-protector-strong
override LDFLAGS += -Wl,--build-id -Wl,--as-needed

ifeq ($(VARIANT),asan)
override CFLAGS += -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
# It is built for its warnings only, and never run.
ifeq ($(VARIANT),clang)
CC := $(CLANG)
override CFLAGS += -O0 -g0
endif
ifeq ($(VARIANT),fuzz)
CC := $(CLANG)
override CFLAGS += -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
endif

DAEMON_LIBS := -lbpf -lsystemd -ljansson -ltracecmd -ltracefs -ltraceevent -linih -lcap -lseccomp -lpcap \
	-lmicrohttpd -lsqlite3 -lpthread -lm
POST_LIBS := -lcurl -ljansson
CLI_LIBS := -ljansson -lncursesw -lm
TEST_LIBS := $(DAEMON_LIBS) $(CLI_LIBS) -lcmocka

COMMON_SRC := $(wildcard common/*.c)
DAEMON_SRC := $(sort $(shell find daemon -name '*.c' -not -path 'daemon/post/*'))
# The fuzzers need the parsers only, and clang takes long for the rest with its sanitizers.
ifeq ($(VARIANT),fuzz)
DAEMON_SRC := $(wildcard $(patsubst %,daemon/%/*.c,alert core correlator json rows probe/events) \
	$(addprefix daemon/,cost/pause_text.c export/negotiate.c history/fields.c \
	history/place_key.c history/series.c history/series_name.c history/baseline_key.c history/stored_record.c \
	history/varint.c history/vector.c http/address.c kernel/module_map.c \
	kernel/symbols.c metrics/families.c metrics/text.c store/locations.c \
	store/resolve.c varlink/message.c))
endif
CLI_SRC := $(sort $(shell find cli -name '*.c'))
UNIT_SRC := $(sort $(shell find tests/unit -name 'test_*.c'))
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
TOOL_SRC := $(wildcard tests/tools/*.c tests/bench/*.c)
TOOL_SRC := $(filter-out %.bpf.c,$(TOOL_SRC))

obj = $(patsubst %.c,$(OUT)/%.o,$(1))
# Each program has an archive without its main(), and both share a third.  A unit test links all
# three.
COMMON_LIB := $(OUT)/libcommon.a
DAEMON_LIB := $(OUT)/libnetflowd.a
CLI_LIB := $(OUT)/libnetflowctl.a
DAEMON_MAIN := $(OUT)/daemon/main.o
CLI_MAIN := $(OUT)/cli/command/main.o

UNIT_BIN := $(patsubst %.c,$(OUT)/%,$(UNIT_SRC))
FUZZ_BIN := $(patsubst %.c,$(OUT)/%,$(FUZZ_SRC))
TOOL_BIN := $(patsubst %.c,$(OUT)/%,$(TOOL_SRC))
# Libraries for LD_PRELOAD.
TOOL_LIB := $(patsubst %.c,$(OUT)/%.so,$(wildcard tests/tools/preload/*.c))

.PHONY: all tools unit fuzzers
all: $(OUT)/netflowd $(OUT)/netflowctl $(OUT)/netflowd-post
tools: $(TOOL_BIN) $(TOOL_LIB)
unit: $(UNIT_BIN)
fuzzers: $(FUZZ_BIN)

# ---- the programs in the kernel --------------------------------------------

# linux/types.h includes asm/types.h, which Debian keeps in a directory for each architecture.
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
BPF_FLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -Wall -Wextra -Werror \
	-Wno-unused-parameter -Wno-missing-field-initializers -Ibpf -idirafter /usr/include/$(MULTIARCH) \
	-ffile-prefix-map=$(CURDIR)=.

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c Makefile
	@mkdir -p $(@D)
	$(call say,BPF,$@) $(CLANG) $(BPF_FLAGS) -MMD -MP -c $< -o $@

# tests/bench compares netflowd with these empty programs: no BPF tracer on the same hooks costs less.
$(BUILD)/bpf/%.bpf.o: tests/bench/%.bpf.c Makefile
	@mkdir -p $(@D)
	$(call say,BPF,$@) $(CLANG) $(BPF_FLAGS) -MMD -MP -c $< -o $@

$(BUILD)/bpf/%.skel.h: $(BUILD)/bpf/%.bpf.o
	$(call say,SKEL,$@) $(BPFTOOL) gen skeleton $< name $* > $@

# The header of libtracecmd includes those of the other two by their plain names.
$(OUT)/daemon/probe/replay/%.o: CPPFLAGS += -isystem /usr/include/traceevent -isystem /usr/include/tracefs
# The header of libtracefs includes those of libtraceevent without their directory.
$(OUT)/daemon/probe/tracefs/%.o: CPPFLAGS += -isystem /usr/include/traceevent

$(call obj,$(wildcard daemon/probe/bpf/*.c)): | $(BUILD)/bpf/netflowd.skel.h $(BUILD)/bpf/slots.skel.h

# ---- the version ------------------------------------------------------------

# Written only when the version changes, so that nothing is compiled again without a reason.
$(BUILD)/version_text.h: FORCE
	@mkdir -p $(@D)
	@echo '#define NETFLOWD_VERSION "$(VERSION)"' | cmp -s - $@ || \
		echo '#define NETFLOWD_VERSION "$(VERSION)"' > $@

.PHONY: FORCE
FORCE:

# ---- the interface file, embedded in the daemon, which serves it ------------

# Each line of a text becomes a C string literal.
C_STRING := sed -e 's/[\\"]/\\&/g' -e 's/^/"/' -e 's/$$/\\n"/'

$(BUILD)/interface.h: daemon/control/io.netflowd.varlink Makefile
	@mkdir -p $(@D)
	$(call say,GEN,$@) { echo 'static const char interface_text[] ='; $(C_STRING) $<; echo ';'; } > $@

$(OUT)/daemon/control/control.o: | $(BUILD)/interface.h

# ---- the knowledge, embedded in the daemon and in netflowctl ----------------

$(BUILD)/knowledge_table.h: config/knowledge/generate $(wildcard config/knowledge/*.ini) bpf/records.h Makefile
	@mkdir -p $(@D)
	$(call say,GEN,$@) python3 $< $(filter %.ini,$^) > $@

$(OUT)/common/knowledge.o: | $(BUILD)/knowledge_table.h

# ---- the shipped rules, embedded in the daemon with their file names --------

$(BUILD)/shipped_rules.h: $(sort $(wildcard config/alerts.d/*.conf)) Makefile
	@mkdir -p $(@D)
	$(call say,GEN,$@) { echo 'static const struct shipped shipped[] = {'; \
		for file in $(filter %.conf,$^); do \
			echo "{\"shipped/$${file##*/}\","; $(C_STRING) $$file; echo '},'; \
		done; echo '};'; } > $@

$(OUT)/daemon/alert/rules.o: | $(BUILD)/shipped_rules.h

# ---- the style of the report, embedded in netflowctl ----

$(BUILD)/report_style.h: cli/report/report.css Makefile
	@mkdir -p $(@D)
	$(call say,GEN,$@) { echo 'static const char report_style[] ='; $(C_STRING) $<; echo ';'; } > $@

$(OUT)/cli/report/write.o: | $(BUILD)/report_style.h

# ---- compile, link ----------------------------------------------------------

$(OUT)/%.o: %.c Makefile | $(BUILD)/version_text.h
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(COMMON_LIB): $(call obj,$(COMMON_SRC))
$(DAEMON_LIB): $(filter-out $(DAEMON_MAIN),$(call obj,$(DAEMON_SRC)))
$(CLI_LIB): $(filter-out $(CLI_MAIN),$(call obj,$(CLI_SRC)))

# Files in different rooms may have the same name, so ar must not replace members by name.
$(OUT)/%.a:
	$(call say,AR,$@) rm -f $@ && ar qcs $@ $^

$(OUT)/netflowd: $(DAEMON_MAIN) $(DAEMON_LIB) $(COMMON_LIB)
	$(call say,LD,$@) $(CC) $(CFLAGS) $(LDFLAGS) $^ $(DAEMON_LIBS) -o $@

$(OUT)/netflowctl: $(CLI_MAIN) $(CLI_LIB) $(COMMON_LIB)
	$(call say,LD,$@) $(CC) $(CFLAGS) $(LDFLAGS) $^ $(CLI_LIBS) -lm -o $@

# Alertmanager's client: a program of its own, so that the daemon links neither HTTP nor TLS.
$(OUT)/netflowd-post: $(OUT)/daemon/post/main.o $(COMMON_LIB)
	$(call say,LD,$@) $(CC) $(CFLAGS) $(LDFLAGS) $^ $(POST_LIBS) -o $@

$(OUT)/tests/unit/%: $(OUT)/tests/unit/%.o $(CLI_LIB) $(DAEMON_LIB) $(COMMON_LIB)
	$(call say,LD,$@) $(CC) $(CFLAGS) $(LDFLAGS) $^ $(TEST_LIBS) -lm -o $@

# main() of all unit tests.
$(UNIT_BIN): $(OUT)/tests/unit/test.o
# These wait for timers, in simulated time.
SIMULATED := $(addprefix tests/unit/,common/test_log daemon/cost/test_governor \
	daemon/kernel/test_attribution daemon/process/test_loop daemon/test_watchdog)
$(addprefix $(OUT)/,$(SIMULATED)): $(OUT)/tests/unit/simulated_time.o
# These let time pass; other threads of theirs wait, too.
MOVED := $(addprefix tests/unit/,daemon/store/test_records daemon/varlink/test_strangers)
$(addprefix $(OUT)/,$(MOVED)): $(OUT)/tests/unit/moved_time.o

# A variable: tests/unit/mutations links unit tests itself.
show-%:
	@echo $($*)

# The programs for the kernel, compiled for user space against a stand-in for it.  They use pragmas
# of clang's BPF target, and have the warnings that BPF_FLAGS turns off for them.
BPF_UNIT_FLAGS := -Itests/unit/bpf/stand-in -fno-strict-aliasing -Wno-unknown-pragmas \
	-Wno-unknown-attributes -Wno-ignored-attributes -Wno-pragma-clang-attribute \
	-Wno-missing-prototypes -Wno-unused-parameter -Wno-missing-field-initializers
# Each of them compiles all programs, for which gcc takes five times as long with optimization.  One
# has it: for the warnings that follow the flow, and because it simulates for seconds.
$(OUT)/tests/unit/bpf/%.o: override CFLAGS += $(BPF_UNIT_FLAGS) -O0
$(BUILD)/plain/tests/unit/bpf/test_simulation.o: override CFLAGS += -O2
$(OUT)/tests/unit/bpf/%: $(OUT)/tests/unit/bpf/%.o $(OUT)/tests/unit/bpf/stand_in.o
	$(call say,LD,$@) $(CC) $(CFLAGS) $(LDFLAGS) $^ -lcmocka -o $@

$(OUT)/tests/fuzz/%: $(OUT)/tests/fuzz/%.o $(DAEMON_LIB) $(COMMON_LIB)
	$(call say,LD,$@) $(CC) $(CFLAGS) -fsanitize=fuzzer $(LDFLAGS) $^ $(DAEMON_LIBS) -o $@

$(OUT)/tests/tools/preload/%.o: override CFLAGS += -fPIC
$(OUT)/tests/tools/preload/%.so: $(OUT)/tests/tools/preload/%.o
	$(call say,LD,$@) $(CC) $(CFLAGS) $(LDFLAGS) -shared $^ -lbpf -o $@

# These two use BPF objects; the other tools need only libc.
$(OUT)/tests/bench/attach_empty $(OUT)/tests/tools/age: TOOL_LIBS := -lbpf
$(OUT)/tests/%: $(OUT)/tests/%.o
	$(call say,LD,$@) $(CC) $(CFLAGS) $(LDFLAGS) $^ $(TOOL_LIBS) -o $@

# ---- install, run, test -----------------------------------------------------

.PHONY: packages run demo check check-deep lint format check-vm check-xen check-systemd check-machines check-guests check-all check-deb check-trixie check-arm64 check-shapes check-nowhere bench bench-parts soak fuzz generated clean

# What follows builds with all CPUs, or with as many jobs as make -j names.
JOBS = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

# The script asks apt only for missing packages: a machine that has them all needs no network.
packages:
	$(call say,DEB,tests/packages) tests/install-packages

run: packages
	+$(Q)$(MAKE) $(JOBS) all
	$(Q)$(AS_ROOT) tests/demo/live

demo: packages
	+$(Q)$(MAKE) $(JOBS) all tools
	$(Q)$(AS_ROOT) tests/demo/demo

check: packages
	+$(Q)$(MAKE) $(JOBS) VARIANT=plain all tools unit $(BUILD)/bpf/empty.bpf.o
	$(Q)$(AS_ROOT) tests/run

# The asan and fuzz builds have tests of their own; the clang build only has to compile.
check-deep: packages
	+$(Q)$(MAKE) $(JOBS) VARIANT=plain all tools unit
	+$(Q)$(MAKE) $(JOBS) VARIANT=asan all unit
	+$(Q)$(MAKE) $(JOBS) VARIANT=clang all
	+$(Q)$(MAKE) $(JOBS) VARIANT=fuzz fuzzers
	$(Q)$(AS_ROOT) tests/run unit-asan integration-asan integration-tracefs mutations fuzz

lint: packages
	$(Q)tests/run lint

format:
	$(Q)clang-format-14 -i $$(git ls-files '*.c' '*.h')

# The guests run the binaries that are built here.  The first run downloads the kernels to build/vm.
VM_SUITE := vm
check-vm: packages
	+$(Q)$(MAKE) $(JOBS) VARIANT=plain all tools
	$(Q)$(AS_ROOT) tests/run $(VM_SUITE)

# The first run downloads Xen to build/vm.
XEN_SUITE := xen
check-xen: packages
	+$(Q)$(MAKE) $(JOBS) VARIANT=plain all tools
	$(Q)$(AS_ROOT) tests/run $(XEN_SUITE)

# It builds the packages itself.  The first run builds a Debian image in build/vm.
check-systemd: packages
	$(Q)$(AS_ROOT) tests/run systemd

check-machines: packages
	+$(Q)$(MAKE) $(JOBS) VARIANT=plain all tools
	$(Q)$(AS_ROOT) tests/run systemd $(VM_SUITE) $(XEN_SUITE)

check-guests: packages
	+$(Q)$(MAKE) $(JOBS) VARIANT=plain all tools
	$(Q)$(AS_ROOT) tests/run guests-sample

# One after the other, and all of them even if one fails.  The machines leave out what passed before.
ALL_CHECKS := check check-deep check-shapes check-machines check-deb check-trixie check-arm64 soak \
	      check-nowhere
check-all: export FUZZ_SECONDS := $(FUZZ_SECONDS)
check-all:
	+$(Q)failed= times=; for check in $(ALL_CHECKS); do \
		begin=$$(date +%s); $(MAKE) $$check || failed="$$failed $$check"; \
		times="$$times, $$check $$((($$(date +%s) - begin + 30) / 60))"; \
	done; \
	echo "minutes$$times"; [ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

# They build the packages themselves.  The first run fetches Debian systems to build/debian.
check-deb: packages
	+$(Q)$(MAKE) $(JOBS) VARIANT=plain all
	$(Q)$(AS_ROOT) tests/run deb

check-trixie: packages
	$(Q)$(AS_ROOT) tests/run trixie

check-arm64: packages
	$(Q)$(AS_ROOT) tests/run arm64

# After the others: a test that passed in none of them is listed, or a failure.
check-nowhere:
	$(Q)$(AS_ROOT) tests/run nowhere

# 25 minutes.
check-shapes: packages
	+$(Q)$(MAKE) $(JOBS) VARIANT=plain all tools
	$(Q)$(AS_ROOT) tests/run shapes

bench: packages
	+$(Q)$(MAKE) $(JOBS) all tools $(BUILD)/bpf/empty.bpf.o
	$(Q)$(AS_ROOT) tests/bench/run $(BENCH)

bench-parts: packages
	+$(Q)$(MAKE) $(JOBS) all tools $(BUILD)/bpf/empty.bpf.o
	$(Q)$(AS_ROOT) tests/bench/drops
	$(Q)$(AS_ROOT) tests/bench/steps
	$(Q)$(AS_ROOT) tests/bench/scrape
	$(Q)$(AS_ROOT) tests/bench/replay
	$(Q)$(AS_ROOT) tests/bench/services
	$(Q)$(AS_ROOT) tests/bench/history $(BUILD)

soak: packages
	+$(Q)$(MAKE) $(JOBS) all tools
	$(Q)$(AS_ROOT) tests/soak/run $(SOAK_SECONDS)
	$(Q)$(AS_ROOT) tests/soak/months $(SOAK_NAMESPACES)

fuzz: packages
	+$(Q)$(MAKE) $(JOBS) VARIANT=fuzz fuzzers
	$(Q)FUZZ_SECONDS=$(FUZZ_SECONDS) tests/run fuzz

# ---- files that are made from tables, and committed --------------------------

# They are committed so that no build, a cross build for example, has to run what it built.
# tests/integration/test_generated.py compares them.
generated: all
	$(Q)$(OUT)/netflowd --print-default-config > config/netflowd.conf
	$(Q)docs/man/generate $(OUT)

# ---- install, packages --------------------------------------------------------
#
# PREFIX      /usr/local: everything but the configuration
# SYSCONFDIR  /etc: the configuration, /etc/netflowd
# DESTDIR     a directory that stands for the root of the file system; empty: /
# UNITS       no: install no units (the packages let debhelper do it)

SYSCONFDIR ?= /etc
UNITS ?= yes

SBIN_DIR := $(DESTDIR)$(PREFIX)/sbin
BIN_DIR := $(DESTDIR)$(PREFIX)/bin
SHARE_DIR := $(DESTDIR)$(PREFIX)/share/netflowd
MAN_DIR := $(DESTDIR)$(PREFIX)/share/man
BASH_DIR := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSH_DIR := $(DESTDIR)$(PREFIX)/share/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)
UNIT_DIR := $(DESTDIR)$(PREFIX)/lib/systemd/system
SYSUSERS_DIR := $(DESTDIR)$(PREFIX)/lib/sysusers.d
TMPFILES_DIR := $(DESTDIR)$(PREFIX)/lib/tmpfiles.d
ETC_DIR := $(DESTDIR)$(SYSCONFDIR)/netflowd

# The daemon embeds the alert rules and the knowledge; administrators read and copy the installed
# rules.  Everything in config/ but those two and the configuration itself is for other programs:
# Prometheus, Grafana and so on.
EXTRAS := $(filter-out config/alerts.d/ config/knowledge/,$(wildcard config/*/))
PAGES := $(wildcard docs/man/*.[1-8])
SERVICES := $(wildcard systemd/*.service systemd/*.socket)
# Examples for an administrator, who copies what the host needs.
DROP_INS := $(wildcard systemd/drop-ins/*.conf)
page_dir = $(MAN_DIR)/man$(patsubst .%,%,$(suffix $(1)))

.PHONY: install install-units uninstall deb

install: all $(if $(filter yes,$(UNITS)),install-units)
	install -D -m 0755 $(OUT)/netflowd $(SBIN_DIR)/netflowd
	install -D -m 0755 $(OUT)/netflowctl $(BIN_DIR)/netflowctl
	install -D -m 0755 $(OUT)/netflowd-post $(DESTDIR)$(LIBEXEC)/netflowd-post
	install -d -m 0755 $(SHARE_DIR)/alerts.d $(ETC_DIR)/alerts.d $(ETC_DIR)/netflowd.conf.d
	install -m 0644 config/alerts.d/*.conf $(SHARE_DIR)/alerts.d
	$(foreach extra,$(EXTRAS),find $(extra) -type f -exec \
		install -D -m 0644 {} $(SHARE_DIR)/{} ';' &&) true
	# The administrator's file stays as it is.
	[ -e $(ETC_DIR)/netflowd.conf ] || install -m 0644 config/netflowd.conf $(ETC_DIR)/netflowd.conf
	$(foreach file,$(DROP_INS),install -D -m 0644 $(file) $(SHARE_DIR)/systemd/$(notdir $(file)) &&) true
	$(foreach page,$(PAGES),install -D -m 0644 $(page) $(call page_dir,$(page))/$(notdir $(page)) &&) true
	install -D -m 0644 cli/completion/netflowctl.bash $(BASH_DIR)/netflowctl
	install -D -m 0644 cli/completion/netflowd.bash $(BASH_DIR)/netflowd
	install -D -m 0644 cli/completion/_netflowctl $(ZSH_DIR)/_netflowctl
	install -D -m 0644 cli/completion/_netflowd $(ZSH_DIR)/_netflowd

# The units name the programs in /usr.  systemd also reads these directories below /usr/local.
install-units:
	$(foreach unit,$(SERVICES),install -d -m 0755 $(UNIT_DIR) && \
		sed -e 's|/usr/sbin/|$(PREFIX)/sbin/|g' $(unit) \
			> $(UNIT_DIR)/$(notdir $(unit)) && \
		chmod 0644 $(UNIT_DIR)/$(notdir $(unit)) &&) true
	$(if $(wildcard systemd/netflowd.sysusers),install -D -m 0644 systemd/netflowd.sysusers \
		$(SYSUSERS_DIR)/netflowd.conf)
	$(if $(wildcard systemd/netflowd.tmpfiles),install -D -m 0644 systemd/netflowd.tmpfiles \
		$(TMPFILES_DIR)/netflowd.conf)

# Files in /etc stay, because the administrator may have changed them.
uninstall:
	rm -f $(SBIN_DIR)/netflowd $(BIN_DIR)/netflowctl
	rm -rf $(SHARE_DIR) $(DESTDIR)$(LIBEXEC)
	rm -f $(foreach page,$(PAGES),$(call page_dir,$(page))/$(notdir $(page)))
	rm -f $(BASH_DIR)/netflowctl $(BASH_DIR)/netflowd $(ZSH_DIR)/_netflowctl $(ZSH_DIR)/_netflowd
	rm -f $(foreach unit,$(SERVICES),$(UNIT_DIR)/$(notdir $(unit)))
	rm -f $(SYSUSERS_DIR)/netflowd.conf $(TMPFILES_DIR)/netflowd.conf

# The packages are built in a copy of what git knows, as from a source package.
deb: packages
	$(Q)debian/build $(BUILD)/deb

clean:
	rm -rf $(BUILD)

# These hold unpacked Debian packages and no dependency file of ours.
NOT_OURS := $(BUILD)/vm $(BUILD)/deb $(BUILD)/debian
-include $(shell find $(BUILD) $(foreach place,$(NOT_OURS),-path $(place) -prune -o) \
	-type f -name '*.d' -print 2>/dev/null)
