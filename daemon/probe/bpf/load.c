/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads and attaches the programs, each independently of the others.  If this
 * kernel lacks the event of a program, refuses the program or cannot attach it,
 * the state of its probe says so, and the others run without it.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "build/bpf/netflowd.skel.h"
#include "common/array.h"
#include "common/cleanup.h"
#include "daemon/core/names.h"
#include "daemon/probe/bpf/blocks.h"
#include "daemon/probe/bpf/internal.h"
#include "daemon/probe/probes.h"

enum group {
	BY_TRACEPOINT,
	BY_FUNCTION,		 /* the kernel lacks the tracepoint */
	BY_FUNCTION_UNPREEMPTED, /* and a task can be preempted in a program of fentry */
};

/*
 * The alternative programs of a probe, those of a group in order: the cheapest and most exact
 * first.  The first that can be loaded and attached is used.  Most probes have only one program.
 */
static const struct alternative {
	const char *suffix; /* of the program's name */
	const char *how;
	enum group group;
	bool simple; /* it does less: probe_simple[].lost */
} alternatives[] = {
	{.suffix = "", .how = "tp_btf", .group = BY_TRACEPOINT},
	{.suffix = "_simple", .how = "tp_btf", .group = BY_TRACEPOINT, .simple = true},
	{.suffix = "_fentry", .how = "fentry", .group = BY_FUNCTION},
	{.suffix = "_kprobe", .how = "kprobe", .group = BY_FUNCTION},
	{.suffix = "_kprobe", .how = "kprobe", .group = BY_FUNCTION_UNPREEMPTED},
	{.suffix = "_fentry", .how = "fentry", .group = BY_FUNCTION_UNPREEMPTED},
};

#define ALTERNATIVES (ARRAY_SIZE(alternatives))

static size_t first_of(enum group group)
{
	size_t i = 0;

	while (alternatives[i].group != group)
		i++;
	return i;
}

static struct bpf_program *find_program(const struct backend_bpf_state *state, enum nf_probe probe,
					size_t alternative)
{
	char name[64];

	snprintf(name, sizeof(name), "nf_%s%s", probe_specs[probe].name,
		 alternatives[alternative].suffix);
	return bpf_object__find_program_by_name(state->skel->obj, name);
}

struct bpf_program *bpf_probe_program(const struct backend_bpf_state *state, enum nf_probe probe)
{
	return find_program(state, probe, state->probe[probe].alternative);
}

const char *bpf_probe_how(const struct backend_bpf_state *state, enum nf_probe probe)
{
	return alternatives[state->probe[probe].alternative].how;
}

bool bpf_probe_is_simple(const struct backend_bpf_state *state, enum nf_probe probe)
{
	return alternatives[state->probe[probe].alternative].simple;
}

static unsigned int log2_of(uint64_t power)
{
	return (unsigned int)__builtin_ctzll(power);
}

/* log2 of the readers that can be between wake-up and copy at the same time. */
#define WAKES_LOG2 12

/* Bytes of a task's kernel stack: 16 KiB on the supported machines, but at least a page. */
static uint32_t kernel_stack_size(void)
{
	long page = sysconf(_SC_PAGESIZE);

	return page > 16384 ? (uint32_t)page : 16384;
}

/* Only skbs that are forwarded, or that cross a bridge, need an entry. */
static uint64_t hops_entries(const struct backend_settings *settings)
{
	return settings->inflight_entries < 8 ? 2 : settings->inflight_entries / 4;
}

/* A byte for each set of the in-flight table. */
static uint64_t presence_rows(const struct backend_settings *settings)
{
	uint64_t sets = settings->inflight_entries / NF_INFLIGHT_WAYS;

	return (sets + NF_PRESENCE_ROW - 1) / NF_PRESENCE_ROW;
}

static uint64_t block_rows(const struct backend_bpf_state *state)
{
	return ((uint64_t)state->all_slots * state->cpus + NF_BLOCK_ROW - 1) / NF_BLOCK_ROW;
}

