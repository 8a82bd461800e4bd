/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/nearest.h"
#include "common/time.h"
#include "common/value.h"
#include "daemon/core/infer.h"
#include "daemon/core/stages.h"
#include "daemon/http/address.h"
#include "daemon/probe/exclusion.h"
#include "daemon/probe/probes.h"
#include "daemon/settings.h"

/* Sockets whose readers netflowd follows at once; 120 bytes each. */
#define READERS 4096

/* Latency records of one CPU for each drop record of one cause. */
#define JOURNEYS_PER_DROP 5
/* See bpf/throttle.h. */
#define RATE_MOST 1000000
/* Seconds of the rate of records that can come at once. */
#define DROPS_AT_ONCE 5
#define JOURNEYS_AT_ONCE 2
#define SLOTS_AT_ONCE 10
/* Devices whose slots are counted separately; 1.1 KiB for each device and CPU. */
#define SLOTS_DEVICES 64

/* Intervals of the rules after which an alert that fires is posted again. */
#define POSTS_EVERY 60
#define POST_MOST_NS (10 * TIME_NS_PER_SECOND)

/* Clients for each HTTP connection, which takes 16 KiB. */
#define CLIENTS_PER_CONNECTION 8
#define CONNECTION_MOST_NS (10 * TIME_NS_PER_SECOND)
#define CONNECTION_LEAST_NS (TIME_NS_PER_SECOND / 10)
/* Causes of drops for each device that has series of its own. */
#define CAUSES_PER_DEVICE 5
#define SERIES_IDLE_NS (3600 * TIME_NS_PER_SECOND)
/* The textfile is written this often in an interval of the other export. */
#define TEXTFILES_PER_LINE 4

/* In latency.slow: the time of a whole journey of any kind. */
#define SEGMENT_TOTAL "total"

static void *at(struct config *config, const struct setting *setting)
{
	return (char *)config + setting->offset;
}

/* ---- values -------------------------------------------------------------- */

static int refuse(char *error, const struct setting *setting, const char *value)
{
	snprintf(error, CONFIG_ERROR_MAX, "%s = %.100s: must be %s", setting->key, value,
		 setting_values(setting).s);
	return -EINVAL;
}

static struct value_text number_text(const struct setting *setting, uint64_t number)
{
	struct value_text text;

	if (setting_is_size(setting))
		return value_bytes_text(number);
	snprintf(text.s, sizeof(text.s), "%" PRIu64, number);
	return text;
}

static int set_number(struct config *config, const struct setting *setting, const char *value,
		      char *error)
{
	uint64_t number;
	int r = setting_is_size(setting) ? value_bytes(value, setting->most, &number)
					 : value_count(value, setting->most, &number);

	if (r < 0 || number < setting->least) {
		snprintf(error, CONFIG_ERROR_MAX, "%s = %.100s: must be %s%s", setting->key, value,
			 setting_values(setting).s,
			 setting_is_size(setting) ? ", in bytes or with KiB, MiB, GiB or TiB" : "");
		return -EINVAL;
	}
	if (setting->type == SETTING_POWER_OF_TWO && number & (number - 1)) {
		uint64_t below = UINT64_C(1) << (63 - __builtin_clzll(number));

		snprintf(error, CONFIG_ERROR_MAX,
			 "%s = %.100s: must be a power of two; the nearest are %s and %s",
			 setting->key, value, number_text(setting, below).s,
			 number_text(setting, below * 2).s);
		return -EINVAL;
	}
	*(uint64_t *)at(config, setting) = number;
	return 0;
}

static int set_duration(struct config *config, const struct setting *setting, const char *value,
			char *error)
{
	uint64_t ns;

	if (value_duration(value, setting->most, &ns) < 0 || ns < setting->least) {
		snprintf(error, CONFIG_ERROR_MAX,
			 "%s = %.100s: must be %s, with its unit, " VALUE_DURATION_FORMS,
			 setting->key, value, setting_values(setting).s);
		return -EINVAL;
	}
	*(uint64_t *)at(config, setting) = ns;
	return 0;
}

/* "1%", "0.5 %", up to four decimals. */
static int set_percent(struct config *config, const struct setting *setting, const char *value,
		       char *error)
{
	char *end;
	double percent, units;

	if (!isdigit((unsigned char)*value))
		return refuse(error, setting, value);
	percent = strtod(value, &end);
	end += strspn(end, " ");
	units = percent * SETTING_PERCENT_UNITS + 0.5;
	if (strcmp(end, "%") != 0 || units < (double)setting->least ||
	    units >= (double)setting->most + 1)
		return refuse(error, setting, value);
	*(uint64_t *)at(config, setting) = (uint64_t)units;
	return 0;
}

