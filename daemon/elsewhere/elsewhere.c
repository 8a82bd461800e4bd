/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/elsewhere/elsewhere.h"

#include <errno.h>
#include <stdlib.h>

#include "common/time.h"
#include "daemon/elsewhere/scan.h"
#include "daemon/process/loop.h"
#include "daemon/process/worker.h"

const char *const elsewhere_bypass_names[ELSEWHERE_BYPASSES] = {
	[ELSEWHERE_XDP_NATIVE] = "xdp_native",	       [ELSEWHERE_XDP_OFFLOADED] = "xdp_offloaded",
	[ELSEWHERE_XDP_GENERIC] = "xdp_generic",       [ELSEWHERE_XDP_SOCKETS] = "xdp_sockets",
	[ELSEWHERE_PACKET_SOCKETS] = "packet_sockets",
};

struct elsewhere {
	struct loop *loop;
	struct loop_source *timer;
	struct worker *worker; /* NULL: no scan runs */
	struct scanner *scanner;
	struct elsewhere_findings *next; /* of the scan that runs */
	struct elsewhere_findings *last;
	atomic_bool stop;
	uint64_t interval_ns, late_ns, scans;
	int result, error; /* of the scan that runs, of the last one */
};

int elsewhere_new(struct elsewhere **elsewhere, struct loop *loop)
{
	struct elsewhere *fresh = calloc(1, sizeof(*fresh));
	int r = fresh ? scanner_new(&fresh->scanner) : -ENOMEM;

	if (r < 0) {
		free(fresh);
		return r;
	}
	fresh->loop = loop;
	*elsewhere = fresh;
	return 0;
}

void elsewhere_free(struct elsewhere **elsewhere)
{
	struct elsewhere *e = *elsewhere;

	if (!e)
		return;
	atomic_store(&e->stop, true);
	worker_free(&e->worker);
	loop_source_free(&e->timer);
	scanner_free(&e->scanner);
	elsewhere_findings_free(&e->next);
	elsewhere_findings_free(&e->last);
	free(e);
	*elsewhere = NULL;
}

/* In the worker's thread, which ends with the scan. */
static int work(void *userdata)
{
	struct elsewhere *elsewhere = userdata;

	elsewhere->result = scanner_run(elsewhere->scanner, &elsewhere->stop, &elsewhere->next);
	return elsewhere->result;
}

/* The next scan waits longer if this one was expensive: scans may cost 2 % of a CPU. */
static uint64_t pause_after(struct elsewhere *elsewhere)
{
	uint64_t least = elsewhere->last ? elsewhere->last->cpu_ns * ELSEWHERE_PAUSES : 0;

	elsewhere->late_ns = least > elsewhere->interval_ns ? least - elsewhere->interval_ns : 0;
	return elsewhere->interval_ns + elsewhere->late_ns;
}

static void take(struct elsewhere *elsewhere, int result)
{
	elsewhere->error = result;
	if (result < 0)
		return;
	elsewhere_findings_free(&elsewhere->last);
	elsewhere->last = TAKE_PTR(elsewhere->next);
	elsewhere->scans++;
}

static void done(int result, void *userdata)
{
	struct elsewhere *elsewhere = userdata;

	worker_free(&elsewhere->worker);
	/* Scans were turned off during this one. */
	if (!elsewhere->interval_ns) {
		elsewhere_findings_free(&elsewhere->next);
		return;
	}
	take(elsewhere, result);
	(void)loop_timer_restart(elsewhere->timer, pause_after(elsewhere));
}

/* A scan that cannot start is tried again after the interval; the state says so. */
static int on_timer(void *userdata)
{
	struct elsewhere *elsewhere = userdata;

	if (elsewhere->worker || !elsewhere->interval_ns)
		return 0;
	elsewhere->error = worker_new(&elsewhere->worker, elsewhere->loop, work, done, elsewhere);
	return elsewhere->error < 0 ? loop_timer_restart(elsewhere->timer, elsewhere->interval_ns)
				    : 0;
}

/* Without the loop, which does not run yet. */
static int scan_first(struct elsewhere *elsewhere)
{
	int r = worker_new(&elsewhere->worker, elsewhere->loop, work, done, elsewhere);

	if (r < 0)
		return r;
	worker_free(&elsewhere->worker);
	return elsewhere->result;
}

int elsewhere_start(struct elsewhere *elsewhere, uint64_t interval_ns)
{
	int r = loop_add_timer(elsewhere->loop, &elsewhere->timer, 0, 0, on_timer, elsewhere);

	if (r < 0)
		return r;
	elsewhere->interval_ns = interval_ns;
	if (!interval_ns)
		return 0;
	take(elsewhere, scan_first(elsewhere));
	return loop_timer_restart(elsewhere->timer, pause_after(elsewhere));
}

int elsewhere_set(struct elsewhere *elsewhere, uint64_t interval_ns)
{
	bool same = elsewhere->interval_ns == interval_ns;

	if (!elsewhere->timer)
		return -EINVAL;
	elsewhere->interval_ns = interval_ns;
	if (!interval_ns) {
		elsewhere->error = 0;
		elsewhere->late_ns = 0;
	}
	/* A scan that still runs sets the timer at its end. */
	return same || !interval_ns || elsewhere->worker ? 0
							 : loop_timer_restart(elsewhere->timer, 0);
}

struct elsewhere_state elsewhere_state(const struct elsewhere *elsewhere)
{
	return (struct elsewhere_state){
		.findings = elsewhere->interval_ns ? elsewhere->last : NULL,
		.scans = elsewhere->scans,
		.interval_ns = elsewhere->interval_ns,
		.late_ns = elsewhere->late_ns,
		.error = elsewhere->error,
	};
}
