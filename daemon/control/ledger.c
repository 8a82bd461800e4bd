/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger as the methods report it. */
#include <unistd.h>

#include "daemon/control/internal.h"

/* The ledger balances only while nothing moves, so it is read several times.  These limits bound the wait of a call. */
#define LEDGER_ATTEMPTS 4
#define LEDGER_PAUSE_US 500

static bool balanced(ledger_events events, uint64_t in_flight)
{
	struct ledger_inflight inflight;
	struct ledger_drops drops;

	ledger_of_drops(&drops, events);
	ledger_of_inflight(&inflight, events, in_flight);
	return drops.balanced && !inflight.unaccounted;
}

/*
 * Packets keep moving while the table is read.  If the counters are the same before and after, nothing began or ended
 * during the reading.  Even then, a program may be between its two steps for as long as its virtual CPU does not run,
 * so an imbalance counts only if it stays.
 */
bool control_read_ledger(const struct control *control, ledger_events events, uint64_t *in_flight)
{
	const struct backend *backend = control->parts.backend;
	ledger_events after;
	bool steady = false;

	for (int attempt = 0; attempt < LEDGER_ATTEMPTS; attempt++) {
		if (attempt)
			usleep(LEDGER_PAUSE_US);
		backend->ops->events(backend, events);
		*in_flight = backend->ops->in_flight(backend);
		backend->ops->events(backend, after);
		steady = !ledger_moved(events, after);
		if (steady && balanced(events, *in_flight))
			return true;
	}
	return steady;
}

json_t *control_latency_ledger(ledger_events events, bool steady)
{
	struct ledger_latency ledger;
	json_t *balanced;

	ledger_of_latency(&ledger, events);
	balanced = steady ? json_boolean(ledger.chosen ==
					 ledger.recorded + ledger.throttled + ledger.ring_full)
			  : NULL;
	return json_pack("{s:I, s:I, s:I, s:I, s:o*}", "chosen", (json_int_t)ledger.chosen,
			 "recorded", (json_int_t)ledger.recorded, "throttled",
			 (json_int_t)ledger.throttled, "ring_full", (json_int_t)ledger.ring_full,
			 "balanced", balanced);
}
