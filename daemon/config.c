/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <ini.h>

#include "common/array.h"
#include "common/duration.h"
#include "common/nearest.h"
#include "daemon/probe/probes.h"

enum type {
	NUMBER,
	POWER_OF_TWO,
	DURATION, /* ns, or with a unit: 250us, 5ms, 1s */
	PROBES,	  /* names, separated by commas or spaces */
	DEVICES,  /* likewise */
	ATTACH,	  /* a name of enum backend_slots_attach */
	PATH,
	TEXT, /* CONFIG_TEXT_MAX bytes */
};

/* Of those that are no numbers, what they begin with. */
#define KMSG "/dev/kmsg"
#define ALERT_RULES "/etc/netflowd/alerts.d"
#define ALERT_EXEC_USER "nobody"

/* Longer than any uptime: 100 years. */
#define DURATION_MAX UINT64_C(3155760000000000000)

struct key {
	const char *name;
	enum type type;
	size_t offset;
	uint64_t least, most, initially;
	const char *help;
};

static const struct key keys[] = {
	{"inflight.entries", POWER_OF_TWO, offsetof(struct config, backend.inflight_entries), 4,
	 1 << 24, 1 << 16, "skbs that can be on their way at once; 64 bytes each"},
	{"inflight.readers", POWER_OF_TWO, offsetof(struct config, backend.reader_entries), 2,
	 1 << 20, 1 << 12, "sockets whose readers are followed; 120 bytes each"},
	{"devices.slots", POWER_OF_TWO, offsetof(struct config, backend.device_slots), 0, 1 << 12,
	 0,
	 "devices with histograms of their own, at least 8; 18 KiB each and CPU; 0: what fits in 8 MiB, at least 64"},
	{"devices.idle", NUMBER, offsetof(struct config, backend.device_idle_seconds), 1, 86400, 10,
	 "seconds without a packet after which a device may lose its slot to a new one; what was counted for it is kept"},
	{"drops.keys", NUMBER, offsetof(struct config, backend.drop_keys), 1, 1 << 20, 4096,
	 "combinations of reason, place, device, netns and protocol that are told apart"},
	{"drops.rate", NUMBER, offsetof(struct config, backend.drop_rate), 1, 1000000, 20,
	 "drop records per second for one such combination"},
	{"drops.burst", NUMBER, offsetof(struct config, backend.drop_burst), 1, 1000000, 100,
	 "drop records at once for one such combination"},
	{"drops.recent", NUMBER, offsetof(struct config, drops_recent), 1, 1 << 20, 4096,
	 "drop records held; 504 bytes each"},
	{"latency.slow_total", DURATION, offsetof(struct config, slow_total_ns), 0, DURATION_MAX,
	 10000000, "a journey that takes longer leaves a record; 0: none does for that"},
#define SLOW(name, segment, help)                                                                  \
	{                                                                                          \
		"latency.slow_" name, DURATION, offsetof(struct config, backend.slow_ns[segment]), \
			0, DURATION_MAX, 0, help                                                   \
	}
	SLOW("irq_to_softirq", NF_SEGMENT_IRQ_TO_SOFTIRQ, "so does one of which this takes longer"),
	SLOW("raise_to_softirq", NF_SEGMENT_RAISE_TO_SOFTIRQ, "likewise: the softirq's wait"),
	SLOW("softirq_to_receive", NF_SEGMENT_SOFTIRQ_TO_RECEIVE, "likewise"),
	SLOW("receive_to_sock_queue", NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, "likewise"),
	SLOW("wakeup_to_run", NF_SEGMENT_WAKEUP_TO_RUN, "likewise: the reader's wait for a CPU"),
	SLOW("run_to_copy", NF_SEGMENT_RUN_TO_COPY, "likewise"),
	SLOW("receive_to_copy", NF_SEGMENT_RECEIVE_TO_COPY, "likewise: waiting for the reader"),
	SLOW("receive_to_queue", NF_SEGMENT_RECEIVE_TO_QUEUE, "likewise: forwarding"),
	SLOW("queue_to_start_xmit", NF_SEGMENT_QUEUE_TO_START, "likewise: the qdisc"),
	SLOW("start_xmit_to_xmit", NF_SEGMENT_START_TO_XMIT, "likewise: the driver"),
	SLOW("xmit_to_free", NF_SEGMENT_XMIT_TO_FREE, "likewise: completion"),
#undef SLOW
	{"latency.sample_one_in", NUMBER, offsetof(struct config, backend.sample_one_in), 0,
	 1 << 30, 1 << 14, "one journey in so many leaves a record, slow or not; 0: none"},
	{"latency.rate", NUMBER, offsetof(struct config, backend.path_rate), 1, 1000000, 100,
	 "latency records per second and CPU"},
	{"latency.burst", NUMBER, offsetof(struct config, backend.path_burst), 1, 1000000, 200,
	 "latency records at once per CPU"},
	{"latency.recent", NUMBER, offsetof(struct config, latency_recent), 1, 1 << 20, 4096,
	 "latency records held; 416 bytes each"},
	{"slots.limit", NUMBER, offsetof(struct config, backend.slots.limit), 2,
	 NF_SLOTS_BUCKETS - 1, 18,
	 "ring slots that a transmit may take on a Xen device: 18 in every kernel since 3.16 (XEN_NETIF_NR_SLOTS_MIN), MAX_SKB_FRAGS + 1 before"},
	{"slots.devices", DEVICES, 0, 0, 0, 0,
	 "other devices whose transmits are counted by the pages they take, by name; *: all"},
	{"slots.table", NUMBER, offsetof(struct config, backend.slots.table), 1, 1 << 12, 64,
	 "devices whose slots are counted apart; 1.1 KiB each and CPU"},
	{"slots.rate", NUMBER, offsetof(struct config, backend.slots.rate), 1, 1000000, 20,
	 "slots records per second and CPU, of near misses and of overflows each"},
	{"slots.burst", NUMBER, offsetof(struct config, backend.slots.burst), 1, 1000000, 200,
	 "slots records at once per CPU, likewise"},
	{"slots.recent", NUMBER, offsetof(struct config, slots_recent), 1, 1 << 20, 1024,
	 "slots records held; 624 bytes each"},
	{"slots.attach", ATTACH, offsetof(struct config, backend.slots.attach), 0, 0,
	 BACKEND_SLOTS_AUTO,
	 "how to attach to xen-netfront: auto, fentry, kprobe, tracepoint; auto takes the first that works"},
	{"slots.kmsg", PATH, offsetof(struct config, kmsg), 0, 0, 0,
	 "where the kernel's own messages of rockets are read, by default " KMSG
	 "; empty: not read"},
	{"ring.bytes", POWER_OF_TWO, offsetof(struct config, backend.ring_bytes), 4096, 1 << 28,
	 1 << 20, "room for records on their way to the daemon"},
	{"control.clients", NUMBER, offsetof(struct config, control.clients), 1, 10000, 128,
	 "clients served at once"},
	{"control.message_bytes", NUMBER, offsetof(struct config, control.message_bytes), 256,
	 1 << 26, 1 << 20, "the largest request"},
	{"control.queue_bytes", NUMBER, offsetof(struct config, control.queue_bytes), 4096, 1 << 28,
	 1 << 20, "replies that a slow reader may leave waiting before records are lost to it"},
	{"alerts.interval", DURATION, offsetof(struct config, alert_interval_ns), 100000000,
	 UINT64_C(60000000000), 1000000000, "from one judging of the alert rules to the next"},
	{"alerts.rules", TEXT, offsetof(struct config, alert_rules), 0, 0, 0,
	 "directory of alert rules, *.conf, beside and instead of the shipped ones; read at the start and at SIGHUP"},
	{"alerts.exec_user", TEXT, offsetof(struct config, alert_exec_user), 0, 0, 0,
	 "the user that runs the programs of alerts, where the daemon is root"},
	{"probes.disable", PROBES, offsetof(struct config, backend.disabled), 0, 0, 0,
	 "probes not to attach, by name"},
};

