/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/time.h"
#include "daemon/config.h"
#include "daemon/settings.h"
#include "tests/unit/test.h"

static size_t which; /* the setting that was set */

TEST(test_defaults)
{
	struct config config;

	config_init(&config);
	assert_int_equal(config.backend.inflight_entries, 65536);
	assert_int_equal(config.backend.device_slots, 4096);
	assert_int_equal(config.backend.drop_rate, 20);
	assert_int_equal(config.backend.slow_ns[NF_SEGMENT_RX_TOTAL], 10000000);
	assert_int_equal(config.backend.slow_ns[NF_SEGMENT_TX_TOTAL], 10000000);
	assert_int_equal(config.backend.slow_ns[NF_SEGMENT_FORWARD_TOTAL], 10000000);
	assert_int_equal(config.backend.slow_ns[NF_SEGMENT_RECEIVE_TO_COPY], 0);
	assert_int_equal(config.backend.slots.attach, BACKEND_SLOTS_AUTO);
	assert_int_equal(config.backend.slots.names, 0);
	assert_false(config.backend.slots.every_device);
	assert_string_equal(config.kmsg, "/dev/kmsg");
	assert_string_equal(config.alert_rules, "/etc/netflowd/alerts.d");
	assert_string_equal(config.alert_exec_user, "nobody");
	assert_int_equal(config.alert_interval_ns, 1000000000);
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		assert_false(config.backend.disabled[i]);
}

/* ---- the table ----------------------------------------------------------- */

/* Set one setting of a configuration; 0 or -EINVAL. */
static int set(struct config *config, const struct setting *setting, const char *value)
{
	char assignment[2 * PATH_MAX], error[CONFIG_ERROR_MAX] = "";
	int r;

	snprintf(assignment, sizeof(assignment), "%s=%s", setting->key, value);
	r = config_set(config, assignment, &which, error);
	if (r < 0 && !strstr(error, setting->key))
		fail_msg("%s: \"%s\" does not name the key", assignment, error);
	return r;
}

/* Every row has a key of its own, help, and a default that its own parser accepts as what it is. */
TEST(test_rows_are_whole)
{
	struct config defaults, config;

	config_init(&defaults);
	for (size_t i = 0; i < setting_count; i++) {
		const struct setting *setting = &setting_table[i];

		assert_non_null(strchr(setting->key, '.'));
		assert_true(strlen(setting->help) > 10);
		assert_non_null(setting->initial);
		assert_non_null(setting->unit);
		assert_true(setting->least <= setting->most);
		if (setting->type != SETTING_PATH)
			assert_int_equal(setting->type == SETTING_CHOICE ||
						 setting->type == SETTING_SWITCH,
					 setting->choices != NULL);
		assert_true(strlen(setting_values(setting).s) > 5);
		assert_true(strlen(setting_values(setting).s) < SETTING_VALUES_MAX - 1);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(setting_table[j].key, setting->key);
		config_init(&config);
		if (set(&config, setting, setting->initial) < 0)
			fail_msg("%s: its default is refused", setting->key);
		assert_memory_equal(&config, &defaults, sizeof(config));
	}
}

static bool is_number(const struct setting *setting)
{
	return setting->type == SETTING_NUMBER || setting->type == SETTING_POWER_OF_TWO ||
	       setting->type == SETTING_DURATION;
}

