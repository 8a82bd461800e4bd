/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl record: a file with the trace events of the packet path, made by netflowd --record. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/ask/child.h"
#include "cli/ask/netflowd.h"
#include "cli/ask/options.h"
#include "cli/command/command.h"
#include "cli/terminal/signals.h"
#include "common/time.h"

#define FOR_MAX_NS (365LL * 86400 * 1000000000)
#define NS_PER_MS 1000000

/* Ctrl-C reached the program, too: it has this time to end by itself. */
#define GRACE_MS 2000

static const struct argument arguments[] = {
	OPTION("for", DURATION, for_ns, .value = "TIME", .min = 1, .max = FOR_MAX_NS,
	       .help = "record for TIME, such as 30s or 5min; at most 365d (until PROGRAM ends, or Ctrl-C)"),
	OPTION("buffer", NUMBER, buffer_kib, .value = "KIB", .min = 64, .max = 1 << 20,
	       .help = "ring buffer per CPU, 64 to 1048576 KiB (4096; less if all CPUs had more than 256 MiB)"),
	OPTION("exclude", TEXT, exclude, .value = "DEVICES",
	       .help = "do not follow the packets of these devices: names or patterns, like 'veth* docker0'"),
	{},
};

struct record_run {
	const struct arguments *given;
	char *const *program; /* and its arguments, NULL at the end; NULL: there is none */
	struct netflowd *netflowd;
	int signals;
	pid_t pid; /* of the program while it runs */
	bool begun, ending, interrupted;
	int64_t until_ms; /* of time_monotonic_ms(), with --for */
	enum report_status status;
};

/* ---- the program --------------------------------------------------------------------------- */

static void end(struct record_run *recording)
{
	if (!recording->ending)
		netflowd_end(recording->netflowd);
	recording->ending = true;
}

static void start_program(struct record_run *recording)
{
	int r = child_start(&recording->pid, recording->program, -1, 0);

	if (r == 0)
		return;
	report("cannot start %s: %s; the recording ends", recording->program[0], strerror(-r));
	recording->status = REPORT_FAILED;
	end(recording);
}

