# SPDX-License-Identifier: GPL-2.0-or-later
#
#   make            build netflowd and netflowctl into build/
#   make run        install missing packages, build, start the daemon, show live data until Ctrl-C
#   make demo       make traffic and drops for 15 s, show them live, then drops, latency and status
#   make check      install missing packages, check the style, build everything, run every test
#   make lint       check the style only: format, shell and Python scripts, texts
#   make check-vm   run the integration suite on stock kernels in QEMU (more than an hour);
#                   VM_SUITE=vm-smoke runs a few tests (ten minutes)
#   make check-xen  test ring slots on a real Xen in QEMU
#   make bench      compare the cost of netflowd with its last release, bpftrace, perf and empty programs
#   make soak       check memory, ledger and times under mixed load for SOAK_SECONDS=1800, and then with
#                   SOAK_NAMESPACES=300000 namespaces and cgroups that come and go
#   make fuzz       fuzz each parser; FUZZ_SECONDS=300 for each
#   make packages   install the Debian packages of tests/packages that are missing
#   make format     format the C sources in place
#   make install    install both programs and the alert rules; PREFIX=/usr/local DESTDIR=
#   make uninstall  remove the installed files, except those in /etc/netflowd
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
ARCH := $(shell uname -m | sed -e 's/x86_64/x86/' -e 's/aarch64/arm64/')

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
CFLAGS ?= -O2 -g
CPPFLAGS += -D_GNU_SOURCE -I. -I$(BUILD) -DNETFLOWD_VERSION='"$(VERSION)"'
override CFLAGS += -std=gnu17 $(WARNINGS) -Werror -fstack-protector-strong

ifeq ($(VARIANT),asan)
override CFLAGS += -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
ifeq ($(VARIANT),clang)
CC := $(CLANG)
endif
ifeq ($(VARIANT),fuzz)
CC := $(CLANG)
override CFLAGS += -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
endif

DAEMON_LIBS := -lbpf -lsystemd -ljansson -ltraceevent -linih -lcap -lseccomp -lpcap -lm
CLI_LIBS := -ljansson -lncursesw
TEST_LIBS := $(DAEMON_LIBS) $(CLI_LIBS) -lcmocka

