/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/config.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/probe/probes.h"
#include "daemon/util/nearest.h"

enum type {
	NUMBER,
	POWER_OF_TWO,
	PROBES, /* names, separated by commas or spaces */
};

struct key {
	const char *name;
	enum type type;
	size_t offset;
	uint64_t least, most, initially;
	const char *help;
};

static const struct key keys[] = {
	{"inflight.entries", POWER_OF_TWO, offsetof(struct config, backend.inflight_entries), 2,
	 1 << 24, 1 << 16,
	 "skbs that can be on their way at once; 64 bytes each"},
	{"inflight.readers", POWER_OF_TWO, offsetof(struct config, backend.reader_entries), 2, 1 << 20,
	 1 << 12, "UDP sockets whose readers are followed; 16 bytes each"},
	{"devices.slots", POWER_OF_TWO, offsetof(struct config, backend.device_slots), 0, 1 << 12, 0,
	 "devices with histograms of their own, at least 8; 10 KiB each and CPU; 0: what fits in "
	 "8 MiB, at least 64"},
	{"devices.idle", NUMBER, offsetof(struct config, backend.device_idle_seconds), 1, 86400, 10,
	 "seconds without a packet after which a device may lose its slot to a new one; what was "
	 "counted for it is kept"},
	{"drops.keys", NUMBER, offsetof(struct config, backend.drop_keys), 1, 1 << 20, 4096,
	 "combinations of reason, place, device, netns and protocol that are told apart"},
	{"drops.rate", NUMBER, offsetof(struct config, backend.drop_rate), 1, 1000000, 20,
	 "drop records per second for one such combination"},
	{"drops.burst", NUMBER, offsetof(struct config, backend.drop_burst), 1, 1000000, 100,
	 "drop records at once for one such combination"},
	{"drops.recent", NUMBER, offsetof(struct config, drops_recent), 1, 1 << 20, 4096,
	 "drop records held; 504 bytes each"},
	{"ring.bytes", POWER_OF_TWO, offsetof(struct config, backend.ring_bytes), 4096, 1 << 28,
	 1 << 20, "room for records on their way to the daemon"},
	{"control.clients", NUMBER, offsetof(struct config, clients_max), 1, 10000, 128,
	 "clients served at once"},
	{"control.message_bytes", NUMBER, offsetof(struct config, message_bytes), 256, 1 << 26,
	 1 << 20, "the largest request"},
	{"control.queue_bytes", NUMBER, offsetof(struct config, queue_bytes), 4096, 1 << 28, 1 << 20,
	 "replies that a slow reader may leave waiting before records are lost to it"},
	{"probes.disable", PROBES, offsetof(struct config, backend.disabled), 0, 0, 0,
	 "probes not to attach, by name"},
};

#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

static void *at(struct config *config, const struct key *key)
{
	return (char *)config + key->offset;
}

void config_init(struct config *config)
{
	memset(config, 0, sizeof(*config));
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (keys[i].type != PROBES)
			*(uint64_t *)at(config, &keys[i]) = keys[i].initially;
}

static int set_number(struct config *config, const struct key *key, const char *value, char *error)
{
	char *end;
	uint64_t number;

	errno = 0;
	number = strtoull(value, &end, 0);
	if (errno || end == value || *end || *value == '-' || number < key->least ||
	    number > key->most) {
		snprintf(error, CONFIG_ERROR_MAX,
			 "%s = %s: it takes a whole number from %" PRIu64 " to %" PRIu64, key->name,
			 value, key->least, key->most);
		return -EINVAL;
	}
	if (key->type == POWER_OF_TWO && number & (number - 1)) {
		uint64_t below = UINT64_C(1) << (63 - __builtin_clzll(number));

		snprintf(error, CONFIG_ERROR_MAX,
			 "%s = %s: it takes a power of two; the nearest are %" PRIu64 " and %" PRIu64,
			 key->name, value, below, below * 2);
		return -EINVAL;
	}
	*(uint64_t *)at(config, key) = number;
	return 0;
}