/* Without PREEMPT_RT the programs do not use them, but a map has at least one entry. */
static uint64_t contexts(const struct backend_bpf_state *state)
{
	return state->features.preempt_rt ? (uint64_t)state->cpus * NF_CONTEXTS : 1;
}

/* A kernel without reasons passes 0 to the programs. */
static void set_evidence(struct backend_bpf_state *state, const struct backend_settings *settings)
{
	__u8 *to = state->skel->rodata->settings.evidence;

	for (uint32_t i = 0; settings->evidence && i < NF_EVIDENCE_REASONS; i++) {
		const char *name = names_reason(state->names, i);

		if (name || (!i && !state->features.kfree_skb_reason))
			to[i] = (__u8)settings->evidence(name);
		if (name && !strcmp(name, "IP_NOPROTO"))
			state->skel->rodata->settings.noproto_reason = i;
	}
}

/*
 * The secrets of the hash of TCP connections, by their names from 5.10 to 6.10, and the table of UDP's sockets.  Later
 * kernels pass the socket to kfree_skb, but not a raw socket that they passed over: those tables are of all kernels.  A
 * kernel without CONFIG_KALLSYMS_ALL hides all of them; then sockets are not found.
 */
static void set_tables(struct backend_bpf_state *state, const uint64_t symbols[BACKEND_SYMBOLS])
{
	typeof(state->skel->rodata->settings) *to = &state->skel->rodata->settings;

	to->raw_table = symbols[BACKEND_RAW_V4_HASHINFO];
	to->raw6_table = symbols[BACKEND_RAW_V6_HASHINFO];
	state->skel->bss->live.net_tx_action = symbols[BACKEND_NET_TX_ACTION];
	if (state->features.kfree_skb_rx_sk)
		return;
	to->ehash_secret = symbols[BACKEND_INET_EHASH_SECRET];
	to->ehash6_secret = symbols[BACKEND_INET6_EHASH_SECRET];
	to->ehash6_address_secret = symbols[BACKEND_TCP_IPV6_HASH_SECRET];
	if (!to->ehash6_address_secret)
		to->ehash6_address_secret = symbols[BACKEND_IPV6_HASH_SECRET];
	if (!state->features.kfree_skb_reason)
		to->udp_table = symbols[BACKEND_UDP_TABLE];
}

static void set_constants(struct backend_bpf_state *state, const struct backend_settings *settings)
{
	typeof(state->skel->rodata->settings) *to = &state->skel->rodata->settings;

	to->inflight_shift = 64 - log2_of(settings->inflight_entries / NF_INFLIGHT_WAYS);
	to->hops_shift = 64 - log2_of(hops_entries(settings));
	to->readers_shift = 64 - log2_of(settings->reader_entries);
	to->device_sets = state->slots / NF_DEVICE_SET;
	to->cpus = state->cpus;
	to->chunk_shift = blocks_chunk_shift(settings->device_memory);
	to->stack_size = kernel_stack_size();
	to->atomic_fetch = state->features.atomic_fetch;
	to->no_reentry = state->features.no_reentry;
	to->preempt_rt = state->features.preempt_rt;
	to->kfree_skb_reason = state->features.kfree_skb_reason;
	to->kfree_skb_rx_sk = state->features.kfree_skb_rx_sk;
	to->gro = state->features.gro;
	to->wake = state->probe[NF_PROBE_SCHED_WAKING].state == PROBE_ATTACHED &&
		   state->probe[NF_PROBE_SCHED_SWITCH].state == PROBE_ATTACHED;
	to->softirq_exit = state->probe[NF_PROBE_SOFTIRQ_EXIT].state == PROBE_ATTACHED;
	to->irq_exit = state->probe[NF_PROBE_IRQ_HANDLER_EXIT].state == PROBE_ATTACHED;
	to->udp_deferred = state->features.udp_frees_deferred;
	to->udp_reader = state->probe[NF_PROBE_SOCK_RECV_LENGTH].state == PROBE_ATTACHED;
	to->udp_enqueue = state->probe[NF_PROBE_UDP_ENQUEUE_SCHEDULE_SKB].state == PROBE_ATTACHED;
	to->wake_shift = 64 - WAKES_LOG2;
	to->fentry_once = state->features.fentry_once;
	to->governor = settings->governor;
	set_evidence(state, settings);
	set_tables(state, settings->symbols);
}

