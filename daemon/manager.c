/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/time.h"
#include "common/units.h"
#include "daemon/control/control.h"
#include "daemon/core/coverage.h"
#include "daemon/cost/pause.h"
#include "daemon/messages.h"
#include "daemon/probe/backend.h"
#include "daemon/process/journal.h"
#include "daemon/process/loop.h"
#include "daemon/store/readings.h"
#include "daemon/watchdog.h"

/* What `systemctl status` can show in some lines; a pause has a path.  The rest is in `netflowctl status`. */
#define STATUS_MAX 1024

/* Longer than all keys of the settings together. */
#define KEYS_MAX 4096

/* A reading that another user asked for serves the status line, too. */
#define STATUS_AGE_NS TIME_NS_PER_SECOND

/* The counters whose rates the status line shows, and those that say whether these are of all packets. */
enum counter { RECEIVED, DELIVERED, TRANSMITTED, DROPPED, SHOWN, UNSEEN = SHOWN, PASSED, COUNTERS };

static const char *const counter_names[SHOWN] = {"received", "delivered", "transmitted", "dropped"};

struct manager {
	struct manager_parts parts;
	struct watchdog *watchdog; /* NULL: the manager wants no pings */
	struct loop_source *tick;
	struct readings_request *request; /* of the next status line; NULL: none */
	uint64_t time_ns;		  /* of the last reading; 0: none yet */
	uint64_t count[COUNTERS];
	char rates[160]; /* since the reading before */
	char status[STATUS_MAX];
	char coverage[256];   /* that was logged last */
	uint64_t coverage_ns; /* when; 0: at startup */
};

/* ---- the status line ------------------------------------------------------- */

static void count_probes(const struct manager *manager, int *attached, int *wanted)
{
	struct backend *backend = manager->parts.backend;
	struct probe_status status;

	*attached = *wanted = 0;
	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		backend->ops->probe(backend, (enum nf_probe)i, &status);
		*attached += status.state == PROBE_ATTACHED || status.state == PROBE_DEGRADED;
		*wanted += status.state != PROBE_UNNEEDED && status.state != PROBE_DETACHED;
	}
}

static void count_packets(const struct reading_counters *counters, uint64_t count[static COUNTERS])
{
	count[RECEIVED] = counters->host.known
				  ? counters->host.received
				  : counters->events[NF_PROBE_NETIF_RECEIVE_SKB][NF_EVENT_HIT];
	count[DELIVERED] = ledger_sum(counters->events, NF_EVENT_DELIVERED) +
			   ledger_sum(counters->events, NF_EVENT_CONSUMED);
	count[TRANSMITTED] = counters->events[NF_PROBE_NET_DEV_XMIT][NF_EVENT_HIT];
	count[DROPPED] = counters->events[NF_PROBE_KFREE_SKB][NF_EVENT_HIT];
	count[UNSEEN] = counters->host.unseen.packets;
	count[PASSED] = ledger_sum(counters->events, NF_EVENT_PASSED);
}

/* While stages are detached, the kernel counts received packets, and the programs count drops. */
static bool is_whole(enum counter counter, const uint64_t more[static COUNTERS])
{
	if (counter == DELIVERED)
		return !more[UNSEEN] && !more[PASSED];
	return counter != TRANSMITTED || !more[UNSEEN];
}

__attribute__((format(printf, 2, 3))) static void add_rate(struct manager *manager,
							   const char *format, ...)
{
	size_t length = strlen(manager->rates);
	va_list list;

	va_start(list, format);
	vsnprintf(manager->rates + length, sizeof(manager->rates) - length, format, list);
	va_end(list);
}

