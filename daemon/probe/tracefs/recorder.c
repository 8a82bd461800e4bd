/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/tracefs/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "daemon/probe/tracefs/instance.h"

/* Pages that move at once; the kernel allows an unprivileged process no larger pipe. */
#define PIPE_BYTES (1 << 20)
/* Room on the disk for what the final file has beside the pages: the kernel's symbols above all. */
#define RESERVE_BYTES (16 << 20)
/*
 * Some kernels report a ring buffer as readable while it has only a page that is not full, which is not moved.  Then
 * the recorder looks again after this time.
 */
#define PAUSE_MS 20
/* Two files per CPU, and some more. */
#define FILES_PER_CPU 2
#define FILES_BESIDE 32

struct recorder {
	const struct instance *instance;
	const char *directory;
	uint32_t page_size;
	unsigned int count;
	struct recorder_cpu *cpus;
	int *raw; /* trace_pipe_raw of each CPU, or -1 */
	int pipe[2];
	int epoll, signals, reserve;
	char *page; /* room for one */
	bool failed;
};

/* ---- files without a name ------------------------------------------------------------------ */

static int open_unnamed(const char *directory)
{
	char path[4096];
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd < 0 ? -errno : fd;
	if (snprintf(path, sizeof(path), "%s/.netflowd.XXXXXX", directory) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

static int cannot_write(const struct recorder *recorder, int r, char *error)
{
	if (r == -ENOSPC || r == -EDQUOT)
		return refusal(
			error, r,
			"the disk of %s is full; free space, or record for a shorter time or to another disk",
			recorder->directory);
	return refusal(error, r, "cannot write in %s: %s; name a file in another directory",
		       recorder->directory, strerror(-r));
}

static int reserve(struct recorder *recorder, char *error)
{
	int r = open_unnamed(recorder->directory);

	if (r < 0)
		return cannot_write(recorder, r, error);
	recorder->reserve = r;
	/* A file system that cannot reserve room (EOPNOTSUPP) is written to without. */
	if (fallocate(recorder->reserve, 0, 0, RESERVE_BYTES) < 0 &&
	    (errno == ENOSPC || errno == EDQUOT))
		return cannot_write(recorder, -errno, error);
	return 0;
}

void recorder_release(struct recorder *recorder)
{
	if (recorder->reserve >= 0)
		close(TAKE_FD(recorder->reserve));
}

/* ---- moving pages -------------------------------------------------------------------------- */

static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t written = write(fd, data, len);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		data += written;
		len -= (size_t)written;
	}
	return 0;
}

/* The file system takes no pages from a pipe: copy them. */
static int copy_out(struct recorder *recorder, int to, size_t len)
{
	while (len) {
		size_t most = len < recorder->page_size ? len : recorder->page_size;
		ssize_t got = read(recorder->pipe[0], recorder->page, most);
		int r = got < 0 ? -errno : write_all(to, recorder->page, (size_t)got);

		if (r < 0)
			return r;
		len -= (size_t)got;
	}
	return 0;
}

static int move_out(struct recorder *recorder, int to, size_t len)
{
	while (len) {
		ssize_t moved = splice(recorder->pipe[0], NULL, to, NULL, len, SPLICE_F_MOVE);

		if (moved < 0 && errno == EINTR)
			continue;
		if (moved < 0 && errno == EINVAL)
			return copy_out(recorder, to, len);
		if (moved <= 0)
			return moved < 0 ? -errno : -EIO;
		len -= (size_t)moved;
	}
	return 0;
}

/*
 * Move full pages of a CPU, as many as the pipe holds: a CPU that is busier than the disk must not keep the recorder
 * from the others.  Returns whether there were any, or a negative errno.
 */
