/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pause and Resume: the off switch; and how other replies show it. */
#include "daemon/cost/pause.h"

#include <errno.h>
#include <string.h>

#include "common/time.h"
#include "daemon/control/internal.h"

/* A year.  A longer pause is probably a typing mistake; one without an end needs no time. */
#define PAUSE_MAX_NS (365 * 86400 * (json_int_t)TIME_NS_PER_SECOND)

static json_t *some_time(int64_t realtime_ns)
{
	char text[TIME_TEXT_MAX];

	if (!realtime_ns)
		return NULL;
	time_format_realtime(realtime_ns, text);
	return json_string(text);
}

static json_t *source_to_json(const struct pause_state *state, enum pause_source source)
{
	static const char *const names[] = {
		[PAUSE_BY_COMMAND] = "command",
		[PAUSE_BY_FILE] = "file",
	};
	const struct pause_order *order = &state->source[source];
	bool file = source == PAUSE_BY_FILE;

	return json_pack("{s:s, s:s, s:o*, s:o*, s:o*, s:s*, s:s*}", "by", names[source], "level",
			 pause_level_name(order->level), "since", some_time(order->since_ns),
			 "until", some_time(order->until_ns), "uid",
			 file ? NULL : json_integer(order->uid), "file", file ? state->file : NULL,
			 "wrong", file && state->wrong[0] ? state->wrong : NULL);
}

json_t *control_paused(const struct control *control)
{
	const struct pause_state *state = pause_state(control->sources->pause);
	json_t *sources;

	if (!state->level)
		return NULL;
	sources = json_array();
	for (int i = 0; i < PAUSE_SOURCES; i++)
		if (state->source[i].level)
			json_array_append_new(sources, source_to_json(state, (enum pause_source)i));
	return json_pack("{s:s, s:o*, s:o*, s:o}", "level", pause_level_name(state->level), "since",
			 some_time(state->since_ns), "until", some_time(state->until_ns), "sources",
			 sources);
}

/* A recording has no probes: end the call and return true. */
static bool has_no_probes(const struct control *control, struct call *call)
{
	if (!sources_recorded(control->sources))
		return false;
	call_error(
		call, "io.netflowd.Failed",
		json_pack("{s:s}", "reason", "a recording is shown: it has no probes to detach"));
	return true;
}

int method_pause(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"all", PARAMETER_BOOL, true}, {"for_ns", PARAMETER_INT, true}, {NULL, 0, 0}};
	struct control *control = userdata;
	const json_t *value;
	json_int_t for_ns;
	bool all;
	int r;

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	value = json_object_get(parameters, "for_ns");
	for_ns = json_integer_value(value);
	if (value && (for_ns < 1 || for_ns > PAUSE_MAX_NS))
		return call_invalid_parameter(call, "for_ns");
	if (control_no_data(control, call) || has_no_probes(control, call))
		return 0;
	all = json_is_true(json_object_get(parameters, "all"));
	/* Only root gets here. */
	r = pause_begin(control->sources->pause, all ? PAUSE_ALL : PAUSE_STAGES, (uint64_t)for_ns,
			0);
	return control_reply(call, json_pack("{s:o, s:s*}", "paused", control_paused(control),
					     "not_kept", r < 0 ? strerror(-r) : NULL));
}

int method_resume(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {{NULL, 0, 0}};
	struct control *control = userdata;
	bool resumed;

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	if (has_no_probes(control, call))
		return 0;
	resumed = pause_end(control->sources->pause);
	return control_reply(call, json_pack("{s:b, s:o*}", "resumed", resumed, "paused",
					     control_paused(control)));
}
