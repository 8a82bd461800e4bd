/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of methods. */
#include "common/array.h"
#include "daemon/control/internal.h"

const struct method control_methods[] = {
	{"io.netflowd.GetStatus", ACCESS_READ, false, method_get_status},
	{"io.netflowd.ListProbes", ACCESS_READ, false, method_list_probes},
	{"io.netflowd.GetDrops", ACCESS_READ, false, method_get_drops},
	{"io.netflowd.GetDropRecords", ACCESS_READ, false, method_get_drop_records},
	{"io.netflowd.Explain", ACCESS_READ, false, method_explain},
	{"io.netflowd.GetLatency", ACCESS_READ, false, method_get_latency},
	{"io.netflowd.GetLatencyRecords", ACCESS_READ, false, method_get_latency_records},
	{"io.netflowd.GetNapi", ACCESS_READ, false, method_get_napi},
	{"io.netflowd.GetSlots", ACCESS_READ, false, method_get_slots},
	{"io.netflowd.GetSlotsRecords", ACCESS_READ, false, method_get_slots_records},
	{"io.netflowd.Monitor", ACCESS_READ, true, method_monitor},
	{"io.netflowd.GetAlerts", ACCESS_READ, false, method_get_alerts},
	{"io.netflowd.GetIncidents", ACCESS_READ, false, method_get_incidents},
	{"io.netflowd.GetIncident", ACCESS_READ, false, method_get_incident},
	{"io.netflowd.MonitorAlerts", ACCESS_READ, true, method_monitor_alerts},
	{"io.netflowd.TestAlert", ACCESS_CHANGE, false, method_test_alert},
	{"io.netflowd.SilenceAlert", ACCESS_CHANGE, false, method_silence_alert},
	{"io.netflowd.UnsilenceAlert", ACCESS_CHANGE, false, method_unsilence_alert},
	{"io.netflowd.Reload", ACCESS_CHANGE, false, method_reload},
	{"io.netflowd.Pause", ACCESS_CHANGE, false, method_pause},
	{"io.netflowd.Resume", ACCESS_CHANGE, false, method_resume},
};

const size_t control_method_count = ARRAY_SIZE(control_methods);
