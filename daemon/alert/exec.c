/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/time.h"
#include "common/units.h"
#include "daemon/alert/exec_child.h"
#include "daemon/process/loop.h"

#define ARGUMENTS_MAX 64

struct job {
	struct job *next; /* requested later */
	struct alert_exec *exec;
	char name[ALERT_NAME_MAX + 1];
	char *command; /* split into `arguments`, which point into it */
	char *arguments[ARGUMENTS_MAX + 1];
	char *json;
	uint64_t limit_ns;
	void *data;
	/* while the program runs */
	pid_t pid; /* 0: the job waits */
	int process, output, failure;
	struct loop_source *on_end, *on_output, *on_limit;
	uint64_t started_ns;
	bool late; /* killed at its limit */
	size_t kept, printed;
	char text[EXEC_OUTPUT_MAX + 1];
};

struct alert_exec {
	struct loop *loop;
	struct helper *helper; /* not owned */
	alert_exec_ended ended;
	void *userdata;
	struct job *first;
	unsigned int waiting, running;
	bool quiet;
	struct loop_source *start; /* calls start_jobs() soon */
};

static int start_jobs(void *userdata);

/* ---- jobs ---------------------------------------------------------------- */

static void job_free(struct job **job)
{
	struct job *old = *job;

	if (!old)
		return;
	loop_source_free(&old->on_limit);
	loop_source_free(&old->on_output);
	loop_source_free(&old->on_end);
	cleanup_close(&old->process);
	cleanup_close(&old->output);
	cleanup_close(&old->failure);
	free(old->command);
	free(old->json);
	free(old);
	*job = NULL;
}

#define OWN_JOB CLEANUP(job_free)

static int split(struct job *job)
{
	char *rest = job->command;
	size_t count = 0;

	for (char *word; (word = strsep(&rest, " \t"));) {
		if (!*word)
			continue;
		if (count == ARGUMENTS_MAX)
			return -E2BIG;
		job->arguments[count++] = word;
	}
	return 0;
}

static int job_new(struct job **job, struct alert_exec *exec, const struct alert_rule *rule,
		   const char *json, void *data)
{
	OWN_JOB struct job *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->process = fresh->output = fresh->failure = -1;
	fresh->exec = exec;
	strcpy(fresh->name, rule->name);
	fresh->limit_ns = rule->exec_limit_ns;
	fresh->data = data;
	fresh->command = strdup(rule->exec);
	fresh->json = strdup(json);
	if (!fresh->command || !fresh->json)
		return -ENOMEM;
	r = split(fresh);
	if (r < 0)
		return r;
	*job = TAKE_PTR(fresh);
	return 0;
}

static void unlink_job(struct job *job)
{
	struct job **link = &job->exec->first;

	while (*link != job)
		link = &(*link)->next;
	*link = job->next;
	if (job->pid)
		job->exec->running--;
	else
		job->exec->waiting--;
}

/* ---- the end of a program ------------------------------------------------ */

/* Log the output line by line.  It can contain any bytes, so control characters are replaced. */
static void log_output(struct job *job)
{
	size_t lines = 0, logged = 0;

	job->text[job->kept] = 0;
	for (size_t i = 0; i < job->kept; i++)
		if (job->text[i] == '\t')
			job->text[i] = ' ';
		else if ((unsigned char)job->text[i] < ' ' && job->text[i] != '\n')
			job->text[i] = '?';
	while (logged < job->kept && lines < EXEC_LINES_MAX) {
		size_t length = strcspn(job->text + logged, "\n");

		if (length) {
			log_info("alert %s: program output: %.*s", job->name, (int)length,
				 job->text + logged);
			lines++;
		}
		logged += length + 1;
	}
	if (job->printed > logged)
		log_info("alert %s: program output: %zu more bytes, not logged", job->name,
			 job->printed - logged);
}

