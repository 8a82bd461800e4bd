/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/tracefs/refusal.h"

#include <stdarg.h>
#include <stdio.h>

int refusal(char *error, int r, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(error, REFUSAL_MAX, format, list);
	va_end(list);
	return r;
}
