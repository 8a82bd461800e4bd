/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An alert rule: a condition with its parameters, how long it must hold, and the actions.  The kinds of
 * conditions, severities and actions are tables (rule.c).
 */
#ifndef DAEMON_ALERT_RULE_H
#define DAEMON_ALERT_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "daemon/core/reason.h"

#define ALERT_NAME_MAX 63
#define ALERT_REASONS_MAX 32
#define ALERT_PROTOCOL_MAX 31

enum alert_severity {
	ALERT_INFO,
	ALERT_WARNING,
	ALERT_CRITICAL,
	ALERT_SEVERITY_COUNT,
};

struct cause;
struct drop;
struct journey;
struct transmit;

enum alert_kind_id {
	ALERT_SLOT_OVERFLOW,
	ALERT_NEAR_MISS_RATE,
	ALERT_DROP_RATE,
	ALERT_LATENCY,
	ALERT_TIME_SQUEEZE,
	ALERT_LEDGER_GAP,
	ALERT_PROBE_LOST,
	ALERT_PAUSED,
	ALERT_KIND_COUNT,
};

/* The unit of a value, and of its thresholds. */
enum alert_unit {
	ALERT_UNIT_COUNT,    /* events within the window, or things now */
	ALERT_UNIT_RATE,     /* per second, over the window */
	ALERT_UNIT_DURATION, /* ns */
	ALERT_UNIT_SHARE,    /* percent of the events that could have been counted in the window */
};

/* Parameters of conditions; each kind has some of them. */
enum alert_parameter {
	ALERT_TAKES_REASON = 1 << 0,
	ALERT_TAKES_DEVICE = 1 << 1,
	ALERT_TAKES_NETNS = 1 << 2,
	ALERT_TAKES_PROTOCOL = 1 << 3,
	ALERT_TAKES_SEGMENT = 1 << 4,
	ALERT_TAKES_WINDOW = 1 << 5,
	ALERT_TAKES_AT_LEAST = 1 << 6,
};

enum alert_action {
	ALERT_TO_JOURNAL = 1 << 0,
	ALERT_TO_STREAM = 1 << 1,
	ALERT_TO_EXEC = 1 << 2,
};

struct alert_kind {
	const char *name; /* value of the key `condition` */
	enum alert_unit unit;
	bool has_share;	    /* a threshold with % is a share instead, see ALERT_UNIT_SHARE */
	unsigned int takes; /* enum alert_parameter */
	bool has_over; /* `over` below is the default threshold; otherwise the rule gives one */
	double over;
	uint64_t window_ns; /* default; 0: the condition has no window */
	const char *what;   /* events counted, or value measured, as part of a sentence */
	const char *cause;  /* likely cause */
	const char *remedy;
};

struct alert_rule {
	char name[ALERT_NAME_MAX + 1];
	char *file; /* that the rule is from */
	unsigned int line;
	bool enabled;
	enum alert_severity severity;
	enum alert_kind_id kind;

	/* events that count; empty or 0: all */
	struct reason_wanted reason[ALERT_REASONS_MAX];
	size_t reasons;
	bool not_reasons; /* all reasons except those */
	bool without_reasons; /* it names reasons that cannot occur on this kernel, which gives none: cannot evaluate */
	unsigned int classes; /* of drops, VERDICT_CLASS_BIT() of each that counts */
	char device[NF_DEVICE_NAME];
	char *netns;	      /* as written, see common/netns.h; NULL: all */
	uint32_t netns_inode; /* what it was at the last reading; 0: no namespace yet */
	char protocol[ALERT_PROTOCOL_MAX + 1]; /* "ipv4/udp", "ipv6", "arp" */
	enum nf_segment segment;
	double quantile; /* 0 … 1 */
	/* latency: packets of a device in the window, for its quantile to count; ledger_gap: lost events */
	uint64_t at_least;
	enum alert_unit unit; /* of value, over and clear */

	double over;  /* threshold: the condition holds above it */
	double clear; /* threshold: the condition has ended at or below it */
	uint64_t window_ns;
	uint64_t for_ns;       /* how long the condition holds before the alert fires */
	uint64_t clear_for_ns; /* how long it has ended before the alert is resolved */
	uint64_t repeat_ns;    /* interval of the actions while the alert fires; 0: once */

	unsigned int actions; /* enum alert_action */
	char *exec;	      /* absolute path and arguments, separated by blanks; or NULL */
	uint64_t exec_limit_ns;
	char *cause, *remedy; /* NULL: those of the drop reason or of the condition */
};

extern const struct alert_kind alert_kinds[ALERT_KIND_COUNT];

/*
 * A rule without condition and segment (ALERT_KIND_COUNT, NF_SEGMENT_COUNT), all other members 0; the
 * defaults come from alert_draft_new().  Free with alert_rule_free.  -ENOMEM.
 */
int alert_rule_new(struct alert_rule **rule, const char *name);
void alert_rule_free(struct alert_rule **rule);

/* Whether both measure the same value, so that readings of one are valid for the other. */
bool alert_rule_same_condition(const struct alert_rule *a, const struct alert_rule *b);

const char *alert_severity_name(enum alert_severity severity);
/* "journal"; `action` is one bit. */
const char *alert_action_name(enum alert_action action);

/*
 * Likely cause, and remedy: the rule's own, otherwise those of the drop reason `reason`, which may be
 * empty or NULL, otherwise those of the condition.
 */
const char *alert_rule_cause(const struct alert_rule *rule, const char *reason);
const char *alert_rule_remedy(const struct alert_rule *rule, const char *reason);

/* Whether the rule counts events of this device and namespace. */
bool alert_rule_takes(const struct alert_rule *rule, const char *device, uint32_t netns);
/* Whether the rule counts drops of this cause: its reason and class, and not a message. */
bool alert_rule_takes_cause(const struct alert_rule *rule, const struct cause *cause);
/* Whether the rule counts drops of this protocol, a text of packet_protocol(). */
bool alert_rule_takes_protocol(const struct alert_rule *rule, const char *protocol);

/* Whether a record is evidence for the rule. */
bool alert_rule_takes_drop(const struct alert_rule *rule, const struct drop *drop);
bool alert_rule_takes_transmit(const struct alert_rule *rule, const struct transmit *transmit);
/* Of latency: the packet crossed the device, and the segment took longer than `clear`. */
bool alert_rule_takes_journey(const struct alert_rule *rule, const struct journey *journey);

#endif
