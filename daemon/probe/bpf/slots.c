/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads the programs that count ring slots.  They are an object of their own,
 * because the driver can be loaded at any time.  There are up to two copies of the
 * object: for xen-netfront, and for the devices of slots.devices.  Both use the
 * maps of the main object, and share the object's own maps.
 */
#include "daemon/probe/bpf/slots.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "build/bpf/netflowd.skel.h"
#include "build/bpf/slots.skel.h"
#include "common/array.h"
#include "common/cleanup.h"
#include "daemon/probe/kernel_types.h"
#include "daemon/probe/probes.h"

/* It exists if the driver is a module or built in, because the driver has parameters. */
#define XEN_NETFRONT "/sys/module/xen_netfront"

_Static_assert(NF_PROBE_SLOTS_FIRST + XEN == NF_PROBE_XENNET_START_XMIT &&
		       NF_PROBE_SLOTS_FIRST + DEVICES == NF_PROBE_SLOTS_DEVICES,
	       "a copy of the object for each probe");

static const struct way ways_of_xen[] = {
	{"fentry",
	 BACKEND_SLOTS_FENTRY,
	 {"nf_slots_kfree_skb", "nf_slots_xen_fexit", "nf_slots_xen_fentry"}},
	{"kprobe",
	 BACKEND_SLOTS_KPROBE,
	 {"nf_slots_kfree_skb", "nf_slots_net_dev_xmit", "nf_slots_xen_kprobe"}},
	{"tp_btf",
	 BACKEND_SLOTS_TRACEPOINT,
	 {"nf_slots_kfree_skb", "nf_slots_net_dev_xmit", "nf_slots_xen_tracepoint"}},
};

/* Only this way needs the address of the function.  Finding it takes longer than all the rest. */
static const struct way *const way_by_address = &ways_of_xen[2];

static const struct way way_of_devices = {
	"tp_btf",
	BACKEND_SLOTS_TRACEPOINT,
	{"nf_slots_kfree_skb", "nf_slots_net_dev_xmit", "nf_slots_devices"}};

static const char *const own_map_names[OWN_MAPS] = {
	[CPUS] = "nf_slots_cpus",
	[COUNTS] = "nf_slots_counts",
	[INFOS] = "nf_slots_infos",
	[ZERO] = "nf_slots_zero",
};

static void set_state(struct bpf_ring_slots *slots, enum copy copy, enum probe_state state,
		      const char *reason)
{
	slots->copy[copy].state = state;
	snprintf(slots->copy[copy].reason, sizeof(slots->copy[copy].reason), "%s", reason);
}

/* ---- what the kernel has ------------------------------------------------- */

/* ---- loading ------------------------------------------------------------- */

static int set_map_sizes(const struct backend_bpf_state *state, struct slots *skel)
{
	int r = bpf_map__set_max_entries(skel->maps.nf_slots_cpus, state->cpus);

	if (r == 0)
		r = bpf_map__set_max_entries(skel->maps.nf_slots_counts,
					     (__u32)state->ring_slots->settings.table + 1);
	if (r == 0)
		r = bpf_map__set_max_entries(skel->maps.nf_slots_infos,
					     (__u32)state->ring_slots->settings.table);
	return r;
}

/* The descriptor of the map of this name if it already exists, otherwise -1. */
static int existing_map(const struct backend_bpf_state *state, const char *name)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(state->skel->obj, name);

	if (map)
		return bpf_map__fd(map);
	for (int i = 0; i < OWN_MAPS; i++)
		if (!strcmp(own_map_names[i], name))
			return state->ring_slots->map[i];
	return -1;
}

static int share_maps(const struct backend_bpf_state *state, struct slots *skel)
{
	struct bpf_map *map;
	int r = set_map_sizes(state, skel);

	bpf_object__for_each_map(map, skel->obj)
	{
		int fd = bpf_map__is_internal(map) ? -1 : existing_map(state, bpf_map__name(map));

		if (r == 0 && fd >= 0)
			r = bpf_map__reuse_fd(map, fd);
	}
	return r;
}