#define KEY_COUNT (ARRAY_SIZE(keys))

static void *at(struct config *config, const struct key *key)
{
	return (char *)config + key->offset;
}

/* Kept as a uint64_t. */
static bool is_number(const struct key *key)
{
	return key->type != PROBES && key->type != DEVICES && key->type != PATH &&
	       key->type != TEXT;
}

void config_init(struct config *config)
{
	memset(config, 0, sizeof(*config));
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (is_number(&keys[i]))
			*(uint64_t *)at(config, &keys[i]) = keys[i].initially;
	strcpy(config->kmsg, KMSG);
	strcpy(config->alert_rules, ALERT_RULES);
	strcpy(config->alert_exec_user, ALERT_EXEC_USER);
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
			 "%s = %s: it takes a power of two; the nearest are %" PRIu64
			 " and %" PRIu64,
			 key->name, value, below, below * 2);
		return -EINVAL;
	}
	*(uint64_t *)at(config, key) = number;
	return 0;
}

static int set_duration(struct config *config, const struct key *key, const char *value,
			char *error)
{
	uint64_t ns;

	if (duration_parse(value, key->most, &ns) < 0 || ns < key->least) {
		snprintf(error, CONFIG_ERROR_MAX,
			 "%s = %s: it takes a duration such as 250us, 5ms or 1s%s", key->name,
			 value, key->least ? ", neither too short nor too long" : "; 0 is off");
		return -EINVAL;
	}
	*(uint64_t *)at(config, key) = ns;
	return 0;
}

static int set_text(struct config *config, const struct key *key, const char *value, char *error)
{
	if (!*value || strlen(value) >= CONFIG_TEXT_MAX) {
		snprintf(error, CONFIG_ERROR_MAX, "%s: it takes 1 to %d characters", key->name,
			 CONFIG_TEXT_MAX - 1);
		return -EINVAL;
	}
	strcpy(at(config, key), value);
	return 0;
}

