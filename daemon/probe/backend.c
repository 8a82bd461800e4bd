/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The choice of a backend, and the backend "none" for hosts on which no other runs. */
#include "daemon/probe/backend.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/probe/absent.h"
#include "daemon/probe/probes.h"

struct backend_none {
	struct backend backend;
	char reason[BACKEND_REASON_MAX];
};

static void none_close(struct backend *backend)
{
	free(backend);
}

static void none_probe(const struct backend *backend, enum nf_probe probe,
		       struct probe_status *status)
{
	(void)probe;
	*status = (struct probe_status){
		.state = PROBE_UNAVAILABLE,
		.reason = ((const struct backend_none *)backend)->reason,
	};
}

static const char *none_missing(const struct backend *backend)
{
	return ((const struct backend_none *)backend)->reason;
}

static uint32_t none_cpus(const struct backend *backend)
{
	(void)backend;
	return 0;
}

static const struct backend_ops backend_none = {
	.name = "none",
	.close = none_close,
	.fd = absent_fd,
	.dispatch = absent_dispatch,
	.probe = none_probe,
	.blind = absent_blind,
	.trace = absent_trace,
	.recording = absent_recording,
	.reasons_missing = none_missing,
	.events = absent_events,
	.streams = absent_streams,
	.in_flight = absent_in_flight,
	.awaited = absent_awaited,
	.housekeep = absent_housekeep,
	.devices = absent_devices,
	.napi = absent_napi,
	.cpus = none_cpus,
	.softirq_wait = absent_softirq_wait,
	.sharing = absent_sharing,
	.drops = absent_drops,
	.tables = absent_tables,
	.slots_events = absent_slots_events,
	.slots = absent_slots,
	.refresh = absent_refresh,
	.name_reasons = absent_name_reasons,
	.set_stack = absent_set_stack,
	.tune = absent_tune,
	.set_level = absent_set_level,
	.follow = absent_follow,
	.cpu_cost = absent_cpu_cost,
	.hook_ns = absent_hook_ns,
	.most_drawn = absent_most_drawn,
	.stats_missing = none_missing,
	.set_stats = absent_set_stats,
	.stats = absent_stats,
};

static int none_new(struct backend **backend, const char *reason)
{
	struct backend_none *none = calloc(1, sizeof(*none));

	if (!none)
		return -ENOMEM;
	none->backend.ops = &backend_none;
	snprintf(none->reason, sizeof(none->reason), "%s", reason);
	*backend = &none->backend;
	return 0;
}

static int open_bpf(struct backend **backend, const struct backend_settings *settings,
		    const struct backend_sink *sink, struct names *names, char *reason)
{
	int r = backend_bpf.open(backend, settings, sink, names, reason);

	if (r == 0)
		snprintf(
			reason, BACKEND_REASON_MAX,
			"the kernel has BTF and accepts the programs; no other way is as cheap and exact");
	return r;
}

/* `reason` has why bpf does not run; empty: tracefs was asked for. */
static int open_tracefs(struct backend **backend, const struct backend_settings *settings,
			const struct backend_sink *sink, struct names *names, char *reason)
{
	char why[BACKEND_REASON_MAX];
	int r = backend_tracefs.open(backend, settings, sink, names, why);

	if (r < 0 && reason[0])
		snprintf(reason + strlen(reason), BACKEND_REASON_MAX - strlen(reason),
			 "; and trace events cannot take its place: %s", why);
	else if (r < 0)
		snprintf(reason, BACKEND_REASON_MAX, "%s", why);
	else if (!reason[0])
		snprintf(reason, BACKEND_REASON_MAX, "probes.backend is tracefs");
	return r;
}

const char *const backend_symbols[BACKEND_SYMBOLS] = {
	[BACKEND_INET_EHASH_SECRET] = "inet_ehash_secret",
	[BACKEND_INET6_EHASH_SECRET] = "inet6_ehash_secret",
	[BACKEND_IPV6_HASH_SECRET] = "ipv6_hash_secret",
	[BACKEND_TCP_IPV6_HASH_SECRET] = "tcp_ipv6_hash_secret",
	[BACKEND_UDP_TABLE] = "udp_table",
	[BACKEND_RAW_V4_HASHINFO] = "raw_v4_hashinfo",
	[BACKEND_RAW_V6_HASHINFO] = "raw_v6_hashinfo",
	[BACKEND_NET_TX_ACTION] = "net_tx_action",
};

int backend_open(struct backend **backend, const struct backend_settings *settings,
		 const struct backend_sink *sink, struct names *names, char *reason)
{
	int r = -EOPNOTSUPP;

	reason[0] = 0;
	if (settings->replay)
		return backend_replay.open(backend, settings, sink, names, reason);
	if (settings->choice != BACKEND_TRACEFS)
		r = open_bpf(backend, settings, sink, names, reason);
	/* With a reason, it is the kernel that lacks memory for a table. */
	if (r == 0 || (r == -ENOMEM && !reason[0]))
		return r;
	/* A table that is too large has a remedy, which is better than another backend. */
	if (settings->choice != BACKEND_BPF && r != -ENOMEM)
		r = open_tracefs(backend, settings, sink, names, reason);
	return r == 0 ? 0 : none_new(backend, reason);
}

void backend_free(struct backend **backend)
{
	if (*backend)
		(*backend)->ops->close(*backend);
	*backend = NULL;
}

bool backend_is_none(const struct backend *backend)
{
	return backend->ops == &backend_none;
}

bool backend_level_has(enum backend_level level, enum nf_probe probe)
{
	const char *group = probe_specs[probe].group;

	switch (level) {
	case BACKEND_ALL:
		return true;
	case BACKEND_NO_WAKE:
		return strcmp(group, "wake") != 0;
	case BACKEND_DROPS:
		return !strcmp(group, "drop") || !strcmp(group, "slots");
	default:
		return false;
	}
}

bool backend_can_shed(const struct backend *backend)
{
	return backend->ops->follow != absent_follow;
}

bool backend_has_reasons(const struct backend *backend)
{
	return !backend->ops->reasons_missing(backend);
}
