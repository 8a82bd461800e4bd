/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/process/steps.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/time.h"
#include "daemon/process/loop.h"

struct steps {
	int fd;
	struct loop_source *source;
	bool taken; /* false: a step was seen that steps_take() has not reported */
	int (*stepped)(void *userdata);
	void *userdata;
};

/* The kernel cancels the timer at each step, and read() reports that once. */
static void look(struct steps *steps)
{
	uint64_t expirations;

	if (read(steps->fd, &expirations, sizeof(expirations)) < 0 && errno == ECANCELED)
		steps->taken = false;
}

static int on_input(int fd, unsigned int events, void *userdata)
{
	struct steps *steps = userdata;

	(void)fd;
	(void)events;
	look(steps);
	return steps->taken ? 0 : steps->stepped(steps->userdata);
}

int steps_new(struct steps **steps, struct loop *loop, int (*stepped)(void *userdata),
	      void *userdata)
{
	/* The end of the kernel's clock, in the year 2262: the timer is only there to be canceled. */
	const struct itimerspec never = {.it_value.tv_sec = INT64_MAX / TIME_NS_PER_SECOND};
	struct steps *fresh = calloc(1, sizeof(*fresh));
	int r = 0;

	if (!fresh)
		return -ENOMEM;
	*fresh = (struct steps){.taken = true, .stepped = stepped, .userdata = userdata};
	fresh->fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (fresh->fd < 0 ||
	    timerfd_settime(fresh->fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL))
		r = -errno;
	if (r == 0)
		r = loop_add_fd(loop, &fresh->source, fresh->fd, LOOP_READ, on_input, fresh);
	if (r < 0) {
		steps_free(&fresh);
		return r;
	}
	*steps = fresh;
	return 0;
}

void steps_free(struct steps **steps)
{
	struct steps *old = *steps;

	if (!old)
		return;
	loop_source_free(&old->source);
	if (old->fd >= 0)
		close(old->fd);
	free(old);
	*steps = NULL;
}

bool steps_take(struct steps *steps)
{
	bool stepped;

	look(steps);
	stepped = !steps->taken;
	steps->taken = true;
	return stepped;
}
