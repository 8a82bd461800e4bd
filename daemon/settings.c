/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/settings.h"

#include <inttypes.h>
#include <string.h>

#include "common/array.h"
#include "common/time.h"
#include "common/value.h"
#include "daemon/config.h"
#include "daemon/http/address.h"

/* 100 years: longer than any uptime. */
#define DURATION_MAX UINT64_C(3155760000000000000)

static const char *const backend_names[] = {
	[BACKEND_AUTO] = "auto",
	[BACKEND_BPF] = "bpf",
	[BACKEND_TRACEFS] = "tracefs",
	NULL,
};
static const char *const attach_names[] = {
	[BACKEND_SLOTS_AUTO] = "auto",
	[BACKEND_SLOTS_FENTRY] = "fentry",
	[BACKEND_SLOTS_KPROBE] = "kprobe",
	[BACKEND_SLOTS_TRACEPOINT] = "tracepoint",
	NULL,
};

#define AT(member) offsetof(struct config, member)
/* node_exporter reads no other files. */
static const char *const textfile_ends[] = {".prom", NULL};
static const char *const no_yes[] = {"no", "yes", NULL};
static const char *const off_on[] = {"off", "on", NULL};

/* The longest text that a member can hold. */
#define LENGTH(member) (sizeof(((struct config *)NULL)->member) - 1)
/* When a new value takes effect, and for whom the setting is: `live` and `expert`. */
#define LIVE true, false
#define RESTART false, false
#define EXPERT_LIVE true, true
#define EXPERT_RESTART false, true
#define COMBINATION "combination of reason, location, device, netns, protocol and cgroup"