/* The limits of a number are accepted, what is beyond them is refused. */
TEST(test_limits_of_numbers)
{
	struct config config, before;

	for (size_t i = 0; i < setting_count; i++) {
		const struct setting *setting = &setting_table[i];
		const uint64_t *value = (const uint64_t *)((char *)&config + setting->offset);
		const char *unit = setting->type == SETTING_DURATION ? "ns" : "";
		char text[32];

		if (!is_number(setting))
			continue;
		config_init(&config);
		assert_true(*value <= setting->most);
		assert_true(*value >= setting->least);
		snprintf(text, sizeof(text), "%" PRIu64 "%s", setting->least, unit);
		assert_int_equal(set(&config, setting, text), 0);
		assert_int_equal(*value, setting->least);
		snprintf(text, sizeof(text), "%" PRIu64 "%s", setting->most, unit);
		assert_int_equal(set(&config, setting, text), 0);
		assert_int_equal(*value, setting->most);
		before = config;
		snprintf(text, sizeof(text), "%" PRIu64 "%s", setting->most + 1, unit);
		assert_int_equal(set(&config, setting, text), -EINVAL);
		if (setting->least > 1) {
			snprintf(text, sizeof(text), "%" PRIu64 "%s", setting->least - 1, unit);
			assert_int_equal(set(&config, setting, text), -EINVAL);
		}
		assert_memory_equal(&config, &before, sizeof(config));
	}
}

/* The longest text is kept whole; one byte more is refused. */
TEST(test_limits_of_texts)
{
	struct config config;
	size_t texts = 0;

	config_init(&config);
	for (size_t i = 0; i < setting_count; i++) {
		const struct setting *setting = &setting_table[i];
		const char *value = (const char *)&config + setting->offset;
		char text[PATH_MAX + 1];

		if (setting->type != SETTING_TEXT && setting->type != SETTING_PATH)
			continue;
		memset(text, '/', setting->most + 1);
		text[setting->most + 1] = 0;
		assert_int_equal(set(&config, setting, text), -EINVAL);
		text[setting->most] = 0;
		if (setting->choices)
			strcpy(text + setting->most - strlen(setting->choices[0]),
			       setting->choices[0]);
		assert_int_equal(set(&config, setting, text), 0);
		assert_string_equal(value, text);
		assert_int_equal(set(&config, setting, ""), setting->least ? -EINVAL : 0);
		texts++;
	}
	assert_true(texts >= 3);
}

/* What a text of these types means is checked at once, not when it is used. */
TEST(test_urls_and_addresses)
{
	static const struct {
		const char *key, *value;
		bool good;
	} rows[] = {
		{"alertmanager.url", "", true},
		{"alertmanager.url", "http://a:9093/x", true},
		{"alertmanager.url", "https://[::1]", true},
		{"alertmanager.url", "a:9093", false},
		{"alertmanager.url", "http://a b", false},
		{"alertmanager.url", "http://a\n", false},
		{"metrics.listen", "", true},
		{"metrics.listen", "unix", true},
		{"metrics.listen", "127.0.0.1:1", true},
		{"metrics.listen", "localhost:1", false},
		{"metrics.listen", "metrics.sock", false},
	};
	char error[CONFIG_ERROR_MAX];
	struct config config;
	size_t setting;

	config_init(&config);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(
			config_set_key(&config, rows[i].key, rows[i].value, &setting, error),
			rows[i].good ? 0 : -EINVAL);
	assert_string_equal(config.alertmanager.url, "https://[::1]");
	assert_string_equal(config.exporter.listen, "127.0.0.1:1");
}

/* Found with grep, a line says it all: meaning, values and default, and refers to no other line. */
TEST(test_help_lines_make_sense_alone)
{
	static const char *const referring[] = {"likewise", "both", " such ", "them"};
	char *text = NULL, *line, *rest;
	size_t size, count = 0;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	setting_help(to);
	fclose(to);
	assert_non_null(strstr(text, "  alerts.exec_user "));
	assert_non_null(strstr(text, "(a duration from 100ms to 1min; default 1s)\n"));
	for (rest = text; (line = strsep(&rest, "\n")) && *line; count++) {
		const struct setting *setting = &setting_table[count];
		char end[64];

		assert_true(count < setting_count);
		assert_int_equal(strncmp(line + 2, setting->key, strlen(setting->key)), 0);
		assert_non_null(strstr(line, setting->help));
		assert_non_null(strstr(line, setting_values(setting).s));
		snprintf(end, sizeof(end), "; default %s)",
			 *setting->initial ? setting->initial : "none");
		assert_string_equal(line + strlen(line) - strlen(end), end);
		for (size_t i = 0; i < ARRAY_SIZE(referring); i++)
			if (strstr(line, referring[i]))
				fail_msg("%s: \"%s\"", line, referring[i]);
	}
	assert_int_equal(count, setting_count);
	free(text);
}

