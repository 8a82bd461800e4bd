/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/thread.h"

#include <signal.h>

int thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *userdata),
		 void *userdata)
{
	sigset_t all, before;
	pthread_attr_t attr;
	int r;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, stack_bytes);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(thread, &attr, run, userdata);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}
