/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A row of drops: why, where and whose packets were dropped, and how many.  All lists of drops are made of these,
 * whether netflowd counts the drops now, has them in its history, or in records.
 */
#ifndef DAEMON_ROWS_DROP_ROW_H
#define DAEMON_ROWS_DROP_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/knowledge.h"
#include "daemon/core/device.h"

struct cause;
struct owner;
struct texts;

/* The parts of a key. */
enum drop_field {
	DROP_REASON = 1 << 0,
	DROP_LOCATION = 1 << 1,
	DROP_DEVICE = 1 << 2,
	DROP_NETNS = 1 << 3,
	DROP_PROTOCOL = 1 << 4,
	DROP_CGROUP = 1 << 5,
	DROP_EVIDENCE = 1 << 6,
	DROP_FLOW = 1 << 7,
	DROP_FIELDS = (1 << 7) - 1, /* of a cause: all but the flow */
};

/* Why a key lacks fields.  The numbers are also part of the format of the history's file. */
enum drop_lost {
	DROP_COARSE = 1 << 0,  /* its namespace had too many keys */
	DROP_GONE = 1 << 1,    /* it was folded: only reason, location and evidence are left */
	DROP_UNKEYED = 1 << 2, /* the table of keys was full: only the reason is left */
};

/*
 * What identifies a cause.  Keys are compared as bytes, so they begin as zeros and their texts are of one struct texts.
 * A text that is NULL and a number that is 0 are not known.
 */
struct drop_key {
	/* DROP_REASON, and the class, which all rows have */
	const char *reason;	   /* the kernel's, or inferred */
	const char *kernel_reason; /* of an inferred one */
	const char *subsystem;
	const char *candidates; /* see drop_candidate() */
	/* DROP_LOCATION */
	const char *location, *function;
	struct device
		device; /* DROP_DEVICE and DROP_NETNS, by their names when they were captured */
	const char *protocol;			     /* as from packet_protocol() */
	const char *flow;			     /* or "(others)" */
	const char *cgroup, *unit, *container, *pod; /* DROP_CGROUP: the owner */
	uint64_t cgroup_id;
	uint32_t reason_number; /* if `numbered` */
	uint8_t numbered, inferred;
	uint8_t class;	  /* enum knowledge_class */
	uint8_t message;  /* not a packet, so not a drop */
	uint8_t by_netns; /* the owner is that of the namespace's processes */
	uint8_t lost; /* enum drop_lost; rows that lack a field are not those in which it is not known */
	/* Until drop_rows_finish(). */
	uint8_t unseen; /* the baseline has not seen the cause: its newest drop decides */
	uint8_t unsure; /* the namespace can have a name that was not found in time */
	uint8_t reserved[4];
};

struct drop_row {
	struct drop_key key;
	uint64_t evidence; /* what all drops have in common, as in struct nf_drop_key */
	uint8_t lost;	   /* what all have lost, enum drop_lost */
	uint8_t mark;	   /* of the baseline: the most urgent one of all, enum baseline_mark */
	bool unmeasured;   /* segments and bytes are not known, of some */
	bool host;	   /* of the host's own namespace; only of a row that is not grouped */
	uint64_t packets, segments, bytes;
	int64_t last_ns; /* the newest, since 1970 */
};

/* Set the part that a cause has, of a key of zeros. */
void drop_row_set_cause(struct drop_row *row, const struct cause *cause, struct texts *texts);
/* NULL: not known. */
void drop_row_set_owner(struct drop_row *row, const struct owner *owner, struct texts *texts);

/* Keep the texts of a key, which are borrowed before.  texts->failed: memory ran out. */
void drop_key_keep(struct drop_key *key, struct texts *texts);
/* The same if all of them are kept already; otherwise false, and the key is of no use. */
bool drop_key_find(struct drop_key *key, const struct texts *texts);

/* Leave only these fields, the class, and what is not of a field. */
void drop_key_project(struct drop_key *key, unsigned int fields);

/* The fields, of `wanted`, that the row's drops have not lost. */
unsigned int drop_row_fields(const struct drop_row *row, unsigned int wanted);

/* Room for the text of all candidates. */
#define DROP_CANDIDATES_MAX 2048
/* Append a candidate to a text that begins empty. */
void drop_candidate_add(char text[static DROP_CANDIDATES_MAX], const char *reason,
			const char *class);
/* Take the first one off the text: both are borrowed from `buffer`.  False: there is none. */
bool drop_candidate(char **buffer, const char **reason, const char **class);

#endif
