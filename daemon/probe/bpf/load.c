/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Load and attach the programs, each on its own account: one that this kernel
 * lacks the event for, refuses or cannot attach is told as such, and the rest
 * go on without it.
 */
#include "daemon/probe/bpf/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "build/bpf/netflowd.skel.h"
#include "daemon/probe/probes.h"
#include "daemon/util/cleanup.h"

/*
 * What libbpf said of a program that the kernel refused.  libbpf has no way to
 * load the others without it, and tells the name in its messages only.
 */
static struct {
	char program[64];
	char last[BACKEND_REASON_MAX];
} refused;

static int listen_to_libbpf(enum libbpf_print_level level, const char *format, va_list arguments)
{
	char line[BACKEND_REASON_MAX], program[sizeof(refused.program)];
	int error;

	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(line, sizeof(line), format, arguments);
	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "libbpf: prog '%63[^']': failed to load: %d", program, &error) == 2)
		memcpy(refused.program, program, sizeof(program));
	else if (level == LIBBPF_WARN)
		memcpy(refused.last, line, sizeof(line));
	return 0;
}

struct bpf_program *bpf_probe_program(const struct backend_bpf_state *state, enum nf_probe probe)
{
	char name[64];

	snprintf(name, sizeof(name), "nf_%s", probe_specs[probe].name);
	return bpf_object__find_program_by_name(state->skel->obj, name);
}

static unsigned int log2_of(uint64_t power)
{
	return (unsigned int)__builtin_ctzll(power);
}

/* A kernel stack is 16 KiB on the supported machines, but never less than a page. */
static uint32_t kernel_stack_size(void)
{
	long page = sysconf(_SC_PAGESIZE);

	return page > 16384 ? (uint32_t)page : 16384;
}

static void set_constants(struct backend_bpf_state *state, const struct backend_settings *settings)
{
	typeof(state->skel->rodata->settings) *to = &state->skel->rodata->settings;

	to->inflight_shift = 64 - log2_of(settings->inflight_entries);
	to->readers_shift = 64 - log2_of(settings->reader_entries);
	to->device_sets = state->slots / NF_DEVICE_SET;
	to->devices = state->slots;
	to->stack_size = kernel_stack_size();
	to->drop_interval_ns = 1000000000 / settings->drop_rate;
	to->drop_burst_ns = (settings->drop_burst - 1) * to->drop_interval_ns;
	to->atomic_fetch = state->features.atomic_fetch;
	to->no_reentry = state->features.no_reentry;
	to->kfree_skb_reason = state->features.kfree_skb_reason;
	to->kfree_skb_rx_sk = state->features.kfree_skb_rx_sk;
}

static int set_table_sizes(struct backend_bpf_state *state, const struct backend_settings *settings)
{
	const struct {
		struct bpf_map *map;
		uint64_t entries;
	} sizes[] = {
		{state->skel->maps.nf_cpus, state->cpus},
		{state->skel->maps.nf_inflights, settings->inflight_entries},
		{state->skel->maps.nf_readers, settings->reader_entries},
		{state->skel->maps.nf_device_sets, state->slots / NF_DEVICE_SET},
		{state->skel->maps.nf_device_infos, state->slots},
		{state->skel->maps.nf_device_claims, state->slots},
		{state->skel->maps.nf_devices, (uint64_t)state->slots * state->cpus},
		{state->skel->maps.nf_drop_counts, settings->drop_keys},
		{state->skel->maps.nf_drop_infos, settings->drop_keys},
		{state->skel->maps.nf_ring, settings->ring_bytes},
	};
	int r;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		r = bpf_map__set_max_entries(sizes[i].map, (__u32)sizes[i].entries);
		if (r < 0)
			return r;
	}
	return 0;
}

static void set_unavailable(struct backend_bpf_state *state, enum nf_probe probe, const char *reason)
{
	state->probe[probe].state = PROBE_UNAVAILABLE;
	snprintf(state->probe[probe].reason, sizeof(state->probe[probe].reason), "%s", reason);
}

/* What is known before loading: which probes to leave out, and why. */
static void choose_probes(struct backend_bpf_state *state, const struct backend_settings *settings,
			  const struct btf *kernel)
{
	char reason[160];

	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		const char *name = probe_specs[i].name;
		bool for_deferred = i == NF_PROBE_SK_DATA_READY || i == NF_PROBE_SOCK_RECV_LENGTH;

		if (settings->disabled[i]) {
			set_unavailable(state, i, "switched off by probes.disable");
		} else if (for_deferred && !state->features.udp_frees_deferred) {
			state->probe[i].state = PROBE_UNNEEDED;
			snprintf(state->probe[i].reason, sizeof(state->probe[i].reason),
				 "this kernel's UDP readers free what they read themselves");
		} else if (!bpf_has_tracepoint(kernel, name)) {
			snprintf(reason, sizeof(reason), "this kernel has no tracepoint %s", name);
			set_unavailable(state, i, reason);
		}
	}
}

/* A fresh object, without the programs that are left out. */
static int prepare(struct backend_bpf_state *state, const struct backend_settings *settings)
{
	int r;

	netflowd__destroy(state->skel);
	state->skel = netflowd__open();
	if (!state->skel)
		return -errno;
	r = set_table_sizes(state, settings);
	if (r < 0)
		return r;
	set_constants(state, settings);
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		bpf_program__set_autoload(bpf_probe_program(state, i),
					  state->probe[i].state == PROBE_ATTACHED);
	return 0;
}

/* The probe whose program the kernel refused, or -ENOENT. */
static int refused_probe(void)
{
	return strncmp(refused.program, "nf_", 3) ? -ENOENT : probe_find(refused.program + 3);
}

/* Load; each time the kernel refuses a program, once more without it. */
static int load(struct backend_bpf_state *state, const struct backend_settings *settings,
		char *reason)
{
	char why[160];
	int r, probe;

	for (int attempt = 0; attempt <= NF_PROBE_COUNT; attempt++) {
		memset(&refused, 0, sizeof(refused));
		r = prepare(state, settings);
		if (r < 0)
			break;
		r = netflowd__load(state->skel);
		if (r == 0)
			return 0;
		probe = refused_probe();
		/* EPERM is for all of them: bpf() itself is denied. */
		if (probe < 0 || r == -EPERM)
			break;
		snprintf(why, sizeof(why), "the kernel refused the program: %s", strerror(-r));
		set_unavailable(state, probe, why);
	}
	snprintf(reason, BACKEND_REASON_MAX, "the programs cannot be loaded: %s%s%.300s", strerror(-r),
		 refused.last[0] ? "; " : "", refused.last);
	return r;
}

void bpf_attach(struct backend_bpf_state *state)
{
	char why[160];

	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		struct bpf_program *program = bpf_probe_program(state, i);
		struct bpf_link **link;
		int index = 0;

		if (state->probe[i].state != PROBE_ATTACHED)
			continue;
		/* The skeleton owns the links, in the order of its programs. */
		while (*state->skel->skeleton->progs[index].prog != program)
			index++;
		link = state->skel->skeleton->progs[index].link;
		*link = bpf_program__attach(program);
		if (!*link) {
			snprintf(why, sizeof(why), "cannot be attached: %s", strerror(errno));
			set_unavailable(state, i, why);
		}
	}
}

int bpf_load(struct backend_bpf_state *state, const struct backend_settings *settings,
	     const struct btf *kernel, char *reason)
{
	libbpf_set_print(listen_to_libbpf);
	bpf_features_find(&state->features, kernel);
	choose_probes(state, settings, kernel);
	return load(state, settings, reason);
}