static int unknown_probe(const char *name, char *error)
{
	struct nearest nearest;

	nearest_init(&nearest, name);
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		nearest_consider(&nearest, probe_specs[i].name);
	snprintf(error, CONFIG_ERROR_MAX, "probes.disable: there is no probe %s%s%s%s", name,
		 nearest.best ? " (did you mean " : "", nearest.best ? nearest.best : "",
		 nearest.best ? "?)" : "");
	return -EINVAL;
}

static int set_probes(struct config *config, const char *value, char *error)
{
	bool disabled[NF_PROBE_COUNT] = {false};
	char *names = strdup(value), *rest = names;
	int r = names ? 0 : -ENOMEM;

	for (char *name; r == 0 && (name = strsep(&rest, ", \t"));) {
		int probe = probe_find(name);

		if (!*name)
			continue;
		if (probe < 0)
			r = unknown_probe(name, error);
		else
			disabled[probe] = true;
	}
	free(names);
	if (r == 0)
		memcpy(config->backend.disabled, disabled, sizeof(disabled));
	return r;
}

static int set_key(struct config *config, const char *name, const char *value, char *error)
{
	struct nearest nearest;

	nearest_init(&nearest, name);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (!strcmp(keys[i].name, name))
			return keys[i].type == PROBES
				       ? set_probes(config, value, error)
				       : set_number(config, &keys[i], value, error);
		nearest_consider(&nearest, keys[i].name);
	}
	snprintf(error, CONFIG_ERROR_MAX, "there is no setting %s%s%s%s", name,
		 nearest.best ? " (did you mean " : "", nearest.best ? nearest.best : "",
		 nearest.best ? "?)" : "");
	return -EINVAL;
}

int config_set(struct config *config, const char *assignment, char *error)
{
	const char *equals = strchr(assignment, '=');
	char name[128];

	if (!equals || equals == assignment || (size_t)(equals - assignment) >= sizeof(name)) {
		snprintf(error, CONFIG_ERROR_MAX, "%s: it takes SECTION.KEY=VALUE", assignment);
		return -EINVAL;
	}
	snprintf(name, sizeof(name), "%.*s", (int)(equals - assignment), assignment);
	return set_key(config, name, equals + 1, error);
}

struct reading {
	struct config config;
	char error[CONFIG_ERROR_MAX];
	int result;
};

/* inih's convention: 1 is fine, 0 is an error.  Only the first error is told. */
static int read_pair(void *userdata, const char *section, const char *name, const char *value)
{
	struct reading *reading = userdata;
	char key[128];

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
		snprintf(error, CONFIG_ERROR_MAX, "%s: cannot be read: %s", path, strerror(errno));
		return errno ? -errno : -EIO;
	}
	snprintf(error, CONFIG_ERROR_MAX, "%.200s:%d: %.250s", path, line,
		 reading.error[0] ? reading.error : "neither [section] nor key = value");
	return reading.result < 0 ? reading.result : -EINVAL;
}

int config_check(const struct config *config, char *error)
{
	uint64_t slots = config->backend.device_slots;

	if (slots && slots < NF_DEVICE_SET) {
		snprintf(error, CONFIG_ERROR_MAX,
			 "devices.slots = %" PRIu64 ": it takes 0 or a power of two from %d on", slots,
			 NF_DEVICE_SET);
		return -EINVAL;
	}
	return 0;
}

void config_help(FILE *to)
{
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct key *key = &keys[i];

		fprintf(to, "  %-22s %s\n", key->name, key->help);
		if (key->type != PROBES)
			fprintf(to, "  %-22s %s%" PRIu64 " to %" PRIu64 ", default %" PRIu64 "\n", "",
				key->type == POWER_OF_TWO ? "a power of two, " : "", key->least,
				key->most, key->initially);
	}
}
