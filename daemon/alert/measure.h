/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The value of a rule's condition, computed from the counters of a source, and its parts. */
#ifndef DAEMON_ALERT_MEASURE_H
#define DAEMON_ALERT_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/alert/rule.h"
#include "daemon/alert/source.h"

#define ALERT_DETAIL_MAX 768
#define ALERT_UNKNOWN_MAX 256

struct alert_measure;

struct alert_reading {
	bool known;
	bool whole;	/* the readings reach back over the whole window */
	double value;	/* in the kind's unit */
	uint64_t count; /* events or packets in the window; of probe_lost: probes now */
	uint64_t time_ns;
	char reason[NAMES_LENGTH_MAX + 1]; /* drop_rate: the reason of most drops; empty: none */
	bool inferred;			   /* that reason, by netflowd */
	char detail[ALERT_DETAIL_MAX];	   /* the parts of the value; may be empty */
	char unknown[ALERT_UNKNOWN_MAX];   /* why the value is not known */
};

/* -ENOMEM.  Free with alert_measure_free. */
int alert_measure_new(struct alert_measure **measure, const struct alert_rule *rule);
void alert_measure_free(struct alert_measure **measure);

/* The counters from which the rule's value is computed, and whether it needs a new reading of them at `now`. */
enum alert_input alert_measure_input(const struct alert_rule *rule);
bool alert_measure_due(const struct alert_measure *measure, uint64_t now);

/*
 * Read the source.  Does not fail: an error makes the value unknown, for the reason in `unknown`.  Of the rule only
 * netns_inode changes.
 */
void alert_measure_read(struct alert_measure *measure, struct alert_rule *rule,
			const struct alert_source *source, uint64_t now,
			struct alert_reading *reading);

#endif