COMMON_SRC := $(wildcard common/*.c)
DAEMON_SRC := $(sort $(shell find daemon -name '*.c'))
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
all: $(OUT)/netflowd $(OUT)/netflowctl
tools: $(TOOL_BIN) $(TOOL_LIB)
unit: $(UNIT_BIN)
fuzzers: $(FUZZ_BIN)

# ---- the programs in the kernel --------------------------------------------

# linux/types.h includes asm/types.h, which Debian keeps in a directory for each architecture.
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
BPF_FLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -Wall -Wextra -Werror \
	-Wno-unused-parameter -Wno-missing-field-initializers -Ibpf -idirafter /usr/include/$(MULTIARCH)

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c Makefile
	@mkdir -p $(@D)
	$(call say,BPF,$@) $(CLANG) $(BPF_FLAGS) -MMD -MP -c $< -o $@

# tests/bench compares netflowd with these empty programs: no BPF tracer on the same hooks costs less.
$(BUILD)/bpf/%.bpf.o: tests/bench/%.bpf.c Makefile
	@mkdir -p $(@D)
	$(call say,BPF,$@) $(CLANG) $(BPF_FLAGS) -MMD -MP -c $< -o $@

$(BUILD)/bpf/%.skel.h: $(BUILD)/bpf/%.bpf.o
	$(call say,SKEL,$@) $(BPFTOOL) gen skeleton $< name $* > $@

$(call obj,$(wildcard daemon/probe/bpf/*.c)): | $(BUILD)/bpf/netflowd.skel.h $(BUILD)/bpf/slots.skel.h

# ---- the interface file, embedded in the daemon, which serves it ------------

# Each line of a text becomes a C string literal.
C_STRING := sed -e 's/[\\"]/\\&/g' -e 's/^/"/' -e 's/$$/\\n"/'

$(BUILD)/interface.h: daemon/control/io.netflowd.varlink Makefile
	@mkdir -p $(@D)
	$(call say,GEN,$@) { echo 'static const char interface_text[] ='; $(C_STRING) $<; echo ';'; } > $@

$(OUT)/daemon/control/control.o: | $(BUILD)/interface.h

# ---- the knowledge, embedded in the daemon and in netflowctl ----------------

$(BUILD)/knowledge_table.h: config/knowledge/generate $(wildcard config/knowledge/*.ini) Makefile
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

# ---- compile, link ----------------------------------------------------------

$(OUT)/%.o: %.c Makefile
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

$(OUT)/tests/unit/%: $(OUT)/tests/unit/%.o $(CLI_LIB) $(DAEMON_LIB) $(COMMON_LIB)
	$(call say,LD,$@) $(CC) $(CFLAGS) $(LDFLAGS) $^ $(TEST_LIBS) -lm -o $@

# The programs for the kernel, compiled for user space against a stand-in for it.  They use pragmas
# of clang's BPF target, and have the warnings that BPF_FLAGS turns off for them.
BPF_UNIT_FLAGS := -Itests/unit/bpf/stand-in -fno-strict-aliasing -Wno-unknown-pragmas \
	-Wno-unknown-attributes -Wno-ignored-attributes -Wno-pragma-clang-attribute \
	-Wno-missing-prototypes -Wno-unused-parameter -Wno-missing-field-initializers
$(OUT)/tests/unit/bpf/%.o: override CFLAGS += $(BPF_UNIT_FLAGS)
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

.PHONY: packages run demo check lint format check-vm check-xen bench soak fuzz install uninstall clean

# The script asks apt only for missing packages: a machine that has them all needs no network.
packages:
	$(call say,DEB,tests/packages) tests/install-packages

run: packages
	+$(Q)$(MAKE) all
	$(Q)$(AS_ROOT) tests/demo/live

demo: packages
	+$(Q)$(MAKE) all tools
	$(Q)$(AS_ROOT) tests/demo/demo

# The asan and fuzz builds have tests of their own; the clang build only has to compile.
check: packages
	+$(Q)$(MAKE) VARIANT=plain all tools unit $(BUILD)/bpf/empty.bpf.o
	+$(Q)$(MAKE) VARIANT=asan all unit
	+$(Q)$(MAKE) VARIANT=clang all
	+$(Q)$(MAKE) VARIANT=fuzz fuzzers
	$(Q)$(AS_ROOT) tests/run

lint: packages
	$(Q)tests/run lint

format:
	$(Q)clang-format-14 -i $$(git ls-files '*.c' '*.h')

# The guests run the binaries that are built here.  The first run downloads the kernels to build/vm.
VM_SUITE := vm
check-vm: packages
	+$(Q)$(MAKE) VARIANT=plain all tools
	$(Q)$(AS_ROOT) tests/run $(VM_SUITE)

# The first run downloads Xen to build/vm.
check-xen: packages
	+$(Q)$(MAKE) VARIANT=plain all tools
	$(Q)$(AS_ROOT) tests/run xen

bench: packages
	+$(Q)$(MAKE) all tools $(BUILD)/bpf/empty.bpf.o
	$(Q)$(AS_ROOT) tests/bench/run

soak: packages
	+$(Q)$(MAKE) all tools
	$(Q)$(AS_ROOT) tests/soak/run $(SOAK_SECONDS)
	$(Q)$(AS_ROOT) tests/soak/months $(SOAK_NAMESPACES)

fuzz: packages
	+$(Q)$(MAKE) VARIANT=fuzz fuzzers
	$(Q)FUZZ_SECONDS=$(FUZZ_SECONDS) tests/run fuzz

# The daemon embeds the shipped rules; administrators read and copy the installed files.
RULES := $(PREFIX)/share/netflowd/alerts.d

install: all
	install -D -m 0755 $(OUT)/netflowd $(DESTDIR)$(PREFIX)/sbin/netflowd
	install -D -m 0755 $(OUT)/netflowctl $(DESTDIR)$(PREFIX)/bin/netflowctl
	install -d -m 0755 $(DESTDIR)$(RULES) $(DESTDIR)/etc/netflowd/alerts.d
	install -m 0644 config/alerts.d/*.conf $(DESTDIR)$(RULES)

# Files in /etc stay, because the administrator wrote them.
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/sbin/netflowd $(DESTDIR)$(PREFIX)/bin/netflowctl
	rm -rf $(DESTDIR)$(RULES)

clean:
	rm -rf $(BUILD)

# build/vm holds unpacked Debian packages and no dependency file of ours.
-include $(shell find $(BUILD) -path $(BUILD)/vm -prune -o -type f -name '*.d' -print 2>/dev/null)
