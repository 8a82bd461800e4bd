/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/ask/recorded.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ask/netflowd.h"

#define SOCKET_NAME "io.netflowd"

struct recorded {
	struct netflowd *netflowd; /* NULL until it is started */
	const char *file;
	char directory[PATH_MAX - NAME_MAX]; /* "": there is none */
	char socket[PATH_MAX];
};

/* ---- its directory ----------------------------------------------------------------------- */

static int make_directory(struct recorded *recorded)
{
	const char *parent = getenv("XDG_RUNTIME_DIR");

	if (!parent || !parent[0])
		parent = getenv("TMPDIR");
	if (!parent || !parent[0])
		parent = "/tmp";
	snprintf(recorded->directory, sizeof(recorded->directory), "%s/netflowctl.XXXXXX", parent);
	if (!mkdtemp(recorded->directory)) {
		int r = -errno;

		report("cannot make a directory in %.200s: %s; set TMPDIR to a directory that you can write",
		       parent, strerror(-r));
		recorded->directory[0] = '\0';
		return r;
	}
	snprintf(recorded->socket, sizeof(recorded->socket), "%s/" SOCKET_NAME,
		 recorded->directory);
	return 0;
}

/* netflowd has ended; its socket and its lock file are left. */
static void remove_directory(const struct recorded *recorded)
{
	DIR *directory = opendir(recorded->directory);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(directory), entry->d_name, 0);
	if (directory)
		closedir(directory);
	rmdir(recorded->directory);
}

/* ---- the server ---------------------------------------------------------------------------- */

enum report_status recorded_start(struct recorded **recorded, const char *file)
{
	OWN_RECORDED struct recorded *fresh = calloc(1, sizeof(*fresh));
	const char *const words[] = {"--replay", file, "--runtime-dir",
				     fresh ? fresh->directory : NULL, NULL};
	enum report_status status;

	if (!fresh) {
		report("%s", strerror(ENOMEM));
		return REPORT_FAILED;
	}
	fresh->file = file;
	if (make_directory(fresh) < 0)
		return REPORT_FAILED;
	status = netflowd_start(&fresh->netflowd, words);
	if (!status)
		*recorded = TAKE_PTR(fresh);
	return status;
}

/* netflowd has ended before it served.  It reports a recording that it cannot read itself. */
static void report_end(struct recorded *recorded)
{
	int signal = netflowd_wait(recorded->netflowd) - 128;

	if (signal > 0)
		report("%.200s cannot be read: its reader was killed by signal %d (%s); %s",
		       recorded->file, signal, strsignal(signal),
		       signal == SIGKILL || signal == SIGTERM
			       ? "another process did that, or the kernel for lack of memory: try again"
			       : "the file is probably damaged");
}

/* The first line of netflowd says that it serves. */
enum report_status recorded_wait(struct recorded *recorded, int signals)
{
	struct pollfd fds[] = {
		{.fd = netflowd_output(recorded->netflowd), .events = POLLIN},
		{.fd = signals, .events = POLLIN},
	};
	bool ended = false;

	while (!netflowd_line(recorded->netflowd, &ended) && !ended) {
		poll(fds, 2, -1);
		if (fds[1].revents)
			return REPORT_FAILED;
	}
	if (!ended)
		return REPORT_FINE;
	report_end(recorded);
	return REPORT_FAILED;
}

const char *recorded_socket(const struct recorded *recorded)
{
	return recorded->socket;
}

void recorded_free(struct recorded **recorded)
{
	struct recorded *old = *recorded;

	if (!old)
		return;
	netflowd_free(&old->netflowd);
	if (old->directory[0])
		remove_directory(old);
	free(old);
	*recorded = NULL;
}
