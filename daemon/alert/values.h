/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading values of keys, and refusing wrong ones: shared by the files that read rules. */
#ifndef DAEMON_ALERT_VALUES_H
#define DAEMON_ALERT_VALUES_H

#include <stdint.h>

#include "common/time.h"
#include "daemon/alert/keys.h"

#define ALERT_DAYS(n) ((n)*86400 * TIME_NS_PER_SECOND)

/* Write the message into `error` (ALERT_ERROR_MAX bytes) and return -EINVAL. */
int alert_refuse(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for an unknown word: "WHY WORD (did you mean NEAREST?)"; `nearest` may be NULL. */
int alert_refuse_word(char *error, const char *why, const char *word, const char *nearest);

/* Read a duration with its unit; 0 needs none.  -EINVAL with the reason in `error`. */
int alert_read_duration(const char *value, uint64_t least, uint64_t most, uint64_t *ns,
			char *error);

#endif
