/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/ask/away.h"

#include <errno.h>

#include "common/time.h"

#define SIGN_OF_LIFE "org.varlink.service.GetInfo"

bool away_is(int error)
{
	return error == -ECONNRESET || error == -EPIPE;
}

void away_begin(struct away *away, int64_t since_ms)
{
	away->since_ms = since_ms;
}

int64_t away_ms(const struct away *away)
{
	return time_monotonic_ms() - away->since_ms;
}

void away_end(struct away *away)
{
	away->since_ms = 0;
}

/* The service manager may keep the socket, so connecting can succeed before the next daemon runs: ask it something. */
static int connect_again(struct session *session, int interrupt, int64_t wait_ms)
{
	OWN_JSON json_t *reply = NULL;
	int r;

	varlink_free(&session->varlink);
	r = varlink_connect(&session->varlink, session->arguments.socket, wait_ms);
	if (r)
		return r;
	varlink_interrupt(session->varlink, interrupt);
	r = varlink_call(session->varlink, SIGN_OF_LIFE, NULL, wait_ms, &reply);
	if (r)
		varlink_free(&session->varlink);
	return r;
}

int away_try(struct session *session, const struct away *away, int interrupt, int64_t wait_ms)
{
	int r = connect_again(session, interrupt, wait_ms);

	if (r == 0 || r == -EINTR)
		return r;
	return away_ms(away) < AWAY_MAX_MS ? -EAGAIN : -ETIMEDOUT;
}

enum report_status away_report(void)
{
	report("the daemon did not return within %d s; as root, `systemctl status netflowd` shows why",
	       AWAY_MAX_MS / 1000);
	return REPORT_UNREACHABLE;
}
