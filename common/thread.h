/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that take no signals: the event loop reads them from a descriptor. */
#ifndef COMMON_THREAD_H
#define COMMON_THREAD_H

#include <pthread.h>
#include <stddef.h>

/* Start a thread with a stack of that size.  Returns 0 or a negative errno. */
int thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *userdata),
		 void *userdata);

#endif
