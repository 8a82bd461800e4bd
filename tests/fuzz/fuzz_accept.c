/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client's header Accept, a setting metrics.listen, and a device's name as a label. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "daemon/export/negotiate.h"
#include "daemon/http/address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_label(const char *name)
{
	struct metrics_text text;
	size_t length;

	metrics_text_begin(&text, METRICS_OPENMETRICS);
	metrics_family(&text, METRICS_NAPI_POLLS);
	length = text.length;
	metrics_labels(&text, name, "1");
	metrics_count(&text, 1);
	assert(metrics_text_end(&text) == 0);
	/* One line, and valid UTF-8: otherwise Prometheus refuses all metrics. */
	for (size_t i = length, lines = 0; i < text.length;) {
		size_t bytes = utf8_bytes(text.bytes + i, text.length - i);

		assert(bytes);
		lines += text.bytes[i] == '\n';
		assert(lines <= 2);
		i += bytes;
	}
	metrics_text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_address address;
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = 0;
	assert(negotiate_format(text) < METRICS_FORMATS);
	(void)http_address_parse(&address, text);
	check_label(text);
	free(text);
	return 0;
}