/* The rates since the last reading; the first one only begins the interval. */
static void take_rates(struct manager *manager, const struct reading *reading)
{
	uint64_t count[COUNTERS], more[COUNTERS];
	uint64_t elapsed = reading_time(reading) - manager->time_ns;
	bool known = manager->time_ns && elapsed;

	count_packets(reading_counters(reading), count);
	for (int i = 0; i < COUNTERS; i++)
		more[i] = count[i] - manager->count[i];
	if (known)
		manager->rates[0] = 0;
	for (int i = 0; known && i < SHOWN; i++)
		if (is_whole((enum counter)i, more))
			add_rate(manager, "%s%s %s", i ? ", " : "; ", counter_names[i],
				 units_rate((double)more[i] * (double)TIME_NS_PER_SECOND /
					    (double)elapsed)
					 .s);
	if (known && more[UNSEEN] && more[RECEIVED])
		add_rate(manager, ", not followed %s of received",
			 units_percent(100 * (double)more[UNSEEN] / (double)more[RECEIVED]).s);
	memcpy(manager->count, count, sizeof(count));
	manager->time_ns = reading_time(reading);
}

static void notify_status(struct manager *manager, const char *coverage, const char *before)
{
	const struct pause_state *pause = pause_state(manager->parts.pause);
	char status[STATUS_MAX];
	int attached, wanted;

	count_probes(manager, &attached, &wanted);
	if (backend_is_none(manager->parts.backend))
		snprintf(status, sizeof(status), "no probe can run: %s",
			 manager->parts.backend_reason);
	else
		snprintf(status, sizeof(status), "%s%s%d of %d probes attached%s; %s",
			 pause->level ? pause->text : "", pause->level ? "; " : "", attached,
			 wanted, manager->rates, coverage);
	if (!before[0] && !strcmp(status, manager->status))
		return;
	strcpy(manager->status, status);
	loop_notify("%sSTATUS=%s", before, status);
}

/* ---- coverage ------------------------------------------------------------- */

static void read_coverage(const struct manager *manager, char *text, size_t size)
{
	const struct reading *reading = readings_latest(manager->parts.readings, READING_COUNTERS);
	OWN_COVERAGE struct coverage coverage = {0};

	if (!reading)
		snprintf(text, size, "coverage not known yet");
	else if (control_coverage(manager->parts.control, reading, &coverage) < 0)
		snprintf(text, size, "coverage not known: out of memory");
	else
		coverage_line(&coverage, text, size);
}

static void log_coverage(struct manager *manager, const char *coverage)
{
	OWN_ENTRY struct journal_entry entry = {0};
	uint64_t now = time_monotonic();

	if (!strcmp(coverage, manager->coverage) ||
	    (manager->coverage_ns && now - manager->coverage_ns < MANAGER_COVERAGE_NS))
		return;
	journal_add(&entry, "NETFLOWD_COVERAGE=%s", coverage);
	journal_add(&entry, "NETFLOWD_COVERAGE_BEFORE=%s", manager->coverage);
	journal_report(&entry, LOG_LEVEL_NOTICE, MESSAGE_COVERAGE,
		       "%s; before: %s; `netflowctl status` says why", coverage, manager->coverage);
	snprintf(manager->coverage, sizeof(manager->coverage), "%s", coverage);
	manager->coverage_ns = now;
}

/* ---- every ten seconds ------------------------------------------------------ */

static void on_reading(int result, void *userdata)
{
	struct manager *manager = userdata;
	char coverage[sizeof(manager->coverage)];

	manager->request = NULL;
	if (result < 0)
		return;
	take_rates(manager, readings_latest(manager->parts.readings, READING_COUNTERS));
	read_coverage(manager, coverage, sizeof(coverage));
	notify_status(manager, coverage, "");
	log_coverage(manager, coverage);
}

static int on_tick(void *userdata)
{
	struct manager *manager = userdata;

	if (manager->request)
		return 0;
	return readings_get(manager->parts.readings, &manager->request, READING_BIT(COUNTERS),
			    STATUS_AGE_NS, on_reading, manager);
}

/* ---- the states ------------------------------------------------------------- */