static int set_choice(struct config *config, const struct setting *setting, const char *value,
		      char *error)
{
	const char *nearest;
	int choice = value_word(setting->choices, value, &nearest);
	bool on;

	if (choice < 0 && setting->type == SETTING_SWITCH && value_switch(value, &on) == 0)
		choice = on;
	if (choice < 0) {
		snprintf(error, CONFIG_ERROR_MAX, "%s = %.100s: must be %s%s", setting->key, value,
			 setting_values(setting).s, nearest_hint("", nearest).s);
		return -EINVAL;
	}
	*(uint64_t *)at(config, setting) = (uint64_t)choice;
	return 0;
}

/* A path may have to end in a certain way. */
static bool ends_well(const struct setting *setting, const char *value)
{
	const char *end = setting->choices ? setting->choices[0] : "";
	size_t length = strlen(value);

	return !length || (length > strlen(end) && !strcmp(value + length - strlen(end), end));
}

static int set_text(struct config *config, const struct setting *setting, const char *value,
		    char *error)
{
	size_t length = strlen(value);
	bool relative = setting->type == SETTING_PATH && length && *value != '/';

	if (length < setting->least || length > setting->most || relative ||
	    (setting->type == SETTING_PATH && !ends_well(setting, value)))
		return refuse(error, setting, value);
	strcpy(at(config, setting), value);
	return 0;
}

static int set_url(struct config *config, const struct setting *setting, const char *value,
		   char *error)
{
	bool http = !strncmp(value, "http://", 7) || !strncmp(value, "https://", 8);

	if (strlen(value) > setting->most || (value[0] && !http))
		return refuse(error, setting, value);
	for (const char *c = value; *c; c++)
		if (*c <= ' ' || *c == 0x7f)
			return refuse(error, setting, value);
	strcpy(at(config, setting), value);
	return 0;
}

static int set_listen(struct config *config, const struct setting *setting, const char *value,
		      char *error)
{
	struct http_address address;

	if (strlen(value) > setting->most || http_address_parse(&address, value) < 0)
		return refuse(error, setting, value);
	strcpy(at(config, setting), value);
	return 0;
}

/*
 * The next name of a list.  One that is too long for `name` is cut: no device and no probe has a
 * name of that length, so it is refused as it is.  False at the end of the list.
 */
static bool next_name(const char **list, char name[static CONFIG_TEXT_MAX])
{
	size_t length;

	*list += strspn(*list, ", \t");
	length = strcspn(*list, ", \t");
	snprintf(name, CONFIG_TEXT_MAX, "%.*s", (int)length, *list);
	*list += length;
	return length > 0;
}

static int unknown_probe(const struct setting *setting, const char *name, char *error)
{
	struct nearest nearest;

	nearest_init(&nearest, name);
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		nearest_consider(&nearest, probe_specs[i].name);
	snprintf(error, CONFIG_ERROR_MAX, "%s: there is no probe %.200s%s", setting->key, name,
		 nearest_hint("", nearest.best).s);
	return -EINVAL;
}

static int set_probes(struct config *config, const struct setting *setting, const char *value,
		      char *error)
{
	bool disabled[NF_PROBE_COUNT] = {false};
	char name[CONFIG_TEXT_MAX];

	while (next_name(&value, name)) {
		int probe = probe_find(name);

		if (probe < 0)
			return unknown_probe(setting, name, error);
		disabled[probe] = true;
	}
	memcpy(at(config, setting), disabled, sizeof(disabled));
	return 0;
}

static int add_device(struct backend_slots_settings *slots, const struct setting *setting,
		      const char *name, char *error)
{
	if (!strcmp(name, "*")) {
		slots->every_device = true;
		return 0;
	}
	if (strlen(name) >= NF_DEVICE_NAME) {
		snprintf(error, CONFIG_ERROR_MAX,
			 "%s: %.200s is not the name of a device: names have at most %d characters",
			 setting->key, name, NF_DEVICE_NAME - 1);
		return -EINVAL;
	}
	if (slots->names == setting->most) {
		snprintf(error, CONFIG_ERROR_MAX,
			 "%s: more than %" PRIu64 " device names; name fewer, or * for all devices",
			 setting->key, setting->most);
		return -EINVAL;
	}
	strcpy(slots->name[slots->names++], name);
	return 0;
}

