/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl replay: what a recording shows, by the commands for a host.  netflowd --replay serves it. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/ask/netflowd.h"
#include "cli/command/command.h"
#include "common/array.h"

#define SOCKET_NAME "io.netflowd"

/* Without a command, these show the whole recording. */
static const struct overview {
	const char *title, *command;
} overview[] = {
	{"Drops", "drops"},	  {"Latency", "latency"},
	{"Slow packets", "slow"}, {"NAPI and softirqs", "napi"},
	{"Ring slots", "slots"},
};

struct replay {
	struct netflowd *netflowd;
	char directory[PATH_MAX - NAME_MAX];
	char socket[PATH_MAX];
};

/* ---- its directory ----------------------------------------------------------------------- */

static int make_directory(struct replay *replay)
{
	const char *parent = getenv("XDG_RUNTIME_DIR");

	if (!parent || !parent[0])
		parent = getenv("TMPDIR");
	if (!parent || !parent[0])
		parent = "/tmp";
	snprintf(replay->directory, sizeof(replay->directory), "%s/netflowctl.XXXXXX", parent);
	if (!mkdtemp(replay->directory)) {
		int r = -errno;

		report("cannot make a directory in %.200s: %s; set TMPDIR to a directory that you can write",
		       parent, strerror(-r));
		replay->directory[0] = '\0';
		return r;
	}
	snprintf(replay->socket, sizeof(replay->socket), "%s/" SOCKET_NAME, replay->directory);
	return 0;
}

/* netflowd has ended; its socket and its lock file are left. */
static void remove_directory(const struct replay *replay)
{
	DIR *directory = opendir(replay->directory);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(directory), entry->d_name, 0);
	if (directory)
		closedir(directory);
	rmdir(replay->directory);
}

/* ---- the server ---------------------------------------------------------------------------- */

/* Wait for the line that says that it serves.  It reports a recording that it cannot read itself. */
static enum report_status wait_for_server(struct replay *replay, const char *file)
{
	struct pollfd fd = {.fd = netflowd_output(replay->netflowd), .events = POLLIN};
	bool ended = false;
	int status;

	while (!netflowd_line(replay->netflowd, &ended) && !ended)
		poll(&fd, 1, -1);
	if (!ended)
		return REPORT_FINE;
	status = netflowd_wait(replay->netflowd);
	if (status > 128)
		report("%.200s cannot be read: its reader was killed by signal %d (%s); the file is probably damaged",
		       file, status - 128, strsignal(status - 128));
	return REPORT_FAILED;
}

static enum report_status serve(struct replay *replay, const char *file)
{
	const char *const words[] = {"--replay", file, "--runtime-dir", replay->directory, NULL};
	enum report_status status = netflowd_start(&replay->netflowd, words);

	return status ? status : wait_for_server(replay, file);
}

/* ---- the commands -------------------------------------------------------------------------- */

/* Run a command like the line "netflowctl --socket SOCKET WORD…". */
static int run_line(const struct session *session, const struct replay *replay, char *const words[],
		    size_t count)
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
	argv[argc++] = (char *)replay->socket;
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

static int run_overview(const struct session *session, const struct replay *replay)
{
	int worst = REPORT_FINE;

	for (size_t i = 0; i < ARRAY_SIZE(overview); i++) {
		char *const words[] = {(char *)overview[i].command, NULL};
		int r;

		if (!session->arguments.json)
			printf("%s== %s\n", i ? "\n" : "", overview[i].title);
		r = run_line(session, replay, words, 1);
		if (r > worst)
			worst = r;
	}
	return worst;
}

/*
 * In a process of its own: Ctrl-C ends the command, and then this process still removes its directory.  Returns the
 * exit status.
 */
static int run_commands(const struct session *session, const struct replay *replay)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (session->word_count == 1)
			_exit(run_overview(session, replay));
		_exit(run_line(session, replay, session->words + 1, session->word_count - 1));
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
	if (!strcmp(name, "replay") || !strcmp(name, "record")) {
		report("%s is of no use on a recording; `netflowctl replay --help` lists some commands that are",
		       name);
		return REPORT_USAGE;
	}
	return REPORT_FINE;
}

static enum report_status run(struct session *session)
{
	struct replay replay = {0};
	enum report_status status = check_words(session);

	if (status)
		return status;
	if (make_directory(&replay) < 0)
		return REPORT_FAILED;
	signal(SIGINT, SIG_IGN);
	status = serve(&replay, session->words[0]);
	signal(SIGINT, SIG_DFL);
	if (!status) {
		signal(SIGTERM, SIG_IGN);
		status = (enum report_status)run_commands(session, &replay);
	}
	netflowd_free(&replay.netflowd);
	remove_directory(&replay);
	return status;
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
