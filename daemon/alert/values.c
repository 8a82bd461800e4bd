/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/values.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/duration.h"
#include "common/nearest.h"

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

	if (duration_parse(value, most, &read) == 0 && read >= least &&
	    (read == 0 || !isdigit((unsigned char)value[strlen(value) - 1]))) {
		*ns = read;
		return 0;
	}
	return alert_refuse(
		error,
		"%.60s: must be a duration with its unit, such as 500ms, 10s, 5min or 2h, from %s to %s",
		value, duration_format(least).s, duration_format(most).s);
}

int alert_read_real(const char *value, double *number)
{
	char *end;
	double read = strtod(value, &end);

	if (end == value || *end || !(read >= 0) || !isfinite(read))
		return -EINVAL;
	*number = read;
	return 0;
}