/* The first line, without control characters, as the text of a program that failed. */
static void explain(const struct job *job, struct alert_exec_result *result)
{
	size_t length = strcspn(job->text, "\n");

	if (result->fine || !length)
		return;
	snprintf(result->text, sizeof(result->text), "%.*s", (int)length, job->text);
	for (char *c = result->text; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = '?';
}

static void end_job(struct job *job, struct alert_exec_result *result)
{
	struct alert_exec *exec = job->exec;

	unlink_job(job);
	job->text[job->kept] = 0;
	if (exec->quiet)
		explain(job, result);
	else
		log_output(job);
	if (!exec->quiet && !result->fine)
		log_warning("alert %s: program %s: %s", job->name, job->arguments[0], result->text);
	exec->ended(exec->userdata, job->name, result, job->data);
	job_free(&job);
	loop_source_set_enabled(exec->start, true);
}

static void describe(struct job *job, int status, struct alert_exec_result *result)
{
	struct exec_failure failure = {0};

	result->time_ns = time_monotonic();
	if (read(job->failure, &failure, sizeof(failure)) == sizeof(failure)) {
		failure.step[sizeof(failure.step) - 1] = 0;
		snprintf(result->text, sizeof(result->text), "could not be started: %s: %s",
			 failure.step, strerror(failure.error));
	} else if (job->late) {
		snprintf(result->text, sizeof(result->text), "killed at its limit of %s",
			 units_duration(job->limit_ns).s);
	} else if (WIFSIGNALED(status)) {
		snprintf(result->text, sizeof(result->text), "killed by signal %d",
			 WTERMSIG(status));
	} else {
		result->fine = WEXITSTATUS(status) == 0;
		snprintf(result->text, sizeof(result->text), "exit status %d", WEXITSTATUS(status));
	}
}

/* Returns false at the end of the output, or while there is no more of it. */
static bool read_output(struct job *job)
{
	char bytes[4096];
	ssize_t length = read(job->output, bytes, sizeof(bytes));
	size_t room = EXEC_OUTPUT_MAX - job->kept, taken;

	if (length <= 0)
		return length < 0 && errno == EINTR;
	taken = (size_t)length < room ? (size_t)length : room;
	memcpy(job->text + job->kept, bytes, taken);
	job->kept += taken;
	job->printed += (size_t)length;
	return true;
}

static int on_end(int fd, unsigned int events, void *userdata)
{
	struct alert_exec_result result = {0};
	struct job *job = userdata;
	int status;

	(void)fd;
	(void)events;
	/* Processes that it left behind.  Until it is reaped, no other process can have its number. */
	kill(-job->pid, SIGKILL);
	if (waitpid(job->pid, &status, WNOHANG) != job->pid)
		return 0;
	/* A process that left the group can print for ever, so the number of reads is limited. */
	for (int i = 0; i < 16 && read_output(job); i++)
		;
	describe(job, status, &result);
	end_job(job, &result);
	return 0;
}

static int on_output(int fd, unsigned int events, void *userdata)
{
	struct job *job = userdata;

	(void)fd;
	/* The loop would report the hangup again and again. */
	if (!read_output(job) && events & LOOP_HANGUP)
		loop_source_free(&job->on_output);
	return 0;
}

static int on_limit(void *userdata)
{
	struct job *job = userdata;

	job->late = true;
	kill(-job->pid, SIGKILL);
	/* Until it has called setsid(), it has no process group of its own. */
	kill(job->pid, SIGKILL);
	return 0;
}

/* ---- the start of a program ---------------------------------------------- */

/* A file in memory instead of a pipe: a program that does not read it cannot block the daemon. */
static int make_input(const char *json)
{
	OWN_FD int file = memfd_create("alert", MFD_CLOEXEC);
	size_t length = strlen(json);

	if (file < 0)
		return -errno;
	for (size_t done = 0; done < length;) {
		ssize_t written = write(file, json + done, length - done);

		if (written < 0)
			return -errno;
		done += (size_t)written;
	}
	if (lseek(file, 0, SEEK_SET) < 0)
		return -errno;
	return TAKE_FD(file);
}

static int spawn(struct job *job, int input, int output)
{
	char name[ALERT_NAME_MAX + 32];
	char *environment[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			       "HOME=/", "LANG=C.UTF-8", name, NULL};
	const struct exec_child child = {
		.arguments = job->arguments,
		.environment = environment,
		.input = input,
		.output = output,
	};

	snprintf(name, sizeof(name), "NETFLOWD_ALERT=%s", job->name);
	return exec_child_start(job->exec->helper, &child, &job->pid, &job->failure);
}

static int watch(struct job *job)
{
	struct loop *loop = job->exec->loop;
	int r;

	job->process = (int)syscall(SYS_pidfd_open, job->pid, 0);
	if (job->process < 0)
		return -errno;
	r = loop_add_fd(loop, &job->on_end, job->process, LOOP_READ, on_end, job);
	if (r == 0)
		r = loop_add_fd(loop, &job->on_output, job->output, LOOP_READ, on_output, job);
	if (r == 0)
		r = loop_add_timer(loop, &job->on_limit, job->limit_ns, 0, on_limit, job);
	return r;
}

static int start(struct job *job)
{
	OWN_FD int input = make_input(job->json), output = -1;
	int ends[2], r;

	if (input < 0)
		return input;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	job->output = ends[0];
	output = ends[1];
	if (fcntl(job->output, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	job->started_ns = time_monotonic();
	r = spawn(job, input, output);
	if (r < 0) {
		job->pid = 0;
		return r;
	}
	job->exec->running++;
	job->exec->waiting--;
	r = watch(job);
	if (r < 0) {
		/* Without these sources, nothing would read or reap the program. */
		kill(job->pid, SIGKILL);
		waitpid(job->pid, NULL, 0);
	}
	return r;
}

/* A job waits for the earlier jobs of its rule, and for one of EXEC_RUNNING_MAX places. */
static bool has_turn(const struct alert_exec *exec, const struct job *job)
{
	for (const struct job *other = exec->first; other != job; other = other->next)
		if (!strcmp(other->name, job->name))
			return false;
	return !job->pid && exec->running < EXEC_RUNNING_MAX;
}

static int start_jobs(void *userdata)
{
	struct alert_exec *exec = userdata;

	for (struct job *job = exec->first, *next; job; job = next) {
		struct alert_exec_result result = {.time_ns = time_monotonic()};
		int r;

		next = job->next;
		if (!has_turn(exec, job))
			continue;
		r = start(job);
		if (r == 0)
			continue;
		snprintf(result.text, sizeof(result.text), "could not be started: %s",
			 strerror(-r));
		end_job(job, &result);
		/* The callback may have changed the list.  end_job() made the loop call this again. */
		return 0;
	}
	return 0;
}

int alert_exec_run(struct alert_exec *exec, const struct alert_rule *rule, const char *json,
		   void *data)
{
	struct job **link = &exec->first, *job;
	int r;

	if (exec->waiting >= EXEC_WAITING_MAX)
		return -EBUSY;
	r = job_new(&job, exec, rule, json, data);
	if (r < 0)
		return r;
	while (*link)
		link = &(*link)->next;
	*link = job;
	exec->waiting++;
	return loop_source_set_enabled(exec->start, true);
}

void alert_exec_set_quiet(struct alert_exec *exec)
{
	exec->quiet = true;
}

void alert_exec_forget(struct alert_exec *exec, const void *data)
{
	for (struct job *job = exec->first; job; job = job->next)
		if (job->data == data)
			job->data = NULL;
}

/* ---- all programs -------------------------------------------------------- */

static void cleanup_exec(struct alert_exec **exec)
{
	alert_exec_free(exec);
}

#define OWN_EXEC CLEANUP(cleanup_exec)

int alert_exec_new(struct alert_exec **exec, struct loop *loop, struct helper *helper,
		   alert_exec_ended ended, void *userdata)
{
	OWN_EXEC struct alert_exec *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->loop = loop;
	fresh->ended = ended;
	fresh->userdata = userdata;
	fresh->helper = helper;
	r = loop_add_defer(loop, &fresh->start, start_jobs, fresh);
	if (r == 0)
		*exec = TAKE_PTR(fresh);
	return r;
}

void alert_exec_free(struct alert_exec **exec)
{
	struct alert_exec *old = *exec;

	if (!old)
		return;
	loop_source_free(&old->start);
	while (old->first) {
		struct job *job = old->first;

		old->first = job->next;
		if (job->pid) {
			kill(-job->pid, SIGKILL);
			kill(job->pid, SIGKILL);
			waitpid(job->pid, NULL, 0);
		}
		job_free(&job);
	}
	free(old);
	*exec = NULL;
}
