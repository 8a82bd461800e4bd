/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the reader of the names of series with arbitrary bytes, as a damaged file has them: what it accepts is the
 * same after it was written again.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "daemon/history/series_name.h"
#include "daemon/rows/drop_row.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_name(const uint8_t *data, size_t size)
{
	uint8_t bytes[SERIES_NAME_MAX], again[SERIES_NAME_MAX];
	struct series_name name = {0}, same = {0};
	size_t length;

	if (series_name_decode(&name, data, size) < 0)
		return;
	length = series_name_encode(&name, bytes);
	assert(series_name_decode(&same, bytes, length) == 0);
	assert(series_name_encode(&same, again) == length && !memcmp(bytes, again, length));
}

static void read_drops(const uint8_t *data, size_t size)
{
	uint8_t bytes[SERIES_NAME_MAX], again[SERIES_NAME_MAX];
	struct drop_row row = {0}, same = {0};
	size_t length;

	if (series_name_decode_drops(&row, data, size) < 0)
		return;
	length = series_name_encode_drops(&row, bytes);
	assert(series_name_decode_drops(&same, bytes, length) == 0);
	assert(series_name_encode_drops(&same, again) == length && !memcmp(bytes, again, length));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_name(data, size);
	read_drops(data, size);
	return 0;
}
