/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/replay/fault.h"

#include <setjmp.h>
#include <stddef.h>

static _Thread_local sigjmp_buf *volatile landing; /* NULL: nothing is guarded */

static void leave(int number)
{
	if (landing)
		siglongjmp(*landing, 1);
	/* The same instruction faults again. */
	signal(number, SIG_DFL);
}

void fault_begin(struct fault_handlers *others)
{
	/* The handler is left by a jump, which does not restore the mask of signals. */
	const struct sigaction action = {.sa_handler = leave, .sa_flags = SA_NODEFER};

	sigaction(SIGSEGV, &action, &others->segv);
	sigaction(SIGBUS, &action, &others->bus);
}

void fault_end(const struct fault_handlers *others)
{
	sigaction(SIGSEGV, &others->segv, NULL);
	sigaction(SIGBUS, &others->bus, NULL);
}

bool fault_guard(void (*read)(void *userdata), void *userdata)
{
	sigjmp_buf place;

	if (sigsetjmp(place, 0)) {
		landing = NULL;
		return false;
	}
	landing = &place;
	read(userdata);
	landing = NULL;
	return true;
}
