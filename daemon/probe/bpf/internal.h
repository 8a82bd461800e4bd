/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the bpf backend share.  Only they include libbpf. */
#ifndef DAEMON_PROBE_BPF_INTERNAL_H
#define DAEMON_PROBE_BPF_INTERNAL_H

#include <sys/types.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "common/time.h"
#include "daemon/probe/backend.h"

struct bpf_retired;
struct bpf_ring_slots;
struct bpf_slot;
struct netflowd; /* the skeleton */
struct names;

/* What the running kernel has, found by looking at it. */
struct bpf_features {
	bool atomic_fetch;     /* exchange with a result */
	bool no_reentry;       /* a program does not interrupt itself */
	bool kfree_skb_reason; /* arguments of the tracepoint kfree_skb */
	bool kfree_skb_rx_sk;
	bool udp_frees_deferred; /* UDP readers pass no probe but sock_recv_length */
	bool stats;		 /* statistics on the programs can be switched on */
	bool memlock_charged;	 /* maps and programs count against RLIMIT_MEMLOCK */
	__s32 rdonly_cast;	 /* BTF id of bpf_rdonly_cast(), not above 0 = not there */
};

struct backend_bpf_state {
	struct backend backend;
	struct backend_sink sink;
	struct bpf_features features;
	struct netflowd *skel;
	struct ring_buffer *ring;
	struct bpf_link *empty_link;
	int stats_fd;
	unsigned int turn; /* records taken in this turn of the loop */
	uint32_t cpus, slots, inflight_entries;

	/* the mapped tables */
	const struct nf_cpu *cpu;
	const struct nf_inflight *inflight;
	struct nf_device_set *device_sets;
	const struct nf_device_info *device_infos;
	struct nf_device_stats *device_stats;

	/* retire.c: what it knows of each slot, and of devices that lost theirs */
	uint64_t device_idle_ns;
	struct bpf_slot *slot;
	struct bpf_retired *retired;
	size_t retired_count;
	struct nf_device_stats forgotten;

	struct bpf_ring_slots *ring_slots; /* slots.c */

	struct {
		enum probe_state state;
		size_t alternative; /* of its programs, see load.c */
		char reason[160];
	} probe[NF_PROBE_COUNT];
	ino_t netback; /* functions.c: what bpf_module() says of xen_netback */
	/* Why the kernel does not run an attached probe's programs, NULL = it does. */
	const char *silenced[NF_PROBE_COUNT];
};

/* features.c.  Neither can fail: what cannot be found out is not there. */
void bpf_features_find(struct bpf_features *features, const struct btf *kernel);
bool bpf_has_tracepoint(const struct btf *kernel, const char *name);

/* reasons.c: the kernel's drop reasons into `names`; -ENOMEM only. */
int bpf_reasons_read(struct names *names, const struct btf *kernel);
/* Those of modules that have none in it yet.  `kernel` may be NULL: read when it is needed. */
int bpf_reasons_of_modules(struct names *names, const struct btf *kernel);

/* load.c: load, then attach, what can be; what cannot is told in state->probe. */
int bpf_load(struct backend_bpf_state *state, const struct backend_settings *settings,
	     const struct btf *kernel, char *reason);
void bpf_attach(struct backend_bpf_state *state);
/* What the verifier said of the program that was refused since bpf_refusal_forget(); "" = nothing. */
void bpf_refusal_forget(void);
const char *bpf_refusal(void);
struct bpf_program *bpf_probe_program(const struct backend_bpf_state *state, enum nf_probe probe);
const char *bpf_probe_how(const struct backend_bpf_state *state, enum nf_probe probe);

/* functions.c: where a function begins, and its length; 0: it is hidden, or not there. */
uint64_t bpf_function(const char *name, uint64_t *bytes);
/* Of a module's directory in /sys/module: another number each time it is loaded; 0: it is not. */
ino_t bpf_module(const char *directory);
/* Tell the programs where xen-netback frees what a guest has got, when it came or went. */
void bpf_find_netback(struct backend_bpf_state *state);

