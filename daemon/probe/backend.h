/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A backend: one way to run the probes.  It delivers records to a sink and
 * answers what has been counted; it knows nothing of what is above it.
 *
 * All functions that can fail return a negative errno.  Counters only grow
 * while a backend is open, and may move while they are read.
 */
#ifndef DAEMON_PROBE_BACKEND_H
#define DAEMON_PROBE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"

#define BACKEND_REASON_MAX 512

struct names;
struct backend;

enum backend_slots_attach {
	BACKEND_SLOTS_AUTO, /* the first of these that can be attached */
	BACKEND_SLOTS_FENTRY,
	BACKEND_SLOTS_KPROBE,
	BACKEND_SLOTS_TRACEPOINT,
};

#define BACKEND_SLOTS_NAMES 16

/* Ring slots, see bpf/slots.h. */
struct backend_slots_settings {
	uint64_t limit;	 /* slots above which a transmit rides the rocket; below NF_SLOTS_BUCKETS */
	uint64_t table;	 /* devices counted apart */
	uint64_t rate;	 /* records per second and CPU, near misses and others apart */
	uint64_t burst;	 /* records at once, likewise */
	uint64_t attach; /* enum backend_slots_attach */
	/* devices that are counted besides those of xen-netfront */
	bool every_device;
	uint64_t names;
	char name[BACKEND_SLOTS_NAMES][NF_DEVICE_NAME]; /* padded with zeros */
};

struct backend_settings {
	struct backend_slots_settings slots;
	uint64_t inflight_entries;    /* a power of two, 4 … 2^24 */
	uint64_t reader_entries;      /* a power of two */
	uint64_t device_slots;	      /* a power of two, at least NF_DEVICE_SET; 0 = as fits */
	uint64_t device_idle_seconds; /* after which a device may lose its slot to another */
	uint64_t drop_keys;
	uint64_t drop_rate;		    /* drop records per second and key */
	uint64_t drop_burst;		    /* drop records at once per key */
	uint64_t ring_bytes;		    /* a power of two, at least a page */
	uint64_t path_rate;		    /* latency records per second and CPU */
	uint64_t path_burst;		    /* latency records at once per CPU */
	uint64_t sample_one_in;		    /* journeys of which one is drawn; 0 = none */
	uint64_t slow_ns[NF_SEGMENT_COUNT]; /* what is longer is slow; UINT64_MAX = nothing */
	bool disabled[NF_PROBE_COUNT];
};

/* Where records go; the record is the backend's and valid during the call. */
struct backend_sink {
	void (*drop)(void *userdata, const struct nf_drop_record *record);
	void (*path)(void *userdata, const struct nf_path_record *record);
	void (*slots)(void *userdata, const struct nf_slots_record *record);
	void *userdata;
};

enum probe_state {
	PROBE_ATTACHED,
	PROBE_UNNEEDED,
	PROBE_UNAVAILABLE,
};

struct probe_status {
	enum probe_state state;
	const char *how;    /* "tp_btf", "fentry", "kprobe", NULL when not attached */
	const char *reason; /* why not attached, NULL when it is; the backend's */
	bool missed_known;  /* the kernel counts what it skipped */
	uint64_t missed;
};

/* Program runs and their time, since some moment of the backend's choosing. */
struct probe_runs {
	uint64_t runs;
	uint64_t ns;
	uint64_t others; /* runs of further programs of the probe, whose time is in ns too */
};

struct backend_device {
	const char *name; /* NULL: all that had no slot of their own */
	uint32_t ifindex;
	uint32_t netns;				  /* inode number */
	struct nf_hist segment[NF_SEGMENT_COUNT]; /* of all CPUs */
	uint64_t polls, poll_packets, full_budgets;
};

/* NAPI polls of one device on one CPU. */
struct backend_napi {
	const char *name; /* NULL: the CPU's backlog */
	uint32_t ifindex;
	uint32_t netns; /* inode number */
	uint32_t cpu;
	uint64_t polls, poll_packets, full_budgets;
};

struct backend_drops {
	struct nf_drop_key key; /* its netns is an identity, not to be shown */
	uint32_t netns;		/* inode number, 0 = not known */
	uint64_t packets, bytes, last_ns;
	char device[NF_DEVICE_NAME + 1];
};

/* Ring slots of one device. */
struct backend_slots {
	const char *name; /* NULL: all that found no room in the table */
	uint32_t ifindex;
	uint32_t netns;			  /* inode number */
	bool xen;			  /* driven by xen-netfront; else of slots.devices */
	uint64_t slots[NF_SLOTS_BUCKETS]; /* transmits by the slots they take; the last: or more */
	uint64_t near;
	uint64_t overflow[NF_SLOTS_OUTCOMES];
	uint64_t too_big;
	uint64_t last_overflow_ns; /* 0 = none */
};

