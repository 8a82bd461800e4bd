/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/time.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SECOND ((int64_t)TIME_NS_PER_SECOND)

/* A smaller change of the difference between the clocks is an error of reading them. */
#define STEP_NS 100000
#define READINGS 8

/* Of a recording, see time_become(). */
static struct {
	bool used;
	int64_t ahead_ns; /* of CLOCK_MONOTONIC */
	int64_t realtime_ns;
} recording;

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

uint64_t time_monotonic(void)
{
	return (uint64_t)(clock_ns(CLOCK_MONOTONIC) + recording.ahead_ns);
}

void time_become(uint64_t now_ns, int64_t realtime_ns)
{
	recording.used = true;
	recording.ahead_ns = (int64_t)now_ns - clock_ns(CLOCK_MONOTONIC);
	recording.realtime_ns = realtime_ns;
}

uint64_t time_of_kernel(uint64_t monotonic_ns)
{
	return monotonic_ns - (uint64_t)recording.ahead_ns;
}

uint64_t time_thread_cpu(void)
{
	return (uint64_t)clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t time_monotonic_ms(void)
{
	return (int64_t)time_monotonic() / 1000000;
}

/* Read CLOCK_REALTIME less a clock that is not stepped, in ns; the error is at most `width` / 2. */
static int64_t read_offset(clockid_t clock, int64_t *width)
{
	int64_t before = clock_ns(clock);
	int64_t realtime = clock_ns(CLOCK_REALTIME);

	*width = clock_ns(clock) - before;
	return realtime - (before + *width / 2);
}

/* Read again if the process was interrupted between the clocks. */
static int64_t read_quickly(clockid_t clock, int64_t *width)
{
	int64_t offset = 0;

	for (unsigned int i = 0; i < READINGS; i++) {
		offset = read_offset(clock, width);
		if (*width < STEP_NS)
			break;
	}
	return offset;
}

int64_t time_clock(void)
{
	int64_t width;

	return read_quickly(CLOCK_BOOTTIME, &width);
}

/*
 * The kernel slews both clocks alike, so their difference changes only when the clock is stepped.  Until then the first
 * reading is kept, so that one moment always gets the same text.
 */
static int64_t realtime_offset(void)
{
	static _Atomic int64_t kept;
	int64_t old = atomic_load(&kept), offset, width;

	if (recording.used)
		return recording.realtime_ns;
	offset = read_quickly(CLOCK_MONOTONIC, &width);
	if (old && llabs(offset - old) < STEP_NS + width)
		return old;
	atomic_store(&kept, offset);
	return offset;
}

uint64_t time_realtime(void)
{
	return recording.used ? time_realtime_of(time_monotonic())
			      : (uint64_t)clock_ns(CLOCK_REALTIME);
}

uint64_t time_realtime_of(uint64_t monotonic_ns)
{
	return monotonic_ns + (uint64_t)realtime_offset();
}

static void format(time_t seconds, int64_t rest, char text[static TIME_TEXT_MAX])
{
	struct tm local;
	unsigned int minutes;
	size_t len;

	for (; rest < 0; rest += SECOND)
		seconds--;
	for (; rest >= SECOND; rest -= SECOND)
		seconds++;
	localtime_r(&seconds, &local);
	minutes = (unsigned int)labs(local.tm_gmtoff) / 60;
	len = strftime(text, TIME_TEXT_MAX, "%FT%T", &local);
	snprintf(text + len, TIME_TEXT_MAX - len, ".%09u%c%02u:%02u", (unsigned int)rest,
		 local.tm_gmtoff < 0 ? '-' : '+', minutes / 60 % 24, minutes % 60);
}

void time_format(uint64_t monotonic_ns, char text[static TIME_TEXT_MAX])
{
	int64_t offset = realtime_offset(), ns = (int64_t)monotonic_ns;

	/* Add seconds and nanoseconds separately: the sum in ns may not fit in 64 bits. */
	format(ns / SECOND + offset / SECOND, ns % SECOND + offset % SECOND, text);
}

void time_format_realtime(int64_t realtime_ns, char text[static TIME_TEXT_MAX])
{
	format(realtime_ns / SECOND, realtime_ns % SECOND, text);
}
