/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A daemon that goes away while a command follows it, by a restart, an upgrade or a crash: wait for the next one. */
#ifndef CLI_ASK_AWAY_H
#define CLI_ASK_AWAY_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/ask/session.h"

/* A command waits this long.  systemd restarts the daemon after 1 s, and its start takes a few seconds. */
#define AWAY_MAX_MS 60000
/* From one attempt to the next. */
#define AWAY_PAUSE_MS 250

struct away {
	int64_t since_ms; /* of time_monotonic_ms(); 0: the daemon is there */
};

/* Whether a call failed with this negative errno because the connection ended. */
bool away_is(int error);

/* The daemon was there for the last time at `since_ms`. */
void away_begin(struct away *away, int64_t since_ms);

/* For how long it has been away. */
int64_t away_ms(const struct away *away);

/*
 * Attempt once to connect again, and wait up to `wait_ms` for an answer.  0: the session has a new connection, whose
 * replies `interrupt` interrupts, and away_ms() keeps its value until the next away_begin() or away_end().  -EAGAIN:
 * not yet.  -EINTR: `interrupt` is readable.  -ETIMEDOUT: it has been away for AWAY_MAX_MS.
 */
int away_try(struct session *session, const struct away *away, int interrupt, int64_t wait_ms);

/* The daemon is there again. */
void away_end(struct away *away);

/* Report that the daemon has been away for AWAY_MAX_MS. */
enum report_status away_report(void);

#endif
