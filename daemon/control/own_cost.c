/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/control/own_cost.h"

#include "common/json.h"
#include "common/time.h"
#include "daemon/control/internal.h"
#include "daemon/cost/cost.h"
#include "daemon/cost/measure.h"
#include "daemon/process/loop.h"
#include "daemon/sources/shedding.h"

json_t *own_tables_json(const struct control *control, uint64_t *bytes)
{
	const struct reading *reading = control_reading(control, TABLES);
	json_t *rows = json_array();

	for (size_t i = 0; i < reading_count(reading); i++) {
		const struct backend_table *table = reading_table(reading, i);
		json_t *used = table->used_known ? json_integer(json_count(table->used)) : NULL;

		*bytes += table->bytes;
		json_array_append_new(rows, json_pack("{s:s, s:s, s:I, s:o*, s:I}", "name",
						      table->name, "what", table->what, "entries",
						      json_count(table->entries), "used", used,
						      "memory_bytes", json_count(table->bytes)));
	}
	return rows;
}

static json_t *programs_percent(const struct measured *measured)
{
	uint64_t ns = 0;

	if (!measured || !measured->elapsed_ns)
		return NULL;
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		ns += measured->probe[i].ns;
	return json_real(100.0 * (double)ns / (double)measured->elapsed_ns);
}

json_t *own_cost_json(const struct control *control, uint64_t tables_bytes)
{
	const struct measured *measured = control->measured;
	uint64_t uptime = time_monotonic() - control->sources->started_ns, cpu = cost_cpu_ns();
	uint64_t anonymous = cost_anonymous_bytes();
	json_t *elapsed = measured ? json_integer(json_count(measured->elapsed_ns)) : NULL;
	json_t *now = NULL;
	double percent;

	if (cost_cpu_now(control->cost, &percent))
		now = json_real(percent);
	return json_pack(
		"{s:I, s:f, s:o*, s:o*, s:o*, s:o*, s:s*, s:I, s:I, s:I, s:I, s:o}",
		"daemon_cpu_ns", json_count(cpu), "daemon_cpu_percent",
		uptime ? 100.0 * (double)cpu / (double)uptime : 0.0, "daemon_cpu_now_percent", now,
		"programs_cpu_percent", programs_percent(measured), "measured_ns", elapsed,
		"measured_age_ns", control_measured_age(measured), "unmeasurable",
		control_unmeasurable(control), "resident_bytes", json_count(cost_resident_bytes()),
		"anonymous_bytes", json_count(anonymous), "tables_bytes", json_count(tables_bytes),
		"memory_bytes", json_count(anonymous + tables_bytes), "governor",
		shedding_json(control->sources->governor));
}

json_t *own_clients_json(const struct control *control)
{
	struct server_stats stats;

	server_stats(control->server, &stats);
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "connected",
			 json_count(stats.clients), "streams", json_count(stats.streams),
			 "unsent_bytes", json_count(stats.unsent_bytes), "refused",
			 json_count(stats.rejected), "displaced", json_count(stats.displaced),
			 "timed_out", json_count(stats.timed_out), "over_budget",
			 json_count(stats.over_budget), "gaps", json_count(stats.gaps));
}

json_t *own_loop_json(const struct control *control)
{
	struct loop_turns turns = loop_turns(control->parts.loop);

	return json_pack("{s:I, s:I, s:I, s:I}", "longest_turn_ns", json_count(turns.cpu_ns),
			 "longest_turn_minute_ns", json_count(turns.cpu_minute_ns),
			 "longest_wait_ns", json_count(turns.wall_ns), "longest_wait_minute_ns",
			 json_count(turns.wall_minute_ns));
}

json_t *own_readings_json(const struct control *control)
{
	json_t *rows = json_array();

	for (int i = 0; i < READING_PARTS; i++) {
		struct readings_cost cost =
			readings_cost(control->sources->readings, (enum reading_part)i);

		json_array_append_new(rows,
				      json_pack("{s:s, s:I, s:I, s:I, s:I}", "part", cost.name,
						"readings", json_count(cost.readings), "requests",
						json_count(cost.requests), "cpu_ns",
						json_count(cost.cpu_ns), "longest_ns",
						json_count(cost.longest_cpu_ns)));
	}
	return rows;
}