static void set_constants(const struct backend_bpf_state *state, struct slots *skel, enum copy copy)
{
	const struct bpf_ring_slots *slots = state->ring_slots;
	const struct backend_slots_settings *from = &slots->settings;
	typeof(skel->rodata->slots_settings) *to = &skel->rodata->slots_settings;

	skel->rodata->settings.stack_size = state->skel->rodata->settings.stack_size;
	skel->rodata->settings.irq_exit = state->skel->rodata->settings.irq_exit;
	skel->rodata->settings.no_reentry = state->features.no_reentry;
	skel->rodata->settings.preempt_rt = state->features.preempt_rt;
	skel->rodata->settings.atomic_fetch = state->features.atomic_fetch;
	to->limit = (__u32)from->limit;
	bpf_throttle(from->rate, from->burst, &to->interval_ns, &to->burst_ns);
	to->sg = slots->sg;
	to->gso = slots->gso;
	to->tso = slots->tso;
	if (copy == DEVICES) {
		to->every_device = from->every_device;
		to->names = (__u32)from->names;
		for (size_t i = 0; i < from->names; i++)
			memcpy((void *)to->name[i], from->name[i], sizeof(from->name[i]));
	}
}

/* Both copies use the maps of the first one. */
static int keep_maps(struct backend_bpf_state *state, struct slots *skel)
{
	struct bpf_ring_slots *slots = state->ring_slots;
	const struct bpf_map *maps[OWN_MAPS] = {
		[CPUS] = skel->maps.nf_slots_cpus,
		[COUNTS] = skel->maps.nf_slots_counts,
		[INFOS] = skel->maps.nf_slots_infos,
		[ZERO] = skel->maps.nf_slots_zero,
	};
	OWN_FREE struct nf_slots_count *zeros = calloc(state->cpus, sizeof(*zeros));
	const __u64 others = 0;
	void *memory;

	if (slots->map[CPUS] >= 0)
		return 0;
	if (!zeros)
		return -ENOMEM;
	if (bpf_map_update_elem(bpf_map__fd(maps[COUNTS]), &others, zeros, BPF_ANY))
		return -errno;
	slots->cpu_bytes = bpf_table_bytes(maps[CPUS]);
	memory = mmap(NULL, slots->cpu_bytes, PROT_READ, MAP_SHARED, bpf_map__fd(maps[CPUS]), 0);
	if (memory == MAP_FAILED)
		return -errno;
	slots->cpu = memory;
	for (int i = 0; i < OWN_MAPS; i++)
		slots->map[i] = dup(bpf_map__fd(maps[i]));
	return 0;
}

static void detach(struct bpf_ring_slots *slots, enum copy copy)
{
	for (int i = PROGRAMS; i-- > 0;)
		bpf_link__destroy(TAKE_PTR(slots->copy[copy].link[i]));
}

static void unload(struct bpf_ring_slots *slots, enum copy copy)
{
	detach(slots, copy);
	slots__destroy(slots->copy[copy].skel);
	slots->copy[copy].skel = NULL;
}

static struct bpf_program *program_of(const struct bpf_ring_slots *slots, enum copy copy, int i)
{
	return bpf_object__find_program_by_name(slots->copy[copy].skel->obj,
						slots->copy[copy].way->program[i]);
}

static int load(struct backend_bpf_state *state, enum copy copy)
{
	struct bpf_ring_slots *slots = state->ring_slots;
	struct slots *skel = slots__open();
	struct bpf_program *program;
	int r;

	slots->copy[copy].skel = skel;
	if (!skel)
		return -errno;
	r = share_maps(state, skel);
	if (r < 0)
		return r;
	set_constants(state, skel, copy);
	if (slots->copy[copy].way == way_by_address) {
		uint64_t bytes;

		skel->rodata->slots_settings.xennet = bpf_function("xennet_start_xmit", &bytes);
		if (!skel->rodata->slots_settings.xennet)
			return -ENOENT;
	}
	bpf_object__for_each_program(program, skel->obj)
	{
		bpf_program__set_autoload(program, false);
	}
	for (int i = 0; i < PROGRAMS; i++) {
		bpf_program__set_autoload(program_of(slots, copy, i), true);
		bpf_verifier_ask(program_of(slots, copy, i));
	}
	r = slots__load(skel);
	return r < 0 ? r : keep_maps(state, skel);
}

