/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The correlator: from trace events to journeys, histograms, drops and records, as the programs of bpf/ do it in the
 * kernel.  Pure arithmetic over events: no kernel, no clock, no I/O.  Its tables are as large as the settings say.
 *
 * Events show less than the programs see.  They name an skb by its address only, and the kernel frees many skbs without
 * an event and reuses their memory.  The rules of identity take the place of skb->head and skb->skb_iif; each is in the
 * file of its stage, and docs/replay.md lists what they cannot know.
 *
 * Events must come in the order of their times.
 */
#ifndef DAEMON_CORRELATOR_CORRELATOR_H
#define DAEMON_CORRELATOR_CORRELATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/records.h"
#include "common/cleanup.h"
#include "daemon/correlator/event.h"

struct correlator;

struct correlator_settings {
	uint32_t cpus;		   /* events are of CPUs below it, at least 1 */
	uint64_t inflight_entries; /* a power of two, at least 4 */
	uint64_t reader_entries; /* UDP sockets and the datagrams in their queues; a power of two */
	uint64_t devices;	 /* with histograms of their own, by name, at least 1 */
	uint64_t drop_keys;	 /* keys whose drops are counted separately, at least 1 */
	uint64_t drop_rate;	 /* drop records per second and key, at least 1 */
	uint64_t drop_burst;	 /* drop records at once per key, at least 1 */
	uint64_t journey_rate;	 /* latency records per second and CPU, at least 1 */
	uint64_t journey_burst;	 /* latency records at once per CPU, at least 1 */
	uint64_t slots_limit;	 /* a transmit that needs more ring slots is an overflow */
	uint64_t
		slots_rate; /* slots records per second and CPU, of near misses and of others; at least 1 */
	uint64_t slots_burst;	/* slots records at once per CPU, of each of both; at least 1 */
	uint64_t sample_one_in; /* one journey in N is sampled; 0: none */
	uint64_t slow_ns[NF_SEGMENT_COUNT]; /* a longer segment is slow; UINT64_MAX: none is */
	bool has[NF_PROBE_COUNT];	    /* the events of this probe are there */
	bool has_reason;		    /* kfree_skb has a reason */
	uint32_t not_specified;		    /* the number of SKB_DROP_REASON_NOT_SPECIFIED */
};

/* The receiver of records, which are valid during the call.  A task has a thread id only. */
struct correlator_sink {
	void (*drop)(void *userdata, const struct nf_drop_record *record);
	void (*journey)(void *userdata, const struct nf_journey_record *record);
	void (*slots)(void *userdata, const struct nf_slots_record *record);
	void *userdata;
};

/* -ENOMEM.  Free with correlator_free. */
int correlator_new(struct correlator **correlator, const struct correlator_settings *settings,
		   const struct correlator_sink *sink);
void correlator_free(struct correlator **correlator);
#define OWN_CORRELATOR CLEANUP(correlator_free)

/* From now on, the receive and the transmit of some skbs are not among the events: those of some devices. */
void correlator_hide_devices(struct correlator *correlator);

void correlator_event(struct correlator *correlator, const struct event *event);

/*
 * The source lost `events` events of a CPU before the next one; 0: it does not know how many.  The CPU's state is
 * forgotten.
 */
void correlator_lost(struct correlator *correlator, uint32_t cpu, uint64_t events);

/* No event is left: decide what waited for the next one. */
void correlator_settle(struct correlator *correlator);

/* New thresholds, rates and sampling; the tables stay. */
void correlator_tune(struct correlator *correlator, const struct correlator_settings *settings);

/* ---- readings ------------------------------------------------------------ */

/* Sums over all CPUs since the first event. */
struct correlator_totals {
	uint64_t events[NF_PROBE_COUNT][NF_EVENT_COUNT];
	uint64_t slots[NF_SLOTS_EVENTS];
	uint64_t
		slots_unknown; /* transmits whose slots the events do not show; not among slots[] */
	uint64_t lost;	       /* events that the source lost, as far as it knows */
	uint64_t losses;       /* times that it lost some */
	uint64_t first_ns, last_ns; /* of the events; 0: there was none */
	uint64_t disorder;	    /* events that came after one of a later time */
};
const struct correlator_totals *correlator_totals(const struct correlator *correlator);

/* Entries of the in-flight table in use that began before `before_ns`, and all others. */
void correlator_in_flight(const struct correlator *correlator, uint64_t before_ns, uint64_t *older,
			  uint64_t *younger);

struct correlator_device {
	char name[NF_DEVICE_NAME]; /* "": all devices that found the table full, the first */
	struct nf_hist segment[NF_SEGMENT_COUNT];
	uint64_t packets;		/* received and sent */
	struct correlator_polls *polls; /* by CPU; NULL: none */
	struct nf_slots_count *slots;	/* NULL: none of its transmits was counted */
};

struct correlator_polls {
	uint64_t polls, packets, full_budgets;
};

/* The number of devices; the first is that of all devices without a place of their own. */
uint32_t correlator_devices(const struct correlator *correlator);
const struct correlator_device *correlator_device(const struct correlator *correlator,
						  uint32_t index);

/* NAPI polls of the backlog of a CPU, which has no device. */
const struct correlator_polls *correlator_backlog(const struct correlator *correlator,
						  uint32_t cpu);

/* The waits from softirq_raise to softirq_entry of NET_RX on a CPU; NULL: none. */
const struct nf_hist *correlator_softirq_wait(const struct correlator *correlator, uint32_t cpu);

struct correlator_drops {
	uint64_t location;
	uint64_t packets;
	uint64_t last_ns;
	uint32_t reason;
	uint16_t protocol; /* EtherType, 0 = none */
	uint16_t device;   /* of correlator_device(); 0 = not known */
	bool unkeyed;	   /* the table was full: the key has only the reason */
	struct nf_bucket bucket;
};

/* The i-th counter of drops; NULL: there are fewer. */
const struct correlator_drops *correlator_drops(const struct correlator *correlator,
						uint32_t index);

/* A table of the correlator: its entries, those in use, and its memory. */
struct correlator_table {
	const char *name, *what;
	uint64_t entries, used, bytes;
};

/* The i-th table; false: there are fewer. */
bool correlator_table(const struct correlator *correlator, uint32_t index,
		      struct correlator_table *table);

#endif