const struct setting setting_table[] = {
	{"latency.slow", SETTING_SEGMENTS, AT(backend.slow_ns), 0, DURATION_MAX, "10ms", "segments",
	 "record each journey that takes longer than this in total; SEGMENT=TIME does so for one of its segments, as in 10ms, wakeup_to_run=2ms; 0: off",
	 NULL, LIVE},
	{"latency.sample_one_in", SETTING_NUMBER, AT(backend.sample_one_in), 0, 1 << 30, "16384",
	 "journeys", "record one journey in N at random, slow or not; 0: off", NULL, LIVE},

	{"records.rate", SETTING_NUMBER, AT(backend.drop_rate), 1, 1000000, "20",
	 "records per second",
	 "drop records per second for each " COMBINATION
	 ", five times as many in a burst; a CPU gets five times as many latency records, and as many slots records, whose number changes with a restart only",
	 NULL, LIVE},

	{"slots.devices", SETTING_DEVICES, AT(backend.slots), 0, BACKEND_SLOTS_NAMES, "",
	 "device names",
	 "devices, besides those of xen-netfront, whose transmits netflowd counts by the pages that they touch; *: all devices",
	 NULL, RESTART},

	{"control.clients", SETTING_NUMBER, AT(control.clients), 1, 10000, "128", "clients",
	 "clients that netflowd serves at once, and an eighth as many HTTP connections for metrics, these from the next start on; one user other than root gets a quarter of the places, at least one; when no place is free, a quiet client of the user with the most makes room for a user with fewer",
	 NULL, LIVE},
	{"control.idle", SETTING_DURATION, AT(control.idle_ns), 0, DURATION_MAX, "30s", "",
	 "time after which netflowd disconnects a client that has no running call, or that reads none of its waiting replies; an HTTP connection for metrics ends after this time, at most 10 s, answered or not; 0: no limit for clients",
	 NULL, LIVE},

	{"alerts.interval", SETTING_DURATION, AT(alert_interval_ns), 100000000,
	 UINT64_C(60000000000), "1s", "",
	 "interval at which the alert rules are evaluated; an alert that fires is posted to Alertmanager again after 60 intervals",
	 NULL, LIVE},
	{"alerts.rules", SETTING_TEXT, AT(alert_rules), 1, LENGTH(alert_rules),
	 "/etc/netflowd/alerts.d", "path",
	 "directory of alert rule files (*.conf) that add to or replace the shipped ones; read at startup and on a reload",
	 NULL, LIVE},
	{"alerts.exec_user", SETTING_TEXT, AT(alert_exec_user), 1, LENGTH(alert_exec_user),
	 "nobody", "user name",
	 "user that runs the programs of alerts if netflowd is root; otherwise netflowd's own user does",
	 NULL, RESTART},

	{"alertmanager.url", SETTING_URL, AT(alertmanager.url), 0, LENGTH(alertmanager.url), "", "",
	 "URL of the Alertmanager (http://HOST:9093) to which netflowd posts alerts that fire and alerts that are resolved; empty: none",
	 NULL, LIVE},

	{"metrics.listen", SETTING_LISTEN, AT(exporter.listen), 0, LENGTH(exporter.listen), "", "",
	 "where netflowd serves metrics to Prometheus over HTTP, without a password; unix: metrics.sock in the runtime directory, for group netflow; empty: nowhere",
	 NULL, RESTART},
	{"metrics.textfile", SETTING_PATH, AT(exporter.textfile), 0, LENGTH(exporter.textfile), "",
	 "",
	 "file to which netflowd writes the metrics for the textfile collector of node_exporter; empty: none",
	 textfile_ends, LIVE},
	{"metrics.series", SETTING_NUMBER, AT(exporter.limits.drop_series), 1, 100000, "500",
	 "series",
	 "causes of drops (reason, location, device, netns, protocol) that have a series each in the metrics; all others count in one series of their reason; a fifth as many devices have a series each for NAPI and for ring slots",
	 NULL, LIVE},

	{"export.json_file", SETTING_PATH, AT(lines.path), 0, LENGTH(lines.path), "", "",
	 "file to which netflowd appends its counters and alerts as JSON, one object per line, for log shippers; empty: none",
	 NULL, LIVE},
	{"export.interval", SETTING_DURATION, AT(lines.interval_ns), 1000000000,
	 UINT64_C(86400000000000), "1min", "",
	 "interval at which netflowd writes export.json_file; it writes metrics.textfile four times as often",
	 NULL, LIVE},
	{"export.bytes", SETTING_NUMBER, AT(lines.bytes), 4096, UINT64_C(1) << 40, "64MiB", "bytes",
	 "bytes of export.json_file before it is renamed to FILE.1 and a new one begins; netflowd keeps FILE.1 to FILE.4",
	 NULL, LIVE},

	{"history.enabled", SETTING_SWITCH, AT(history_enabled), 0, 0, "yes", "",
	 "keep a history of counters and records on disk, for --since and --until", no_yes,
	 RESTART},
	{"history.directory", SETTING_PATH, AT(history_directory), 1, LENGTH(history_directory),
	 "/var/lib/netflowd", "", "directory of the history; netflowd makes it if it is missing",
	 NULL, RESTART},
	{"history.size", SETTING_NUMBER, AT(history_bytes), 4 << 20, UINT64_C(1) << 40, "256MiB",
	 "bytes",
	 "bytes that the history takes on disk; beyond it, netflowd deletes the oldest, fine resolutions and records first",
	 NULL, LIVE},
	{"history.age", SETTING_DURATION, AT(history_age_ns), UINT64_C(3600000000000), DURATION_MAX,
	 "7d", "", "netflowd deletes what is older; incidents are kept 4 times as long", NULL,
	 LIVE},
	{"history.records", SETTING_NUMBER, AT(history_records), 0, 1024, "20", "records",
	 "records of each kind (drop, latency, slots) that the history keeps of one interval, fairly by cause",
	 NULL, LIVE},

	{"cost.governor", SETTING_SWITCH, AT(governor.on), 0, 0, "on", "",
	 "keep netflowd's cost within the budget: follow fewer packets when there are many", off_on,
	 RESTART},
	{"cost.budget", SETTING_PERCENT, AT(governor.host_budget), 100, 1000000, "1%", "",
	 "share of the host's CPU time that netflowd can take, its programs in the kernel included",
	 NULL, LIVE},
	{"cost.cpu_budget", SETTING_PERCENT, AT(governor.cpu_budget), 100, 1000000, "3%", "",
	 "share of the time of one CPU that netflowd can take", NULL, LIVE},

	{"probes.backend", SETTING_CHOICE, AT(backend.choice), 0, 0, "auto", "",
	 "how the probes run; auto: BPF programs, and trace events (tracefs) where the kernel takes no programs",
	 backend_names, RESTART},
	{"probes.disable", SETTING_PROBES, AT(backend.disabled), 0, NF_PROBE_COUNT, "",
	 "probe names", "probes that netflowd does not attach", NULL, RESTART},
	{"probes.trace_exclude", SETTING_EXCLUSION, AT(backend.excluded), 0, EXCLUSION_NAMES, "",
	 "names of devices or patterns",
	 "devices that the backend tracefs does not follow, names or patterns: veth* docker0; their drops count; no effect with the backend bpf",
	 NULL, RESTART},

	/* ---- for experts: hardly any host needs other values ---- */

	{"inflight.entries", SETTING_POWER_OF_TWO, AT(backend.inflight_entries), 4, 1 << 24,
	 "65536", "skbs", "skbs that can be in flight at once; 64 bytes each", NULL,
	 EXPERT_RESTART},

	{"devices.slots", SETTING_POWER_OF_TWO, AT(backend.device_slots), NF_DEVICE_SET, 1 << 12,
	 "4096", "devices",
	 "devices that netflowd distinguishes at once; 150 bytes for each, and 2 for each and CPU",
	 NULL, EXPERT_RESTART},
	{"devices.memory", SETTING_NUMBER, AT(backend.device_memory), 1 << 18, 1 << 29, "48MiB",
	 "bytes",
	 "bytes of histograms of devices, used as needed, 18 KiB for each busy device and CPU; when they are used up, the least busy devices share those of their kind",
	 NULL, EXPERT_RESTART},
	{"devices.idle", SETTING_NUMBER, AT(backend.device_idle_seconds), 1, 86400, "10", "seconds",
	 "seconds without a packet before a device can lose its slot to another; its counts are kept",
	 NULL, EXPERT_RESTART},

	{"drops.keys", SETTING_NUMBER, AT(backend.drop_keys), 1, 1 << 16, "4096", "combinations",
	 "combinations of reason, location, device, netns, protocol and cgroup that are counted separately; beyond it the idle ones fold into sums by reason and location; 2 × (88 + 32 × CPUs up to 16) bytes each",
	 NULL, EXPERT_RESTART},

	{"records.recent", SETTING_NUMBER, AT(records_recent), 1, 1 << 20, "4096", "records",
	 "drop records, and as many latency records, that netflowd keeps in memory, fairly by cause; 288 and 504 bytes each, 544 with a stack, and 168 for each cause",
	 NULL, EXPERT_RESTART},

	{"ring.bytes", SETTING_POWER_OF_TWO, AT(backend.ring_bytes), 4096, 1 << 28, "1MiB", "bytes",
	 "bytes of the ring buffer that passes records from the kernel to netflowd", NULL,
	 EXPERT_RESTART},

	{"slots.limit", SETTING_NUMBER, AT(backend.slots.limit), 2, NF_SLOTS_BUCKETS - 1, "18",
	 "slots",
	 "ring slots that one transmit can use on a Xen device; 18 in every kernel since 3.16 (XEN_NETIF_NR_SLOTS_MIN), MAX_SKB_FRAGS + 1 before",
	 NULL, EXPERT_RESTART},
	{"slots.attach", SETTING_CHOICE, AT(backend.slots.attach), 0, 0, "auto", "",
	 "how to attach to xen-netfront; auto: the first of fentry, kprobe and tracepoint that works",
	 attach_names, EXPERT_RESTART},
	{"slots.kmsg", SETTING_PATH, AT(kmsg), 0, LENGTH(kmsg), "/dev/kmsg", "",
	 "kernel log in which netflowd looks for \"rides the rocket\"; empty: not read", NULL,
	 EXPERT_RESTART},

	{"history.interval", SETTING_DURATION, AT(history_interval_ns), TIME_NS_PER_SECOND,
	 10 * TIME_NS_PER_SECOND, "10s", "",
	 "interval at which the history is written; what is not written yet is lost if the host fails",
	 NULL, EXPERT_LIVE},

	{"elsewhere.interval", SETTING_DURATION, AT(elsewhere_interval_ns), 0,
	 UINT64_C(3600000000000), "10s", "",
	 "interval at which netflowd reads the kernel's other counters of dropped packets; 0: never",
	 NULL, EXPERT_LIVE},

	{"probes.trace_buffer", SETTING_NUMBER, AT(backend.trace_kib), 0, 1 << 20, "0", "KiB",
	 "ring buffer of each CPU with the backend tracefs; 0: 4096 KiB, less if all CPUs had more than 256 MiB",
	 NULL, EXPERT_RESTART},
};

