/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bpf backend: BPF programs at tracepoints with BTF, and tables mapped into the daemon. */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "build/bpf/netflowd.skel.h"
#include "common/array.h"
#include "common/cleanup.h"
#include "common/time.h"
#include "daemon/probe/absent.h"
#include "daemon/probe/bpf/blocks.h"
#include "daemon/probe/bpf/internal.h"

size_t bpf_table_bytes(const struct bpf_map *map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = (size_t)bpf_map__max_entries(map) * bpf_map__value_size(map);

	return (bytes + page - 1) / page * page;
}

/* `table` points to the pointer that gets the address of the mapping. */
static int map_table(const struct bpf_map *map, const void *table)
{
	void *memory = mmap(NULL, bpf_table_bytes(map), PROT_READ | PROT_WRITE, MAP_SHARED,
			    bpf_map__fd(map), 0);

	if (memory == MAP_FAILED)
		return -errno;
	*(void **)table = memory;
	return 0;
}

static int map_tables(struct backend_bpf_state *state)
{
	const struct {
		const struct bpf_map *map;
		const void *table; /* NULL: the daemon does not read it */
	} tables[] = {
		{state->skel->maps.nf_cpus, &state->cpu},
		{state->skel->maps.nf_contexts,
		 state->features.preempt_rt ? &state->context : NULL},
		{state->skel->maps.nf_inflights, &state->inflight},
		{state->skel->maps.nf_presences, &state->presence},
		{state->skel->maps.nf_device_sets, &state->device_sets},
		{state->skel->maps.nf_device_infos, &state->device_infos},
		{state->skel->maps.nf_hops, &state->hops},
		{state->skel->maps.nf_block_rows, &state->block_rows},
	};
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		r = tables[i].table ? map_table(tables[i].map, tables[i].table) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

static void unmap_tables(struct backend_bpf_state *state)
{
	const struct {
		const struct bpf_map *map;
		const void *memory;
	} tables[] = {
		{state->skel->maps.nf_cpus, state->cpu},
		{state->skel->maps.nf_contexts, state->context},
		{state->skel->maps.nf_inflights, state->inflight},
		{state->skel->maps.nf_presences, state->presence},
		{state->skel->maps.nf_device_sets, state->device_sets},
		{state->skel->maps.nf_device_infos, state->device_infos},
		{state->skel->maps.nf_hops, state->hops},
		{state->skel->maps.nf_block_rows, state->block_rows},
	};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (tables[i].memory)
			munmap((void *)tables[i].memory, bpf_table_bytes(tables[i].map));
}

/* The first slots are not devices: no device has this key, so none can take them. */
static int reserve_slots(struct backend_bpf_state *state)
{
	struct nf_device_set set = {};
	__u32 first = 0;

	for (int i = 0; i < NF_SLOT_RESERVED; i++)
		set.key[i] = NF_KEY_RESERVED;
	if (bpf_map_update_elem(bpf_map__fd(state->skel->maps.nf_device_sets), &first, &set,
				BPF_ANY))
		return -errno;
	return 0;
}

/* Records taken in one turn of the event loop, so that clients get their replies in between. */
#define TURN_RECORDS 64

/*
 * libbpf calls this for each record until the ring buffer is empty, or until this returns an
 * error.  A record for which this returns an error counts as taken.
 */
static int take_record(void *userdata, void *data, size_t size)
{
	struct backend_bpf_state *state = userdata;
	const struct nf_record *record = data;

	if (size >= NF_DROP_RECORD_PLAIN && record->type == NF_RECORD_DROP)
		state->sink.drop(state->sink.userdata, data);
	else if (size >= sizeof(struct nf_journey_record) && record->type == NF_RECORD_JOURNEY)
		state->sink.journey(state->sink.userdata, data);
	else if (size >= NF_SLOTS_RECORD_PLAIN && record->type == NF_RECORD_SLOTS)
		state->sink.slots(state->sink.userdata, data);
	else if (size >= sizeof(*record) && record->type == NF_RECORD_DROP_KEYS)
		state->drops_full = true;
	else if (record->type == NF_RECORD_BLOCKS)
		blocks_refill(state->blocks);
	else if (record->type == NF_RECORD_BUSY)
		state->sink.busy(state->sink.userdata);
	return ++state->turn < TURN_RECORDS ? 0 : -EAGAIN;
}

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

/* The kernel's BTF takes several MiB and is freed after loading. */
static int load_programs(struct backend_bpf_state *state, const struct backend_settings *settings,
			 struct names *names, char *reason)
{
	OWN_BTF struct btf *kernel = btf__load_vmlinux_btf();
	int r;

	if (!kernel) {
		r = -errno;
		snprintf(
			reason, BACKEND_REASON_MAX,
			"the kernel offers no BTF (%s); boot a kernel with CONFIG_DEBUG_INFO_BTF=y, such as Debian's since Debian 11",
			access(KERNEL_BTF, R_OK) ? "no " KERNEL_BTF : strerror(-r));
		return r;
	}
	r = bpf_reasons_read(names, kernel);
	if (r < 0)
		return r;
	state->names = names;
	r = bpf_load(state, settings, kernel, reason);
	state->names = NULL;
	return r < 0 ? r : bpf_ring_slots_new(state, settings, kernel);
}

/* After the programs are loaded: the mapped tables, the first blocks and the ring buffer. */
static int set_up_tables(struct backend_bpf_state *state, const struct backend_settings *settings)
{
	int r = reserve_slots(state);

	if (r < 0)
		return r;
	r = map_tables(state);
	if (r == 0)
		r = blocks_new(&state->blocks, state, settings);
	if (r == 0)
		r = bpf_devices_new(state, settings);
	if (r < 0)
		return r;
	state->ring =
		ring_buffer__new(bpf_map__fd(state->skel->maps.nf_ring), take_record, state, NULL);
	return state->ring ? 0 : -errno;
}

static void bpf_close(struct backend *backend)
{
	struct backend_bpf_state *state = (struct backend_bpf_state *)backend;

	if (!state)
		return;
	bpf_link__destroy(state->empty_link);
	if (state->stats_fd >= 0)
		close(state->stats_fd);
	ring_buffer__free(state->ring);
	bpf_ring_slots_free(state);
	bpf_drops_free(state);
	bpf_devices_free(state);
	blocks_free(&state->blocks);
	if (state->skel)
		unmap_tables(state);
	netflowd__destroy(state->skel);
	free(state);
}

static void cleanup_state(struct backend_bpf_state **state)
{
	if (*state)
		bpf_close(&(*state)->backend);
}

#define OWN_STATE CLEANUP(cleanup_state)

static int bpf_open(struct backend **backend, const struct backend_settings *settings,
		    const struct backend_sink *sink, struct names *names, char *reason)
{
	OWN_STATE struct backend_bpf_state *state = calloc(1, sizeof(*state));
	int r;

	if (!state)
		return -ENOMEM;
	state->backend.ops = &backend_bpf;
	state->sink = *sink;
	state->stats_fd = -1;
	state->cpus = (uint32_t)libbpf_num_possible_cpus();
	state->slots = (uint32_t)settings->device_slots;
	state->all_slots = state->slots + NF_GROUP_SLOTS;
	state->device_memory = settings->device_memory;
	state->inflight_entries = (uint32_t)settings->inflight_entries;

	r = load_programs(state, settings, names, reason);
	if (r < 0)
		return r;
	r = set_up_tables(state, settings);
	if (r == -ENOMEM)
		bpf_explain_shortage("nf_chunks", blocks_chunk_bytes(settings->device_memory), r,
				     reason);
	else if (r < 0)
		snprintf(reason, BACKEND_REASON_MAX, "cannot set up the tables: %s", strerror(-r));
	if (r < 0)
		return r;
	r = bpf_drops_new(state, settings);
	if (r < 0) {
		snprintf(reason, BACKEND_REASON_MAX, "cannot set up the table of drops: %s",
			 strerror(-r));
		return r;
	}
	state->hook_ns = bpf_calibrate(state);
	bpf_attach_level(state, BACKEND_ALL);
	bpf_ring_slots_attach(state);
	bpf_find_silenced(state);
	bpf_find_netback(state);
	*backend = &TAKE_PTR(state)->backend;
	return 0;
}

static int bpf_fd(const struct backend *backend)
{
	return ring_buffer__epoll_fd(bpf_state(backend)->ring);
}

static int bpf_dispatch(struct backend *backend)
{
	struct backend_bpf_state *state = (struct backend_bpf_state *)backend;
	int n;

	state->turn = 0;
	n = ring_buffer__consume(state->ring);
	if (state->drops_full)
		bpf_drops_tend(state);
	return n < 0 && n != -EAGAIN ? n : 0;
}

static int program_info(const struct bpf_program *program, struct bpf_prog_info *info)
{
	__u32 size = sizeof(*info);

	memset(info, 0, sizeof(*info));
	return bpf_obj_get_info_by_fd(bpf_program__fd(program), info, &size);
}

uint64_t bpf_program_missed(const struct bpf_program *program)
{
	struct bpf_prog_info info;

	return program_info(program, &info) ? 0 : info.recursion_misses;
}

static void bpf_probe(const struct backend *backend, enum nf_probe probe,
		      struct probe_status *status)
{
	const struct backend_bpf_state *state = bpf_state(backend);
	struct bpf_prog_info info;

	if (state->silenced[probe]) {
		*status = (struct probe_status){.state = PROBE_UNAVAILABLE,
						.reason = state->silenced[probe]};
		return;
	}
	if (probe >= NF_PROBE_SLOTS_FIRST) {
		bpf_ring_slots_probe(state, probe, status);
		return;
	}
	*status = (struct probe_status){.state = state->probe[probe].state};
	if (status->state != PROBE_ATTACHED) {
		status->reason = state->probe[probe].reason;
		return;
	}
	if (!backend_level_has(state->level, probe))
		status->state = PROBE_DETACHED;
	status->how = bpf_probe_how(state, probe);
	status->verified_insns = bpf_verified_insns(bpf_probe_program(state, probe));
	if (bpf_probe_is_simple(state, probe) && status->state == PROBE_ATTACHED) {
		status->state = PROBE_DEGRADED;
		status->reason = state->probe[probe].reason;
	}
	if (!state->features.no_reentry)
		return;
	if (!program_info(bpf_probe_program(state, probe), &info)) {
		status->missed_known = true;
		status->missed = info.recursion_misses;
	}
}

static bool bpf_refresh(struct backend *backend)
{
	struct backend_bpf_state *state = (struct backend_bpf_state *)backend;
	bool changed = bpf_ring_slots_refresh(state);

	bpf_drops_tend(state);
	bpf_find_netback(state);
	return bpf_find_silenced(state) || changed;
}

static int bpf_name_reasons(struct backend *backend, struct names *names)
{
	(void)backend;
	return bpf_reasons_of_modules(names, NULL);
}

static const char *bpf_reasons_missing(const struct backend *backend)
{
	return bpf_state(backend)->features.kfree_skb_reason
		       ? NULL
		       : "kfree_skb of this kernel has no reason; Linux 5.17 and later have it";
}

static uint32_t bpf_cpus(const struct backend *backend)
{
	return bpf_state(backend)->cpus;
}

static void bpf_set_stack(struct backend *backend, bool on)
{
	bpf_state(backend)->skel->bss->live.drop_stack = on;
}

static void bpf_tune_programs(struct backend *backend, const struct backend_settings *settings)
{
	bpf_tune(bpf_state(backend), settings);
}

/*
 * The N of a CPU that draws no more is that of a load that has ended: it measures the rate again with its next
 * packet.  Windows are less than this apart.
 */
#define GATE_OLD_NS (6 * TIME_NS_PER_SECOND)

static uint8_t gate_shift(const struct nf_cpu *cpu, enum nf_gate_index index, uint64_t now_ns)
{
	const struct nf_gate *gate = &cpu->gate[index];
	uint64_t since_ns = __atomic_load_n(&gate->since_ns, __ATOMIC_RELAXED);

	return now_ns > since_ns && now_ns - since_ns > GATE_OLD_NS ? 0 : gate->shift;
}

static void bpf_cpu_cost(const struct backend *backend, uint32_t cpu, struct backend_cpu_cost *cost)
{
	const struct backend_bpf_state *state = bpf_state(backend);
	const struct nf_cpu *from = &state->cpu[cpu];
	const uint64_t now = time_monotonic();
	uint8_t direct;

	*cost = (struct backend_cpu_cost){0};
	for (int i = 0; i < NF_PROBE_SLOTS_FIRST; i++) {
		cost->hits[i] = __atomic_load_n(&from->calls[i], __ATOMIC_RELAXED);
		cost->timed[i] = __atomic_load_n(&from->timing[i].runs, __ATOMIC_RELAXED);
		cost->timed_ns[i] = __atomic_load_n(&from->timing[i].ns, __ATOMIC_RELAXED);
	}
	direct = gate_shift(from, NF_GATE_DIRECT, now);
	cost->one_in_shift[BACKEND_RX] = gate_shift(from, NF_GATE_RX, now);
	if (direct > cost->one_in_shift[BACKEND_RX])
		cost->one_in_shift[BACKEND_RX] = direct;
	cost->one_in_shift[BACKEND_TX] = gate_shift(from, NF_GATE_TX, now);
}

static double bpf_hook_ns(const struct backend *backend)
{
	return bpf_state(backend)->hook_ns;
}

static const char *bpf_stats_missing(const struct backend *backend)
{
	return bpf_state(backend)->features.stats
		       ? NULL
		       : "the kernel's program statistics require CAP_SYS_ADMIN";
}

static int bpf_set_stats(struct backend *backend, bool on)
{
	struct backend_bpf_state *state = (struct backend_bpf_state *)backend;

	if (on == (state->stats_fd >= 0))
		return 0;
	if (!on) {
		close(TAKE_FD(state->stats_fd));
		bpf_link__destroy(TAKE_PTR(state->empty_link));
		return 0;
	}
	state->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (state->stats_fd < 0)
		return -errno;
	state->empty_link = bpf_program__attach(state->skel->progs.nf_empty);
	return 0;
}

void bpf_program_runs(const struct bpf_program *program, struct probe_runs *runs)
{
	struct bpf_prog_info info;

	*runs = (struct probe_runs){0};
	if (program_info(program, &info))
		return;
	runs->runs = info.run_cnt;
	runs->ns = info.run_time_ns;
}

static void bpf_stats(const struct backend *backend, struct probe_runs runs[NF_PROBE_COUNT],
		      struct probe_runs *empty)
{
	const struct backend_bpf_state *state = bpf_state(backend);

	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		runs[i] = (struct probe_runs){0};
		if (i >= NF_PROBE_SLOTS_FIRST)
			bpf_ring_slots_stats(state, i, &runs[i]);
		else if (state->probe[i].state == PROBE_ATTACHED)
			bpf_program_runs(bpf_probe_program(state, i), &runs[i]);
	}
	bpf_program_runs(state->skel->progs.nf_empty, empty);
}

