/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coverage: which questions this host can answer, and why it cannot answer the others. */
#ifndef DAEMON_CONTROL_COVERAGE_H
#define DAEMON_CONTROL_COVERAGE_H

#include <jansson.h>

#include "daemon/core/ledger.h"

struct control;

/* An array of type Coverage, which the caller owns; NULL if memory runs out. */
json_t *coverage_json(const struct control *control, const ledger_events events);

#endif
