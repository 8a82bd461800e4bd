/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ownership.  A local that owns memory or a file descriptor carries a cleanup attribute and starts as NULL or -1.
 * Ownership leaves it only through TAKE_PTR or TAKE_FD.
 */
#ifndef COMMON_CLEANUP_H
#define COMMON_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(function) __attribute__((cleanup(function)))

#define TAKE_PTR(pointer)                          \
	({                                         \
		__auto_type take_ptr_ = (pointer); \
		(pointer) = NULL;                  \
		take_ptr_;                         \
	})

#define TAKE_FD(fd)                  \
	({                           \
		int take_fd_ = (fd); \
		(fd) = -1;           \
		take_fd_;            \
	})

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define OWN_FREE CLEANUP(cleanup_free)
#define OWN_FD CLEANUP(cleanup_close)
#define OWN_FILE CLEANUP(cleanup_fclose)

#endif