/* silence.c: look again which attached probes are silenced; true when that changed. */
bool bpf_look_for_silence(struct backend_bpf_state *state);

/* backend_bpf.c */
size_t bpf_table_bytes(const struct bpf_map *map); /* of the mapping */
uint64_t bpf_program_missed(const struct bpf_program *program);
void bpf_program_runs(const struct bpf_program *program, struct probe_runs *runs);

/* read.c: what the kernel charges for a map, bytes; keys in a hash.  0 for what is not known. */
uint64_t bpf_map_memory(int fd);
uint64_t bpf_count_keys(int fd, size_t key_bytes);

/* slots.c: ring slots.  new, then attach when the main object is loaded; free is NULL-safe. */
int bpf_ring_slots_new(struct backend_bpf_state *state, const struct backend_settings *settings,
		       const struct btf *kernel);
void bpf_ring_slots_attach(struct backend_bpf_state *state);
void bpf_ring_slots_free(struct backend_bpf_state *state);
/* How it is attached, or NULL. */
const char *bpf_ring_slots_how(const struct backend_bpf_state *state, enum nf_probe probe);
void bpf_ring_slots_probe(const struct backend_bpf_state *state, enum nf_probe probe,
			  struct probe_status *status);
void bpf_ring_slots_stats(const struct backend_bpf_state *state, enum nf_probe probe,
			  struct probe_runs *runs);
int bpf_ring_slots_tables(const struct backend_bpf_state *state,
			  int (*visit)(const struct backend_table *, void *), void *userdata);
/* Attach to xen-netfront when it comes, let go when it leaves; true when either happened. */
bool bpf_ring_slots_refresh(struct backend_bpf_state *state);
void bpf_read_slots_events(const struct backend *backend,
			   uint64_t events[NF_SLOTS_PROBES][NF_SLOTS_EVENTS]);
int bpf_read_slots(const struct backend *backend,
		   int (*visit)(const struct backend_slots *, void *), void *userdata);

/* read.c: the functions of backend_ops that read tables. */
void bpf_read_events(const struct backend *backend,
		     uint64_t events[NF_PROBE_COUNT][NF_EVENT_COUNT]);
void bpf_read_streams(const struct backend *backend, uint64_t bytes[NF_STREAM_COUNT]);
uint64_t bpf_read_in_flight(const struct backend *backend);
int bpf_read_drops(const struct backend *backend,
		   int (*visit)(const struct backend_drops *, void *), void *userdata);
int bpf_read_tables(const struct backend *backend,
		    int (*visit)(const struct backend_table *, void *), void *userdata);

/* retire.c: devices, live and retired, and slots for those to come. */
int bpf_slots_new(struct backend_bpf_state *state, uint64_t idle_seconds);
void bpf_slots_free(struct backend_bpf_state *state);
void bpf_housekeep(struct backend *backend);
int bpf_read_devices(const struct backend *backend,
		     int (*visit)(const struct backend_device *, void *), void *userdata);
int bpf_read_napi(const struct backend *backend, int (*visit)(const struct backend_napi *, void *),
		  void *userdata);
void bpf_read_softirq_wait(const struct backend *backend, uint32_t cpu, struct nf_hist *hist);

/*
 * A token bucket's interval and burst in ns, see bpf/throttle.h, from `rate`
 * records per second and `burst` records at once; both are at least 1.
 */
static inline void bpf_throttle(uint64_t rate, uint64_t burst, __u64 *interval_ns, __u64 *burst_ns)
{
	*interval_ns = TIME_NS_PER_SECOND / rate;
	*burst_ns = (burst - 1) * *interval_ns;
}

static inline const struct backend_bpf_state *bpf_state(const struct backend *backend)
{
	return (const struct backend_bpf_state *)backend;
}

#endif
