/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The criteria by which several methods select counters and records. */
#ifndef DAEMON_SOURCES_FILTER_H
#define DAEMON_SOURCES_FILTER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "bpf/records.h"
#include "common/cleanup.h"
#include "daemon/core/reason.h"
#include "daemon/core/stages.h"
#include "daemon/store/device_names.h"

struct call;
struct cause;
struct sources;
struct drop;
struct journey;
struct record;
struct selection;
struct transmit;

/* A criterion that the client did not give matches everything; a filter of zeros selects everything. */
struct filter {
	bool by_reason, by_device, by_netns;
	bool by_class;	      /* drops only: hide those of other classes */
	unsigned int classes; /* VERDICT_CLASS_BIT() of each that is shown; all without by_class */
	struct reason_wanted reason;
	uint32_t netns;		       /* the number that the name has now */
	uint32_t netns_id;	       /* of the namespace that has the name now; 0: not known */
	char netns_name[NAME_MAX + 1]; /* empty: the client gave a number */
	char device[NF_DEVICE_NAME];   /* its name now */
	bool renamed;		       /* the client gave a name that the device had before */
	struct device_holders holders; /* of the name, owned */
	struct selection *selection;   /* a tcpdump expression, owned; NULL: none */
	/* Latency records only. */
	bool by_segment, by_over, by_slow;
	struct segment segment; /* without by_segment: the total */
	uint64_t over_ns;
	bool slow;
};

/*
 * Read the members reason, device, netns, faults, classes, filter, segment, over_ns and slow that `parameters` has.  A
 * name that nothing on this host has, or an invalid expression, ends the call with the nearest name or the error;
 * -EINVAL.  -ENOMEM leaves the call open.  The caller clears the filter.
 */
int filter_read(struct filter *filter, const struct sources *sources, struct call *call,
		json_t *parameters);

/* Whether the host or the newest readings have a device of this name. */
bool filter_knows_device(const struct sources *sources, const char *name);

/*
 * The devices that have a name now, see device_names_holders().  Asks the kernel, too, for the daemon's own namespace:
 * there a device that got the name counts at once, in all others with its first packet.
 */
int filter_find_holders(const struct sources *sources, const char *name,
			struct device_holders *holders, const char **now);

/* Free what the filter owns. */
void filter_clear(struct filter *filter);

#define OWN_FILTER CLEANUP(filter_clear)

/* Whether the filter selects a counter by reason, device and namespace; ignores the class.  `identity` 0: not known. */
bool filter_takes(const struct filter *filter, const struct cause *cause, const char *device,
		  uint64_t identity, uint32_t netns);

/* Whether a device is the one that the filter asks for. */
enum device_place filter_place(const struct filter *filter, const char *device, uint64_t identity);

/* The classes that `parameters` ask for; *classes is unchanged if they ask for none.  -EINVAL: the call has ended. */
int filter_read_classes(struct call *call, const json_t *parameters, unsigned int *classes);

/* Whether the filter hides drops of this cause, because it asks for other classes. */
bool filter_hides(const struct filter *filter, const struct cause *cause);

/* Whether the filter selects a record, never a message; ignores the class.  `reason` applies to drops only. */
bool filter_takes_drop(const struct filter *filter, const struct drop *drop);
bool filter_takes_journey(const struct filter *filter, const struct journey *journey);
bool filter_takes_transmit(const struct filter *filter, const struct transmit *transmit);

/* One of them; and whether the filter hides it, because it asks for other classes. */
bool filter_takes_record(const struct filter *filter, const struct record *record);
bool filter_hides_record(const struct filter *filter, const struct record *record);

#endif
