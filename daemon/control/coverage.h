/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coverage for clients; control_coverage() finds out what it is. */
#ifndef DAEMON_CONTROL_COVERAGE_H
#define DAEMON_CONTROL_COVERAGE_H

#include <jansson.h>

#include "daemon/core/coverage.h"

/* An array of type Coverage, which the caller owns; NULL if memory runs out. */
json_t *coverage_json(const struct coverage *coverage);

#endif
