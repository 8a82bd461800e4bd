/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time that an answer about the past is about. */
#ifndef DAEMON_CONTROL_PERIOD_H
#define DAEMON_CONTROL_PERIOD_H

#include <jansson.h>

struct call;
struct past;

/* Read the parameters `since` and `until`.  -EINVAL: the call has ended. */
int period_read(struct past *past);

/* Type Period, which the caller owns; NULL: no memory. */
json_t *period_json(const struct past *past);

/* End the call: nothing of the time that was asked for is covered.  For the method to return. */
int period_refuse(struct call *call, const struct past *past);

#endif