static int set_devices(struct config *config, const struct setting *setting, const char *value,
		       char *error)
{
	struct backend_slots_settings *slots = at(config, setting), fresh = *slots;
	char name[CONFIG_TEXT_MAX];

	fresh.every_device = false;
	fresh.names = 0;
	memset(fresh.name, 0, sizeof(fresh.name));
	while (next_name(&value, name)) {
		int r = add_device(&fresh, setting, name, error);

		if (r < 0)
			return r;
	}
	*slots = fresh;
	return 0;
}

/* The segments of a name: one, or all that are totals.  False: there is none. */
static bool set_segment(uint64_t *ns, const char *name, uint64_t value)
{
	bool total = !strcmp(name, SEGMENT_TOTAL), any = false;

	for (int i = 0; i < NF_SEGMENT_COUNT; i++) {
		bool is = segment_is_total((enum nf_segment)i)
				  ? total
				  : !strcmp(segment_histograms[i].name, name);

		if (is)
			ns[i] = value;
		any |= is;
	}
	return any;
}

static int unknown_segment(const struct setting *setting, const char *name, char *error)
{
	struct nearest nearest;

	nearest_init(&nearest, name);
	nearest_consider(&nearest, SEGMENT_TOTAL);
	for (int i = 0; i < NF_SEGMENT_COUNT; i++)
		if (!segment_is_total((enum nf_segment)i))
			nearest_consider(&nearest, segment_histograms[i].name);
	snprintf(
		error, CONFIG_ERROR_MAX, "%s: there is no segment %.200s%s", setting->key, name,
		nearest.best
			? nearest_hint("", nearest.best).s
			: "; `netflowctl explain` lists the names of all segments, such as wakeup_to_run");
	return -EINVAL;
}

static int set_segments(struct config *config, const struct setting *setting, const char *value,
			char *error)
{
	uint64_t fresh[NF_SEGMENT_COUNT] = {0}, ns;
	char item[CONFIG_TEXT_MAX];

	while (next_name(&value, item)) {
		char *equals = strchr(item, '=');
		const char *name = equals ? item : SEGMENT_TOTAL,
			   *text = equals ? equals + 1 : item;

		if (equals)
			*equals = 0;
		if (value_duration(text, setting->most, &ns) < 0) {
			snprintf(
				error, CONFIG_ERROR_MAX,
				"%s = %.100s: must be %s, each with its unit, " VALUE_DURATION_FORMS,
				setting->key, text, setting_values(setting).s);
			return -EINVAL;
		}
		if (!set_segment(fresh, name, ns))
			return unknown_segment(setting, name, error);
	}
	memcpy(at(config, setting), fresh, sizeof(fresh));
	return 0;
}

static int set_exclusion(struct config *config, const struct setting *setting, const char *value,
			 char *error)
{
	char why[EXCLUSION_ERROR_MAX];
	int r = exclusion_parse(at(config, setting), value, why);

	if (r < 0)
		snprintf(error, CONFIG_ERROR_MAX, "%s: %s", setting->key, why);
	return r;
}

static int set_value(struct config *config, const struct setting *setting, const char *value,
		     char *error)
{
	switch (setting->type) {
	case SETTING_NUMBER:
	case SETTING_POWER_OF_TWO:
		return set_number(config, setting, value, error);
	case SETTING_DURATION:
		return set_duration(config, setting, value, error);
	case SETTING_PERCENT:
		return set_percent(config, setting, value, error);
	case SETTING_CHOICE:
	case SETTING_SWITCH:
		return set_choice(config, setting, value, error);
	case SETTING_TEXT:
	case SETTING_PATH:
		return set_text(config, setting, value, error);
	case SETTING_URL:
		return set_url(config, setting, value, error);
	case SETTING_LISTEN:
		return set_listen(config, setting, value, error);
	case SETTING_SEGMENTS:
		return set_segments(config, setting, value, error);
	case SETTING_PROBES:
		return set_probes(config, setting, value, error);
	case SETTING_DEVICES:
		return set_devices(config, setting, value, error);
	case SETTING_EXCLUSION:
		return set_exclusion(config, setting, value, error);
	}
	return -EINVAL;
}

/* ---- settings ------------------------------------------------------------ */

