/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time that passes only while a program waits: a unit test that is linked with this has a CLOCK_MONOTONIC that stands
 * still while it computes, and that is at the next timer as soon as the loop waits for it.  So hours take no time, and
 * no timer is late, however busy the machine.  CPU clocks and the time of day stay real.
 *
 * It replaces what sd-event calls: clock_gettime(), timerfd_settime() with absolute times, epoll_wait() or
 * epoll_pwait2(); and usleep() of the test.  It is for one thread.
 */
#include <err.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
#define FILES 1024
/* Two readings differ, as they do on a real machine. */
#define READING_NS 100

static uint64_t now = 1000 * SECOND;
static uint64_t due[FILES]; /* of timer fds; 0: not armed */

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME)
		return (int)syscall(SYS_clock_gettime, clock, time);
	now += READING_NS;
	*time = timespec_of(now);
	return 0;
}

int usleep(useconds_t us)
{
	now += UINT64_C(1000) * us;
	return 0;
}

/* Arm the kernel's timer so that the fd is readable at once, or never. */
static int set_kernel_timer(int fd, bool at_once)
{
	const struct itimerspec value = {.it_value.tv_nsec = at_once};

	return (int)syscall(SYS_timerfd_settime, fd, 0, &value, NULL);
}

int timerfd_settime(int fd, int flags, const struct itimerspec *new_value,
		    struct itimerspec *old_value)
{
	(void)flags;
	(void)old_value;
	if (fd >= FILES)
		errx(1, "simulated_time.c knows %d files, not file %d", FILES, fd);
	due[fd] = (uint64_t)new_value->it_value.tv_sec * SECOND +
		  (uint64_t)new_value->it_value.tv_nsec;
	return set_kernel_timer(fd, false);
}

/* The fd of the timer that is due first, or -1. */
static int first_due(void)
{
	int first = -1;

	for (int fd = 0; fd < FILES; fd++)
		if (due[fd] && (first < 0 || due[fd] < due[first]))
			first = fd;
	return first;
}

static int epoll(int fd, struct epoll_event *events, int most, int timeout_ms)
{
	return (int)syscall(SYS_epoll_pwait, fd, events, most, timeout_ms, NULL, 0);
}

int epoll_wait(int fd, struct epoll_event *events, int most, int timeout_ms)
{
	int ready = epoll(fd, events, most, 0), first = first_due();
	uint64_t until =
		timeout_ms < 0 ? UINT64_MAX : now + UINT64_C(1000000) * (uint64_t)timeout_ms;

	if (ready || (first < 0 && timeout_ms < 0))
		return ready ? ready : epoll(fd, events, most, timeout_ms);
	if (first < 0 || due[first] > until) {
		now = until;
		return 0;
	}
	if (now < due[first])
		now = due[first];
	due[first] = 0;
	if (set_kernel_timer(first, true) < 0)
		return -1;
	return epoll(fd, events, most, -1);
}

/* As later versions of sd-event call it. */
int epoll_pwait2(int fd, struct epoll_event *events, int most, const struct timespec *timeout,
		 const sigset_t *mask)
{
	(void)mask;
	return epoll_wait(
		fd, events, most,
		timeout ? (int)(timeout->tv_sec * 1000 + (timeout->tv_nsec + 999999) / 1000000)
			: -1);
}
