/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the bpf backend, which alone include libbpf. */
#ifndef DAEMON_PROBE_BPF_INTERNAL_H
#define DAEMON_PROBE_BPF_INTERNAL_H

#include <sys/types.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "common/cleanup.h"
#include "common/time.h"
#include "daemon/probe/backend.h"

struct bpf_blocks;
struct bpf_devices;
struct bpf_drops;
struct bpf_ring_slots;
struct netflowd; /* the skeleton */
struct names;

/* Features of the running kernel, detected at startup. */
struct bpf_features {
	bool atomic_fetch;     /* BPF_XCHG */
	bool no_reentry;       /* the kernel does not start a program that is running on the CPU */
	bool preempt_rt;       /* CONFIG_PREEMPT_RT: a task can preempt another one in a softirq */
	bool kfree_skb_reason; /* the tracepoint kfree_skb has the argument reason */
	bool kfree_skb_rx_sk;  /* and rx_sk */
	uint64_t gro;	       /* see struct settings in bpf/settings.h */
	bool udp_frees_deferred; /* UDP readers pass no tracepoint but sock_recv_length */
	bool fentry_udp_enqueue; /* fentry programs run at __udp_enqueue_schedule_skb() */
	bool fentry_once;	 /* the kernel attaches a program of fentry only once */
	bool fentry_defer_free;	 /* fentry programs run at skb_attempt_defer_free() */
	bool prefer_kprobe;	 /* a task can be preempted in a program of fentry */
	bool stats;		 /* the daemon may switch on program statistics */
	bool memlock_charged;	 /* maps and programs count against RLIMIT_MEMLOCK */
	__s32 rdonly_cast;	 /* BTF id of bpf_rdonly_cast(); 0 or negative: none */
};

struct backend_bpf_state {
	struct backend backend;
	struct backend_sink sink;
	struct bpf_features features;
	struct netflowd *skel;
	const struct names *names; /* while the programs are loaded */
	struct ring_buffer *ring;
	struct bpf_link *empty_link;
	int stats_fd;
	int chunk_template;	/* load.c: a map like each chunk, while the programs are loaded */
	uint64_t inflight_used; /* entries in use when they were counted last */
	unsigned int turn;	/* records taken in this turn of the event loop */
	uint32_t cpus, inflight_entries; /* possible CPUs, entries */
	uint32_t slots, all_slots;	 /* of devices; and of groups, which follow */
	uint64_t device_memory;		 /* bytes of devices' blocks */
	enum backend_level level;
	double hook_ns; /* calibrate.c */

	/* The mapped tables; the backend unmaps them. */
	struct nf_cpu *cpu;
	struct nf_context *context; /* NF_CONTEXTS of each CPU; NULL without PREEMPT_RT */
	struct nf_inflight *inflight;
	const struct nf_presence *presence;
	struct nf_hops *hops;
	struct nf_device_set *device_sets;
	struct nf_device_info *device_infos;
	struct nf_block_row *block_rows;

	struct bpf_blocks *blocks;   /* blocks.c */
	struct bpf_devices *devices; /* devices.h */

	struct bpf_ring_slots *ring_slots; /* slots.c */
	struct bpf_drops *drops;	   /* drops.c */
	bool drops_full;		   /* bpf_drops_tend() has something to do */

	struct {
		enum probe_state state;
		size_t alternative; /* its program, see load.c */
		char reason[160];
	} probe[NF_PROBE_COUNT];
	ino_t netback; /* functions.c: bpf_module() of xen_netback */
	/* Why the kernel does not run the programs of an attached probe; NULL if it does. */
	const char *silenced[NF_PROBE_COUNT];
};

/* features.c.  These cannot fail: a feature that cannot be detected counts as missing. */
void bpf_features_find(struct bpf_features *features, const struct btf *kernel);
bool bpf_has_tracepoint(const struct btf *kernel, const char *name);

/* reasons.c: add the kernel's drop reasons to `names`.  Fails with -ENOMEM only. */
int bpf_reasons_read(struct names *names, const struct btf *kernel);
/*
 * Add the drop reasons of modules of which `names` has none yet.  `kernel` may be NULL;
 * it is then read when it is needed.  0 or negative errno.
 */
