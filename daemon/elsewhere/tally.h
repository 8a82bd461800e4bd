/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel's counters of drops have counted since netflowd first read them: sums that survive a counter that
 * restarts, a device that moves and a device that is deleted.  No I/O.
 *
 * A counter that is met for the first time begins with its value, unless it is known to be new: then it begins at 0, so
 * that nothing is lost which a new device counts before the first scan that finds it.  It is new if its device is, or
 * if it was absent when its source was last read in full.
 */
#ifndef DAEMON_ELSEWHERE_TALLY_H
#define DAEMON_ELSEWHERE_TALLY_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/elsewhere/judge.h"

/* More places, counters or names than these are left out, and counted. */
#define TALLY_PLACES_MAX 32768
#define TALLY_COUNTERS_MAX 65536
#define TALLY_NAMES_MAX 1024

#define TALLY_KIND_MAX 24

/* The bit of a source in a mask. */
#define TALLY_SOURCE(source) (1U << (source))

/* A namespace, or one of its devices. */
struct tally_place {
	uint64_t cookie;  /* of the namespace; 0: not known */
	uint32_t netns;	  /* its inode number */
	uint32_t ifindex; /* 0: the namespace itself */
	char name[IF_NAMESIZE];
	char kind
		[TALLY_KIND_MAX]; /* empty: a driver of hardware, the loopback device, or a namespace */
	uint8_t mac[6];
	bool closed;	 /* of a namespace: this scan could not read its devices */
	uint32_t unread; /* bits of the sources that this scan could not read */
	/* Set by the tally. */
	bool begins_at_0;
	bool cut;	  /* of a namespace: not all of its devices found room */
	uint32_t unknown; /* bits of the sources that were not read in full yet */
};

struct tally_key {
	uint64_t cookie;
	uint32_t netns, ifindex;
	uint16_t label;	   /* a name: of a device that is no network device; 0: none */
	uint16_t name;	   /* of the counter */
	uint32_t source;   /* enum elsewhere_source */
	uint32_t instance; /* of several that count under one name, such as sockets */
};

struct tally_counter {
	struct tally_key key;
	uint64_t last; /* value in the kernel */
	uint64_t sum;  /* since netflowd first read it */
	uint64_t moved_ns;
	const struct elsewhere_judgement
		*judgement; /* by the kind of its device, also when that is gone */
};

struct tally;

/* The caller frees the tally with tally_free().  0 or -ENOMEM. */
int tally_new(struct tally **tally);
void tally_free(struct tally **tally);

/* ---- one scan -------------------------------------------------------------- */

/* Begin a scan: `now` is CLOCK_MONOTONIC. */
void tally_begin(struct tally *tally, uint64_t now);

/* A namespace, and then its devices.  -ENOMEM. */
int tally_add_place(struct tally *tally, const struct tally_place *place);

/*
 * A counter of the namespace that was added last: of its device `ifindex`, or of none (0).  `label` is NULL or the name
 * of something other that counts; `name` is the counter's; both are copied.  Values of the same counter are added up.
 * The place of the counter may be added later.  -ENOMEM.
 */
int tally_add_counter(struct tally *tally, enum elsewhere_source source, uint32_t ifindex,
		      const char *label, const char *name, uint32_t instance, uint64_t value);

/* Forget what the scan has added from a source in the namespace that was added last: it is read again. */
void tally_discard(struct tally *tally, enum elsewhere_source source);

/*
 * A source could not be read in the namespace that was added last: what the scan has added from it is forgotten, and
 * what was known before stays.
 */
void tally_unread(struct tally *tally, enum elsewhere_source source);

/*
 * The namespace that was added last could not be read completely: what the scan has added of it is replaced by what
 * was known before.  Of one that is met for the first time, only that is known, and whether it is new.  -ENOMEM.
 */
int tally_keep(struct tally *tally);

/*
 * End a scan.  `complete`: all namespaces that exist were added, so that a new one is known to be new the next time.
 * -ENOMEM; the tally is then as before the scan.
 */
int tally_end(struct tally *tally, bool complete);

/* ---- what is known ----------------------------------------------------------- */

/* Sorted by key, without instances' differences: the counters of one key but for `instance` follow each other. */
size_t tally_count(const struct tally *tally);
const struct tally_counter *tally_at(const struct tally *tally, size_t i);

/* Of deleted devices and namespaces, by source, name and judgement; the rest of their keys is 0. */
size_t tally_gone_count(const struct tally *tally);
const struct tally_counter *tally_gone_at(const struct tally *tally, size_t i);

/* Devices, without the namespaces that are places too. */
size_t tally_devices(const struct tally *tally);
/* The place of a counter; NULL: none. */
const struct tally_place *tally_place(const struct tally *tally, const struct tally_key *key);
/* Valid as long as the tally. */
const char *tally_name(const struct tally *tally, uint16_t name);
/* Places and counters that found no room, in the last scan. */
uint64_t tally_left_out(const struct tally *tally);

#endif
