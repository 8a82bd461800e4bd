/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counters of one moment, in parts that are read separately.  A reading does not change once it is complete, and
 * lasts until its last holder has released it.  Rows of the backend are copied whole.
 */
#ifndef DAEMON_STORE_READING_H
#define DAEMON_STORE_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/core/ledger.h"
#include "daemon/kernel/softnet.h"
#include "daemon/probe/backend.h"
#include "daemon/store/traffic.h"

enum reading_part {
	READING_COUNTERS, /* events, bytes of TCP, missed runs */
	READING_LEDGER,	  /* the same, and a walk of the in-flight table */
	READING_TABLES,	  /* room and memory of the tables */
	READING_DROPS,	  /* drops by key */
	READING_DEVICES,  /* histograms by device */
	READING_NAPI,	  /* polls by device and CPU, waits of the softirq by CPU */
	READING_SLOTS,	  /* ring slots by device */
	READING_TRAFFIC,  /* packets and bytes of devices, as the kernel counts them */
	READING_PARTS,
};

#define READING_BIT(part) (1U << READING_##part)

/* The equations of the ledger, each possibly off while packets move. */
enum reading_equation {
	READING_EQUATION_DROPS,
	READING_EQUATION_LATENCY,
	READING_EQUATION_SLOTS,
	READING_EQUATION_INFLIGHT,
	READING_EQUATIONS,
};

/* See struct governor_unseen. */
struct reading_unseen {
	uint64_t packets, undrawn, detached;
};

/* Of the parts COUNTERS and LEDGER. */
struct reading_counters {
	ledger_events events;
	uint64_t most_drawn; /* the most packets that one draw stood for so far */
	uint64_t slots[NF_SLOTS_PROBES][NF_SLOTS_EVENTS];
	uint64_t streams[NF_STREAM_COUNT];
	uint64_t missed
		[NF_PROBE_COUNT]; /* runs that the kernel skipped; 0 if it does not count them */
	struct backend_in_flight in_flight; /* LEDGER only */
	/* Packets that the host received, as the kernel counts them, since the first reading. */
	struct {
		bool known;
		uint64_t received;
		struct reading_unseen unseen; /* of these */
	} host;
	struct {
		uint64_t moved; /* events during the reading */
		bool balanced;
		uint64_t proven;       /* events that are certainly not accounted for */
	} equation[READING_EQUATIONS]; /* INFLIGHT: LEDGER only */
};

struct reading;

/* A moment of CLOCK_MONOTONIC at which the reading began; nothing in it is older. */
uint64_t reading_time(const struct reading *reading);

/* Hold a reading beyond the current handler.  Release it with reading_release(). */
const struct reading *reading_hold(const struct reading *reading);
/* NULL-safe; sets *reading to NULL. */
void reading_release(const struct reading **reading);
#define OWN_READING CLEANUP(reading_release)

const struct reading_counters *reading_counters(const struct reading *reading);
/*
 * How many packets a row may lack because none of them was drawn, beside those that what was drawn stands for: no more
 * than all that were passed over since `base` (NULL: the start), and in 95 of 100 cases no more than those of three
 * draws.
 */
uint64_t reading_missable(const struct reading_counters *now, const struct reading_counters *base);

/* Packets for which followed journeys stood whose end was not seen, and those of which a stage was not seen. */
struct reading_unended {
	uint64_t detached;    /* stages were detached before it came */
	uint64_t overwritten; /* another journey took their entry */
	uint64_t missed;      /* the kernel skipped a program of a stage */
};

/* Since `base`; NULL: since the start. */
struct reading_unended reading_unended(const struct reading_counters *now,
				       const struct reading_counters *base);
/* How many they are at most. */
uint64_t reading_unended_packets(struct reading_unended unended);

/* The runs that the kernel skipped, of the probes from `first` to before `end`, without kfree_skb. */
uint64_t reading_missed(const struct reading_counters *counters, int first, int end);

/* The rows of a part that has some, in the backend's order. */
size_t reading_count(const struct reading *reading);
const struct backend_table *reading_table(const struct reading *reading, size_t i);
const struct backend_drops *reading_drops(const struct reading *reading, size_t i);
const struct backend_napi *reading_napi(const struct reading *reading, size_t i);
const struct backend_slots *reading_slots(const struct reading *reading, size_t i);

/* Of a row of DEVICES; NULL: all devices without a slot of their own. */
const char *reading_device_name(const struct reading *reading, size_t i);
/* Copy a row of DEVICES without its histograms: device->segment stays as it was. */
void reading_device(const struct reading *reading, size_t i, struct backend_device *device);
/* A histogram of that row. */
void reading_segment(const struct reading *reading, size_t i, enum nf_segment segment,
		     struct nf_hist *hist);
/* Of the total segments of a device, the one with the highest 99th percentile. */
struct reading_worst {
	enum nf_segment segment;
	uint64_t p99_ns;
	uint64_t count; /* packets; 0: it has none */
};

const struct reading_worst *reading_worst(const struct reading *reading, size_t i);
/* A histogram of all devices together. */
const struct nf_hist *reading_all_devices(const struct reading *reading, enum nf_segment segment);

/* Of NAPI: the waits of the softirq of one CPU; NULL: there is no such CPU. */
const struct nf_hist *reading_softirq_wait(const struct reading *reading, uint32_t cpu);

/* Of TRAFFIC; no devices and no namespaces: nothing can be read. */
const struct traffic_list *reading_traffic(const struct reading *reading);

/* ---- for readings.c only ---------------------------------------------------- */

/* Begin a reading; the caller holds it.  -ENOMEM. */
int reading_begin(struct reading **reading, enum reading_part part);

/* What all readings share. */
struct reading_sources {
	const struct backend *backend;
	struct traffic_reader *traffic; /* NULL: nothing can be read */
	char *softnet; /* the path of /proc/net/softnet_stat; NULL: the host is not counted */
	struct softnet_sum received;
	struct reading_unseen (*unseen)(void *userdata);
	struct reading_unseen most_unseen; /* that it returned */
	void *userdata;
	struct ledger_watch watch[READING_EQUATIONS];
};

/*
 * Go on with a reading until `deadline_ns`, or a little longer.  0: it is complete; 1: call this again; or a negative
 * errno.
 */
int reading_step(struct reading *reading, struct reading_sources *sources, uint64_t deadline_ns);

/* Of a complete reading: learn the names of devices from it, and give all rows of a device its newest one. */
struct device_names;
void reading_name_devices(struct reading *reading, struct device_names *names);

#endif
