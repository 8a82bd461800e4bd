/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an alert rule is: a kind of condition with its parameters, how long it
 * must hold, and what is done about it.  Kinds, severities and actions are
 * tables (rule.c).
 */
#ifndef DAEMON_ALERT_RULE_H
#define DAEMON_ALERT_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"

#define ALERT_NAME_MAX 63
#define ALERT_REASONS_MAX 32
#define ALERT_PROTOCOL_MAX 31

enum alert_severity {
	ALERT_INFO,
	ALERT_WARNING,
	ALERT_CRITICAL,
	ALERT_SEVERITY_COUNT,
};

enum alert_kind_id {
	ALERT_SLOT_OVERFLOW,
	ALERT_NEAR_MISS_RATE,
	ALERT_DROP_RATE,
	ALERT_LATENCY,
	ALERT_TIME_SQUEEZE,
	ALERT_LEDGER_GAP,
	ALERT_PROBE_LOST,
	ALERT_KIND_COUNT,
};

/* What a value, and so its bound, is. */
enum alert_unit {
	ALERT_UNIT_COUNT,    /* so many within the window, or now */
	ALERT_UNIT_RATE,     /* per second, over the window */
	ALERT_UNIT_DURATION, /* ns */
};

/* Parameters of a condition, of which each kind takes some. */
enum alert_parameter {
	ALERT_TAKES_REASON = 1 << 0,
	ALERT_TAKES_DEVICE = 1 << 1,
	ALERT_TAKES_NETNS = 1 << 2,
	ALERT_TAKES_PROTOCOL = 1 << 3,
	ALERT_TAKES_SEGMENT = 1 << 4,
	ALERT_TAKES_WINDOW = 1 << 5,
};

enum alert_action {
	ALERT_TO_JOURNAL = 1 << 0,
	ALERT_TO_STREAM = 1 << 1,
	ALERT_TO_EXEC = 1 << 2,
};

struct alert_kind {
	const char *name; /* as `condition =` has it */
	enum alert_unit unit;
	unsigned int takes; /* enum alert_parameter */
	bool has_over;	    /* there is a bound without one being given: */
	double over;
	uint64_t window_ns; /* unless one is given; 0 = a condition of the moment */
	const char *what;   /* what is counted or timed, for sentences */
	const char *cause;  /* likely */
	const char *remedy;
};

struct alert_rule {
	char name[ALERT_NAME_MAX + 1];
	char *file; /* where it stands */
	unsigned int line;
	bool enabled;
	enum alert_severity severity;
	enum alert_kind_id kind;

	/* what is looked at; empty or 0: all */
	uint32_t reason[ALERT_REASONS_MAX];
	size_t reasons;
	bool not_reasons;     /* all but those */
	bool without_reasons; /* it names reasons, and this kernel has none: cannot be judged */
	char device[NF_DEVICE_NAME];
	char *netns;	      /* as written, see common/netns.h; NULL: all */
	uint32_t netns_inode; /* what it was at the last reading; 0: no namespace yet */
	char protocol[ALERT_PROTOCOL_MAX + 1]; /* "ipv4/udp", "ipv6", "arp" */
	enum nf_segment segment;
	double quantile;   /* 0 … 1 */
	uint64_t at_least; /* packets in the window, for a quantile to mean something */

	double over;  /* the condition holds above */
	double clear; /* and has ended at or below */
	uint64_t window_ns;
	uint64_t for_ns;       /* holds so long before it fires */
	uint64_t clear_for_ns; /* has ended for so long before it is resolved */
	uint64_t repeat_ns;    /* told again while it fires; 0 = once */

	unsigned int actions; /* enum alert_action */
	char *exec;	      /* absolute path and arguments, blanks between; or NULL */
	uint64_t exec_limit_ns;
	char *cause, *remedy; /* instead of the kind's; or NULL */
};

extern const struct alert_kind alert_kinds[ALERT_KIND_COUNT];

/* A rule with all defaults but those that its kind gives.  Free with alert_rule_free.  -ENOMEM. */
int alert_rule_new(struct alert_rule **rule, const char *name);
void alert_rule_free(struct alert_rule **rule);

/* Whether both look at the same things, so that what was measured for one holds for the other. */
bool alert_rule_same_condition(const struct alert_rule *a, const struct alert_rule *b);

const char *alert_severity_name(enum alert_severity severity);
/* "journal"; `action` is one bit. */
const char *alert_action_name(enum alert_action action);

/* Likely cause and remedy: the rule's own words, else those of the drop reason of that name, which
 * may be empty or NULL, else its kind's. */
const char *alert_rule_cause(const struct alert_rule *rule, const char *reason);
const char *alert_rule_remedy(const struct alert_rule *rule, const char *reason);

/* Whether the rule looks at a drop of this reason, device and namespace; not at its protocol. */
bool alert_rule_takes(const struct alert_rule *rule, uint32_t reason, const char *device,
		      uint32_t netns);
/* Whether it looks at that protocol, a text of packet_protocol(). */
bool alert_rule_takes_protocol(const struct alert_rule *rule, const char *protocol);

/* Whether a record is evidence for the rule. */
bool alert_rule_takes_drop(const struct alert_rule *rule, const struct nf_drop_record *record);
bool alert_rule_takes_slots(const struct alert_rule *rule, const struct nf_slots_record *record);
/* Of latency: it crossed the device, and the segment took longer than the clear bound. */
bool alert_rule_takes_path(const struct alert_rule *rule, const struct nf_path_record *record);

#endif