void bpf_tune(const struct backend_bpf_state *state, const struct backend_settings *settings)
{
	typeof(state->skel->bss->live) *to = &state->skel->bss->live;
	__u64 interval, burst;

	to->sample = settings->sample_one_in ? (uint32_t)(UINT32_MAX / settings->sample_one_in) : 0;
	bpf_throttle(settings->drop_rate, settings->drop_burst, &interval, &burst);
	to->drop_interval_ns = interval;
	to->drop_burst_ns = burst;
	bpf_throttle(settings->journey_rate, settings->journey_burst, &interval, &burst);
	to->journey_interval_ns = interval;
	to->journey_burst_ns = burst;
	for (int i = 0; i < NF_SEGMENT_COUNT; i++)
		to->threshold_ns[i] =
			settings->slow_ns[i] > INT64_MAX ? INT64_MAX : settings->slow_ns[i];
}

static int set_table_sizes(struct backend_bpf_state *state, const struct backend_settings *settings)
{
	uint64_t chunks = blocks_chunks_max(settings->device_memory, state->cpus);
	uint32_t shift = blocks_chunk_shift(settings->device_memory);
	const struct {
		struct bpf_map *map;
		uint64_t entries;
	} sizes[] = {
		{state->skel->maps.nf_cpus, state->cpus},
		{state->skel->maps.nf_contexts, contexts(state)},
		{state->skel->maps.nf_inflights, settings->inflight_entries / NF_INFLIGHT_WAYS},
		{state->skel->maps.nf_presences, presence_rows(settings)},
		{state->skel->maps.nf_hops, hops_entries(settings)},
		{state->skel->maps.nf_readers, settings->reader_entries},
		{state->skel->maps.nf_streams, settings->reader_entries},
		{state->skel->maps.nf_wakes, 1 << WAKES_LOG2},
		{state->skel->maps.nf_device_sets, state->all_slots / NF_DEVICE_SET},
		{state->skel->maps.nf_device_infos, state->all_slots},
		{state->skel->maps.nf_device_claims, state->all_slots},
		{state->skel->maps.nf_block_rows, block_rows(state)},
		{state->skel->maps.nf_chunks, chunks},
		{state->skel->maps.nf_free_blocks, chunks << shift},
		{state->skel->maps.nf_group_blocks, chunks << shift},
		{state->skel->maps.nf_ring, settings->ring_bytes},
	};
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		r = bpf_map__set_max_entries(sizes[i].map, (__u32)sizes[i].entries);
		if (r < 0)
			return r;
	}
	return 0;
}

static void set_unavailable(struct backend_bpf_state *state, enum nf_probe probe,
			    const char *reason)
{
	state->probe[probe].state = PROBE_UNAVAILABLE;
	snprintf(state->probe[probe].reason, sizeof(state->probe[probe].reason), "%s", reason);
}

/* Choose the first alternative to try; without one, the probe is unavailable. */
static void find_alternative(struct backend_bpf_state *state, enum nf_probe probe,
			     const struct btf *kernel)
{
	const char *name = probe_specs[probe].name;
	char reason[160];

	if (bpf_has_tracepoint(kernel, name))
		return;
	if (probe == NF_PROBE_SKB_ATTEMPT_DEFER_FREE) {
		/* Readers run it: one that is preempted there would hide the reads of others. */
		state->probe[probe].alternative = first_of(
			state->features.prefer_kprobe ? BY_FUNCTION_UNPREEMPTED : BY_FUNCTION);
		return;
	}
	if (probe == NF_PROBE_SK_DATA_READY || probe == NF_PROBE_UDP_ENQUEUE_SCHEDULE_SKB) {
		state->probe[probe].alternative = first_of(BY_FUNCTION);
		return;
	}
	snprintf(reason, sizeof(reason), "this kernel has no tracepoint %s", name);
	set_unavailable(state, probe, reason);
}

