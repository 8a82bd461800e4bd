/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/watchdog.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/array.h"
#include "daemon/messages.h"
#include "daemon/probe/backend.h"
#include "daemon/probe/probes.h"
#include "daemon/process/journal.h"
#include "daemon/process/loop.h"

/* The probes that see a datagram between two Unix sockets. */
static const enum nf_probe seeing[] = {NF_PROBE_SKB_COPY_DATAGRAM_IOVEC, NF_PROBE_CONSUME_SKB};

struct watchdog {
	struct backend *backend;
	struct loop_source *beat;
	int pair[2];
	bool housekept;			   /* since the last beat */
	uint64_t hits[ARRAY_SIZE(seeing)]; /* at the last beat */
	bool silent;			   /* the last beat sent no ping */
};

static void read_hits(const struct backend *backend, uint64_t hits[static ARRAY_SIZE(seeing)])
{
	uint64_t events[NF_PROBE_COUNT][NF_EVENT_COUNT];

	backend->ops->events(backend, events);
	for (size_t i = 0; i < ARRAY_SIZE(seeing); i++)
		hits[i] = events[seeing[i]][NF_EVENT_HIT];
}

static bool is_attached(const struct backend *backend, enum nf_probe probe)
{
	struct probe_status status;

	backend->ops->probe(backend, probe, &status);
	return status.state == PROBE_ATTACHED || status.state == PROBE_DEGRADED;
}

/* One skb that the kernel copies to its reader and frees.  0 or a negative errno. */
static int make_packet(const struct watchdog *watchdog)
{
	char byte = 0;

	if (send(watchdog->pair[0], &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1 ||
	    recv(watchdog->pair[1], &byte, 1, MSG_DONTWAIT) != 1)
		return -errno;
	return 0;
}

/* Whether at least one attached program saw the packet, or none is attached; otherwise `why`. */
static bool was_seen(struct watchdog *watchdog, char *why, size_t size)
{
	uint64_t now[ARRAY_SIZE(seeing)];
	const char *blind = NULL;
	bool seen = false;
	int r = make_packet(watchdog);

	if (r < 0) {
		snprintf(why, size, "cannot send a datagram to itself: %s", strerror(-r));
		return false;
	}
	read_hits(watchdog->backend, now);
	for (size_t i = 0; i < ARRAY_SIZE(seeing); i++) {
		if (now[i] != watchdog->hits[i])
			seen = true;
		else if (is_attached(watchdog->backend, seeing[i]))
			blind = probe_specs[seeing[i]].name;
		watchdog->hits[i] = now[i];
	}
	if (seen || !blind)
		return true;
	snprintf(why, size, "the probe %s is attached and did not count netflowd's own datagram",
		 blind);
	return false;
}

static bool delivers(struct watchdog *watchdog, char *why, size_t size)
{
	struct backend *backend = watchdog->backend;
	bool housekept = watchdog->housekept;
	int r;

	if (backend_is_none(backend))
		return true;
	watchdog->housekept = false;
	if (!housekept) {
		snprintf(why, size, "housekeeping did not run since the last ping");
		return false;
	}
	r = backend->ops->dispatch(backend);
	if (r < 0) {
		snprintf(why, size, "cannot read the ring buffer: %s", strerror(-r));
		return false;
	}
	return was_seen(watchdog, why, size);
}

static void report_silence(const char *why)
{
	OWN_ENTRY struct journal_entry entry = {0};

	journal_add(&entry, "NETFLOWD_REASON=%s", why);
	journal_report(&entry, LOG_LEVEL_ERROR, MESSAGE_SILENT,
		       "the backend does not deliver: %s; no watchdog ping until it does", why);
}

static void report_recovery(void)
{
	OWN_ENTRY struct journal_entry entry = {0};

	journal_report(&entry, LOG_LEVEL_NOTICE, MESSAGE_DELIVERS,
		       "the backend delivers again: watchdog pings continue");
}

static int on_beat(void *userdata)
{
	struct watchdog *watchdog = userdata;
	bool silent = watchdog->silent;
	char why[256];

	watchdog->silent = !delivers(watchdog, why, sizeof(why));
	if (!watchdog->silent)
		loop_notify("WATCHDOG=1");
	if (watchdog->silent && !silent)
		report_silence(why);
	else if (!watchdog->silent && silent)
		report_recovery();
	return 0;
}

int watchdog_new(struct watchdog **watchdog, struct loop *loop, struct backend *backend,
		 uint64_t limit_ns)
{
	OWN_WATCHDOG struct watchdog *fresh = calloc(1, sizeof(*fresh));
	uint64_t period = limit_ns / WATCHDOG_PARTS + 1;
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->pair[0] = fresh->pair[1] = -1;
	fresh->backend = backend;
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fresh->pair) < 0)
		return -errno;
	read_hits(backend, fresh->hits);
	r = loop_add_timer(loop, &fresh->beat, period, period, on_beat, fresh);
	if (r < 0)
		return r;
	*watchdog = TAKE_PTR(fresh);
	return 0;
}

void watchdog_free(struct watchdog **watchdog)
{
	struct watchdog *old = *watchdog;

	if (!old)
		return;
	loop_source_free(&old->beat);
	cleanup_close(&old->pair[0]);
	cleanup_close(&old->pair[1]);
	free(old);
	*watchdog = NULL;
}

void watchdog_housekept(struct watchdog *watchdog)
{
	if (watchdog)
		watchdog->housekept = true;
}