static int attach(struct bpf_ring_slots *slots, enum copy copy)
{
	for (int i = 0; i < PROGRAMS; i++) {
		slots->copy[copy].link[i] = bpf_program__attach(program_of(slots, copy, i));
		if (!slots->copy[copy].link[i])
			return -errno;
	}
	return 0;
}

static int try_way(struct backend_bpf_state *state, enum copy copy, const struct way *way)
{
	struct bpf_ring_slots *slots = state->ring_slots;
	int r;

	bpf_refusal_forget();
	slots->copy[copy].way = way;
	r = load(state, copy);
	if (r == 0)
		r = attach(slots, copy);
	if (r < 0)
		unload(slots, copy);
	else
		set_state(slots, copy, PROBE_ATTACHED, "");
	return r;
}

static void open_devices(struct backend_bpf_state *state)
{
	char why[SLOTS_REASON_MAX];
	int r = try_way(state, DEVICES, &way_of_devices);

	if (r == 0)
		return;
	snprintf(why, sizeof(why), "cannot be attached: %s%s%.100s", strerror(-r),
		 bpf_refusal()[0] ? ": " : "", bpf_refusal());
	set_state(state->ring_slots, DEVICES, PROBE_UNAVAILABLE, why);
}

static void open_xen(struct backend_bpf_state *state)
{
	struct bpf_ring_slots *slots = state->ring_slots;
	enum backend_slots_attach wanted = slots->settings.attach;
	char why[SLOTS_REASON_MAX] = "cannot be attached:";
	size_t length;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(ways_of_xen); i++) {
		const struct way *way = &ways_of_xen[i];

		if (wanted != BACKEND_SLOTS_AUTO && wanted != way->is)
			continue;
		r = try_way(state, XEN, way);
		if (r == 0)
			return;
		length = strlen(why);
		snprintf(why + length, sizeof(why) - length, " by %s (%s%s%.100s)", way->how,
			 strerror(-r), bpf_refusal()[0] ? ": " : "", bpf_refusal());
	}
	set_state(slots, XEN, PROBE_UNAVAILABLE, why);
}

/* ---- life ---------------------------------------------------------------- */

static const char no_driver[] =
	"xen-netfront is not loaded; netflowd attaches the probe as soon as it is";

