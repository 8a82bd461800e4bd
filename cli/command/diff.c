/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl diff: two recordings, compared.  Each is served by a netflowd --replay of its own. */
#include "cli/diff/diff.h"

#include <signal.h>
#include <string.h>

#include "cli/ask/options.h"
#include "cli/ask/recorded.h"
#include "cli/command/command.h"
#include "cli/diff/page.h"
#include "cli/terminal/signals.h"

static const struct argument arguments[] = {
	OPTION_ALL,
	{},
};

/* One recording: its server, and what that replied. */
struct side {
	struct recorded *recorded;
	json_t *status, *probes, *drops, *latency;
};

static void sides_free(struct side (*sides)[2])
{
	for (size_t i = 0; i < 2; i++) {
		struct side *side = &(*sides)[i];

		recorded_free(&side->recorded);
		json_decref(side->status);
		json_decref(side->probes);
		json_decref(side->drops);
		json_decref(side->latency);
	}
}
#define OWN_SIDES CLEANUP(sides_free)

/* Call the methods that are compared, in a session of their own. */
static enum report_status ask(const struct session *session, struct side *side)
{
	OWN_SESSION struct session other = {.arguments = session->arguments, .term = session->term};
	const struct {
		const char *method;
		json_t **reply;
	} calls[] = {
		{"io.netflowd.GetStatus", &side->status},
		{"io.netflowd.ListProbes", &side->probes},
		{"io.netflowd.GetDrops", &side->drops},
		{"io.netflowd.GetLatency", &side->latency},
	};
	enum report_status status = REPORT_FINE;

	other.arguments.socket = recorded_socket(side->recorded);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && !status; i++)
		status = session_call(&other, calls[i].method, NULL, 0, calls[i].reply);
	return status;
}

/* Both recordings are read at the same time. */
static enum report_status serve(const char *const files[2], struct side sides[2], int signals)
{
	enum report_status status = REPORT_FINE;

	for (size_t i = 0; i < 2 && !status; i++)
		status = recorded_start(&sides[i].recorded, files[i]);
	for (size_t i = 0; i < 2 && !status; i++)
		status = recorded_wait(sides[i].recorded, signals);
	return status;
}

static enum report_status print(struct session *session, struct page *page, const json_t *diff,
				void *data)
{
	(void)data;
	return session_print(
		page, diff_put(page, diff, session->arguments.all ? SIZE_MAX : OPTION_ROWS_SHOWN));
}

static enum report_status compare(struct session *session, const char *const files[2], int signals)
{
	OWN_SIDES struct side sides[2] = {};
	struct diff_side replies[2];
	OWN_JSON json_t *diff = NULL;
	enum report_status status = serve(files, sides, signals);

	for (size_t i = 0; i < 2 && !status; i++) {
		status = ask(session, &sides[i]);
		replies[i] = (struct diff_side){
			.file = files[i],
			.status = sides[i].status,
			.probes = sides[i].probes,
			.drops = sides[i].drops,
			.latency = sides[i].latency,
		};
	}
	if (status)
		return status;
	diff = diff_make(replies);
	if (diff)
		return session_output(session, diff, false, print, NULL);
	report("out of memory");
	return REPORT_FAILED;
}

/* After a signal, the directories of both servers are removed, too. */
static enum report_status run(struct session *session)
{
	const char *const files[2] = {session->arguments.word, session->arguments.second};
	OWN_FD int signals = -1;

	if (!files[0] || !files[1]) {
		report("diff needs two recordings: netflowctl diff FILE FILE; see `netflowctl diff --help`");
		return REPORT_USAGE;
	}
	signals = signals_open(SIGINT, SIGTERM, SIGHUP, 0);
	if (signals < 0) {
		report("cannot wait for signals: %s", strerror(-signals));
		return REPORT_FAILED;
	}
	return compare(session, files, signals);
}

const struct command command_diff = {
	.name = "diff",
	.summary = "compare two recordings: which drops and latencies differ significantly",
	.arguments = arguments,
	.word = "FILE FILE",
	.pair = true,
	.notes =
		"The first FILE is A, the second B: before and after a change, or the same work on two kernels. Both are trace.dat files that replay can show.\n"
		"Drops have a row for each reason, function, device, protocol and class, with packets and packets per second. The mark is new, gone, more or fewer. Rows that differ significantly come first.\n"
		"Latency has p50, p90, p99 and p99.9 of each segment, of all devices together. The mark is slower or faster, before the number of B.\n"
		"No mark: the difference can be chance, or there are too few packets. All marks of a table together are wrong with a probability of at most 1 %, if packets are independent of each other.\n"
		"Segments for which only one recording has the events are shown, but not compared. Lost events make counts too small.\n"
		"The exit status is 0 also if the recordings differ. diff needs no privileges and no running daemon; it starts netflowd --replay as replay does.\n",
	.run = run,
};
