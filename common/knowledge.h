/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The meanings of drop reasons, places, segments, alerts and metrics, from the files in config/knowledge.  They are
 * compiled into both programs: no function here reads a file or fails, and both programs of one build contain the same
 * text.
 */
#ifndef COMMON_KNOWLEDGE_H
#define COMMON_KNOWLEDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum knowledge_kind {
	KNOWLEDGE_REASON,
	KNOWLEDGE_SEGMENT,
	KNOWLEDGE_ALERT,
	KNOWLEDGE_METRIC,
	KNOWLEDGE_PLACE, /* a kernel function that drops packets */
	KNOWLEDGE_KINDS,
};

/* The usual class of a drop; for the others, the class of an unusual value.  The history's file has the numbers. */
enum knowledge_class {
	KNOWLEDGE_FAULT,   /* something is broken, or too small for its load */
	KNOWLEDGE_POLICY,  /* the configuration drops such packets */
	KNOWLEDGE_BENIGN,  /* a protocol at work, or traffic that this host did not ask for */
	KNOWLEDGE_UNKNOWN, /* nothing says which of the others it is */
	KNOWLEDGE_CLASSES,
};

/* A case in which a function drops a packet. */
struct knowledge_case {
	const char *
		kernel_reason; /* the kernel's own reason, which the case refines; NULL: the kernel gives none */
	const char *reason; /* a reason that some kernel has for this; NULL: none has one */
	enum knowledge_class class;
	uint64_t set,
		clear; /* evidence that must be there, and that must not be; see bpf/records.h */
	uint32_t since,
		until; /* of the kernels that have it: KNOWLEDGE_KERNEL(), 0 = any; `until` has not */
	const char *conditions; /* the evidence and kernels as text, "listen, !full"; "" = always */
	const char *tell;	/* how to distinguish it from the other cases, or "" */
};
#define KNOWLEDGE_KERNEL(major, minor) ((uint32_t)(major) << 16 | (uint32_t)(minor))
#define KNOWLEDGE_CASES_MAX 32 /* of one place */

/* A text may have several lines; a line that begins with "$ " is a command. */
struct knowledge {
	const char *name;
	/* Of a reason: its subsystem, such as "core".  Of a place: its layer.  Of the others: their topic. */
	const char *subject;
	enum knowledge_kind kind;
	enum knowledge_class class;
	const char *also;    /* other names, ", " between them, or "" */
	const char *meaning; /* the kernel's function and its condition */
	const char *cause;
	const char *tell; /* how to distinguish the causes on this host */
	const char *remedy;
	bool messages; /* of a reason: skbs that are no packets can have it */
	/* Of a place: when it drops packets, as far as it is not always, with no reason and of this class. */
	const struct knowledge_case *cases;
	size_t case_count;
};

/* The entries by kind, and within a kind by name; NULL after the last one. */
const struct knowledge *knowledge_at(size_t index);

/* The entry of the drop reason `name`, in upper or lower case, as core/names.h spells it; NULL if there is none. */
const struct knowledge *knowledge_reason(const char *name);

/*
 * The entry of a kernel function, by its newest name or one of `also`, without a compiler's suffix such as ".isra.0";
 * NULL if there is none.
 */
const struct knowledge *knowledge_place(const char *function);

/*
 * True if a person who wrote `text` may mean this entry.  Upper and lower case and the prefixes of the kernel's
 * enumerators do not count, the group of a metric can be missing, and a segment can have any form of
 * segment_name_read().
 */
bool knowledge_meant(const struct knowledge *entry, const char *text);

/* The name nearest to a mistyped one; NULL if none is near. */
const char *knowledge_nearest(const char *text);

/* "reason", "segment", "alert", "metric", "place". */
const char *knowledge_kind_name(enum knowledge_kind kind);

/* "fault", "policy", "benign", "unknown". */
const char *knowledge_class_name(enum knowledge_class class);

#endif
