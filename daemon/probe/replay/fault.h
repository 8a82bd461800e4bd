/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What goes wrong while a file is read: a library believes a length in a damaged one, and reads behind its end or goes
 * round in circles; or another process shortens the file.  That ends the reading, not the process.
 */
#ifndef DAEMON_PROBE_REPLAY_FAULT_H
#define DAEMON_PROBE_REPLAY_FAULT_H

#include <signal.h>

/* The handlers of others. */
struct fault_handlers {
	struct sigaction segv, bus, alarm;
};

/*
 * Handle SIGSEGV, SIGBUS and a timer of this CPU time until fault_end().  Outside of fault_guard() both signals end the
 * process all the same.
 */
void fault_begin(struct fault_handlers *others, unsigned int cpu_seconds);
void fault_end(const struct fault_handlers *others);

/*
 * Call `read`.  0, or it met such a fault, or took 1 to 2 times the CPU time, and was left at that moment: then the
 * signal.  SIGBUS says that the file has become too short.  It must hold no lock while it reads from the file, and what
 * it owns then is lost.
 */
int fault_guard(void (*read)(void *userdata), void *userdata);

#endif
