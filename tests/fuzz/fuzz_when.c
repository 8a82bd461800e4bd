/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes the reader of moments with arbitrary text: what it accepts as RFC 3339 is the same moment after printing. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/time.h"
#include "common/when.h"

#define NOW INT64_C(1795357800000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[128], printed[TIME_TEXT_MAX];
	int64_t ns, again;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	if (when_parse(text, NOW, &ns) < 0)
		return 0;
	assert(ns >= 0);
	time_format_realtime(ns, printed);
	assert(when_parse_rfc3339(printed, &again) == 0);
	assert(again == ns);
	/* A time of day is after the begin; all else is what it is. */
	assert(when_parse_end(text, NOW, NOW - 7, &again) == 0);
	assert(again == ns || again > NOW - 7);
	return 0;
}
