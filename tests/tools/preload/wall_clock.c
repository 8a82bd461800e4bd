/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library for LD_PRELOAD: the host's clock, CLOCK_REALTIME, shows what a test wants.  So an hour passes in seconds.
 *
 * WALL_CLOCK_FILE has the time, a 64-bit number of ns since 1970 in the byte order of the host, and CLOCK_BOOTTIME,
 * another one.  Both clocks stand still until the test writes other times.  CLOCK_MONOTONIC, timers and the kernel go
 * on as ever.
 *
 * Time that passes changes both clocks and is no step: the kernel reports none.  WALL_CLOCK_STEPS is a FIFO for
 * steps, as of clock_settime(2).  A byte in it cancels the timers that wait for one (TFD_TIMER_CANCEL_ON_SET): read()
 * fails with ECANCELED.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

static const volatile int64_t *wall; /* and CLOCK_BOOTTIME */
static int watch = -1; /* the timer that is canceled by steps; the FIFO has its place */

/* Before main(), and before any other thread. */
static __attribute__((constructor)) void begin(void)
{
	const char *path = getenv("WALL_CLOCK_FILE");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *map;

	if (fd < 0)
		return;
	map = mmap(NULL, 2 * sizeof(*wall), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED) {
		perror("wall_clock");
		_exit(1);
	}
	wall = map;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	static int (*real)(clockid_t, struct timespec *);

	if (wall && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ||
		     clock == CLOCK_BOOTTIME)) {
		int64_t ns = wall[clock == CLOCK_BOOTTIME];

		*now = (struct timespec){.tv_sec = ns / SECOND, .tv_nsec = ns % SECOND};
		return 0;
	}
	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	return real(clock, now);
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec precise;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &precise);
	*now = (struct timeval){.tv_sec = precise.tv_sec, .tv_usec = precise.tv_nsec / 1000};
	return 0;
}

time_t time(time_t *now)
{
	struct timespec precise;

	clock_gettime(CLOCK_REALTIME, &precise);
	if (now)
		*now = precise.tv_sec;
	return precise.tv_sec;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *value, struct itimerspec *old)
{
	static int (*real)(int, int, const struct itimerspec *, struct itimerspec *);
	const char *path = getenv("WALL_CLOCK_STEPS");

	if (!real)
		real = (int (*)(int, int, const struct itimerspec *, struct itimerspec *))dlsym(
			RTLD_NEXT, "timerfd_settime");
	if (wall && path && flags & TFD_TIMER_CANCEL_ON_SET) {
		/* Opened for both directions, so that it never ends. */
		int fifo = fd == watch ? -1 : open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);

		if (fifo >= 0 && dup3(fifo, fd, O_CLOEXEC) == fd)
			watch = fd;
		if (fifo >= 0)
			close(fifo);
		return 0;
	}
	return real(fd, flags, value, old);
}

ssize_t read(int fd, void *bytes, size_t size)
{
	static ssize_t (*real)(int, void *, size_t);
	ssize_t count;

	if (!real)
		real = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
	count = real(fd, bytes, size);
	if (fd < 0 || fd != watch || count <= 0)
		return count;
	errno = ECANCELED;
	return -1;
}
