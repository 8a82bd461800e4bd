/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A record of any kind, with all its names. */
#ifndef DAEMON_CORE_RECORD_H
#define DAEMON_CORE_RECORD_H

#include "daemon/core/drop.h"
#include "daemon/core/journey.h"
#include "daemon/core/transmit.h"

enum record_kind {
	RECORDS_DROPS,
	RECORDS_LATENCY,
	RECORDS_SLOTS,
	RECORDS_KINDS,
};

struct record {
	enum record_kind kind;
	union {
		struct drop drop;
		struct journey journey;
		struct transmit transmit;
	};
};

#endif
