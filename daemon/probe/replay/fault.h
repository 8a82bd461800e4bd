/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults while the memory of a file is read: a library believes a length in a damaged one and reads behind its end, or
 * another process shortens the file.  They end that reading, not the process.
 */
#ifndef DAEMON_PROBE_REPLAY_FAULT_H
#define DAEMON_PROBE_REPLAY_FAULT_H

#include <signal.h>
#include <stdbool.h>

/* The handlers of others. */
struct fault_handlers {
	struct sigaction segv, bus;
};

/* Handle SIGSEGV and SIGBUS until fault_end().  Outside of fault_guard() they end the process all the same. */
void fault_begin(struct fault_handlers *others);
void fault_end(const struct fault_handlers *others);

/*
 * Call `read`.  false: it met such a fault and was left at that moment.  So it must hold no lock while it reads from
 * the file, and what it owns then is lost.
 */
bool fault_guard(void (*read)(void *userdata), void *userdata);

#endif