struct backend_table {
	const char *name;
	const char *what;
	uint64_t entries;
	bool used_known;
	uint64_t used;
	uint64_t bytes;
};

struct backend_ops {
	const char *name;
	/*
	 * Start.  `names` gets the kernel's drop reasons.  On failure `reason`
	 * (BACKEND_REASON_MAX bytes) says what is missing and what would help.
	 */
	int (*open)(struct backend **backend, const struct backend_settings *settings,
		    const struct backend_sink *sink, struct names *names, char *reason);
	void (*close)(struct backend *backend);
	/* To poll for input, or -1. */
	int (*fd)(const struct backend *backend);
	/* Deliver what is there to the sink. */
	int (*dispatch)(struct backend *backend);

	void (*probe)(const struct backend *backend, enum nf_probe probe,
		      struct probe_status *status);
	/* Why drops have no reasons on this kernel; NULL when they have. */
	const char *(*reasons_missing)(const struct backend *backend);
	/* Sum over all CPUs. */
	void (*events)(const struct backend *backend,
		       uint64_t events[NF_PROBE_COUNT][NF_EVENT_COUNT]);
	/* Bytes of TCP payload, as enum nf_stream_bytes. */
	void (*streams)(const struct backend *backend, uint64_t bytes[NF_STREAM_COUNT]);
	/* Entries of the in-flight table that are taken now. */
	uint64_t (*in_flight)(const struct backend *backend);
	/* Now and then: make room for devices to come. */
	void (*housekeep)(struct backend *backend);
	/* Each stops and returns when the visitor returns non-zero. */
	int (*devices)(const struct backend *backend,
		       int (*visit)(const struct backend_device *device, void *userdata),
		       void *userdata);
	int (*napi)(const struct backend *backend,
		    int (*visit)(const struct backend_napi *napi, void *userdata), void *userdata);
	/* Possible CPUs; their numbers go from 0. */
	uint32_t (*cpus)(const struct backend *backend);
	/* From softirq_raise to softirq_entry of NET_RX on one CPU; `hist` is added to. */
	void (*softirq_wait)(const struct backend *backend, uint32_t cpu, struct nf_hist *hist);
	int (*drops)(const struct backend *backend,
		     int (*visit)(const struct backend_drops *drops, void *userdata),
		     void *userdata);
	int (*tables)(const struct backend *backend,
		      int (*visit)(const struct backend_table *table, void *userdata),
		      void *userdata);
	/* Events of the slots probes, sum over all CPUs. */
	void (*slots_events)(const struct backend *backend,
			     uint64_t events[NF_SLOTS_PROBES][NF_SLOTS_EVENTS]);
	/* Stops and returns when the visitor returns non-zero. */
	int (*slots)(const struct backend *backend,
		     int (*visit)(const struct backend_slots *slots, void *userdata),
		     void *userdata);
	/* Once a second, and when modules came or went: attach what waited for a driver, see what
	 * the kernel stopped running; true when a probe's state may have changed. */
	bool (*refresh)(struct backend *backend);
	/* Modules came: drop reasons of theirs are added to `names`.  0 or negative errno. */
	int (*name_reasons)(struct backend *backend, struct names *names);
	/* Whether drop records carry stacks. */
	void (*set_stack)(struct backend *backend, bool on);
	/* Why the kernel's program statistics cannot be had; NULL = they can. */
	const char *(*stats_missing)(const struct backend *backend);
	/* Switch them; off unless asked for. */
	int (*set_stats)(struct backend *backend, bool on);
	/* `empty` is what an empty program measures: the reading of the clock. */
	void (*stats)(const struct backend *backend, struct probe_runs runs[NF_PROBE_COUNT],
		      struct probe_runs *empty);
};

struct backend {
	const struct backend_ops *ops;
};

extern const struct backend_ops backend_bpf;

/*
 * Open the best backend that this host can run.  Never fails for want of one:
 * then it is "none", whose probes are all unavailable.  `reason` tells why
 * this one.  -ENOMEM only.
 */
int backend_open(struct backend **backend, const struct backend_settings *settings,
		 const struct backend_sink *sink, struct names *names, char *reason);

/* NULL-safe; sets *backend to NULL. */
void backend_free(struct backend **backend);

/* Whether there is anything to ask but why there is nothing. */
bool backend_is_none(const struct backend *backend);

#endif
