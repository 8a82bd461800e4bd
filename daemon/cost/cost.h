/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cost of the daemon itself: CPU time and memory. */
#ifndef DAEMON_COST_COST_H
#define DAEMON_COST_COST_H

#include <stdbool.h>
#include <stdint.h>

struct cost;
struct loop;

/* Take a sample every second from now on.  Free it before the loop. */
int cost_new(struct cost **cost, struct loop *loop);
void cost_free(struct cost **cost);

/* CPU time of this process, all threads, ns; 0 if it is not known. */
uint64_t cost_cpu_ns(void);

/* CPU time between the last two samples, percent of one core; false in the first second. */
bool cost_cpu_now(const struct cost *cost, double *percent);

/* Resident memory in bytes, with mapped tables; 0 if /proc/self/statm cannot be read. */
uint64_t cost_resident_bytes(void);

/* Anonymous resident memory in bytes: without tables and files; 0 if /proc/self/status cannot be read. */
uint64_t cost_anonymous_bytes(void);

#endif
