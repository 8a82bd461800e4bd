/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One daemon per runtime directory. */
#ifndef DAEMON_PROCESS_LOCK_H
#define DAEMON_PROCESS_LOCK_H

#include <stddef.h>

/*
 * Create `directory` if it does not exist, and take its lock.  Returns the fd that holds the lock.  The kernel releases
 * the lock when the process ends, however it ends.  On failure `error` gives the reason; with -EEXIST it names the
 * process that holds the lock.
 */
int lock_take(const char *directory, char *error, size_t size);

#endif
