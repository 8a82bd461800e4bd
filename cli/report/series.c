/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The timeline.  The history counts in buckets, and a bucket counts if it overlaps the time that was asked for.  So the
 * cells begin and end where buckets do: then each packet is in exactly one cell.
 *
 * The last cell is the rest: what the whole period has and the other cells do not.  It has what came after the last
 * bucket, too, so the cells add up to the numbers of the other sections.
 */
#include <errno.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/report/model.h"
#include "cli/show/segment.h"
#include "common/array.h"
#include "common/time.h"

/* A cell that the daemon is asked for. */
struct answer {
	json_t *drops, *latency;
};

static void answer_done(struct answer *answer)
{
	json_decref(answer->drops);
	json_decref(answer->latency);
}
#define OWN_ANSWER CLEANUP(answer_done)

/* ---- where cells end ----------------------------------------------------------------------- */

uint64_t series_step(uint64_t period_s, uint64_t resolution_s)
{
	static const uint64_t steps[] = {
		10,	   30,	      60,	 2 * 60,    5 * 60,    10 * 60,
		20 * 60,   30 * 60,   3600,	 2 * 3600,  4 * 3600,  6 * 3600,
		12 * 3600, 24 * 3600, 2 * 86400, 4 * 86400, 7 * 86400, 14 * 86400,
	};
	uint64_t step = steps[ARRAY_SIZE(steps) - 1];

	/* One cell more than fits can be needed, because both ends can be in the middle of one. */
	for (size_t i = ARRAY_SIZE(steps); i-- > 0;)
		if (steps[i] >= resolution_s && steps[i] % resolution_s == 0 &&
		    period_s / steps[i] + 2 <= MODEL_CELLS)
			step = steps[i];
	/* No history is that long; then the cells are, and still few. */
	while (period_s / step + 2 > MODEL_CELLS)
		step *= 2;
	return step;
}

/* ---- one cell ------------------------------------------------------------------------------ */

static json_t *moments(uint64_t from_ns, uint64_t to_ns)
{
	char since[TIME_TEXT_MAX], until[TIME_TEXT_MAX];

	time_format_realtime((int64_t)from_ns, since);
	time_format_realtime((int64_t)to_ns, until);
	return session_parameters("since", session_text(since), "until", session_text(until), NULL);
}

static enum report_status ask(struct session *session, const struct model_cell *cell,
			      struct answer *answer)
{
	json_t *parameters = moments(cell->from_ns, cell->to_ns);
	enum report_status status;

	if (parameters)
		json_object_set_new(parameters, "by", json_string("reason"));
	status = session_call_past(session, "io.netflowd.GetDrops", parameters, &answer->drops);
	if (status)
		return status;
	return session_call_past(session, "io.netflowd.GetLatency",
				 moments(cell->from_ns, cell->to_ns), &answer->latency);
}

/*
 * Whether the reply is about exactly this cell; NULL: the cell is in a gap.  The time after the last bucket is in none
 * yet.  *end: where the cell must end because an interval is not divided.
 */
static bool is_about(const json_t *reply, const struct model_cell *cell, uint64_t *end)
{
	const json_t *period = json_object_get(reply, "period");
	uint64_t from, to;

	if (!reply)
		return true;
	if (!field_epoch(period, "from", &from) || !field_epoch(period, "to", &to) ||
	    from != cell->from_ns || to < cell->to_ns)
		return false;
	if (to > *end)
		*end = to;
	return true;
}

static bool same_text(const json_t *one, const json_t *other, const char *name)
{
	return !strcmp(field_text(one, name), field_text(other, name));
}

static bool same_reason(const json_t *one, const json_t *other)
{
	return same_text(one, other, "reason") && same_text(one, other, "subsystem") &&
	       field_count_or(one, "reason_number", 0) == field_count_or(other, "reason_number", 0);
}

static void add_drops(struct model *model, size_t cell, const json_t *drops)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(drops, "rows"), i, row)
	{
		for (size_t j = 0; j < model->reason_count; j++)
			if (same_reason(model->reasons[j].row, row))
				model->reasons[j].cells[cell] += field_count_or(row, "packets", 0);
	}
}

static int add_latency(struct model *model, size_t cell, const json_t *latency)
{
	const json_t *row;
	size_t i;
	int r = 0;

	json_array_foreach(json_object_get(latency, "segments"), i, row)
	{
		for (size_t j = 0; j < model->segment_count && !r; j++) {
			struct model_segment *segment = &model->segments[j];

			if (same_text(segment->total, row, "segment") &&
			    same_text(segment->total, row, "direction"))
				r = segment_buckets(row, &segment->cells[cell]);
		}
	}
	return r;
}

