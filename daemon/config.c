/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <ini.h>

#include "common/duration.h"
#include "common/nearest.h"
#include "daemon/probe/probes.h"
#include "daemon/settings.h"

/* "section.key", longer than any. */
#define KEY_MAX 128

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

static int set_number(struct config *config, const struct setting *setting, const char *value,
		      char *error)
{
	char *end;
	uint64_t number;

	errno = 0;
	number = strtoull(value, &end, 0);
	if (errno || end == value || *end || *value == '-' || number > setting->most ||
	    number < setting->least)
		return refuse(error, setting, value);
	if (setting->type != SETTING_NUMBER && number & (number - 1)) {
		uint64_t below = UINT64_C(1) << (63 - __builtin_clzll(number));

		snprintf(error, CONFIG_ERROR_MAX,
			 "%s = %.100s: must be a power of two; the nearest are %" PRIu64
			 " and %" PRIu64,
			 setting->key, value, below, below * 2);
		return -EINVAL;
	}
	*(uint64_t *)at(config, setting) = number;
	return 0;
}

static int set_duration(struct config *config, const struct setting *setting, const char *value,
			char *error)
{
	uint64_t ns;

	if (duration_parse(value, setting->most, &ns) < 0 || ns < setting->least)
		return refuse(error, setting, value);
	*(uint64_t *)at(config, setting) = ns;
	return 0;
}

static int set_choice(struct config *config, const struct setting *setting, const char *value,
		      char *error)
{
	struct nearest nearest;

	nearest_init(&nearest, value);
	for (uint64_t i = 0; setting->choices[i]; i++) {
		if (!strcmp(setting->choices[i], value)) {
			*(uint64_t *)at(config, setting) = i;
			return 0;
		}
		nearest_consider(&nearest, setting->choices[i]);
	}
	snprintf(error, CONFIG_ERROR_MAX, "%s = %.100s: must be %s%s", setting->key, value,
		 setting_values(setting).s, nearest_hint("", nearest.best).s);
	return -EINVAL;
}

static int set_text(struct config *config, const struct setting *setting, const char *value,
		    char *error)
{
	size_t length = strlen(value);
	bool relative = setting->type == SETTING_PATH && length && *value != '/';

	if (length < setting->least || length > setting->most || relative)
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

static int set_value(struct config *config, const struct setting *setting, const char *value,
		     char *error)
{
	switch (setting->type) {
	case SETTING_NUMBER:
	case SETTING_POWER_OF_TWO:
		return set_number(config, setting, value, error);
	case SETTING_DURATION:
		return set_duration(config, setting, value, error);
	case SETTING_CHOICE:
		return set_choice(config, setting, value, error);
	case SETTING_TEXT:
	case SETTING_PATH:
		return set_text(config, setting, value, error);
	case SETTING_PROBES:
		return set_probes(config, setting, value, error);
	case SETTING_DEVICES:
		return set_devices(config, setting, value, error);
	}
	return -EINVAL;
}

/* ---- settings ------------------------------------------------------------ */

void config_init(struct config *config)
{
	char error[CONFIG_ERROR_MAX];

	memset(config, 0, sizeof(*config));
	/* A default that is refused is a mistake in the table, which a unit test finds. */
	for (size_t i = 0; i < setting_count; i++)
		if (set_value(config, &setting_table[i], setting_table[i].initial, error) < 0)
			abort();
}

static int set_key(struct config *config, const char *key, const char *value, char *error)
{
	struct nearest nearest;

	nearest_init(&nearest, key);
	for (size_t i = 0; i < setting_count; i++) {
		if (!strcmp(setting_table[i].key, key))
			return set_value(config, &setting_table[i], value, error);
		nearest_consider(&nearest, setting_table[i].key);
	}
	snprintf(error, CONFIG_ERROR_MAX, "there is no setting %s%s", key,
		 nearest_hint("", nearest.best).s);
	return -EINVAL;
}

int config_set(struct config *config, const char *assignment, char *error)
{
	const char *equals = strchr(assignment, '=');
	char key[KEY_MAX];

	if (!equals || equals == assignment || (size_t)(equals - assignment) >= sizeof(key)) {
		snprintf(error, CONFIG_ERROR_MAX, "--set %.200s: must be SECTION.KEY=VALUE",
			 assignment);
		return -EINVAL;
	}
	snprintf(key, sizeof(key), "%.*s", (int)(equals - assignment), assignment);
	return set_key(config, key, equals + 1, error);
}

/* ---- files --------------------------------------------------------------- */

struct reading {
	struct config config;
	char error[CONFIG_ERROR_MAX];
	int result;
};

/* inih's convention: 1 is success, 0 an error.  Only the first error is kept. */
static int read_pair(void *userdata, const char *section, const char *name, const char *value)
{
	struct reading *reading = userdata;
	char key[KEY_MAX];

	if (reading->result < 0)
		return 0;
	snprintf(key, sizeof(key), "%s.%s", section, name);
	reading->result = set_key(&reading->config, key, value, reading->error);
	return reading->result == 0;
}

int config_read(struct config *config, const char *path, char *error)
{
	struct reading reading = {.config = *config};
	int line = ini_parse(path, read_pair, &reading);

	if (line == 0) {
		*config = reading.config;
		return 0;
	}
	if (line < 0) {
		snprintf(error, CONFIG_ERROR_MAX, "cannot read %s: %s", path, strerror(errno));
		return errno ? -errno : -EIO;
	}
	snprintf(error, CONFIG_ERROR_MAX, "%.200s:%d: %.250s", path, line,
		 reading.error[0] ? reading.error : "must be [section] or key = value");
	return reading.result < 0 ? reading.result : -EINVAL;
}

void config_backend(const struct config *config, struct backend_settings *settings)
{
	*settings = config->backend;
	settings->slow_ns[NF_SEGMENT_RX_TOTAL] = config->slow_total_ns;
	settings->slow_ns[NF_SEGMENT_FORWARD_TOTAL] = config->slow_total_ns;
	settings->slow_ns[NF_SEGMENT_TX_TOTAL] = config->slow_total_ns;
	for (int i = 0; i < NF_SEGMENT_COUNT; i++)
		if (!settings->slow_ns[i])
			settings->slow_ns[i] = UINT64_MAX;
}
