/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cache of the texts of addresses in kernel text.  Drops come from few locations, and formatting one from the table
 * of symbols takes a microsecond: too long for each line of each stack of thousands of records.
 */
#ifndef DAEMON_STORE_LOCATIONS_H
#define DAEMON_STORE_LOCATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

struct locations;
struct symbols;

/* `symbols` must outlive the locations; NULL: no address has a symbol.  -ENOMEM. */
int locations_new(struct locations **locations, const struct symbols *symbols);
void locations_free(struct locations **locations);
#define OWN_LOCATIONS CLEANUP(locations_free)

/* Make room for the texts of `count` addresses, at most LOCATIONS_AT_ONCE.  Invalidates all texts returned before. */
#define LOCATIONS_AT_ONCE 64
void locations_begin(struct locations *locations, size_t count);

/* The text of an address, such as "udp_rcv+0x1f".  At most as many new addresses as locations_begin() made room for. */
const char *locations_text(struct locations *locations, uint64_t address);

/* Forget all texts, because the symbols changed. */
void locations_forget(struct locations *locations);

#endif
