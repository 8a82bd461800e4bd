/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/live/rate.h"

double rate_between(uint64_t before, uint64_t now, double seconds)
{
	if (seconds <= 0)
		return RATE_UNKNOWN;
	return (double)(now >= before ? now - before : now) / seconds;
}

struct units_text rate_text(double per_second)
{
	return per_second < 0 ? units_unknown() : units_rate(per_second);
}
