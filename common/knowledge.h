/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What drop reasons, segments, alerts and metrics mean, out of the files in
 * config/knowledge.  It is part of the program: nothing is read, nothing can
 * fail, and daemon and command line never disagree with it.
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

/* What a drop usually is; of other kinds, what an unusual value is. */
enum knowledge_class {
	KNOWLEDGE_FAULT,  /* something is broken, or too small for its load */
	KNOWLEDGE_POLICY, /* somebody configured that such packets die */
	KNOWLEDGE_BENIGN, /* a protocol at work, or traffic nobody here asked for */
};

/* A text may have several lines; one that begins with "$ " is a command. */
struct knowledge {
	const char *name;
	const char *subject; /* of a reason its subsystem, "core"; of others what it is about */
	enum knowledge_kind kind;
	enum knowledge_class class;
	const char *also;    /* other names, ", " between them, or "" */
	const char *meaning; /* the kernel's function and its condition */
	const char *cause;
	const char *tell; /* how to tell the causes apart on this host */
	const char *remedy;
};

/* All entries, by kind, each kind sorted by name; NULL behind the last. */
const struct knowledge *knowledge_at(size_t index);

/* The drop reason of exactly that name, as core/names.h has it, in any case; or NULL. */
const struct knowledge *knowledge_reason(const char *name);

/*
 * Whether a person who wrote `text` may mean this entry.  Case and the prefixes of the kernel's
 * enumerators do not matter, a metric's group can be left out, and a segment can have any form of
 * segment_name_read().
 */
bool knowledge_meant(const struct knowledge *entry, const char *text);

/* The name nearest to a mistyped one, or NULL when none is near. */
const char *knowledge_nearest(const char *text);

/* "reason", "segment", "alert", "metric". */
const char *knowledge_kind_name(enum knowledge_kind kind);

/* "fault", "policy", "benign". */
const char *knowledge_class_name(enum knowledge_class class);

#endif
