/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ListProbes. */
#include "daemon/probe/probes.h"

#include <errno.h>

#include "common/json.h"
#include "daemon/control/internal.h"
#include "daemon/cost/measure.h"
#include "daemon/probe/backend.h"
#include "daemon/sources/shedding.h"

const char *control_unmeasurable(const struct control *control)
{
	return control->sources->backend->ops->stats_missing(control->sources->backend);
}

json_t *control_measured_age(const struct measured *measured)
{
	return measured && measured->age_ns ? json_integer(json_count(measured->age_ns)) : NULL;
}

const char *control_probe_state(enum probe_state state)
{
	static const char *const names[] = {
		[PROBE_ATTACHED] = "attached",	     [PROBE_UNNEEDED] = "unneeded",
		[PROBE_DEGRADED] = "degraded",	     [PROBE_DETACHED] = "detached",
		[PROBE_UNAVAILABLE] = "unavailable",
	};

	return names[state];
}

static json_t *probe(const struct backend *backend, enum nf_probe i, uint64_t hits,
		     const struct measured *measured)
{
	json_t *count = NULL, *skipped = NULL, *ns = NULL, *insns = NULL;
	struct probe_status status;
	const char *reason;

	backend->ops->probe(backend, i, &status);
	reason = status.state == PROBE_DETACHED ? shedding_detached : status.reason;
	if (status.state == PROBE_ATTACHED || status.state == PROBE_DEGRADED ||
	    status.state == PROBE_DETACHED)
		count = json_integer(json_count(hits));
	if (status.verified_insns)
		insns = json_integer(json_count(status.verified_insns));
	if (status.missed_known)
		skipped = json_integer(json_count(status.missed));
	if (measured && measured->probe[i].runs)
		ns = json_real((double)measured->probe[i].ns / (double)measured->probe[i].runs);
	return json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:o*, s:o*, s:o*, s:o*, s:s, s:s*}", "name",
			 probe_specs[i].name, "group", probe_specs[i].group, "state",
			 control_probe_state(status.state), "how", status.how, "reason", reason,
			 "hits", count, "missed", skipped, "ns_per_hit", ns, "verified_insns",
			 insns, "lost_without", probe_specs[i].lost_without, "lost_if_degraded",
			 status.state == PROBE_DEGRADED ? probe_simple[i].lost : NULL);
}

static int answer_probes(struct call *call, json_t *parameters, void *userdata)
{
	const struct control *control = userdata;
	const struct measured *measured = control->measured;
	const struct reading_counters *counters =
		reading_counters(control_reading(control, COUNTERS));
	json_t *elapsed = measured ? json_integer(json_count(measured->elapsed_ns)) : NULL;
	json_t *rows = json_array();

	(void)parameters;
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		json_array_append_new(rows, probe(control->sources->backend, (enum nf_probe)i,
						  counters->events[i][NF_EVENT_HIT], measured));
	return control_reply(call,
			     json_pack("{s:o, s:o*, s:o*, s:s*}", "probes", rows, "measured_ns",
				       elapsed, "measured_age_ns", control_measured_age(measured),
				       "unmeasurable", control_unmeasurable(control)));
}

int method_list_probes(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {{"measure_ms", PARAMETER_INT, true},
						 {"max_age_ms", PARAMETER_INT, true},
						 {NULL, 0, 0}};

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	return control_read(userdata, call, parameters, READING_BIT(COUNTERS), answer_probes);
}
