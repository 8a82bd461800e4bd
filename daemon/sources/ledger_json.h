/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledgers as clients get them: types DropLedger, LatencyLedger, SlotsLedger and InflightLedger. */
#ifndef DAEMON_SOURCES_LEDGER_JSON_H
#define DAEMON_SOURCES_LEDGER_JSON_H

#include <jansson.h>

struct reading;

/* Of a reading of COUNTERS or LEDGER; the caller owns it. */
json_t *ledger_drops_json(const struct reading *reading);
json_t *ledger_latency_json(const struct reading *reading);
json_t *ledger_slots_json(const struct reading *reading);
/* Of a reading of LEDGER. */
json_t *ledger_inflight_json(const struct reading *reading);

#endif