/* Before loading: choose which probes to leave out, and why. */
static void choose_probes(struct backend_bpf_state *state, const struct backend_settings *settings,
			  const struct btf *kernel)
{
	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		const char *unneeded = bpf_udp_unneeded(state, settings, (enum nf_probe)i);

		if (i >= NF_PROBE_SLOTS_FIRST) {
			state->probe[i].state = PROBE_UNNEEDED; /* slots.c loads and attaches it */
		} else if (settings->disabled[i]) {
			set_unavailable(state, i, "switched off by probes.disable");
		} else if (unneeded) {
			state->probe[i].state = PROBE_UNNEEDED;
			snprintf(state->probe[i].reason, sizeof(state->probe[i].reason), "%s",
				 unneeded);
		} else {
			find_alternative(state, i, kernel);
		}
	}
}

/* A tracepoint can always be attached.  Without one, any later alternative may be needed. */
static bool wants_alternative(const struct backend_bpf_state *state, enum nf_probe probe,
			      size_t alternative)
{
	size_t first = state->probe[probe].alternative;

	if (state->probe[probe].state != PROBE_ATTACHED ||
	    alternatives[alternative].group != alternatives[first].group)
		return false;
	return alternatives[first].group == BY_TRACEPOINT ? alternative == first
							  : alternative >= first;
}

/*
 * A kernel without BPF_XCHG and BPF_CMPXCHG refuses them even in dead code,
 * because it checks all instructions before it finds dead code
 * (resolve_pseudo_ldimm64()).  The exchanges are dead code while
 * settings.atomic_fetch is false, so that a no-op can replace them.
 */
static void remove_exchange(struct bpf_insn *insn)
{
	if (insn->code == (BPF_STX | BPF_ATOMIC | BPF_DW) &&
	    (insn->imm == BPF_XCHG || insn->imm == BPF_CMPXCHG))
		*insn = (struct bpf_insn){.code = BPF_JMP | BPF_JA};
}

/*
 * Replace the placeholder by the kernel function, see bpf/reader.h.  Where UDP
 * readers are not followed, the placeholder stays: it is in dead code, where the
 * kernel does not check the number of a helper.
 */
static void call_rdonly_cast(struct bpf_insn *insn, __s32 btf_id)
{
	if (insn->code != (BPF_JMP | BPF_CALL) || insn->src_reg != 0 ||
	    insn->imm != NF_CALL_RDONLY_CAST)
		return;
	insn->src_reg = BPF_PSEUDO_KFUNC_CALL;
	insn->imm = btf_id;
}

/* Adapt the instructions to the running kernel. */
static int adapt_program(struct bpf_program *program, const struct bpf_features *features)
{
	size_t count = bpf_program__insn_cnt(program);
	OWN_FREE struct bpf_insn *insns = calloc(count, sizeof(*insns));

	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(program), count * sizeof(*insns));
	for (size_t i = 0; i < count; i++) {
		if (!features->atomic_fetch)
			remove_exchange(&insns[i]);
		if (features->udp_frees_deferred)
			call_rdonly_cast(&insns[i], features->rdonly_cast);
	}
	return bpf_program__set_insns(program, insns, count);
}

static void leave_out(const struct backend_bpf_state *state, enum nf_probe probe)
{
	for (size_t i = 0; i < ALTERNATIVES; i++) {
		struct bpf_program *program = find_program(state, probe, i);

		if (program)
			bpf_program__set_autoload(program, false);
	}
}

