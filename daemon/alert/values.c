/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/values.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/nearest.h"
#include "common/value.h"

int alert_refuse(char *error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(error, ALERT_ERROR_MAX, format, list);
	va_end(list);
	return -EINVAL;
}

int alert_refuse_word(char *error, const char *why, const char *word, const char *nearest)
{
	return alert_refuse(error, "%s %.60s%s", why, word, nearest_hint("", nearest).s);
}

int alert_read_duration(const char *value, uint64_t least, uint64_t most, uint64_t *ns, char *error)
{
	uint64_t read;

	if (value_duration(value, most, &read) == 0 && read >= least) {
		*ns = read;
		return 0;
	}
	return alert_refuse(
		error,
		"%.60s: must be a duration from %s to %s with its unit, " VALUE_DURATION_FORMS,
		value, value_duration_text(least).s, value_duration_text(most).s);
}
