/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The row of a counter of drops. */
#ifndef DAEMON_STORE_COUNTED_ROW_H
#define DAEMON_STORE_COUNTED_ROW_H

struct backend_drops;
struct drop_row;
struct texts;

/*
 * Set all of a row that the counter itself knows: the device, the namespace's number, the protocol, the cgroup's id,
 * the evidence, what it has lost, and its numbers.  Without a location of its own it has none.  The cause comes before,
 * the owner and names are for the caller to add.
 */
void counted_row_set(struct drop_row *row, const struct backend_drops *drops, struct texts *texts);

#endif
