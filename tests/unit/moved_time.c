/* SPDX-License-Identifier: GPL-2.0-or-later */
/* It replaces what sd-event calls: clock_gettime(), and timerfd_settime() with absolute times. */
#include "tests/unit/moved_time.h"

#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
#define FILES 1024

static _Atomic uint64_t ahead;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t due[FILES]; /* of timer fds, by the moved clock; 0: not armed */

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_nsec;
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int r = (int)syscall(SYS_clock_gettime, clock, time);

	if (r == 0 && (clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME))
		*time = timespec_of(ns_of(time) + ahead);
	return r;
}

/* A time of 0 disarms a timer; one in the past makes it fire at once. */
static int set_kernel_timer(int fd)
{
	uint64_t ns = due[fd] > ahead ? due[fd] - ahead : due[fd] > 0;
	const struct itimerspec value = {.it_value = timespec_of(ns)};

	return (int)syscall(SYS_timerfd_settime, fd, TFD_TIMER_ABSTIME, &value, NULL);
}

int timerfd_settime(int fd, int flags, const struct itimerspec *new_value,
		    struct itimerspec *old_value)
{
	int r;

	(void)old_value;
	if (fd >= FILES || flags != TFD_TIMER_ABSTIME)
		errx(1, "moved_time.c does not know such timers");
	pthread_mutex_lock(&mutex);
	due[fd] = ns_of(&new_value->it_value);
	r = set_kernel_timer(fd);
	pthread_mutex_unlock(&mutex);
	return r;
}

void let_pass(uint64_t ns)
{
	pthread_mutex_lock(&mutex);
	ahead += ns;
	for (int fd = 0; fd < FILES; fd++)
		if (due[fd] && set_kernel_timer(fd) < 0)
			due[fd] = 0; /* it was closed */
	pthread_mutex_unlock(&mutex);
}
