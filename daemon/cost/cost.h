/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon itself costs: processor time and memory. */
#ifndef DAEMON_COST_COST_H
#define DAEMON_COST_COST_H

#include <stdbool.h>
#include <stdint.h>

struct cost;
struct loop;

/* Samples once a second from now on.  Free before the loop. */
int cost_new(struct cost **cost, struct loop *loop);
void cost_free(struct cost **cost);

/* Processor time of this process, all threads, ns. */
uint64_t cost_cpu_ns(void);

/* Percent of one core over the last whole second; false in the first one. */
bool cost_cpu_now(const struct cost *cost, double *percent);

/* Bytes; 0 when /proc does not tell. */
uint64_t cost_resident_bytes(void);

#endif
