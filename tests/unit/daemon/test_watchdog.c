/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When the watchdog sends its ping: with a backend whose counters the test sets, and a socket as the manager. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/array.h"
#include "daemon/probe/backend.h"
#include "daemon/process/loop.h"
#include "daemon/watchdog.h"
#include "tests/unit/test.h"

#define MS UINT64_C(1000000)
#define BEATS 6
/* Every 5 ms. */
#define LIMIT_NS (5 * MS * WATCHDOG_PARTS)

/* What the backend does, and from which beat on. */
struct plan {
	bool blind;	   /* counts nothing more */
	bool no_consume;   /* consume_skb counts nothing more */
	bool unattached;   /* neither probe is attached */
	bool no_housekeep; /* housekeeping does not run */
	int dispatch;	   /* what it returns */
	unsigned int from, until;
};

static struct {
	struct backend backend;
	struct plan plan;
	struct loop *loop;
	struct watchdog *watchdog;
	uint64_t hits, consumed;
	unsigned int beats, pings;
	int manager;
} run;

static bool applies(void)
{
	return run.beats >= run.plan.from && (!run.plan.until || run.beats < run.plan.until);
}

static void events(const struct backend *backend, uint64_t to[NF_PROBE_COUNT][NF_EVENT_COUNT])
{
	(void)backend;
	memset(to, 0, NF_PROBE_COUNT * sizeof(to[0]));
	run.hits += !(applies() && run.plan.blind);
	run.consumed += !(applies() && (run.plan.blind || run.plan.no_consume));
	to[NF_PROBE_SKB_COPY_DATAGRAM_IOVEC][NF_EVENT_HIT] = run.hits;
	to[NF_PROBE_CONSUME_SKB][NF_EVENT_HIT] = run.consumed;
	/* Others that move prove nothing. */
	to[NF_PROBE_KFREE_SKB][NF_EVENT_HIT] = run.beats;
}

static void probe(const struct backend *backend, enum nf_probe number, struct probe_status *status)
{
	(void)backend;
	(void)number;
	*status = (struct probe_status){
		.state = applies() && run.plan.unattached ? PROBE_UNAVAILABLE : PROBE_ATTACHED};
}

static int dispatch(struct backend *backend)
{
	(void)backend;
	return applies() ? run.plan.dispatch : 0;
}

static const struct backend_ops fake = {
	.name = "fake", .events = events, .probe = probe, .dispatch = dispatch};

static unsigned int received(void)
{
	char text[64];
	unsigned int pings = 0;
	ssize_t n;

	while ((n = recv(run.manager, text, sizeof(text) - 1, MSG_DONTWAIT)) > 0) {
		text[n] = 0;
		assert_string_equal(text, "WATCHDOG=1");
		pings++;
	}
	return pings;
}

/* Runs between two beats. */
static int between(void *userdata)
{
	(void)userdata;
	if (!(applies() && run.plan.no_housekeep))
		watchdog_housekept(run.watchdog);
	if (++run.beats == BEATS)
		loop_exit(run.loop, 0);
	return 0;
}

/* The beats of a plan and the pings that came. */
static unsigned int pings_of(struct plan plan)
{
	struct loop_source *source = NULL;

	run.backend.ops = &fake;
	run.plan = plan;
	run.beats = 0;
	assert_int_equal(loop_new(&run.loop), 0);
	assert_int_equal(watchdog_new(&run.watchdog, run.loop, &run.backend, LIMIT_NS), 0);
	watchdog_housekept(run.watchdog);
	assert_int_equal(loop_add_timer(run.loop, &source, 5 * MS / 2 + LIMIT_NS / WATCHDOG_PARTS,
					LIMIT_NS / WATCHDOG_PARTS, between, NULL),
			 0);
	assert_int_equal(loop_run(run.loop), 0);
	loop_source_free(&source);
	watchdog_free(&run.watchdog);
	watchdog_free(&run.watchdog);
	loop_free(&run.loop);
	return received();
}

static int begin(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t size = sizeof(address.sun_family);
	char name[128];

	(void)state;
	run.manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (bind(run.manager, (struct sockaddr *)&address, size) < 0)
		return -1;
	size = sizeof(address);
	getsockname(run.manager, (struct sockaddr *)&address, &size);
	snprintf(name, sizeof(name), "@%.*s",
		 (int)(size - offsetof(struct sockaddr_un, sun_path) - 1), address.sun_path + 1);
	return setenv("NOTIFY_SOCKET", name, 1);
}

static int end(void **state)
{
	(void)state;
	close(run.manager);
	return unsetenv("NOTIFY_SOCKET");
}

ALL_TESTS(begin, end);

TEST(test_all_is_well)
{
	unsigned int pings = pings_of((struct plan){.from = BEATS});

	assert_int_equal(pings, BEATS);
}

TEST(test_no_delivery_no_ping)
{
	static const struct plan plans[] = {
		{.blind = true}, {.no_housekeep = true}, {.dispatch = -EIO}};

	for (size_t i = 0; i < ARRAY_SIZE(plans); i++)
		/* Housekeeping ran before the first beat. */
		assert_int_equal(pings_of(plans[i]), plans[i].no_housekeep);
}

TEST(test_pings_return_with_delivery)
{
	unsigned int pings = pings_of((struct plan){.blind = true, .from = 1, .until = 3});

	assert_int_equal(pings, BEATS - 2);
}

TEST(test_one_of_the_probes_is_enough)
{
	assert_int_equal(pings_of((struct plan){.no_consume = true}), BEATS);
}

TEST(test_probes_that_are_not_attached_prove_nothing)
{
	assert_int_equal(pings_of((struct plan){.blind = true, .unattached = true}), BEATS);
}

/* As the service manager sets it, for this process and for another one. */
TEST(test_limit)
{
	char pid[32];

	unsetenv("WATCHDOG_USEC");
	assert_int_equal(loop_watchdog_ns(), 0);
	setenv("WATCHDOG_USEC", "30000000", 1);
	unsetenv("WATCHDOG_PID");
	assert_int_equal(loop_watchdog_ns(), UINT64_C(30000000000));
	setenv("WATCHDOG_PID", "1", 1);
	assert_int_equal(loop_watchdog_ns(), 0);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("WATCHDOG_PID", pid, 1);
	assert_int_equal(loop_watchdog_ns(), UINT64_C(30000000000));
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}
