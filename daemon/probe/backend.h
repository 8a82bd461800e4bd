/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A backend: one way to run the probes.  It delivers records to a sink and
 * reports its counters; it does not depend on its users.
 *
 * Functions that can fail return a negative errno.  While a backend is open, its
 * counters only grow, also while they are read.
 */
#ifndef DAEMON_PROBE_BACKEND_H
#define DAEMON_PROBE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "daemon/probe/exclusion.h"

#define BACKEND_REASON_MAX 512

struct names;
struct backend;
struct tep_handle;

enum backend_slots_attach {
	BACKEND_SLOTS_AUTO, /* the first of the others that works */
	BACKEND_SLOTS_FENTRY,
	BACKEND_SLOTS_KPROBE,
	BACKEND_SLOTS_TRACEPOINT,
};

enum backend_choice {
	BACKEND_AUTO, /* bpf, otherwise tracefs */
	BACKEND_BPF,
	BACKEND_TRACEFS,
};

#define BACKEND_SLOTS_NAMES 16

/* Settings of ring slots, see bpf/slots.h. */
struct backend_slots_settings {
	uint64_t limit;	 /* a transmit with more slots is an overflow; below NF_SLOTS_BUCKETS */
	uint64_t table;	 /* devices that are counted separately, at least 1 */
	uint64_t rate;	 /* records per second and CPU, of near misses and of others; at least 1 */
	uint64_t burst;	 /* records at once per CPU, of near misses and of others; at least 1 */
	uint64_t attach; /* enum backend_slots_attach */
	/* Devices other than those of xen-netfront. */
	bool every_device;
	uint64_t names;					/* entries of name[] */
	char name[BACKEND_SLOTS_NAMES][NF_DEVICE_NAME]; /* padded with zeros */
};

/* Symbols of the kernel itself, functions or data, whose addresses the BPF programs need. */
enum backend_symbol {
	BACKEND_INET_EHASH_SECRET,
	BACKEND_INET6_EHASH_SECRET,
	BACKEND_IPV6_HASH_SECRET,
	BACKEND_TCP_IPV6_HASH_SECRET,
	BACKEND_UDP_TABLE,
	BACKEND_RAW_V4_HASHINFO,
	BACKEND_RAW_V6_HASHINFO,
	BACKEND_NET_TX_ACTION,
	BACKEND_SYMBOLS,
};

extern const char *const backend_symbols[BACKEND_SYMBOLS];

struct backend_settings {
	struct backend_slots_settings slots;
	uint64_t inflight_entries; /* a power of two, 4 … 2^24 */
	uint64_t reader_entries;   /* sockets whose readers are followed at once; a power of two */
	uint64_t device_slots;	   /* a power of two, NF_DEVICE_SET … 4096 */
	uint64_t device_memory;	   /* bytes of histograms of devices */
	uint64_t device_idle_seconds; /* without packets until another device can take the slot */
	uint64_t drop_keys;	      /* keys whose drops are counted separately, 1 … 2^16 */
	uint64_t drop_rate;	      /* drop records per second and key, at least 1 */
	uint64_t drop_burst;	      /* drop records at once per key, at least 1 */
	uint64_t ring_bytes;	      /* a power of two, at least a page */
	uint64_t journey_rate;	      /* latency records per second and CPU, at least 1 */
	uint64_t journey_burst;	      /* latency records at once per CPU, at least 1 */
	uint64_t sample_one_in;	      /* one journey in N is sampled; 0: none */
	uint64_t slow_ns[NF_SEGMENT_COUNT]; /* a longer segment is slow; UINT64_MAX: none is */
	uint64_t choice;		    /* enum backend_choice */
	uint64_t
		trace_kib; /* of the ring buffer of each CPU of the backend tracefs; 0: its default */
	struct exclusion excluded; /* devices that the backend tracefs does not follow */
	const char *replay;	   /* a recording to show instead of this host; NULL: none */
	bool governor; /* journeys can be passed over, see struct backend_following; otherwise never */
	bool disabled[NF_PROBE_COUNT];
	/* How much evidence drops need that have this reason, NULL: none.  NULL: no drop needs any. */
	enum nf_evidence_level (*evidence)(const char *reason_name);
	uint64_t symbols[BACKEND_SYMBOLS]; /* addresses; 0: not known */
};

