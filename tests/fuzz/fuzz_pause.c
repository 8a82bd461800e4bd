/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes the files of a pause with arbitrary text: what is accepted is the same after netflowd wrote it. */
#include <assert.h>
#include <stdint.h>

#include "daemon/cost/pause_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[PAUSE_TEXT_MAX], error[PAUSE_ERROR_MAX];
	struct pause_order order, again;
	size_t length;

	for (int own = 0; own < 2; own++) {
		if (pause_text_parse((const char *)data, size, own, &order, error) < 0)
			continue;
		assert(order.level == PAUSE_STAGES || order.level == PAUSE_ALL);
		length = pause_text_format(&order, text);
		assert(pause_text_parse(text, length, true, &again, error) == 0);
		assert(again.level == order.level && again.since_ns == order.since_ns);
		assert(again.until_ns == order.until_ns && again.uid == order.uid);
	}
	return 0;
}