/* Notice the end of the program.  A program that is interrupted, or outlives the recording, is not worth a line. */
static void reap_program(struct record_run *recording)
{
	const char *name = recording->program ? recording->program[0] : "";
	int status;

	if (!recording->pid || waitpid(recording->pid, &status, WNOHANG) != recording->pid)
		return;
	recording->pid = 0;
	if (recording->ending)
		return;
	if (WIFSIGNALED(status))
		report("%s was killed by signal %d (%s)", name, WTERMSIG(status),
		       strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		report("%s exited with status %d", name, WEXITSTATUS(status));
	end(recording);
}

/* Returns whether a signal asks netflowctl to end. */
static bool read_signals(struct record_run *recording)
{
	bool asked = false;
	int number;

	while ((number = signals_next(recording->signals))) {
		if (number != SIGCHLD)
			asked = true;
		if (number == SIGINT)
			recording->interrupted = true;
		if (asked && !recording->ending)
			end(recording);
	}
	reap_program(recording);
	return asked;
}

/* ---- the recording ------------------------------------------------------------------------- */

static void on_begin(struct record_run *recording)
{
	recording->begun = true;
	if (recording->given->for_ns >= 0)
		recording->until_ms = time_monotonic_ms() +
				      (recording->given->for_ns + NS_PER_MS - 1) / NS_PER_MS;
	if (recording->ending)
		return;
	if (recording->program)
		start_program(recording);
	else if (recording->given->for_ns < 0)
		printf("Ctrl-C ends the recording\n");
}

/* Print what netflowd prints; its first line says that it records.  Returns whether it has ended. */
static bool read_lines(struct record_run *recording)
{
	const char *line;
	bool ended;

	while ((line = netflowd_line(recording->netflowd, &ended))) {
		printf("%s\n", line);
		if (!recording->begun)
			on_begin(recording);
		/* The program has the same standard output. */
		fflush(stdout);
	}
	return ended;
}

/* For how long poll(2) may wait: -1 without a limit. */
static int patience(const struct record_run *recording)
{
	int64_t left = recording->until_ms - time_monotonic_ms();

	if (!recording->begun || recording->ending || recording->given->for_ns < 0)
		return -1;
	if (left <= 0)
		return 0;
	return left > INT32_MAX ? INT32_MAX : (int)left;
}

static void follow(struct record_run *recording)
{
	struct pollfd fds[] = {
		{.fd = recording->signals, .events = POLLIN},
		{.fd = netflowd_output(recording->netflowd), .events = POLLIN},
	};

	do {
		poll(fds, 2, patience(recording));
		if (patience(recording) == 0)
			end(recording);
		read_signals(recording);
	} while (!read_lines(recording));
}

/* Wait until the program ends, for `ms` at most; -1: without a limit.  False: a signal asks to leave it alone. */
static bool await_program(struct record_run *recording, int64_t ms)
{
	struct pollfd fd = {.fd = recording->signals, .events = POLLIN};
	int64_t until = time_monotonic_ms() + ms, left = ms;

	while (recording->pid && (ms < 0 || left > 0)) {
		poll(&fd, 1, (int)left);
		if (read_signals(recording))
			return false;
		if (ms >= 0)
			left = until - time_monotonic_ms();
	}
	return true;
}

/* The recording is over.  A program that still runs was only started for it; a second Ctrl-C leaves it alone. */
static void leave_program(struct record_run *recording)
{
	recording->ending = true;
	read_signals(recording);
	if (recording->interrupted && !await_program(recording, GRACE_MS))
		return;
	if (recording->pid)
		kill(recording->pid, SIGTERM);
	await_program(recording, -1);
}

static enum report_status record(struct record_run *recording)
{
	char buffer[32];
	const char *words[7] = {"--record", recording->given->word};
	size_t count = 2;
	int exit_status;

	if (recording->given->buffer_kib >= 0) {
		words[count++] = "--buffer";
		words[count++] = buffer;
	}
	if (recording->given->exclude) {
		words[count++] = "--exclude";
		words[count++] = recording->given->exclude;
	}
	snprintf(buffer, sizeof(buffer), "%lld", (long long)recording->given->buffer_kib);
	recording->signals = signals_open(SIGINT, SIGTERM, SIGHUP, SIGCHLD, 0);
	if (recording->signals < 0) {
		report("cannot wait for signals: %s", strerror(-recording->signals));
		return REPORT_FAILED;
	}
	recording->status = netflowd_start(&recording->netflowd, words);
	if (recording->status)
		return recording->status;
	follow(recording);
	exit_status = netflowd_wait(recording->netflowd);
	leave_program(recording);
	if (exit_status > 128)
		report("netflowd was killed by signal %d (%s); there is no recording",
		       exit_status - 128, strsignal(exit_status - 128));
	return exit_status ? REPORT_FAILED : recording->status;
}

static enum report_status run(struct session *session)
{
	struct record_run recording = {
		.given = &session->arguments,
		.program = session->word_count ? session->words : NULL,
		.signals = -1,
	};
	enum report_status status;

	if (!session->arguments.word) {
		report("record needs a file: netflowctl record FILE; see `netflowctl record --help`");
		return REPORT_USAGE;
	}
	if (session->arguments.json) {
		report("record has no --json; it writes a file for trace-cmd and KernelShark");
		return REPORT_USAGE;
	}
	status = record(&recording);
	netflowd_free(&recording.netflowd);
	if (recording.signals >= 0)
		close(recording.signals);
	return status;
}

const struct command command_record = {
	.name = "record",
	.summary = "record the packet path into a file for trace-cmd and KernelShark",
	.arguments = arguments,
	.word = "FILE [-- PROGRAM ARGUMENT...]",
	.program = true,
	.notes =
		"With PROGRAM, the recording begins before PROGRAM and ends after it. If the time of --for ends first, PROGRAM gets SIGTERM; after Ctrl-C, which a terminal sends to PROGRAM as well, it gets SIGTERM if it still runs after 2 s.\n"
		"FILE has every trace event of the probes, with the time of CLOCK_MONOTONIC, the names of functions and processes, and the difference to the time of day. It replaces an older FILE when it is complete. `trace-cmd report -i FILE` lists the events.\n"
		"FILE says who talks with whom and which programs run: only its owner can read it.\n"
		"record needs no running daemon, and neither uses nor disturbs it: it starts netflowd --record, beside netflowctl, in $PATH or in /usr/sbin. NETFLOWD in the environment names another one.\n"
		"record requires root. The exit status is 1 if the recording failed or ended early; that of PROGRAM is only reported.\n",
	.run = run,
};