static int add(struct model *model, size_t cell, const struct answer *answer)
{
	model->cells[cell].covered_ns =
		field_count_or(json_object_get(answer->drops, "period"), "covered_ns", 0);
	model->cells[cell].packets = field_count_or(answer->drops, "packets", 0);
	add_drops(model, cell, answer->drops);
	return add_latency(model, cell, answer->latency);
}

/* ---- the last cell ------------------------------------------------------------------------- */

/* `whole` less all cells before `last`; 0 if these have more, which sets model->uneven. */
static uint64_t rest(struct model *model, uint64_t whole, uint64_t sum)
{
	if (sum <= whole)
		return whole - sum;
	model->uneven = true;
	return 0;
}

static void rest_of_drops(struct model *model, size_t last)
{
	uint64_t packets = 0, covered = 0;
	const json_t *period = json_object_get(model->drops, "period");

	for (size_t i = 0; i < last; i++) {
		packets += model->cells[i].packets;
		covered += model->cells[i].covered_ns;
	}
	model->cells[last].packets =
		rest(model, field_count_or(model->drops, "packets", 0), packets);
	packets = field_count_or(period, "covered_ns", 0);
	model->cells[last].covered_ns = packets > covered ? packets - covered : 0;
	for (size_t j = 0; j < model->reason_count; j++) {
		struct model_reason *reason = &model->reasons[j];

		packets = 0;
		for (size_t i = 0; i < last; i++)
			packets += reason->cells[i];
		reason->cells[last] = rest(model, reason->packets, packets);
	}
}

static int rest_of_latency(struct model *model, size_t last)
{
	int r = 0;

	for (size_t j = 0; j < model->segment_count && !r; j++) {
		struct model_segment *segment = &model->segments[j];
		OWN_BUCKETS struct buckets before = {};

		for (size_t i = 0; i < last && !r; i++)
			r = buckets_merge(&before, &segment->cells[i]);
		if (!r)
			r = buckets_subtract(&segment->cells[last], &segment->all, &before);
	}
	return r;
}

/* ---- all of them --------------------------------------------------------------------------- */

static enum report_status out_of_memory(void)
{
	report("%s", strerror(ENOMEM));
	return REPORT_FAILED;
}

static enum report_status ask_cells(struct session *session, struct model *model, uint64_t to_ns,
				    uint64_t step_ns)
{
	struct model_cell *cell = &model->cells[0];
	enum report_status status;
	uint64_t end = 0;

	for (;;) {
		OWN_ANSWER struct answer answer = {};

		cell->to_ns = (cell->from_ns / step_ns + 1) * step_ns;
		if (cell->to_ns < end)
			cell->to_ns = end;
		if (cell->to_ns >= to_ns || model->cell_count == MODEL_CELLS - 1)
			break;
		status = ask(session, cell, &answer);
		if (status)
			return status;
		if (!is_about(answer.drops, cell, &end) || !is_about(answer.latency, cell, &end))
			break;
		/* Ask again for the longer cell. */
		if (end > cell->to_ns)
			continue;
		if (add(model, model->cell_count, &answer))
			return out_of_memory();
		model->cell_count++;
		cell[1].from_ns = cell->to_ns;
		cell++;
	}
	cell->to_ns = to_ns;
	return REPORT_FINE;
}

enum report_status series_ask(struct session *session, struct model *model)
{
	const json_t *period = json_object_get(model->drops, "period");
	uint64_t from, to, resolution = field_count_or(period, "resolution_ns", 0);
	enum report_status status;
	uint64_t step;

	if (!field_epoch(period, "from", &from) || !field_epoch(period, "to", &to) || from >= to)
		return REPORT_FINE;
	if (resolution < TIME_NS_PER_SECOND)
		resolution = TIME_NS_PER_SECOND;
	step = series_step((to - from) / TIME_NS_PER_SECOND, resolution / TIME_NS_PER_SECOND);
	model->cells[0].from_ns = from;
	status = ask_cells(session, model, to, step * TIME_NS_PER_SECOND);
	if (status)
		return status;
	rest_of_drops(model, model->cell_count);
	if (rest_of_latency(model, model->cell_count))
		return out_of_memory();
	model->cell_count++;
	return REPORT_FINE;
}
