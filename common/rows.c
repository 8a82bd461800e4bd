/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/rows.h"

#include <errno.h>
#include <string.h>

#include "common/array.h"
#include "common/json.h"

static const struct {
	const char *method, *member;
} methods[] = {
	{"io.netflowd.GetDrops", "rows"},
	{"io.netflowd.GetDropRecords", "records"},
	{"io.netflowd.GetLatency", "latencies"},
	{"io.netflowd.GetNapi", "napi"},
	{"io.netflowd.GetLatencyRecords", "records"},
	{"io.netflowd.GetSlots", "devices"},
	{"io.netflowd.GetSlotsRecords", "records"},
	/* Of the past; about now there is one reply, without this member. */
	{"io.netflowd.GetAlerts", "events"},
	{"io.netflowd.GetIncidents", "incidents"},
};

const char *rows_of(const char *method)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (!strcmp(methods[i].method, method))
			return methods[i].member;
	return NULL;
}

/*
 * Add the rows of `page`, which is stolen, to those of *reply; the first page becomes *reply.  0 or -ENOMEM.
 */
static int add_rows(json_t **reply, json_t *page, const char *member)
{
	OWN_JSON json_t *owned = page;

	if (!*reply) {
		*reply = json_incref(owned);
		return 0;
	}
	return json_array_extend(json_object_get(*reply, member), json_object_get(owned, member))
		       ? -ENOMEM
		       : 0;
}

int rows_next(struct varlink *varlink, const char *method, int64_t timeout_ms, json_t **reply)
{
	bool continues = true;

	while (continues) {
		json_t *page = NULL;
		int r = varlink_next(varlink, timeout_ms, &page, &continues);

		if (r == 0)
			r = add_rows(reply, page, rows_of(method));
		if (r)
			return r;
	}
	return 0;
}

int rows_call(struct varlink *varlink, const char *method, json_t *parameters, int64_t timeout_ms,
	      json_t **reply)
{
	int r;

	*reply = NULL;
	if (!rows_of(method))
		return varlink_call(varlink, method, parameters, timeout_ms, reply);
	r = varlink_stream(varlink, method, parameters, timeout_ms);
	return r ? r : rows_next(varlink, method, timeout_ms, reply);
}
