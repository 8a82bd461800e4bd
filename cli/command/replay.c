/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl replay: what a recording shows, by the commands for a host.  netflowd --replay serves it. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/ask/recorded.h"
#include "cli/command/command.h"
#include "common/array.h"

/* Without a command, these show the whole recording. */
static const struct overview {
	const char *title, *command;
} overview[] = {
	{"Drops", "drops"},	  {"Latency", "latency"},
	{"Slow packets", "slow"}, {"NAPI and softirqs", "napi"},
	{"Ring slots", "slots"},
};

/* ---- the commands -------------------------------------------------------------------------- */

/* Run a command like the line "netflowctl --socket SOCKET WORD…". */
static int run_line(const struct session *session, const struct recorded *recorded,
		    char *const words[], size_t count)
{
	const struct arguments *given = &session->arguments;
	char **argv = calloc(count + 6, sizeof(*argv));
	int argc = 0, r;

	if (!argv) {
		report("out of memory");
		return REPORT_FAILED;
	}
	argv[argc++] = (char *)"netflowctl";
	argv[argc++] = (char *)"--socket";
	argv[argc++] = (char *)recorded_socket(recorded);
	if (given->json)
		argv[argc++] = (char *)"--json";
	if (given->no_color)
		argv[argc++] = (char *)"--no-color";
	for (size_t i = 0; i < count; i++)
		argv[argc++] = words[i];
	r = command_main(argc, argv);
	fflush(stdout);
	free(argv);
	return r;
}

static int run_overview(const struct session *session, const struct recorded *recorded)
{
	int worst = REPORT_FINE;

	for (size_t i = 0; i < ARRAY_SIZE(overview); i++) {
		char *const words[] = {(char *)overview[i].command, NULL};
		int r;

		if (!session->arguments.json)
			printf("%s== %s\n", i ? "\n" : "", overview[i].title);
		r = run_line(session, recorded, words, 1);
		if (r > worst)
			worst = r;
	}
	return worst;
}

/*
 * In a process of its own: Ctrl-C ends the command, and then this process still removes its directory.  Returns the
 * exit status.
 */
static int run_commands(const struct session *session, const struct recorded *recorded)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (session->word_count == 1)
			_exit(run_overview(session, recorded));
		_exit(run_line(session, recorded, session->words + 1, session->word_count - 1));
	}
	if (pid < 0) {
		report("cannot start the command: %s", strerror(errno));
		return REPORT_FAILED;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return REPORT_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : REPORT_FAILED;
}

/* Commands that are of no use on a recording would answer by an error of the daemon, or begin all over. */
static enum report_status check_words(const struct session *session)
{
	const char *name, *nearest;

	if (!session->word_count || session->words[0][0] == '-') {
		report("replay needs a recording: netflowctl replay FILE; see `netflowctl replay --help`");
		return REPORT_USAGE;
	}
	if (session->word_count == 1)
		return REPORT_FINE;
	name = session->words[1];
	if (!command_find(name, &nearest))
		return command_unknown(name, nearest);
	if (!strcmp(name, "replay") || !strcmp(name, "record") || !strcmp(name, "diff")) {
		report("%s is of no use on a recording; `netflowctl replay --help` lists some commands that are",
		       name);
		return REPORT_USAGE;
	}
	return REPORT_FINE;
}

static enum report_status run(struct session *session)
{
	OWN_RECORDED struct recorded *recorded = NULL;
	enum report_status status = check_words(session);

	if (status)
		return status;
	signal(SIGINT, SIG_IGN);
	status = recorded_start(&recorded, session->words[0]);
	if (!status)
		status = recorded_wait(recorded, -1);
	signal(SIGINT, SIG_DFL);
	if (status)
		return status;
	signal(SIGTERM, SIG_IGN);
	return (enum report_status)run_commands(session, recorded);
}

const struct command command_replay = {
	.name = "replay",
	.summary = "show what a recording of netflowctl record or trace-cmd record shows",
	.word = "FILE [COMMAND [ARGUMENT...]]",
	.verbatim = true,
	.notes =
		"COMMAND is one that asks a daemon, with its options: drops, latency, slow, napi, slots, status, probes, report, export. Without COMMAND, replay shows the first five of them.\n"
		"FILE is a trace.dat of version 6 or 7. Counters are those of the whole recording, and times are its own; --since has nothing to count from.\n"
		"Trace events have no headers, network namespaces and cgroups, so that part is absent. `netflowctl replay FILE status` shows what the recording lacks, and the events that its ring buffers lost.\n"
		"replay needs no privileges: it starts netflowd --replay, beside netflowctl, in $PATH or in /usr/sbin. NETFLOWD in the environment names another one.\n",
	.run = run,
};