static uint64_t share(uint64_t number, uint64_t parts)
{
	return number < parts ? 1 : number / parts;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What no setting says, because others do. */
static void settle(struct config *config)
{
	struct backend_settings *backend = &config->backend;
	struct exporter_settings *exporter = &config->exporter;
	uint64_t idle_ns = config->control.idle_ns;

	backend->journey_rate = lesser(JOURNEYS_PER_DROP * backend->drop_rate, RATE_MOST);
	backend->slots.rate = backend->drop_rate;
	backend->slots.table = SLOTS_DEVICES;
	config->alertmanager.repeat_ns = POSTS_EVERY * config->alert_interval_ns;
	config->alertmanager.timeout_ns = lesser(POST_MOST_NS, config->alertmanager.repeat_ns);
	exporter->connections = share(config->control.clients, CLIENTS_PER_CONNECTION);
	exporter->timeout_ns = idle_ns ? lesser(CONNECTION_MOST_NS, idle_ns) : CONNECTION_MOST_NS;
	if (exporter->timeout_ns < CONNECTION_LEAST_NS)
		exporter->timeout_ns = CONNECTION_LEAST_NS;
	exporter->limits.devices = share(exporter->limits.drop_series, CAUSES_PER_DEVICE);
	exporter->limits.idle_ns = SERIES_IDLE_NS;
	exporter->interval_ns = share(config->lines.interval_ns, TEXTFILES_PER_LINE);
	if (exporter->interval_ns < TIME_NS_PER_SECOND)
		exporter->interval_ns = TIME_NS_PER_SECOND;
}

void config_init(struct config *config)
{
	char error[CONFIG_ERROR_MAX];

	memset(config, 0, sizeof(*config));
	/* A default that is refused is a mistake in the table, which a unit test finds. */
	for (size_t i = 0; i < setting_count; i++)
		if (set_value(config, &setting_table[i], setting_table[i].initial, error) < 0)
			abort();
	settle(config);
}

void config_replay(struct config *config, const char *recording)
{
	config->backend.replay = recording;
	config->backend.governor = false;
	config->governor.on = false;
	config->kmsg[0] = 0;
	config->pause_file[0] = 0;
	config->elsewhere_interval_ns = 0;
	config->history_enabled = 0;
	/* It also has the pause of the netflowd that follows this host. */
	config->history_directory[0] = 0;
	config->exporter = (struct exporter_settings){0};
	config->lines = (struct lines_settings){0};
	config->alertmanager = (struct alertmanager_settings){0};
}

int config_set_key(struct config *config, const char *key, const char *value, size_t *setting,
		   char *error)
{
	struct nearest nearest;

	nearest_init(&nearest, key);
	for (size_t i = 0; i < setting_count; i++) {
		if (!strcmp(setting_table[i].key, key)) {
			int r = set_value(config, &setting_table[i], value, error);

			*setting = i;
			settle(config);
			return r;
		}
		nearest_consider(&nearest, setting_table[i].key);
	}
	snprintf(error, CONFIG_ERROR_MAX, "there is no setting %s%s", key,
		 nearest_hint("", nearest.best).s);
	return -EINVAL;
}

int config_set(struct config *config, const char *assignment, size_t *setting, char *error)
{
	const char *equals = strchr(assignment, '=');
	char key[CONFIG_KEY_MAX];

	if (!equals || equals == assignment || (size_t)(equals - assignment) >= sizeof(key)) {
		snprintf(error, CONFIG_ERROR_MAX, "--set %.200s: must be SECTION.KEY=VALUE",
			 assignment);
		return -EINVAL;
	}
	snprintf(key, sizeof(key), "%.*s", (int)(equals - assignment), assignment);
	return config_set_key(config, key, equals + 1, setting, error);
}

/* ---- one value of two configurations -------------------------------------- */

/* slots.devices is some members of a struct. */
static bool same_devices(const struct backend_slots_settings *a,
			 const struct backend_slots_settings *b)
{
	return a->every_device == b->every_device && a->names == b->names &&
	       !memcmp(a->name, b->name, sizeof(a->name));
}

static void copy_devices(struct backend_slots_settings *to,
			 const struct backend_slots_settings *from)
{
	to->every_device = from->every_device;
	to->names = from->names;
	memcpy(to->name, from->name, sizeof(to->name));
}

bool config_same(const struct config *a, const struct config *b, const struct setting *setting)
{
	const void *x = (const char *)a + setting->offset, *y = (const char *)b + setting->offset;

	switch (setting->type) {
	case SETTING_NUMBER:
	case SETTING_POWER_OF_TWO:
	case SETTING_DURATION:
	case SETTING_PERCENT:
	case SETTING_CHOICE:
	case SETTING_SWITCH:
		return *(const uint64_t *)x == *(const uint64_t *)y;
	case SETTING_TEXT:
	case SETTING_PATH:
	case SETTING_URL:
	case SETTING_LISTEN:
		return !strcmp(x, y);
	case SETTING_SEGMENTS:
		return !memcmp(x, y, sizeof(a->backend.slow_ns));
	case SETTING_PROBES:
		return !memcmp(x, y, sizeof(a->backend.disabled));
	case SETTING_DEVICES:
		return same_devices(x, y);
	case SETTING_EXCLUSION:
		return !memcmp(x, y, sizeof(struct exclusion));
	}
	return true;
}

void config_copy(struct config *to, const struct config *from, const struct setting *setting)
{
	const void *value = (const char *)from + setting->offset;

	switch (setting->type) {
	case SETTING_NUMBER:
	case SETTING_POWER_OF_TWO:
	case SETTING_DURATION:
	case SETTING_PERCENT:
	case SETTING_CHOICE:
	case SETTING_SWITCH:
		*(uint64_t *)at(to, setting) = *(const uint64_t *)value;
		break;
	case SETTING_TEXT:
	case SETTING_PATH:
	case SETTING_URL:
	case SETTING_LISTEN:
		strcpy(at(to, setting), value);
		break;
	case SETTING_SEGMENTS:
		memcpy(at(to, setting), value, sizeof(to->backend.slow_ns));
		break;
	case SETTING_PROBES:
		memcpy(at(to, setting), value, sizeof(to->backend.disabled));
		break;
	case SETTING_DEVICES:
		copy_devices(at(to, setting), value);
		break;
	case SETTING_EXCLUSION:
		memcpy(at(to, setting), value, sizeof(struct exclusion));
		break;
	}
	settle(to);
}

/* ---- printing ------------------------------------------------------------ */

/* The total first, and always. */
static void print_segments(const uint64_t *ns, FILE *to)
{
	fputs(value_duration_text(ns[NF_SEGMENT_RX_TOTAL]).s, to);
	for (int i = 0; i < NF_SEGMENT_COUNT; i++)
		if (ns[i] && !segment_is_total((enum nf_segment)i))
			fprintf(to, ", %s=%s", segment_histograms[i].name,
				value_duration_text(ns[i]).s);
}

static void print_probes(const bool *disabled, FILE *to)
{
	const char *joint = "";

	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		if (!disabled[i])
			continue;
		fprintf(to, "%s%s", joint, probe_specs[i].name);
		joint = ", ";
	}
}