/* The receiver of records.  The backend owns a record; it is valid during the call. */
struct backend_sink {
	void (*drop)(void *userdata, const struct nf_drop_record *record);
	void (*journey)(void *userdata, const struct nf_journey_record *record);
	void (*slots)(void *userdata, const struct nf_slots_record *record);
	void (*busy)(void *userdata); /* see struct backend_following */
	void *userdata;
};

enum probe_state {
	PROBE_ATTACHED,
	PROBE_UNNEEDED,	   /* this host has no use for it; `reason` says why */
	PROBE_DEGRADED,	   /* attached, with a simpler program than the usual one */
	PROBE_DETACHED,	   /* it could run, but the level in force does without it */
	PROBE_UNAVAILABLE, /* it should be attached and is not */
};

struct probe_status {
	enum probe_state state;
	const char *how; /* "tp_btf", "fentry", "kprobe", NULL when not attached */
	const char
		*reason; /* why it is not attached, or not with the usual program, otherwise NULL;
			       owned by the backend */
	uint32_t verified_insns; /* that the kernel's verifier processed; 0: not known */
	bool missed_known;	 /* the kernel counts the hits that it skips */
	uint64_t missed;	 /* hits that the kernel skipped */
};

/* Program runs and their time; only the difference of two readings has a meaning. */
struct probe_runs {
	uint64_t runs;
	uint64_t ns;
	uint64_t others; /* runs of further programs of the probe; ns includes their time */
};

/*
 * Which probes run, from all to none.  The programs count drops and ring slots exactly at all levels
 * but the last.
 */
enum backend_level {
	BACKEND_ALL,
	BACKEND_NO_WAKE, /* all but those of group wake */
	BACKEND_DROPS,	 /* only those of the groups drop and slots */
	BACKEND_NOTHING,
	BACKEND_LEVELS,
};

/* Which journeys the programs follow, see bpf/follow.h. */
struct backend_following {
	/* False: none begins; those that have begun are followed on.  At first: true. */
	bool begin;
	/*
	 * Each journey stands for 2^window_shift as many, because stages are attached for that part of the
	 * time only.  Changes only while the level is BACKEND_DROPS or BACKEND_NOTHING.  At first: 0.
	 */
	uint32_t window_shift;
	/*
	 * At least this time lies between two packets that a CPU begins to follow in one direction, on the
	 * average of some ms; for this each CPU chooses N, and follows 1 in N.  0: N is always 1.
	 */
	uint64_t interval_ns;
	/* Call sink.busy once, soon after a CPU begins to follow at most 1 in 2^busy_shift.  0: do not. */
	uint32_t busy_shift;
};

#define BACKEND_ONE_IN_SHIFT_MAX 12 /* N is at most 4096 */

enum backend_direction {
	BACKEND_RX,
	BACKEND_TX,
	BACKEND_DIRECTIONS,
};

/* What the programs did on one CPU since they were loaded. */
struct backend_cpu_cost {
	uint64_t hits[NF_PROBE_COUNT]; /* calls of the program, also those that concern no packet */
	uint64_t timed[NF_PROBE_COUNT];	   /* one of some thousand, which timed itself, */
	uint64_t timed_ns[NF_PROBE_COUNT]; /* and the time of these, without that of the clock */
	uint32_t one_in_shift[BACKEND_DIRECTIONS]; /* log2 of N now */
};

/* The kind of devices that are one row because there is no room for more. */
#define BACKEND_KIND_OTHER "other"

/*
 * Latency and NAPI polls of one device, of all CPUs; or of a group, which has the
 * packets of the devices of its kind that counted there, because they found no
 * memory for histograms of their own, or are gone for long.  Together they have
 * every packet once.  The group of kind "other" is visited first, and always.
 */