const size_t setting_count = ARRAY_SIZE(setting_table);

bool setting_begins_section(size_t index)
{
	const char *key = setting_table[index].key;

	return !index || strncmp(setting_table[index - 1].key, key, strcspn(key, ".") + 1) != 0;
}

bool setting_is_size(const struct setting *setting)
{
	return !strcmp(setting->unit, "bytes");
}

struct setting_values setting_values(const struct setting *setting)
{
	uint64_t least = setting->least, most = setting->most;
	const char *unit = setting->unit;
	struct setting_values text;

	switch (setting->type) {
	case SETTING_NUMBER:
		if (setting_is_size(setting))
			snprintf(text.s, sizeof(text.s), "a size from %s to %s",
				 value_bytes_text(least).s, value_bytes_text(most).s);
		else
			snprintf(text.s, sizeof(text.s),
				 "a whole number of %s from %" PRIu64 " to %" PRIu64, unit, least,
				 most);
		break;
	case SETTING_POWER_OF_TWO:
		if (setting_is_size(setting))
			snprintf(text.s, sizeof(text.s), "a power of two from %s to %s",
				 value_bytes_text(least).s, value_bytes_text(most).s);
		else
			snprintf(text.s, sizeof(text.s),
				 "a power of two from %" PRIu64 " to %" PRIu64 " %s", least, most,
				 unit);
		break;
	case SETTING_DURATION:
		snprintf(text.s, sizeof(text.s), "a duration from %s to %s",
			 value_duration_text(least).s, value_duration_text(most).s);
		break;
	case SETTING_CHOICE:
	case SETTING_SWITCH:
		value_words_text(setting->choices, text.s, sizeof(text.s));
		break;
	case SETTING_TEXT:
		snprintf(text.s, sizeof(text.s), "a %s of %" PRIu64 " to %" PRIu64 " characters",
			 unit, least, most);
		break;
	case SETTING_PATH:
		snprintf(text.s, sizeof(text.s),
			 "an absolute path of at most %" PRIu64 " characters%s%s%s", most,
			 setting->choices ? " that ends in " : "",
			 setting->choices ? setting->choices[0] : "", least ? "" : ", or empty");
		break;
	case SETTING_PERCENT:
		snprintf(text.s, sizeof(text.s), "a percentage from %g%% to %g%%",
			 (double)least / SETTING_PERCENT_UNITS,
			 (double)most / SETTING_PERCENT_UNITS);
		break;
	case SETTING_URL:
		snprintf(text.s, sizeof(text.s),
			 "an http:// or https:// URL of at most %" PRIu64 " characters, or empty",
			 most);
		break;
	case SETTING_LISTEN:
		snprintf(text.s, sizeof(text.s), "%s", HTTP_ADDRESS_VALUES);
		break;
	case SETTING_SEGMENTS:
		snprintf(text.s, sizeof(text.s), "times from 0 to %s, as TIME or SEGMENT=TIME",
			 value_duration_text(most).s);
		break;
	case SETTING_PROBES:
	case SETTING_DEVICES:
	case SETTING_EXCLUSION:
		snprintf(text.s, sizeof(text.s),
			 "%" PRIu64 " to %" PRIu64 " %s, separated by commas or blanks", least,
			 most, unit);
		break;
	}
	return text;
}

void setting_help(FILE *to)
{
	size_t width = 0;

	for (size_t i = 0; i < setting_count; i++)
		if (strlen(setting_table[i].key) > width)
			width = strlen(setting_table[i].key);
	for (size_t i = 0; i < setting_count; i++)
		fprintf(to, "  %-*s  %s (%s; default %s)\n", (int)width, setting_table[i].key,
			setting_table[i].help, setting_values(&setting_table[i]).s,
			setting_table[i].initial[0] ? setting_table[i].initial : "none");
}
