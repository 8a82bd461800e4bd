/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times are CLOCK_MONOTONIC inside the programs, and the host's time of day in their output. */
#ifndef COMMON_TIME_H
#define COMMON_TIME_H

#include <stdint.h>

#define TIME_NS_PER_SECOND 1000000000ULL

/* The size of "2026-11-21T09:30:00.123456789+01:00" with its NUL byte. */
#define TIME_TEXT_MAX 36

/* The time of CLOCK_MONOTONIC in ns. */
uint64_t time_monotonic(void);

/* The CPU time of the calling thread in ns: not the time in which others had the CPU. */
uint64_t time_thread_cpu(void);

/* CLOCK_MONOTONIC, ms, signed because deadlines are subtracted from it. */
int64_t time_monotonic_ms(void);

/*
 * CLOCK_REALTIME less CLOCK_BOOTTIME in ns, which changes only when the host's clock is stepped, or by the error of
 * reading both: some us.
 */
int64_t time_clock(void);

/* The host's time of day in ns since 1970, now, and for a time of CLOCK_MONOTONIC. */
uint64_t time_realtime(void);
uint64_t time_realtime_of(uint64_t monotonic_ns);

/* Format a time of day in ns since 1970 as RFC 3339, like time_format(). */
void time_format_realtime(int64_t realtime_ns, char text[static TIME_TEXT_MAX]);

/*
 * For a process that shows a recording: time_monotonic() goes on from `now_ns`, the end of the recording, and the time
 * of day is `realtime_ns` later than it.  Call this once, before the process has other threads.
 */
void time_become(uint64_t now_ns, int64_t realtime_ns);

/* The kernel's CLOCK_MONOTONIC at a time of time_monotonic(), for timers. */
uint64_t time_of_kernel(uint64_t monotonic_ns);

/*
 * Format a time of CLOCK_MONOTONIC, which can be below 0, before the boot, as RFC 3339, with nanoseconds, in local
 * time with its offset.  If the host's clock was stepped after that time, the text is the time that the clock would
 * have shown if the step had come before it.
 */
void time_format(uint64_t monotonic_ns, char text[static TIME_TEXT_MAX]);

#endif
