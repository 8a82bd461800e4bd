/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/ask/netflowd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/ask/child.h"
#include "common/array.h"

#define NAME "netflowd"
#define LINE_MAX_BYTES 8192

struct netflowd {
	pid_t pid; /* 0: it has ended, and `status` is how */
	int status;
	int output;
	size_t used,
		given; /* bytes in `text`, and those at its start that netflowd_line() returned */
	bool ended;
	char text[LINE_MAX_BYTES];
};

/* ---- where the program is ------------------------------------------------------------------ */

/* Join both as a path, if there is a program. */
static char *program_in(const char *directory, size_t len)
{
	char *path;

	if (asprintf(&path, "%.*s/" NAME, (int)len, directory) < 0)
		return NULL;
	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return NULL;
}

static char *beside_this(void)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (len <= 0)
		return NULL;
	path[len] = '\0';
	return program_in(path, (size_t)(strrchr(path, '/') - path));
}

static char *in_path(const char *path)
{
	char *found = NULL;

	while (path && *path && !found) {
		size_t len = strcspn(path, ":");

		/* An empty entry is the current directory, which is no place for a program of root's. */
		if (len)
			found = program_in(path, len);
		path += len + (path[len] == ':');
	}
	return found;
}

static char *find_program(void)
{
	const char *given = getenv("NETFLOWD");
	char *path;

	if (given && *given)
		return strdup(given);
	path = beside_this();
	if (!path)
		path = in_path(getenv("PATH"));
	return path ? path : in_path("/usr/sbin:/usr/local/sbin");
}

/* ---- start and end ------------------------------------------------------------------------- */

static int start(struct netflowd *netflowd, const char *path, const char *const arguments[])
{
	OWN_FREE char **argv = NULL;
	OWN_FD int to = -1;
	size_t count = 0;
	int ends[2];

	while (arguments[count])
		count++;
	argv = calloc(count + 2, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	argv[0] = (char *)path;
	for (size_t i = 0; i < count; i++)
		argv[i + 1] = (char *)arguments[i];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	netflowd->output = ends[0];
	to = ends[1];
	fcntl(netflowd->output, F_SETFL, O_NONBLOCK);
	return child_start(&netflowd->pid, argv, to, SIGTERM);
}

enum report_status netflowd_start(struct netflowd **netflowd, const char *const arguments[])
{
	OWN_FREE char *path = find_program();
	OWN_NETFLOWD struct netflowd *fresh = NULL;
	int r;

	if (!path) {
		report("cannot find netflowd beside netflowctl, in $PATH, /usr/sbin or /usr/local/sbin; install it, or set NETFLOWD to its path");
		return REPORT_FAILED;
	}
	fresh = calloc(1, sizeof(*fresh));
	if (fresh)
		fresh->output = -1;
	r = fresh ? start(fresh, path, arguments) : -ENOMEM;
	if (r < 0) {
		report("cannot start %s: %s; set NETFLOWD to the path of netflowd", path,
		       strerror(-r));
		return REPORT_FAILED;
	}
	*netflowd = TAKE_PTR(fresh);
	return REPORT_FINE;
}

void netflowd_end(const struct netflowd *netflowd)
{
	if (netflowd->pid)
		kill(netflowd->pid, SIGTERM);
}

int netflowd_wait(struct netflowd *netflowd)
{
	int status;

	while (netflowd->pid) {
		pid_t pid = waitpid(netflowd->pid, &status, 0);

		if (pid < 0 && errno == EINTR)
			continue;
		netflowd->pid = 0;
		netflowd->status = pid < 0		 ? 1
				   : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
							 : WEXITSTATUS(status);
	}
	return netflowd->status;
}

void netflowd_free(struct netflowd **netflowd)
{
	struct netflowd *old = *netflowd;

	if (!old)
		return;
	netflowd_end(old);
	netflowd_wait(old);
	if (old->output >= 0)
		close(old->output);
	free(old);
	*netflowd = NULL;
}

/* ---- its output ---------------------------------------------------------------------------- */

int netflowd_output(const struct netflowd *netflowd)
{
	return netflowd->output;
}

/* Take the first line out of the text; a text that fills the room, and the last one, are lines without an end. */
static const char *take_line(struct netflowd *netflowd)
{
	char *end = memchr(netflowd->text, '\n', netflowd->used);

	if (end)
		netflowd->given = (size_t)(end - netflowd->text) + 1;
	else if (netflowd->used && (netflowd->ended || netflowd->used == LINE_MAX_BYTES - 1))
		netflowd->given = netflowd->used;
	else
		return NULL;
	netflowd->text[end ? (size_t)(end - netflowd->text) : netflowd->used] = '\0';
	return netflowd->text;
}

const char *netflowd_line(struct netflowd *netflowd, bool *ended)
{
	const char *line;

	netflowd->used -= netflowd->given;
	memmove(netflowd->text, netflowd->text + netflowd->given, netflowd->used);
	netflowd->given = 0;
	while (!(line = take_line(netflowd)) && !netflowd->ended) {
		ssize_t got = read(netflowd->output, netflowd->text + netflowd->used,
				   LINE_MAX_BYTES - 1 - netflowd->used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			break;
		if (got > 0)
			netflowd->used += (size_t)got;
		else
			netflowd->ended = true;
	}
	*ended = !line && netflowd->ended;
	return line;
}
