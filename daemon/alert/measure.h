/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The value of a rule's condition, out of a source: what it is now, and how it comes about. */
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
	bool whole;	/* the whole window was seen */
	double value;	/* in the kind's unit */
	uint64_t count; /* of what happened in the window, or is so now */
	uint64_t time_ns;
	char reason[NAMES_LENGTH_MAX + 1]; /* of drops: that most of them have; empty: none */
	char detail[ALERT_DETAIL_MAX];	   /* the parts it is made of, may be empty */
	char unknown[ALERT_UNKNOWN_MAX];   /* why it is not known */
};

/* -ENOMEM.  Free with alert_measure_free. */
int alert_measure_new(struct alert_measure **measure, const struct alert_rule *rule);
void alert_measure_free(struct alert_measure **measure);

/*
 * Read the source.  Never fails: what goes wrong is why the value is not known.  Of the rule only
 * netns_inode changes.
 */
void alert_measure_read(struct alert_measure *measure, struct alert_rule *rule,
			const struct alert_source *source, uint64_t now,
			struct alert_reading *reading);

#endif
