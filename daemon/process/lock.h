/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One daemon per runtime folder. */
#ifndef DAEMON_PROCESS_LOCK_H
#define DAEMON_PROCESS_LOCK_H

#include <stddef.h>

/*
 * Make `folder` if need be and take its lock.  Returns the fd that holds the
 * lock; the kernel lets go of it when the process ends, however it ends.  On
 * failure `error` says what is wrong or, with -EEXIST, who holds the lock.
 */
int lock_take(const char *folder, char *error, size_t size);

#endif
