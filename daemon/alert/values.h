/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of keys, and what is said of wrong ones: what the files that read rules share. */
#ifndef DAEMON_ALERT_VALUES_H
#define DAEMON_ALERT_VALUES_H

#include <stdint.h>

#include "common/time.h"
#include "daemon/alert/keys.h"

#define ALERT_DAYS(n) ((n)*86400 * TIME_NS_PER_SECOND)

/* Say it in `error` (ALERT_ERROR_MAX bytes) and return -EINVAL. */
int alert_refuse(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* There is no such thing of that name; `nearest` may be NULL. */
int alert_refuse_word(char *error, const char *what, const char *word, const char *nearest);

/* A duration with its unit; 0 needs none.  -EINVAL, and `error` says why. */
int alert_read_duration(const char *value, uint64_t least, uint64_t most, uint64_t *ns,
			char *error);

/* A number that is not negative.  -EINVAL. */
int alert_read_real(const char *value, double *number);

#endif