int manager_ready(struct manager *manager)
{
	const struct manager_parts *parts = &manager->parts;
	OWN_ENTRY struct journal_entry entry = {0};
	uint64_t limit_ns = loop_watchdog_ns();
	struct backend_recording recording;
	int attached, wanted, r;

	/* The tables are empty: a whole reading takes no time, and the first interval begins with it. */
	r = readings_take(parts->readings, READING_BIT(COUNTERS));
	if (r == 0 && limit_ns)
		r = watchdog_new(&manager->watchdog, parts->loop, parts->backend, limit_ns);
	if (r < 0)
		return r;
	take_rates(manager, readings_latest(parts->readings, READING_COUNTERS));
	read_coverage(manager, manager->coverage, sizeof(manager->coverage));
	count_probes(manager, &attached, &wanted);
	journal_add(&entry, "NETFLOWD_BACKEND=%s", parts->backend->ops->name);
	journal_add(&entry, "NETFLOWD_PROBES_ATTACHED=%d", attached);
	journal_add(&entry, "NETFLOWD_PROBES_WANTED=%d", wanted);
	journal_add(&entry, "NETFLOWD_COVERAGE=%s", manager->coverage);
	journal_add(&entry, "NETFLOWD_SOCKET=%s", parts->socket_path);
	/* Who replays a recording reads it on the standard output, and the journal is of this host. */
	if (parts->backend->ops->recording(parts->backend, &recording)) {
		printf("serving the recording on %s\n", parts->socket_path);
		fflush(stdout);
		return 0;
	}
	journal_report(&entry, LOG_LEVEL_INFO, MESSAGE_STARTED,
		       "%d of %d probes attached, serving on %s", attached, wanted,
		       parts->socket_path);
	notify_status(manager, manager->coverage, "READY=1\n");
	return 0;
}

void manager_probes_changed(struct manager *manager)
{
	int attached, wanted;

	count_probes(manager, &attached, &wanted);
	log_message(LOG_LEVEL_INFO, "%d of %d probes attached", attached, wanted);
	/* The reading that follows takes the new coverage. */
	(void)on_tick(manager);
}

void manager_reloading(struct manager *manager)
{
	(void)manager;
	loop_notify("RELOADING=1\nMONOTONIC_USEC=%" PRIu64, time_monotonic() / 1000);
}

/* "a, b" */
static void join(const char *const *key, size_t count, char *text, size_t size)
{
	size_t length = 0;

	text[0] = 0;
	for (size_t i = 0; i < count && length < size; i++)
		length += (size_t)snprintf(text + length, size - length, "%s%s", i ? ", " : "",
					   key[i]);
}

static void report_refused(const char *error)
{
	OWN_ENTRY struct journal_entry entry = {0};

	journal_add(&entry, "NETFLOWD_ERROR=%s", error);
	journal_report(&entry, LOG_LEVEL_ERROR, MESSAGE_REFUSED, "%s; nothing is reloaded", error);
}

void manager_reloaded(struct manager *manager, const struct control_reloaded *reloaded)
{
	OWN_ENTRY struct journal_entry entry = {0};
	char applied[KEYS_MAX], restart[KEYS_MAX];

	(void)manager;
	loop_notify("READY=1");
	if (reloaded->error[0])
		report_refused(reloaded->error);
	join(reloaded->applied, reloaded->applied_count, applied, sizeof(applied));
	join(reloaded->restart, reloaded->restart_count, restart, sizeof(restart));
	if (!applied[0] && !restart[0])
		return;
	journal_add(&entry, "NETFLOWD_APPLIED=%s", applied);
	journal_add(&entry, "NETFLOWD_RESTART=%s", restart);
	journal_report(&entry, LOG_LEVEL_INFO, MESSAGE_RELOADED, "%s%s%s%s%s",
		       applied[0] ? "new values in force: " : "", applied,
		       applied[0] && restart[0] ? "; " : "",
		       restart[0] ? "new values need a restart: " : "", restart);
}

void manager_housekept(struct manager *manager)
{
	if (manager)
		watchdog_housekept(manager->watchdog);
}

/* ---- life -------------------------------------------------------------------- */

int manager_new(struct manager **manager, const struct manager_parts *parts)
{
	OWN_MANAGER struct manager *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->parts = *parts;
	r = loop_add_timer(parts->loop, &fresh->tick, MANAGER_STATUS_NS, MANAGER_STATUS_NS, on_tick,
			   fresh);
	if (r < 0)
		return r;
	*manager = TAKE_PTR(fresh);
	return 0;
}

void manager_free(struct manager **manager)
{
	struct manager *old = *manager;

	if (!old)
		return;
	readings_forget(&old->request);
	loop_source_free(&old->tick);
	watchdog_free(&old->watchdog);
	free(old);
	*manager = NULL;
}
