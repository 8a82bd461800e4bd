/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/replay/fault.h"

#include <setjmp.h>
#include <stddef.h>
#include <sys/time.h>

static _Thread_local sigjmp_buf *volatile landing; /* NULL: nothing is guarded */

/* Calls of fault_guard(), and how many there were when the timer ended last. */
static volatile unsigned int calls, timed;

static void leave(int number)
{
	if (landing)
		siglongjmp(*landing, number);
	/* The same instruction faults again. */
	signal(number, SIG_DFL);
}

static void look(int number)
{
	if (landing && timed == calls)
		siglongjmp(*landing, number);
	timed = calls;
}

static void set_timer(unsigned int seconds)
{
	const struct itimerval timer = {.it_interval = {.tv_sec = seconds},
					.it_value = {.tv_sec = seconds}};

	setitimer(ITIMER_VIRTUAL, &timer, NULL);
}

void fault_begin(struct fault_handlers *others, unsigned int cpu_seconds)
{
	/* The handlers are left by a jump, which does not restore the mask of signals. */
	const struct sigaction action = {.sa_handler = leave, .sa_flags = SA_NODEFER},
			       looking = {.sa_handler = look, .sa_flags = SA_NODEFER | SA_RESTART};

	sigaction(SIGSEGV, &action, &others->segv);
	sigaction(SIGBUS, &action, &others->bus);
	sigaction(SIGVTALRM, &looking, &others->alarm);
	set_timer(cpu_seconds);
}

void fault_end(const struct fault_handlers *others)
{
	set_timer(0);
	sigaction(SIGSEGV, &others->segv, NULL);
	sigaction(SIGBUS, &others->bus, NULL);
	sigaction(SIGVTALRM, &others->alarm, NULL);
}

int fault_guard(void (*read)(void *userdata), void *userdata)
{
	sigjmp_buf place;
	int number = sigsetjmp(place, 0);

	if (!number) {
		calls++;
		landing = &place;
		read(userdata);
	}
	landing = NULL;
	return number;
}