static int drain(struct recorder *recorder, unsigned int cpu)
{
	ssize_t moved;
	int r;

	if (recorder->raw[cpu] < 0)
		return 0;
	moved = splice(recorder->raw[cpu], NULL, recorder->pipe[1], NULL, PIPE_BYTES,
		       SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	/* EAGAIN: there is no full page.  0: the CPU is offline and has no ring buffer. */
	if (moved <= 0)
		return moved < 0 && errno != EAGAIN && errno != EINTR ? -errno : 0;
	r = move_out(recorder, recorder->cpus[cpu].pages, (size_t)moved);
	if (r < 0)
		return r;
	recorder->cpus[cpu].bytes += (uint64_t)moved;
	return 1;
}

/* Every CPU, because one that came online since is not among those that wake the recorder. */
static int drain_all(struct recorder *recorder)
{
	int any = 0;

	for (unsigned int cpu = 0; cpu < recorder->count; cpu++) {
		int r = drain(recorder, cpu);

		if (r < 0)
			return r;
		any |= r;
	}
	return any;
}

/* The pages that are not full: read(2) returns these, too, and fills them with zeros.  ENODEV: see pages.c. */
static int drain_rest(struct recorder *recorder, unsigned int cpu)
{
	struct recorder_cpu *to = &recorder->cpus[cpu];

	while (recorder->raw[cpu] >= 0) {
		ssize_t got = read(recorder->raw[cpu], recorder->page, recorder->page_size);
		int r;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 && errno != EAGAIN && errno != ENODEV ? -errno : 0;
		memset(recorder->page + got, 0, recorder->page_size - (size_t)got);
		r = write_all(to->pages, recorder->page, recorder->page_size);
		if (r < 0)
			return r;
		to->bytes += recorder->page_size;
	}
	return 0;
}

/* ---- waiting ------------------------------------------------------------------------------- */

/* Returns 1 at a signal, 0 when a CPU has pages, or a negative errno. */
static int await(struct recorder *recorder)
{
	struct epoll_event events[16];
	int count = epoll_wait(recorder->epoll, events, 16, -1);

	if (count < 0)
		return errno == EINTR ? 0 : -errno;
	for (int i = 0; i < count; i++) {
		if (events[i].data.fd == recorder->signals)
			return 1;
		/* A CPU that is offline: it would wake the recorder for ever. */
		if (events[i].events & (EPOLLERR | EPOLLHUP))
			epoll_ctl(recorder->epoll, EPOLL_CTL_DEL, events[i].data.fd, NULL);
	}
	return 0;
}

/* Wait a short time, or until a signal.  Returns as await(). */
static int rest(const struct recorder *recorder)
{
	struct pollfd poll_fd = {.fd = recorder->signals, .events = POLLIN};
	int r = poll(&poll_fd, 1, PAUSE_MS);

	return r < 0 && errno != EINTR ? -errno : r > 0;
}

int recorder_run(struct recorder *recorder, char *error)
{
	int r;

	do {
		r = await(recorder);
		if (r)
			break;
		r = drain_all(recorder);
		if (r == 0)
			r = rest(recorder);
		else if (r > 0)
			r = 0;
	} while (r == 0);
	if (r > 0)
		return 0;
	recorder->failed = true;
	return cannot_write(recorder, r, error);
}

/* After a failure a file may end with a part of a page. */
static void cut(const struct recorder *recorder, struct recorder_cpu *cpu)
{
	off_t size = cpu->pages < 0 ? 0 : lseek(cpu->pages, 0, SEEK_END);

	if (size < 0)
		return;
	cpu->bytes = (uint64_t)size - (uint64_t)size % recorder->page_size;
}

int recorder_finish(struct recorder *recorder, char *error)
{
	int r = 0;

	while (!recorder->failed && (r = drain_all(recorder)) > 0)
		continue;
	for (unsigned int cpu = 0; cpu < recorder->count && !recorder->failed && r >= 0; cpu++)
		r = drain_rest(recorder, cpu);
	if (r < 0)
		recorder->failed = true;
	for (unsigned int cpu = 0; cpu < recorder->count; cpu++) {
		struct recorder_cpu *one = &recorder->cpus[cpu];

		if (recorder->failed)
			cut(recorder, one);
		free(one->text);
		one->text = instance_read(recorder->instance, "per_cpu/cpu%u/stats", cpu);
		if (!one->text || stats_parse(one->text, &one->stats) < 0)
			one->stats = (struct stats){};
	}
	return r < 0 ? cannot_write(recorder, r, error) : 0;
}

struct recorder_cpu *recorder_cpus(struct recorder *recorder, unsigned int *count)
{
	*count = recorder->count;
	return recorder->cpus;
}

/* ---- new, free ----------------------------------------------------------------------------- */

static void allow_files(unsigned int cpus)
{
	struct rlimit limit;
	rlim_t wanted = (rlim_t)cpus * FILES_PER_CPU + FILES_BESIDE;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int watch(const struct recorder *recorder, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(recorder->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int open_cpu(struct recorder *recorder, unsigned int cpu, char *error)
{
	int r = instance_open_pages(recorder->instance, cpu);

	/* The numbers of CPUs can have gaps. */
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return refusal(error, r, "cannot open the ring buffer of CPU %u: %s", cpu,
			       strerror(-r));
	recorder->raw[cpu] = r;
	r = watch(recorder, r);
	if (r < 0)
		return refusal(error, r, "cannot wait for CPU %u: %s", cpu, strerror(-r));
	r = open_unnamed(recorder->directory);
	if (r < 0)
		return cannot_write(recorder, r, error);
	recorder->cpus[cpu].pages = r;
	return 0;
}

static int open_all(struct recorder *recorder, char *error)
{
	int r = reserve(recorder, error);

	for (unsigned int cpu = 0; cpu < recorder->count && r == 0; cpu++)
		r = open_cpu(recorder, cpu, error);
	return r;
}

static int prepare(struct recorder *recorder, char *error)
{
	int r = 0;

	recorder->cpus = calloc(recorder->count, sizeof(*recorder->cpus));
	recorder->raw = calloc(recorder->count, sizeof(*recorder->raw));
	recorder->page = malloc(recorder->page_size);
	if (!recorder->cpus || !recorder->raw || !recorder->page) {
		recorder->count = 0;
		return refusal(error, -ENOMEM, "out of memory");
	}
	for (unsigned int cpu = 0; cpu < recorder->count; cpu++)
		recorder->cpus[cpu].pages = recorder->raw[cpu] = -1;
	allow_files(recorder->count);
	recorder->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (recorder->epoll < 0 || pipe2(recorder->pipe, O_CLOEXEC) < 0)
		r = -errno;
	if (r == 0)
		r = watch(recorder, recorder->signals);
	if (r < 0)
		return refusal(error, r, "cannot prepare the recording: %s", strerror(-r));
	/* A smaller pipe only moves fewer pages at once. */
	fcntl(recorder->pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
	return open_all(recorder, error);
}

int recorder_new(struct recorder **recorder, const struct instance *instance, const char *directory,
		 int signals, char *error)
{
	struct recorder *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return refusal(error, -ENOMEM, "out of memory");
	*fresh = (struct recorder){
		.instance = instance,
		.directory = directory,
		.page_size = instance_page_size(instance),
		.count = instance_cpus(instance),
		.pipe = {-1, -1},
		.epoll = -1,
		.signals = signals,
		.reserve = -1,
	};
	r = prepare(fresh, error);
	if (r < 0) {
		recorder_free(&fresh);
		return r;
	}
	*recorder = fresh;
	return 0;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

void recorder_free(struct recorder **recorder)
{
	struct recorder *old = *recorder;

	if (!old)
		return;
	for (unsigned int cpu = 0; cpu < old->count; cpu++) {
		if (old->raw)
			close_if_open(old->raw[cpu]);
		if (old->cpus) {
			close_if_open(old->cpus[cpu].pages);
			free(old->cpus[cpu].text);
		}
	}
	recorder_release(old);
	close_if_open(old->pipe[0]);
	close_if_open(old->pipe[1]);
	close_if_open(old->epoll);
	free(old->cpus);
	free(old->raw);
	free(old->page);
	free(old);
	*recorder = NULL;
}