int bpf_reasons_of_modules(struct names *names, const struct btf *kernel);

/*
 * load.c: load the programs, then attach those of a level.  A program that cannot be loaded or
 * attached is left out, and state->probe says why.  bpf_load() fails if none loads, with
 * a `reason` of up to BACKEND_REASON_MAX bytes.
 */
int bpf_load(struct backend_bpf_state *state, const struct backend_settings *settings,
	     const struct btf *kernel, char *reason);
void bpf_attach_level(struct backend_bpf_state *state, enum backend_level level);
/* Write the settings that can change while the programs run. */
void bpf_tune(const struct backend_bpf_state *state, const struct backend_settings *settings);
struct bpf_program *bpf_probe_program(const struct backend_bpf_state *state, enum nf_probe probe);
const char *bpf_probe_how(const struct backend_bpf_state *state, enum nf_probe probe);
bool bpf_probe_is_simple(const struct backend_bpf_state *state, enum nf_probe probe);

/* verifier.c: listen before the first program is loaded, and ask for the log of each program. */
void bpf_verifier_listen(void);
void bpf_verifier_ask(struct bpf_program *program);
/* The message on the program that was refused since bpf_refusal_forget(), and its name, or "". */
void bpf_refusal_forget(void);
const char *bpf_refusal(void);
const char *bpf_refused_program(void);
/* The map that could not be made since bpf_refusal_forget(), or "". */
const char *bpf_refused_map(void);
/* The instructions that the verifier processed for the program; 0: not known. */
unsigned int bpf_verified_insns(const struct bpf_program *program);

/* shortage.c: write why a map of that size could not be made. */
void bpf_explain_shortage(const char *map, uint64_t bytes, int error, char *reason);

/*
 * udp.c: why the kernel does not need this probe of UDP sockets; NULL: it does, or it is not one of
 * them.  After the kernel refused a program, replace its probe by another one if there is one.
 */
const char *bpf_udp_unneeded(const struct backend_bpf_state *state,
			     const struct backend_settings *settings, enum nf_probe probe);
void bpf_udp_replace(struct backend_bpf_state *state, const struct backend_settings *settings);

/* functions.c: the address of a function and its length in bytes; 0 and no length if it is hidden or does not exist. */
uint64_t bpf_function(const char *name, uint64_t *bytes);
/*
 * The inode number of a module's directory in /sys/module, a different number after
 * each load; 0 if the module is not loaded.
 */
ino_t bpf_module(const char *directory);
/* If xen-netback was loaded or removed, give the programs the address at which it frees skbs. */
void bpf_find_netback(struct backend_bpf_state *state);

/* silence.c: why the kernel does not run programs attached in this way; NULL if it does. */
const char *bpf_silenced(const char *how);
/* Find the attached probes that the kernel does not run; true if they changed. */
bool bpf_find_silenced(struct backend_bpf_state *state);

/* levels.c: the functions of backend_ops on what is attached and followed. */
void bpf_set_level(struct backend *backend, enum backend_level level);
void bpf_follow(struct backend *backend, const struct backend_following *following);

/* calibrate.c: the time of one hit of an empty program, ns; 0: it could not be measured. */
double bpf_calibrate(const struct backend_bpf_state *state);

/* backend_bpf.c */
size_t bpf_table_bytes(const struct bpf_map *map); /* bytes of an array's mapping */
uint64_t bpf_program_missed(const struct bpf_program *program);
void bpf_program_runs(const struct bpf_program *program, struct probe_runs *runs);

/* read.c: bytes that the kernel charges for a map or program; 0 if not known. */
uint64_t bpf_map_memory(int fd);
/* The number of keys in a hash. */
uint64_t bpf_count_keys(int fd, size_t key_bytes);

/* slots.c: ring slots.  Attach after the main object is loaded; free is safe without new. */
int bpf_ring_slots_new(struct backend_bpf_state *state, const struct backend_settings *settings,
		       const struct btf *kernel);
void bpf_ring_slots_attach(struct backend_bpf_state *state);
void bpf_ring_slots_free(struct backend_bpf_state *state);
/* Attach the loaded programs again, or detach them all. */
void bpf_ring_slots_set(struct backend_bpf_state *state, bool attached);
/* How the probe is attached, or NULL. */
const char *bpf_ring_slots_how(const struct backend_bpf_state *state, enum nf_probe probe);
void bpf_ring_slots_probe(const struct backend_bpf_state *state, enum nf_probe probe,
			  struct probe_status *status);
