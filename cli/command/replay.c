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

/* An option after FILE that is of no command: it is for each command of the overview. */
static bool is_for_all(const char *word)
{
	return !strcmp(word, "--json") || !strcmp(word, "--no-color");
}

/*
 * Run a command like the line "netflowctl --socket SOCKET COMMAND WORD…".  The words are those of replay,
 * from `first`.
 */
static int run_line(const struct session *session, const struct recorded *recorded,
		    const char *command, size_t first)
{
	const struct arguments *given = &session->arguments;
	char **argv = calloc(session->word_count + 7, sizeof(*argv));
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
	argv[argc++] = (char *)command;
	for (size_t i = first; i < session->word_count; i++)
		argv[argc++] = session->words[i];
	r = command_main(argc, argv);
	fflush(stdout);
	free(argv);
	return r;
}

static bool names_a_command(const struct session *session)
{
	return session->word_count > 1 && session->words[1][0] != '-';
}

static int run_overview(const struct session *session, const struct recorded *recorded)
{
	bool json = session->arguments.json;
	int worst = REPORT_FINE;

	for (size_t i = 1; i < session->word_count; i++)
		json |= !strcmp(session->words[i], "--json");
	for (size_t i = 0; i < ARRAY_SIZE(overview); i++) {
		int r;

		if (!json)
			printf("%s== %s\n", i ? "\n" : "", overview[i].title);
		r = run_line(session, recorded, overview[i].command, 1);
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
		if (!names_a_command(session))
			_exit(run_overview(session, recorded));
		_exit(run_line(session, recorded, session->words[1], 2));
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
	if (!names_a_command(session)) {
		for (size_t i = 1; i < session->word_count; i++) {
			if (is_for_all(session->words[i]))
				continue;
			report("%s follows no command; the options of a command follow it: netflowctl replay FILE drops --all",
			       session->words[i]);
			return REPORT_USAGE;
		}
		return REPORT_FINE;
	}
	name = session->words[1];
	if (!command_find(name, &nearest))
		return command_unknown(name, nearest);
	if (!strcmp(name, "alerts") || !strcmp(name, "incidents") || !strcmp(name, "reload")) {
		report("%s is of no use on a recording: a netflowd that runs evaluates alert rules, and replay none",
		       name);
		return REPORT_USAGE;
	}
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