struct backend_device {
	const char *name; /* NULL: a group */
	const char *kind; /* "veth", "bridge", … of the driver, "physical", "loopback"; or NULL */
	uint32_t ifindex; /* of a group: its number, 0 for "other" */
	uint32_t netns;	  /* inode number; of a group: 0 */
	/* Of a device; 0: of a group.  Inode numbers are soon given to other namespaces, so they do not identify it. */
	uint64_t identity;
	bool group;
	uint64_t devices; /* of a group: the devices that it stands for */
	uint32_t used;	  /* bit n: segment n is not empty */
	struct nf_hist segment[NF_SEGMENT_COUNT];
	uint64_t polls, poll_packets, full_budgets;
	/*
	 * The weights of the followed ones among the packets that the kernel counts as received, and the variance of
	 * this sum; 0: the kernel counts others, or it is not known.
	 */
	uint64_t received, received_variance;
};

/* Devices without histograms of their own. */
struct backend_sharing {
	uint64_t busy;	       /* devices that moved packets within a minute */
	bool unslotted;	       /* a device found no slot within a minute */
	uint64_t lost;	       /* packets' stages that no histogram has, since the start */
	int error;	       /* why the host gives no more memory for histograms; 0 = it does */
	uint64_t memory_bytes; /* the limit for histograms of devices */
};

/* NAPI polls of one device on one CPU. */
struct backend_napi {
	const char *name; /* NULL: the CPU's backlog */
	uint32_t ifindex;
	uint32_t netns; /* inode number */
	uint32_t cpu;
	uint64_t identity; /* as of a device; 0: the backlog */
	uint64_t polls, poll_packets, full_budgets;
};

/* Drops of one key, or of several keys that have folded, of all CPUs. */
struct backend_drops {
	struct nf_drop_key key; /* its netns is an identity; do not show it */
	uint64_t identity;	/* as of a device; without an ifindex, the namespace's alone */
	uint32_t netns;		/* inode number, 0 = not known */
	uint32_t ifindex;	/* 0 = not known */
	uint64_t packets;	/* skbs */
	uint64_t segments;	/* packets on the wire that these skbs were */
	uint64_t bytes;		/* of skb->len */
	bool unmeasured;	/* segments and bytes are not known */
	uint64_t last_ns;	/* of the newest */
	char device[NF_DEVICE_NAME + 1]; /* its newest name; empty = not known */
	uint64_t
		named_ns; /* of a reading: when netflowd first saw this name, instead of another one; 0: always */
	bool gone; /* folded: the key has only reason and location; location 0: the rest of the reason */
	bool mixed; /* folded, and some of its keys had other evidence: what it means is not what they meant */
	bool unkeyed; /* the table of keys was full: the key has only the reason */
};

/* Ring slots of one device, of all CPUs. */
struct backend_slots {
	const char *name; /* NULL: all devices that found the table full */
	uint32_t ifindex;
	uint32_t netns;	   /* inode number */
	uint64_t identity; /* as of a device; 0: of all together */
	bool xen;	   /* its driver is xen-netfront; otherwise of slots.devices */
	/* As in struct nf_slots_count. */
	uint64_t slots[NF_SLOTS_BUCKETS];
	uint64_t near;
	uint64_t overflow[NF_SLOTS_OUTCOMES];
	uint64_t too_big;
	uint64_t last_overflow_ns; /* 0 = none */
};

/*
 * Where a walk over a table goes on.  Zeros: at the beginning.  A walk returns 0 when it is
 * complete; 1 if the visitor stopped it by returning 1, or the backend did, so that one call takes
 * at most a few ms: the next call with the same cursor continues behind the last row; or a negative
 * errno, also that of the visitor.  While a walk is not complete, do not call housekeep().
 */
struct backend_cursor {
	bool begun;
	uint64_t next;
	struct nf_drop_key key; /* of drops */
};

/* The entries of the in-flight table that are in use. */
struct backend_in_flight {
	uint64_t young; /* began less than BACKEND_STALE_NS ago */
	uint64_t stale;
};

/*
 * An older entry is most probably of an skb that was freed without a tracepoint.  It stays until its
 * memory is used again.
 */
#define BACKEND_STALE_NS UINT64_C(10000000000)