void bpf_ring_slots_stats(const struct backend_bpf_state *state, enum nf_probe probe,
			  struct probe_runs *runs);
/* From the table of number *next on. */
int bpf_ring_slots_tables(const struct backend_bpf_state *state, uint64_t *next,
			  int (*visit)(const struct backend_table *, void *), void *userdata);
/* Attach to xen-netfront when it is loaded, detach when it is removed; true if either happened. */
bool bpf_ring_slots_refresh(struct backend_bpf_state *state);
void bpf_read_slots_events(const struct backend *backend,
			   uint64_t events[NF_SLOTS_PROBES][NF_SLOTS_EVENTS]);
int bpf_read_slots(const struct backend *backend, struct backend_cursor *cursor,
		   int (*visit)(const struct backend_slots *, void *), void *userdata);

/* read.c: the functions of backend_ops that read tables. */
uint64_t bpf_read_most_drawn(const struct backend *backend);
void bpf_read_events(const struct backend *backend,
		     uint64_t events[NF_PROBE_COUNT][NF_EVENT_COUNT]);
void bpf_read_streams(const struct backend *backend, uint64_t bytes[NF_STREAM_COUNT]);
bool bpf_read_in_flight(const struct backend *backend, struct backend_cursor *cursor,
			uint64_t now_ns, struct backend_in_flight *count);
uint64_t bpf_read_awaited(const struct backend *backend, uint64_t now_ns, uint64_t enough);
int bpf_read_tables(const struct backend *backend, struct backend_cursor *cursor,
		    int (*visit)(const struct backend_table *, void *), void *userdata);

/*
 * drops.c: the counters of drops.  Before loading, bpf_drops_size() gives the maps their sizes and the
 * programs their settings; after loading, bpf_drops_new() sets up the tables; free is safe without new.
 */
int bpf_drops_size(struct netflowd *skel, const struct backend_settings *settings, uint32_t cpus,
		   bool no_reentry);
int bpf_drops_new(struct backend_bpf_state *state, const struct backend_settings *settings);
void bpf_drops_free(struct backend_bpf_state *state);
int bpf_read_drops(const struct backend *backend, struct backend_cursor *cursor,
		   int (*visit)(const struct backend_drops *, void *), void *userdata);
/* Keys in the kernel's table. */
uint64_t bpf_drops_used(const struct backend_bpf_state *state);
/* To be called every second, and when the programs report that a generation is full: makes room for new keys. */
void bpf_drops_tend(struct backend_bpf_state *state);

/* devices.c: the functions of backend_ops on devices; new after the tables are mapped. */
int bpf_devices_new(struct backend_bpf_state *state, const struct backend_settings *settings);
void bpf_devices_free(struct backend_bpf_state *state);
void bpf_housekeep(struct backend *backend);
int bpf_read_devices(const struct backend *backend, struct backend_cursor *cursor,
		     int (*visit)(const struct backend_device *, void *), void *userdata);
int bpf_read_napi(const struct backend *backend, struct backend_cursor *cursor,
		  int (*visit)(const struct backend_napi *, void *), void *userdata);
void bpf_read_softirq_wait(const struct backend *backend, uint32_t cpu, struct nf_hist *hist);
void bpf_read_sharing(const struct backend *backend, struct backend_sharing *sharing);

/*
 * A token bucket's interval and burst in ns, see bpf/throttle.h, from `rate`
 * records per second and `burst` records at once; both are at least 1.
 */
static inline void bpf_throttle(uint64_t rate, uint64_t burst, __u64 *interval_ns, __u64 *burst_ns)
{
	*interval_ns = TIME_NS_PER_SECOND / rate;
	*burst_ns = (burst - 1) * *interval_ns;
}

static inline void bpf_cleanup_btf(struct btf **btf)
{
	btf__free(*btf);
}

#define OWN_BTF CLEANUP(bpf_cleanup_btf)

static inline const struct backend_bpf_state *bpf_state(const struct backend *backend)
{
	return (const struct backend_bpf_state *)backend;
}

#endif