/* Several alternatives can have the same program, so it is in if one of them is wanted. */
static int prepare_probe(const struct backend_bpf_state *state, enum nf_probe probe)
{
	leave_out(state, probe);
	for (size_t i = 0; i < ALTERNATIVES; i++) {
		struct bpf_program *program = find_program(state, probe, i);
		int r;

		if (!program || !wants_alternative(state, probe, i))
			continue;
		bpf_program__set_autoload(program, true);
		bpf_verifier_ask(program);
		r = adapt_program(program, &state->features);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Open a new object, without the programs that are left out. */
static int prepare(struct backend_bpf_state *state, const struct backend_settings *settings)
{
	int r;

	netflowd__destroy(state->skel);
	state->skel = netflowd__open();
	if (!state->skel)
		return -errno;
	r = set_table_sizes(state, settings);
	if (r == 0)
		r = bpf_map__set_inner_map_fd(state->skel->maps.nf_chunks, state->chunk_template);
	if (r < 0)
		return r;
	set_constants(state, settings);
	r = bpf_drops_size(state->skel, settings, state->cpus, state->features.no_reentry);
	if (r < 0)
		return r;
	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		r = prepare_probe(state, (enum nf_probe)i);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Choose the next alternative; if there is none, the probe is unavailable. */
static void next_alternative(struct backend_bpf_state *state, enum nf_probe probe,
			     const char *reason)
{
	size_t now = state->probe[probe].alternative, next = now + 1;

	if (next == ALTERNATIVES || alternatives[next].group != alternatives[now].group ||
	    !find_program(state, probe, next)) {
		set_unavailable(state, probe, reason);
		return;
	}
	state->probe[probe].alternative = next;
	if (alternatives[next].simple)
		snprintf(state->probe[probe].reason, sizeof(state->probe[probe].reason), "%s",
			 reason);
}

/* Leave out the program that the kernel refused; -ENOENT if it is not known which. */
static int leave_out_refused(struct backend_bpf_state *state, int error)
{
	char why[160];

	snprintf(why, sizeof(why), "the kernel refused the program: %s%s%.80s", strerror(-error),
		 bpf_refusal()[0] ? ": " : "", bpf_refusal());
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		for (size_t j = state->probe[i].alternative; j < ALTERNATIVES; j++) {
			const struct bpf_program *program = find_program(state, i, j);

			if (!program || strcmp(bpf_program__name(program), bpf_refused_program()))
				continue;
			state->probe[i].alternative = j;
			next_alternative(state, i, why);
			return 0;
		}
	return -ENOENT;
}

static bool memlock_is_limited(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur != RLIM_INFINITY;
}

/* No program loads: write the reason; `error` is the last one of bpf(). */
static void explain_failure(const struct backend_bpf_state *state, int error, char *reason)
{
	const char *name = bpf_refused_map();
	const struct bpf_map *map =
		name[0] ? bpf_object__find_map_by_name(state->skel->obj, name) : NULL;

	if (map && error == -ENOMEM) {
		bpf_explain_shortage(name, bpf_table_bytes(map), error, reason);
		return;
	}
	if (error == -EPERM && state->features.memlock_charged && memlock_is_limited())
		snprintf(
			reason, BACKEND_REASON_MAX,
			"bpf() is denied: %s; before 5.11 the kernel charges programs and maps to RLIMIT_MEMLOCK, which is limited here: give netflowd CAP_SYS_RESOURCE, or set LimitMEMLOCK=infinity in its systemd unit",
			strerror(-error));
	else if (error == -EPERM || error == -ENOSYS)
		snprintf(
			reason, BACKEND_REASON_MAX,
			"bpf() is denied: %s; a container's seccomp profile or kernel lockdown can cause this: run netflowd on the host, or allow bpf() there; the kernel must have CONFIG_BPF_SYSCALL=y",
			strerror(-error));
	else
		snprintf(reason, BACKEND_REASON_MAX, "the programs cannot be loaded: %s%s%.300s",
			 strerror(-error), bpf_refusal()[0] ? "; " : "", bpf_refusal());
}

/* Load the programs; when the kernel refuses one, try again without it. */
static int load(struct backend_bpf_state *state, const struct backend_settings *settings,
		char *reason)
{
	int r;

	for (size_t attempt = 0; attempt <= NF_PROBE_COUNT * ALTERNATIVES; attempt++) {
		bpf_refusal_forget();
		r = prepare(state, settings);
		if (r < 0)
			break;
		r = netflowd__load(state->skel);
		if (r == 0)
			return 0;
		/* EPERM applies to all programs: bpf() itself is denied. */
		if (r == -EPERM || leave_out_refused(state, r) < 0)
			break;
		bpf_udp_replace(state, settings);
	}
	explain_failure(state, r, reason);
	return r;
}

/* The link of a program in the skeleton, which owns the links in the order of its programs. */
static struct bpf_link **link_of(const struct backend_bpf_state *state,
				 const struct bpf_program *program)
{
	const struct bpf_object_skeleton *skeleton = state->skel->skeleton;
	int index = 0;

	while (*skeleton->progs[index].prog != program)
		index++;
	return skeleton->progs[index].link;
}

static void attach_probe(struct backend_bpf_state *state, enum nf_probe probe)
{
	char why[160];

	while (state->probe[probe].state == PROBE_ATTACHED) {
		struct bpf_program *program = bpf_probe_program(state, probe);
		struct bpf_link **link = link_of(state, program);

		if (!*link)
			*link = bpf_program__attach(program);
		if (*link)
			return;
		snprintf(why, sizeof(why), "cannot be attached by %s: %s",
			 bpf_probe_how(state, probe), strerror(errno));
		next_alternative(state, probe, why);
	}
}

/* Before 5.13 (f3a95075549e), a program of fentry that is detached is lost: it stays, and returns at once. */
static bool must_stay(const struct backend_bpf_state *state, const struct bpf_program *program)
{
	return state->features.fentry_once &&
	       bpf_program__expected_attach_type(program) == BPF_TRACE_FENTRY;
}

static void detach_probe(struct backend_bpf_state *state, enum nf_probe probe)
{
	const struct bpf_program *program;

	if (state->probe[probe].state != PROBE_ATTACHED)
		return;
	program = bpf_probe_program(state, probe);
	if (!must_stay(state, program))
		bpf_link__destroy(TAKE_PTR(*link_of(state, program)));
}

/*
 * Stages are attached from the end of the path on, and detached from its beginning on: so
 * no journey begins whose later stages are not attached.
 */
void bpf_attach_level(struct backend_bpf_state *state, enum backend_level level)
{
	for (int i = 0; i < NF_PROBE_SLOTS_FIRST; i++)
		if (!backend_level_has(level, (enum nf_probe)i))
			detach_probe(state, (enum nf_probe)i);
	for (int i = NF_PROBE_SLOTS_FIRST; i-- > 0;)
		if (backend_level_has(level, (enum nf_probe)i))
			attach_probe(state, (enum nf_probe)i);
}

int bpf_load(struct backend_bpf_state *state, const struct backend_settings *settings,
	     const struct btf *kernel, char *reason)
{
	int r;

	bpf_verifier_listen();
	bpf_features_find(&state->features, kernel);
	choose_probes(state, settings, kernel);
	/* The kernel takes the layout of all chunks from it; libbpf 1.1 cannot set its size. */
	state->chunk_template = blocks_chunk_create(blocks_chunk_shift(settings->device_memory));
	if (state->chunk_template < 0) {
		if (state->chunk_template == -ENOMEM)
			bpf_explain_shortage("nf_chunks",
					     blocks_chunk_bytes(settings->device_memory), -ENOMEM,
					     reason);
		else
			explain_failure(state, state->chunk_template, reason);
		return state->chunk_template;
	}
	r = load(state, settings, reason);
	close(TAKE_FD(state->chunk_template));
	if (r == 0)
		bpf_tune(state, settings);
	return r;
}