static void print_devices(const struct backend_slots_settings *slots, FILE *to)
{
	const char *joint = slots->every_device ? ", " : "";

	fputs(slots->every_device ? "*" : "", to);
	for (size_t i = 0; i < slots->names; i++) {
		fprintf(to, "%s%s", joint, slots->name[i]);
		joint = ", ";
	}
}

static void print_exclusion(const struct exclusion *exclusion, FILE *to)
{
	char text[EXCLUSION_TEXT_MAX];

	exclusion_format(exclusion, text);
	fputs(text, to);
}

void config_print_value(const struct config *config, const struct setting *setting, FILE *to)
{
	const void *value = (const char *)config + setting->offset;

	switch (setting->type) {
	case SETTING_NUMBER:
	case SETTING_POWER_OF_TWO:
		fputs(number_text(setting, *(const uint64_t *)value).s, to);
		break;
	case SETTING_DURATION:
		fputs(value_duration_text(*(const uint64_t *)value).s, to);
		break;
	case SETTING_PERCENT:
		fprintf(to, "%g%%", (double)*(const uint64_t *)value / SETTING_PERCENT_UNITS);
		break;
	case SETTING_CHOICE:
	case SETTING_SWITCH:
		fputs(setting->choices[*(const uint64_t *)value], to);
		break;
	case SETTING_TEXT:
	case SETTING_PATH:
	case SETTING_URL:
	case SETTING_LISTEN:
		fputs(value, to);
		break;
	case SETTING_SEGMENTS:
		print_segments(value, to);
		break;
	case SETTING_PROBES:
		print_probes(value, to);
		break;
	case SETTING_DEVICES:
		print_devices(value, to);
		break;
	case SETTING_EXCLUSION:
		print_exclusion(value, to);
		break;
	}
}

/* ---- the backend ----------------------------------------------------------- */

void config_backend(const struct config *config, struct backend_settings *settings)
{
	*settings = config->backend;
	settings->drop_burst = DROPS_AT_ONCE * settings->drop_rate;
	settings->journey_burst = JOURNEYS_AT_ONCE * settings->journey_rate;
	settings->slots.burst = SLOTS_AT_ONCE * settings->slots.rate;
	settings->evidence = infer_needs;
	settings->reader_entries = READERS;
	settings->governor = config->governor.on;
	for (int i = 0; i < NF_SEGMENT_COUNT; i++)
		if (!settings->slow_ns[i])
			settings->slow_ns[i] = UINT64_MAX;
}
