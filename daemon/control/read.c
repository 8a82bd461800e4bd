/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls that wait for a reading of the counters, and before it possibly for a measurement of the programs. */
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/json.h"
#include "common/time.h"
#include "daemon/control/internal.h"
#include "daemon/cost/measure.h"
#include "daemon/sources/filter.h"
#include "daemon/store/readings.h"

#define MAX_AGE_MS_MAX (3600 * 1000)
#define NS_PER_MS UINT64_C(1000000)

struct waiting {
	struct waiting *next, **link;
	struct control *control;
	struct call *call;
	json_t *parameters;
	server_method answer;
	unsigned int parts;
	uint64_t max_age_ns;
	struct measurement *measurement;
	struct readings_request *request;
	struct measured measured;
};

static void waiting_free(struct waiting *waiting)
{
	measurement_free(&waiting->measurement);
	readings_forget(&waiting->request);
	json_decref(waiting->parameters);
	*waiting->link = waiting->next;
	if (waiting->next)
		waiting->next->link = waiting->link;
	free(waiting);
}

static void on_closed(void *userdata)
{
	waiting_free(userdata);
}

void control_stop_waiting(struct control *control)
{
	while (control->waiting)
		waiting_free(control->waiting);
}

static int answer_failed(struct call *call, json_t *parameters, void *userdata)
{
	(void)call;
	(void)parameters;
	return *(const int *)userdata;
}

/* All that the call waited for is there. */
static void finish(struct waiting *waiting, int result)
{
	struct control *control = waiting->control;
	const struct measured measured = waiting->measured;
	OWN_JSON json_t *parameters = json_incref(waiting->parameters);
	server_method answer = waiting->answer;
	struct call *call = waiting->call;

	waiting_free(waiting);
	call_on_close(call, NULL, NULL);
	control->measured = measured.elapsed_ns ? &measured : NULL;
	if (result < 0)
		call_continue(call, answer_failed, parameters, &result);
	else
		call_continue(call, answer, parameters, control);
	control->measured = NULL;
}

static void on_reading(int result, void *userdata)
{
	struct waiting *waiting = userdata;

	waiting->request = NULL;
	finish(waiting, result);
}

static int get_reading(struct waiting *waiting)
{
	return readings_get(waiting->control->sources->readings, &waiting->request, waiting->parts,
			    waiting->max_age_ns, on_reading, waiting);
}

static void on_measured(const struct measured *measured, void *userdata)
{
	struct waiting *waiting = userdata;
	int r;

	waiting->measured = *measured;
	measurement_free(&waiting->measurement);
	r = get_reading(waiting);
	if (r < 0)
		finish(waiting, r);
}

/* ---- parameters ----------------------------------------------------------- */

/* Read a number of milliseconds, 0 if it is absent.  False: it is not valid, and the call has ended. */
static bool read_ms(struct call *call, json_t *parameters, const char *name, json_int_t least,
		    json_int_t most, uint64_t *ms)
{
	const json_t *value = json_object_get(parameters, name);

	*ms = 0;
	if (!value)
		return true;
	if (json_integer_value(value) < least || json_integer_value(value) > most) {
		call_invalid_parameter(call, name);
		return false;
	}
	*ms = (uint64_t)json_integer_value(value);
	return true;
}

/* A device of which no earlier reading knows the name: it may be new, so all names are read again. */
static void add_names(struct waiting *waiting)
{
	const char *device = json_string_value(json_object_get(waiting->parameters, "device"));

	if (!device || filter_knows_device(waiting->control->sources, device))
		return;
	waiting->parts |= READING_BIT(DEVICES) | READING_BIT(DROPS) | READING_BIT(SLOTS) |
			  READING_BIT(TRAFFIC);
	waiting->max_age_ns = 0;
}

static struct waiting *waiting_new(struct control *control, struct call *call, json_t *parameters,
				   unsigned int parts, server_method answer)
{
	struct waiting *waiting = calloc(1, sizeof(*waiting));

	if (!waiting)
		return NULL;
	waiting->control = control;
	waiting->call = call;
	waiting->parameters = json_incref(parameters);
	waiting->parts = parts;
	waiting->answer = answer;
	waiting->link = &control->waiting;
	waiting->next = control->waiting;
	if (waiting->next)
		waiting->next->link = &waiting->next;
	control->waiting = waiting;
	return waiting;
}

/* Users other than root share one measurement and get its result for some time, see measurer_recent(). */
static int measure(struct waiting *waiting, uint64_t ms)
{
	struct measurer *measurer = waiting->control->measurer;
	bool limited = !call_is_root(waiting->call);

	if (limited && measurer_recent(measurer, time_monotonic(), &waiting->measured))
		return get_reading(waiting);
	return measurement_start(&waiting->measurement, measurer, ms, limited, on_measured,
				 waiting);
}

int control_read(struct control *control, struct call *call, json_t *parameters, unsigned int parts,
		 server_method answer)
{
	struct waiting *waiting;
	uint64_t age_ms, measure_ms;
	int r;

	if (!read_ms(call, parameters, "max_age_ms", 0, MAX_AGE_MS_MAX, &age_ms) ||
	    !read_ms(call, parameters, "measure_ms", 1, MEASURE_MS_MAX, &measure_ms))
		return -EINVAL;
	waiting = waiting_new(control, call, parameters, parts, answer);
	if (!waiting)
		return -ENOMEM;
	waiting->max_age_ns = age_ms * NS_PER_MS;
	add_names(waiting);
	call_on_close(call, on_closed, waiting);
	if (measure_ms && !control_unmeasurable(control))
		r = measure(waiting, measure_ms);
	else
		r = get_reading(waiting);
	if (r < 0) {
		waiting_free(waiting);
		call_on_close(call, NULL, NULL);
	}
	return r;
}