const struct backend_ops backend_bpf = {
	.name = "bpf",
	.open = bpf_open,
	.close = bpf_close,
	.fd = bpf_fd,
	.dispatch = bpf_dispatch,
	.probe = bpf_probe,
	.blind = absent_blind,
	.trace = absent_trace,
	.recording = absent_recording,
	.reasons_missing = bpf_reasons_missing,
	.events = bpf_read_events,
	.most_drawn = bpf_read_most_drawn,
	.streams = bpf_read_streams,
	.in_flight = bpf_read_in_flight,
	.awaited = bpf_read_awaited,
	.housekeep = bpf_housekeep,
	.devices = bpf_read_devices,
	.napi = bpf_read_napi,
	.cpus = bpf_cpus,
	.softirq_wait = bpf_read_softirq_wait,
	.sharing = bpf_read_sharing,
	.drops = bpf_read_drops,
	.tables = bpf_read_tables,
	.slots_events = bpf_read_slots_events,
	.slots = bpf_read_slots,
	.refresh = bpf_refresh,
	.name_reasons = bpf_name_reasons,
	.set_stack = bpf_set_stack,
	.tune = bpf_tune_programs,
	.set_level = bpf_set_level,
	.follow = bpf_follow,
	.cpu_cost = bpf_cpu_cost,
	.hook_ns = bpf_hook_ns,
	.stats_missing = bpf_stats_missing,
	.set_stats = bpf_set_stats,
	.stats = bpf_stats,
};
