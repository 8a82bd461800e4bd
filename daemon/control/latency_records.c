/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetLatencyRecords. */
#include <errno.h>

#include "daemon/control/filter.h"
#include "daemon/control/internal.h"
#include "daemon/json/json.h"
#include "daemon/probe/backend.h"
#include "daemon/store/recent.h"

static const struct nf_path_record *path_record(const struct recent *recent, size_t i)
{
	return (const struct nf_path_record *)recent_newest(recent, i);
}

/* Whether the record is asked for; `path` is then what it says. */
static bool takes(const struct control *control, const struct filter *filter, size_t i,
		  struct path *path)
{
	const struct nf_path_record *record = path_record(control->parts.paths, i);

	return path_read(path, record, &control->probes) == 0 &&
	       filter_takes_path(filter, record, path);
}

/* Newest last. */
static json_t *records_to_json(const struct control *control, const struct filter *filter,
			       size_t limit, size_t *matched)
{
	const struct recent *recent = control->parts.paths;
	json_t *records = json_array();
	size_t oldest = 0;
	struct path path;

	*matched = 0;
	for (size_t i = 0; i < recent_count(recent); i++)
		if (takes(control, filter, i, &path) && (*matched)++ < limit)
			oldest = i + 1;
	for (size_t i = oldest; i-- > 0;)
		if (takes(control, filter, i, &path))
			json_array_append_new(records,
					      json_latency_record(path_record(recent, i), &path,
								  control->attribution));
	return records;
}

static json_t *answer(const struct control *control, const struct filter *filter, size_t limit)
{
	const struct backend *backend = control->parts.backend;
	const struct recent *recent = control->parts.paths;
	ledger_events events;
	size_t matched;
	json_t *records = records_to_json(control, filter, limit, &matched);

	backend->ops->events(backend, events);
	return json_pack("{s:I, s:I, s:I, s:o, s:o}", "held", (json_int_t)recent_count(recent),
			 "capacity", (json_int_t)recent_capacity(recent), "matched",
			 (json_int_t)matched, "ledger", control_latency_ledger(events, false),
			 "records", records);
}

int method_get_latency_records(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"over_ns", PARAMETER_INT, true},   {"segment", PARAMETER_STRING, true},
		{"device", PARAMETER_STRING, true}, {"netns", PARAMETER_STRING, true},
		{"filter", PARAMETER_STRING, true}, {"slow", PARAMETER_BOOL, true},
		{"limit", PARAMETER_INT, true},	    {NULL, 0, 0},
	};
	const struct control *control = userdata;
	OWN_FILTER struct filter filter = {0};
	size_t limit;
	int r;

	r = control_read_records(control, call, parameters, table, &filter, &limit);
	return r > 0 ? control_reply(call, answer(control, &filter, limit)) : r;
}