/* ---- values -------------------------------------------------------------- */

TEST(test_set)
{
	struct config config;
	char error[CONFIG_ERROR_MAX];

	config_init(&config);
	assert_int_equal(config_set(&config, "drops.keys=17", &which, error), 0);
	assert_int_equal(config.backend.drop_keys, 17);
	assert_int_equal(config_set(&config, "inflight.entries=64", &which, error), 0);
	assert_int_equal(config.backend.inflight_entries, 64);
	assert_int_equal(
		config_set(&config, "probes.disable=consume_skb, napi_poll", &which, error), 0);
	assert_true(config.backend.disabled[NF_PROBE_CONSUME_SKB]);
	assert_true(config.backend.disabled[NF_PROBE_NAPI_POLL]);
	assert_false(config.backend.disabled[NF_PROBE_KFREE_SKB]);
}

TEST(test_set_slots)
{
	struct config config;
	char error[CONFIG_ERROR_MAX];

	config_init(&config);
	assert_int_equal(config.backend.slots.limit, 18);
	assert_int_equal(config.backend.slots.names, 0);
	assert_string_equal(config.kmsg, "/dev/kmsg");
	assert_int_equal(config_set(&config, "slots.devices=eth0, a_name_of_15_by", &which, error),
			 0);
	assert_int_equal(config.backend.slots.names, 2);
	assert_memory_equal(config.backend.slots.name[1], "a_name_of_15_by", NF_DEVICE_NAME);
	assert_false(config.backend.slots.every_device);
	assert_int_equal(config_set(&config, "slots.devices=*", &which, error), 0);
	assert_int_equal(config.backend.slots.names, 0);
	assert_true(config.backend.slots.every_device);
	assert_int_equal(config_set(&config, "slots.attach=kprobe", &which, error), 0);
	assert_int_equal(config.backend.slots.attach, BACKEND_SLOTS_KPROBE);
	assert_int_equal(config_set(&config, "slots.kmsg=", &which, error), 0);
	assert_string_equal(config.kmsg, "");
}

/* The same words and units as in alert rules and options. */
TEST(test_forms_of_values)
{
	static const struct {
		const char *setting;
		uint64_t value;
	} cases[] = {
		{"drops.keys=010", 10},
		{"history.size=64MiB", 64 << 20},
		{"history.size=67108864", 64 << 20},
		{"ring.bytes=1 MiB", 1 << 20},
		{"history.enabled=on", 1},
		{"history.enabled=false", 0},
		{"cost.governor=no", 0},
		{"cost.governor=yes", 1},
		{"alerts.interval=1.5s", 1500000000},
		{"history.age=1d12h", UINT64_C(129600000000000)},
	};
	struct config config;
	char error[CONFIG_ERROR_MAX];

	config_init(&config);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(config_set(&config, cases[i].setting, &which, error), 0);
		assert_int_equal(
			*(const uint64_t *)((const char *)&config + setting_table[which].offset),
			cases[i].value);
	}
}

