/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Type Counted. */
#include "daemon/json/internal.h"
#include "daemon/json/json.h"

json_t *json_counted(const struct device *device, const uint64_t value[4])
{
	struct fill f = fill_new();

	fill_device(&f, device);
	fill_int(&f, "received", value[0]);
	fill_int(&f, "received_bytes", value[1]);
	fill_int(&f, "sent", value[2]);
	fill_int(&f, "sent_bytes", value[3]);
	return f.object;
}