/* A table of the backend. */
struct backend_table {
	const char *name;
	const char *what; /* a description of its entries */
	uint64_t entries;
	bool used_known;
	uint64_t used;	/* entries in use */
	uint64_t bytes; /* of memory */
};

/* The ledger of a trace: what was read, and what was not. */
struct backend_trace {
	uint64_t events; /* of the probes, and netflowd's own marks in a recording */
	uint64_t lost;	 /* that the kernel's buffers lost, as far as it knows how many */
	uint64_t losses; /* times that they lost some */
	uint64_t
		unreadable; /* shorter than their format says, or longer than their page; and damaged pages */
	uint64_t disorder; /* that came after one of a later time */
};

/* What a recording shows. */
struct backend_recording {
	uint64_t first_ns, last_ns; /* of its events, by its clock; 0: it has none */
	bool realtime_known;
	int64_t realtime_ns;	    /* from its clock to the time of day */
	struct tep_handle *symbols; /* of its kernel, see symbols_take() */
};

struct backend_ops {
	const char *name;
	/*
	 * Start the probes and add the kernel's drop reasons to `names`.  On failure
	 * `reason` (BACKEND_REASON_MAX bytes) says what is missing and what to do.
	 */
	int (*open)(struct backend **backend, const struct backend_settings *settings,
		    const struct backend_sink *sink, struct names *names, char *reason);
	void (*close)(struct backend *backend);
	/* A descriptor to poll for input, or -1. */
	int (*fd)(const struct backend *backend);
	/* Deliver waiting records to the sink, a limited number per call. */
	int (*dispatch)(struct backend *backend);