/* An error names the setting and the values allowed; the setting keeps its value. */
TEST(test_refused)
{
	static const struct {
		const char *setting, *says;
	} cases[] = {
		{"drops.keys=0",
		 "drops.keys = 0: must be a whole number of combinations from 1 to 65536"},
		{"drops.keys=-1", "whole number"},
		{"drops.keys=0x10", "whole number"},
		{"drops.keys=64KiB", "whole number"},
		{"history.size=1MiB", "must be a size from 4MiB to 1TiB"},
		{"ring.bytes=96KiB", "the nearest are 64KiB and 128KiB"},
		{"ring.bytes=1MB", "in bytes or with KiB, MiB, GiB or TiB"},
		{"history.enabled=maybe", "must be no or yes"},
		{"drops.keys=12x", "12x"},
		{"drops.keys=", "whole number"},
		{"drops.keys=99999999999999999999999", "whole number"},
		{"inflight.entries=100", "the nearest are 64 and 128"},
		{"devices.slots=4", "must be a power of two from 8 to 4096 devices"},
		{"devices.slots=12", "the nearest are 8 and 16"},
		{"devices.slots=8192", "from 8 to 4096"},
		{"metrics.textfile=/a/netflowd.txt", "that ends in .prom, or empty"},
		{"metrics.textfile=.prom", "must be an absolute path"},
		{"history.directory=", "must be an absolute path of at most 255 characters"},
		{"alerts.interval=99ms", "must be a duration from 100ms to 1min"},
		{"latency.slow=soon", "must be times from 0 to 36525d, as TIME or SEGMENT=TIME"},
		{"latency.slow=10ms, wakeup_to_run", "latency.slow = wakeup_to_run: must be times"},
		{"latency.slow=wakeup_to_runs=2ms", "did you mean wakeup_to_run?"},
		{"latency.slow=rx_total=2ms", "there is no segment rx_total"},
		{"latency.slow=zzzzzzzz=2ms", "`netflowctl explain` lists the names"},
		{"latency.slow=total=", "must be times"},
		{"latency.slow_total=5ms", "did you mean latency.slow?"},
		{"alerts.exec_user=", "must be a user name of 1 to 255 characters"},
		{"drops.key=3", "did you mean drops.keys?"},
		{"inflight=3", "there is no setting inflight"},
		{"slots.limit=128", "from 2 to 127"},
		{"slots.devices=a_name_too_long_x", "at most 15 characters"},
		{"slots.devices=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
		 "more than 16 device names"},
		{"slots.attach=kprob",
		 "must be auto, fentry, kprobe or tracepoint (did you mean kprobe?)"},
		{"slots.kmsg=dev/kmsg", "must be an absolute path"},
		{"nonsense", "SECTION.KEY=VALUE"},
		{"=3", "SECTION.KEY=VALUE"},
		{"probes.trace_exclude=a_name_too_long_x",
		 "probes.trace_exclude: a_name_too_long_x is not the name of a device"},
		{"probes.trace_exclude=*", "* excludes all devices"},
		{"probes.disable=kfree_skbb", "did you mean kfree_skb?"},
	};
	struct config config, before;
	char error[CONFIG_ERROR_MAX];

	config_init(&config);
	before = config;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(config_set(&config, cases[i].setting, &which, error), -EINVAL);
		if (!strstr(error, cases[i].says))
			fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].setting, error,
				 cases[i].says);
		assert_memory_equal(&config, &before, sizeof(config));
	}
}

/* A threshold for a segment is none for the whole journey, and what a list leaves out is off. */
TEST(test_slow)
{
	struct config config;
	char error[CONFIG_ERROR_MAX];
	uint64_t *ns = config.backend.slow_ns;

	config_init(&config);
	assert_int_equal(config_set(&config, "latency.slow=run_to_copy=2ms", &which, error), 0);
	assert_int_equal(ns[NF_SEGMENT_RUN_TO_COPY], 2000000);
	assert_int_equal(ns[NF_SEGMENT_RX_TOTAL], 0);
	assert_int_equal(config_set(&config, "latency.slow=5ms gap_wait=1s", &which, error), 0);
	assert_int_equal(ns[NF_SEGMENT_RUN_TO_COPY], 0);
	assert_int_equal(ns[NF_SEGMENT_GAP_WAIT], 1000000000);
	assert_int_equal(ns[NF_SEGMENT_TX_TOTAL], 5000000);
	assert_int_equal(ns[NF_SEGMENT_FORWARD_TOTAL], 5000000);
}

