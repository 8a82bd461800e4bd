/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/past.h"

#include <errno.h>

#include "common/json.h"
#include "common/time.h"
#include "daemon/sources/filter.h"

json_t *past_time(int64_t us)
{
	char text[TIME_TEXT_MAX];

	time_format_realtime(us * 1000, text);
	return json_string(text);
}

const char *past_text(const struct past *past, const char *name)
{
	return json_string_value(json_object_get(past->parameters, name));
}

int past_filter_read(const struct past *past, struct filter *filter)
{
	OWN_JSON json_t *parameters = json_copy(past->parameters);

	if (!parameters)
		return -ENOMEM;
	json_object_del(parameters, "device");
	json_object_del(parameters, "netns");
	return filter_read(filter, past->sources, past->call, parameters);
}

int past_put_rows(struct past *past, const struct reader_rows *rows,
		  json_t *(*to_json)(const struct reader_row *row))
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct reader_row *row = &rows->row[i];

		if (row->weight > past->weight)
			past->weight = row->weight;
		if (i < past->limit && json_array_append_new(past->rows, to_json(row)) != 0)
			return -ENOMEM;
	}
	return json_object_set_new(past->head, "matched", json_integer(json_count(rows->count)))
		       ? -ENOMEM
		       : 0;
}

/* Whether some of the time that was asked for is still to come; the counters are up to a second old. */
static bool is_to_come(const struct past *past)
{
	return past->until_us - past->period.until_us > (int64_t)(TIME_NS_PER_SECOND / 1000);
}

bool past_is_whole(const struct past *past, const struct reader *reader,
		   enum coverage_question question)
{
	const struct reader_period *period = &past->period;

	if (reader_is_damaged(reader))
		return false;
	/* A copy of an incident has no gaps of its own. */
	if (past->without_period)
		return true;
	if (period->asked.gaps || is_to_come(past))
		return false;
	return !coverage_lacks(&period->coverage, question);
}