	void (*probe)(const struct backend *backend, enum nf_probe probe,
		      struct probe_status *status);
	/* What the trace lost; false: this backend reads no trace. */
	bool (*trace)(const struct backend *backend, struct backend_trace *trace);
	/* What this backend cannot see of a question of coverage; NULL: nothing. */
	const char *(*blind)(const struct backend *backend, const char *question);
	/* The recording that it shows; false: it shows this host. */
	bool (*recording)(const struct backend *backend, struct backend_recording *recording);
	/* Why drops have no reasons on this kernel; NULL if they have. */
	const char *(*reasons_missing)(const struct backend *backend);
	/* Events of all probes, sums over all CPUs. */
	void (*events)(const struct backend *backend,
		       uint64_t events[NF_PROBE_COUNT][NF_EVENT_COUNT]);
	/* The most packets that one draw stood for so far: N, or N runs of NET_RX with theirs; 1: all are followed. */
	uint64_t (*most_drawn)(const struct backend *backend);
	/* Bytes of TCP payload by enum nf_stream_bytes, sums over all CPUs. */
	void (*streams)(const struct backend *backend, uint64_t bytes[NF_STREAM_COUNT]);
	/*
	 * Add entries of the in-flight table that are in use to `count`, a limited number per call,
	 * by their age at `now_ns`.  True: the walk is complete.
	 */
	bool (*in_flight)(const struct backend *backend, struct backend_cursor *cursor,
			  uint64_t now_ns, struct backend_in_flight *count);
	/*
	 * Packets for which those journeys stand that began since stages are attached, and whose end can still
	 * come; `enough` of them are not counted further.  If the table is so full that it takes long to find
	 * out, a part of it stands for all.
	 */
	uint64_t (*awaited)(const struct backend *backend, uint64_t now_ns, uint64_t enough);
	/* To be called every 250 ms: makes room for new devices.  Takes up to 5 ms. */
	void (*housekeep)(struct backend *backend);
	/* These are walks, see struct backend_cursor. */
	int (*devices)(const struct backend *backend, struct backend_cursor *cursor,
		       int (*visit)(const struct backend_device *device, void *userdata),
		       void *userdata);
	int (*napi)(const struct backend *backend, struct backend_cursor *cursor,
		    int (*visit)(const struct backend_napi *napi, void *userdata), void *userdata);
	/* The number of possible CPUs; they are numbered from 0. */
	uint32_t (*cpus)(const struct backend *backend);
	/* Add the waits from softirq_raise to softirq_entry of NET_RX on one CPU to `hist`. */
	void (*softirq_wait)(const struct backend *backend, uint32_t cpu, struct nf_hist *hist);
	void (*sharing)(const struct backend *backend, struct backend_sharing *sharing);
	/* The sums of all rows by reason never decrease; those of other members do when keys fold. */
	int (*drops)(const struct backend *backend, struct backend_cursor *cursor,
		     int (*visit)(const struct backend_drops *drops, void *userdata),
		     void *userdata);
	int (*tables)(const struct backend *backend, struct backend_cursor *cursor,
		      int (*visit)(const struct backend_table *table, void *userdata),
		      void *userdata);
	/* Events of the slots probes, sums over all CPUs. */
	void (*slots_events)(const struct backend *backend,
			     uint64_t events[NF_SLOTS_PROBES][NF_SLOTS_EVENTS]);
	int (*slots)(const struct backend *backend, struct backend_cursor *cursor,
		     int (*visit)(const struct backend_slots *slots, void *userdata),
		     void *userdata);
	/*
	 * To be called every second, and when a module was loaded or removed: attach
	 * probes whose driver is now loaded, and find programs that the kernel no
	 * longer runs.  True if the state of a probe may have changed.
	 */
	bool (*refresh)(struct backend *backend);
	/* Add the drop reasons of modules loaded since the start to `names`.  0 or negative errno. */
	int (*name_reasons)(struct backend *backend, struct names *names);
	/* Switch kernel stacks in drop records on or off; off at startup. */
	void (*set_stack)(struct backend *backend, bool on);
	/* Take the thresholds, the sampling, and the rates and bursts of drop and latency records. */
	void (*tune)(struct backend *backend, const struct backend_settings *settings);
	/*
	 * Attach and detach probes for a level; BACKEND_ALL at startup.  In-flight journeys are given up
	 * when stages are detached.  A probe that cannot be attached again is unavailable from then on.
	 */
	void (*set_level)(struct backend *backend, enum backend_level level);
	/* Takes effect at once. */
	void (*follow)(struct backend *backend, const struct backend_following *following);
	void (*cpu_cost)(const struct backend *backend, uint32_t cpu,
			 struct backend_cpu_cost *cost);
	/*
	 * The time of one hit of an empty program, ns: what the hook itself costs.  Measured at startup,
	 * 0 if that failed.
	 */
	double (*hook_ns)(const struct backend *backend);
	/* Why the kernel's program statistics cannot be used; NULL if they can. */
	const char *(*stats_missing)(const struct backend *backend);
	/* Switch these statistics on or off; off at startup.  0 or negative errno. */
	int (*set_stats)(struct backend *backend, bool on);
	/* `empty`: the runs of an empty program, whose time is that of reading the clock. */
	void (*stats)(const struct backend *backend, struct probe_runs runs[NF_PROBE_COUNT],
		      struct probe_runs *empty);
};

struct backend {
	const struct backend_ops *ops;
};

extern const struct backend_ops backend_bpf;
extern const struct backend_ops backend_tracefs;
/* Needs settings->replay. */
extern const struct backend_ops backend_replay;

/*
 * Open the best backend that this host can run.  If there is none, open "none",
 * whose probes are all unavailable.  `reason` (BACKEND_REASON_MAX bytes) says why
 * this backend.  Fails with -ENOMEM only; but with settings->replay, if the
 * recording cannot be read: then `reason` says why.
 */
int backend_open(struct backend **backend, const struct backend_settings *settings,
		 const struct backend_sink *sink, struct names *names, char *reason);

/* NULL-safe; sets *backend to NULL. */
void backend_free(struct backend **backend);

/* True for the backend "none", which only knows why no other runs. */
bool backend_is_none(const struct backend *backend);

/* Whether the probe runs at this level. */
bool backend_level_has(enum backend_level level, enum nf_probe probe);

/* Whether the backend can follow fewer packets to cost less. */
bool backend_can_shed(const struct backend *backend);

/* Whether the kernel gives drops reasons. */
bool backend_has_reasons(const struct backend *backend);

#endif