/* What is printed for a value is read as that value. */
TEST(test_print)
{
	static const char *const values[] = {"slots.devices=*, eth0, eth1",
					     "slots.devices=eth0",
					     "probes.disable=kfree_skb,napi_poll",
					     "probes.trace_exclude=veth*, docker0",
					     "latency.slow=1500us",
					     "latency.slow=1h30m, gap_wait=1s, xmit_to_free=5ms",
					     "latency.slow=run_to_copy=2ms",
					     "latency.slow=total=7ms",
					     "latency.slow=",
					     "slots.attach=tracepoint",
					     "alerts.rules=/a b/c",
					     "slots.kmsg=",
					     "drops.keys=77",
					     "ring.bytes=2MiB",
					     "history.size=5000000",
					     "history.enabled=no",
					     "cost.governor=off",
					     "latency.slow=0"};
	struct config config, again;
	char error[CONFIG_ERROR_MAX], *text;
	size_t size;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		FILE *to = open_memstream(&text, &size);

		assert_non_null(to);
		config_init(&config);
		assert_int_equal(config_set(&config, values[i], &which, error), 0);
		config_print_value(&config, &setting_table[which], to);
		fclose(to);
		config_init(&again);
		assert_int_equal(
			config_set_key(&again, setting_table[which].key, text, &which, error), 0);
		assert_memory_equal(&again, &config, sizeof(config));
		free(text);
	}
}

TEST(test_what_follows)
{
	static const char *const values[] = {"records.rate=3",	    "control.clients=33",
					     "control.idle=7s",	    "metrics.series=9",
					     "export.interval=20s", "alerts.interval=100ms"};
	struct backend_settings settings;
	struct config config, other;
	char error[CONFIG_ERROR_MAX];

	config_init(&config);
	config_backend(&config, &settings);
	assert_int_equal(settings.drop_rate, 20);
	assert_int_equal(settings.drop_burst, 100);
	assert_int_equal(settings.journey_rate, 100);
	assert_int_equal(settings.journey_burst, 200);
	assert_int_equal(settings.slots.rate, 20);
	assert_int_equal(settings.slots.burst, 200);
	assert_int_equal(settings.slots.table, 64);
	assert_int_equal(config.exporter.connections, 16);
	assert_int_equal(config.exporter.timeout_ns, 10 * TIME_NS_PER_SECOND);
	assert_int_equal(config.exporter.limits.devices, 100);
	assert_int_equal(config.exporter.interval_ns, 15 * TIME_NS_PER_SECOND);
	assert_int_equal(config.alertmanager.repeat_ns, 60 * TIME_NS_PER_SECOND);
	assert_int_equal(config.alertmanager.timeout_ns, 10 * TIME_NS_PER_SECOND);
	other = config;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		assert_int_equal(config_set(&config, values[i], &which, error), 0);
		/* As a reload does. */
		config_copy(&other, &config, &setting_table[which]);
	}
	assert_memory_equal(&other, &config, sizeof(config));
	assert_int_equal(config.backend.journey_rate, 15);
	assert_int_equal(config.exporter.connections, 4);
	assert_int_equal(config.exporter.timeout_ns, 7 * TIME_NS_PER_SECOND);
	assert_int_equal(config.exporter.limits.devices, 1);
	assert_int_equal(config.exporter.interval_ns, 5 * TIME_NS_PER_SECOND);
	assert_int_equal(config.alertmanager.repeat_ns, 6 * TIME_NS_PER_SECOND);
	assert_int_equal(config.alertmanager.timeout_ns, 6 * TIME_NS_PER_SECOND);
	assert_int_equal(config_set(&config, "control.idle=0s", &which, error), 0);
	assert_int_equal(config.exporter.timeout_ns, 10 * TIME_NS_PER_SECOND);
	/* A scrape needs some time. */
	assert_int_equal(config_set(&config, "control.idle=1ns", &which, error), 0);
	assert_int_equal(config.exporter.timeout_ns, TIME_NS_PER_SECOND / 10);
}
