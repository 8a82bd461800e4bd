/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void log_message(enum log_level level, const char *format, ...)
{
	int saved = errno;
	char line[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (getenv("JOURNAL_STREAM"))
		fprintf(stderr, "<%d>%s\n", level, line);
	else
		fprintf(stderr, "netflowd: %s\n", line);
	errno = saved;
}
