/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The meanings of drop reasons, segments, alerts and metrics, from the files in config/knowledge.  They are compiled
 * into both programs: no function here reads a file or fails, and both programs of one build contain the same text.
 */
#ifndef COMMON_KNOWLEDGE_H
#define COMMON_KNOWLEDGE_H

#include <stdbool.h>
#include <stddef.h>

enum knowledge_kind {
	KNOWLEDGE_REASON,
	KNOWLEDGE_SEGMENT,
	KNOWLEDGE_ALERT,
	KNOWLEDGE_METRIC,
	KNOWLEDGE_KINDS,
};

/* The usual class of a drop; for the other kinds, the class of an unusual value. */
enum knowledge_class {
	KNOWLEDGE_FAULT,  /* something is broken, or too small for its load */
	KNOWLEDGE_POLICY, /* the configuration drops such packets */
	KNOWLEDGE_BENIGN, /* a protocol at work, or traffic that this host did not ask for */
};

/* A text may have several lines; a line that begins with "$ " is a command. */
struct knowledge {
	const char *name;
	/* Of a reason: its subsystem, such as "core".  Of the others: their topic. */
	const char *subject;
	enum knowledge_kind kind;
	enum knowledge_class class;
	const char *also;    /* other names, ", " between them, or "" */
	const char *meaning; /* the kernel's function and its condition */
	const char *cause;
	const char *tell; /* how to distinguish the causes on this host */
	const char *remedy;
};

/* The entries by kind, and within a kind by name; NULL after the last one. */
const struct knowledge *knowledge_at(size_t index);

/* The entry of the drop reason `name`, in upper or lower case, as core/names.h spells it; NULL if there is none. */
const struct knowledge *knowledge_reason(const char *name);

/*
 * True if a person who wrote `text` may mean this entry.  Upper and lower case and the prefixes of the kernel's
 * enumerators do not count, the group of a metric can be missing, and a segment can have any form of
 * segment_name_read().
 */
bool knowledge_meant(const struct knowledge *entry, const char *text);

/* The name nearest to a mistyped one; NULL if none is near. */
const char *knowledge_nearest(const char *text);

/* "reason", "segment", "alert", "metric". */
const char *knowledge_kind_name(enum knowledge_kind kind);

/* "fault", "policy", "benign". */
const char *knowledge_class_name(enum knowledge_class class);

#endif