int bpf_ring_slots_new(struct backend_bpf_state *state, const struct backend_settings *settings,
		       const struct btf *kernel)
{
	struct bpf_ring_slots *slots = calloc(1, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	slots->settings = settings->slots;
	for (int i = 0; i < OWN_MAPS; i++)
		slots->map[i] = -1;
	slots->sg = kernel_types_feature(kernel, "NETIF_F_SG_BIT");
	slots->gso = kernel_types_feature(kernel, "NETIF_F_GSO_BIT");
	slots->tso = kernel_types_feature(kernel, "NETIF_F_TSO_BIT");
	set_state(slots, XEN, PROBE_UNNEEDED, no_driver);
	set_state(
		slots, DEVICES, PROBE_UNNEEDED,
		"no device is named in slots.devices: netflowd --set slots.devices=DEVICE counts the pages that its transmits need");
	for (int i = 0; i < COPIES; i++)
		if (settings->disabled[NF_PROBE_SLOTS_FIRST + i]) {
			slots->copy[i].disabled = true;
			set_state(slots, (enum copy)i, PROBE_UNAVAILABLE,
				  "switched off by probes.disable");
		}
	state->ring_slots = slots;
	return 0;
}

void bpf_ring_slots_free(struct backend_bpf_state *state)
{
	struct bpf_ring_slots *slots = state->ring_slots;

	if (!slots)
		return;
	for (int i = 0; i < COPIES; i++)
		unload(slots, (enum copy)i);
	if (slots->cpu)
		munmap((void *)slots->cpu, slots->cpu_bytes);
	for (int i = 0; i < OWN_MAPS; i++)
		cleanup_close(&slots->map[i]);
	free(slots);
	state->ring_slots = NULL;
}

/*
 * The devices come first: of two programs at one tracepoint the older one runs first, and
 * nf_slots_counted() in bpf/slots.bpf.c depends on that.
 */
void bpf_ring_slots_attach(struct backend_bpf_state *state)
{
	const struct backend_slots_settings *settings = &state->ring_slots->settings;

	if ((settings->every_device || settings->names) &&
	    state->ring_slots->copy[DEVICES].state == PROBE_UNNEEDED)
		open_devices(state);
	bpf_ring_slots_refresh(state);
}

void bpf_ring_slots_set(struct backend_bpf_state *state, bool attached)
{
	struct bpf_ring_slots *slots = state->ring_slots;

	for (int i = 0; i < COPIES; i++) {
		char why[SLOTS_REASON_MAX];
		int r = 0;

		if (slots->copy[i].state != PROBE_ATTACHED)
			continue;
		if (attached)
			r = attach(slots, (enum copy)i);
		else
			detach(slots, (enum copy)i);
		if (r == 0)
			continue;
		detach(slots, (enum copy)i);
		snprintf(why, sizeof(why), "cannot be attached again: %s", strerror(-r));
		set_state(slots, (enum copy)i, PROBE_UNAVAILABLE, why);
	}
}

/*
 * Load and attach again after each load of the driver.  A kprobe does not keep its
 * module loaded, ends with it and does not return, and the program at the
 * tracepoint knows the function by its address.
 */
bool bpf_ring_slots_refresh(struct backend_bpf_state *state)
{
	struct bpf_ring_slots *slots = state->ring_slots;
	ino_t now = bpf_module(XEN_NETFRONT);

	if (slots->copy[XEN].disabled || now == slots->driver || state->level == BACKEND_NOTHING)
		return false;
	unload(slots, XEN);
	set_state(slots, XEN, PROBE_UNNEEDED, no_driver);
	if (now)
		open_xen(state);
	slots->driver = now;
	return true;
}

const char *bpf_ring_slots_how(const struct backend_bpf_state *state, enum nf_probe probe)
{
	const struct bpf_ring_slots *slots = state->ring_slots;
	enum copy copy = probe - NF_PROBE_SLOTS_FIRST;

	return slots->copy[copy].state == PROBE_ATTACHED ? slots->copy[copy].way->how : NULL;
}

void bpf_ring_slots_probe(const struct backend_bpf_state *state, enum nf_probe probe,
			  struct probe_status *status)
{
	const struct bpf_ring_slots *slots = state->ring_slots;
	enum copy copy = probe - NF_PROBE_SLOTS_FIRST;

	*status = (struct probe_status){.state = slots->copy[copy].state};
	if (status->state != PROBE_ATTACHED) {
		status->reason = slots->copy[copy].reason;
		return;
	}
	if (!backend_level_has(state->level, probe))
		status->state = PROBE_DETACHED;
	status->how = slots->copy[copy].way->how;
	for (int i = 0; i < PROGRAMS; i++) {
		unsigned int insns = bpf_verified_insns(program_of(slots, copy, i));

		if (insns > status->verified_insns)
			status->verified_insns = insns;
	}
	if (!state->features.no_reentry)
		return;
	status->missed_known = true;
	for (int i = 0; i < PROGRAMS; i++)
		status->missed += bpf_program_missed(program_of(slots, copy, i));
}

void bpf_ring_slots_stats(const struct backend_bpf_state *state, enum nf_probe probe,
			  struct probe_runs *runs)
{
	const struct bpf_ring_slots *slots = state->ring_slots;
	enum copy copy = probe - NF_PROBE_SLOTS_FIRST;
	struct probe_runs one;

	*runs = (struct probe_runs){0};
	for (int i = 0; i < PROGRAMS && slots->copy[copy].state == PROBE_ATTACHED; i++) {
		bpf_program_runs(program_of(slots, copy, i), &one);
		runs->ns += one.ns;
		runs->others += one.runs;
		runs->runs = one.runs;
	}
	runs->others -= runs->runs;
}
