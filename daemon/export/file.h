/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files for other programs. */
#ifndef DAEMON_EXPORT_FILE_H
#define DAEMON_EXPORT_FILE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Replace a file as a whole: its readers see the old bytes or the new ones.  The new file is made beside it, as
 * PATH.tmp, with mode 0644.  It is not flushed to the disk: after a power cut there may be an older one.  Returns 0 or
 * a negative errno; the old file is then as it was.
 */
int file_replace(const char *path, const char *bytes, size_t length);

/*
 * Append whole lines to a file.  If there is none, it is made with mode 0640, whatever the umask.  If it would become
 * longer than `most` bytes, it is first renamed to PATH.1, PATH.1 to PATH.2, and so on up to PATH.4.  After a failure,
 * such as -ENOSPC, no half of a line is left.  Returns 0 or a negative errno.
 */
int file_append(const char *path, const char *bytes, size_t length, uint64_t most);

/* What an administrator can do about an error of these functions, a negative errno; part of a message.  Static. */
const char *file_remedy(int error);

#endif