static int unknown_probe(const char *name, char *error)
{
	struct nearest nearest;

	nearest_init(&nearest, name);
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		nearest_consider(&nearest, probe_specs[i].name);
	snprintf(error, CONFIG_ERROR_MAX, "probes.disable: there is no probe %s%s", name,
		 nearest_hint("", nearest.best).s);
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

static int add_device(struct backend_slots_settings *slots, const char *name, char *error)
{
	if (!strcmp(name, "*")) {
		slots->every_device = true;
		return 0;
	}
	if (strlen(name) >= NF_DEVICE_NAME) {
		snprintf(
			error, CONFIG_ERROR_MAX,
			"slots.devices: %.200s is no name of a device, they have at most %d characters",
			name, NF_DEVICE_NAME - 1);
		return -EINVAL;
	}
	if (slots->names == BACKEND_SLOTS_NAMES) {
		snprintf(error, CONFIG_ERROR_MAX,
			 "slots.devices: it takes at most %d names; * stands for all devices",
			 BACKEND_SLOTS_NAMES);
		return -EINVAL;
	}
	strcpy(slots->name[slots->names++], name);
	return 0;
}

static int set_devices(struct config *config, const char *value, char *error)
{
	struct backend_slots_settings fresh = config->backend.slots;
	char *names = strdup(value), *rest = names;
	int r = names ? 0 : -ENOMEM;

	fresh.every_device = false;
	fresh.names = 0;
	memset(fresh.name, 0, sizeof(fresh.name));
	for (char *name; r == 0 && (name = strsep(&rest, ", \t"));)
		if (*name)
			r = add_device(&fresh, name, error);
	free(names);
	if (r == 0)
		config->backend.slots = fresh;
	return r;
}

static const char *const attach_names[] = {
	[BACKEND_SLOTS_AUTO] = "auto",
	[BACKEND_SLOTS_FENTRY] = "fentry",
	[BACKEND_SLOTS_KPROBE] = "kprobe",
	[BACKEND_SLOTS_TRACEPOINT] = "tracepoint",
};

static int set_attach(struct config *config, const struct key *key, const char *value, char *error)
{
	struct nearest nearest;

	nearest_init(&nearest, value);
	for (uint64_t i = 0; i < ARRAY_SIZE(attach_names); i++) {
		if (!strcmp(attach_names[i], value)) {
			*(uint64_t *)at(config, key) = i;
			return 0;
		}
		nearest_consider(&nearest, attach_names[i]);
	}
	snprintf(error, CONFIG_ERROR_MAX, "%s = %s: it takes auto, fentry, kprobe or tracepoint%s",
		 key->name, value, nearest_hint("", nearest.best).s);
	return -EINVAL;
}

static int set_path(struct config *config, const struct key *key, const char *value, char *error)
{
	if ((*value && *value != '/') || strlen(value) >= PATH_MAX) {
		snprintf(error, CONFIG_ERROR_MAX, "%s = %.200s: it takes a path that begins with /",
			 key->name, value);
		return -EINVAL;
	}
	strcpy(at(config, key), value);
	return 0;
}

static int set_value(struct config *config, const struct key *key, const char *value, char *error)
{
	switch (key->type) {
	case PROBES:
		return set_probes(config, value, error);
	case DEVICES:
		return set_devices(config, value, error);
	case ATTACH:
		return set_attach(config, key, value, error);
	case PATH:
		return set_path(config, key, value, error);
	case DURATION:
		return set_duration(config, key, value, error);
	case TEXT:
		return set_text(config, key, value, error);
	case NUMBER:
	case POWER_OF_TWO:
		break;
	}
	return set_number(config, key, value, error);
}

static int set_key(struct config *config, const char *name, const char *value, char *error)
{
	struct nearest nearest;

	nearest_init(&nearest, name);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (!strcmp(keys[i].name, name))
			return set_value(config, &keys[i], value, error);
		nearest_consider(&nearest, keys[i].name);
	}
	snprintf(error, CONFIG_ERROR_MAX, "there is no setting %s%s", name,
		 nearest_hint("", nearest.best).s);
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
			 "devices.slots = %" PRIu64 ": it takes 0 or a power of two from %d on",
			 slots, NF_DEVICE_SET);
		return -EINVAL;
	}
	return 0;
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

/* "10ms": the largest unit that divides it. */
static void print_duration(FILE *to, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};

	if (!ns) {
		fputs("0", to);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (ns % units[i].ns == 0) {
			fprintf(to, "%" PRIu64 "%s", ns / units[i].ns, units[i].name);
			return;
		}
}

void config_help(FILE *to)
{
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct key *key = &keys[i];

		fprintf(to, "  %-29s %s\n", key->name, key->help);
		if (key->type == DURATION) {
			fprintf(to, "  %-29s a duration, default ", "");
			print_duration(to, key->initially);
			fputc('\n', to);
		} else if (key->type == NUMBER || key->type == POWER_OF_TWO)
			fprintf(to, "  %-29s %s%" PRIu64 " to %" PRIu64 ", default %" PRIu64 "\n",
				"", key->type == POWER_OF_TWO ? "a power of two, " : "", key->least,
				key->most, key->initially);
	}
}
