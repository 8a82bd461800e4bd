/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/kmsg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/time.h"
#include "daemon/process/loop.h"

/* The largest record with its dictionary: at least PRINTK_MESSAGE_MAX of every kernel so far. */
#define RECORD_MAX 8192
/* Records in one turn of the loop, so that a kernel that logs without end does not delay clients. */
#define TURN_RECORDS 64

struct kmsg {
	int fd;
	struct loop_source *source;
	void (*take)(const struct rocket *rocket, void *userdata);
	void *userdata;
};

/* Each read returns one record; EPIPE: records were overwritten before they were read. */
static int on_input(int fd, unsigned int events, void *userdata)
{
	struct kmsg *kmsg = userdata;
	char record[RECORD_MAX];
	struct rocket rocket;

	(void)events;
	for (int i = 0; i < TURN_RECORDS; i++) {
		ssize_t n = read(fd, record, sizeof(record));

		if (n < 0 && (errno == EPIPE || errno == EINTR))
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		/* A failure that stays, or the end of a file that replaces /dev/kmsg: stop waiting. */
		if (n <= 0)
			return loop_source_set_enabled(kmsg->source, false);
		rocket.time_ns = time_monotonic();
		if (rocket_parse(&rocket, record, (size_t)n) == 0)
			kmsg->take(&rocket, kmsg->userdata);
	}
	return 0;
}

int kmsg_new(struct kmsg **kmsg, struct loop *loop, const char *path,
	     void (*take)(const struct rocket *rocket, void *userdata), void *userdata,
	     char *reason, size_t size)
{
	OWN_KMSG struct kmsg *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->take = take;
	fresh->userdata = userdata;
	fresh->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fresh->fd < 0) {
		r = -errno;
		snprintf(reason, size, "cannot read %s: %s%s", path, strerror(-r),
			 r == -EPERM || r == -EACCES
				 ? "; requires CAP_SYSLOG where kernel.dmesg_restrict is 1"
				 : "");
		return r;
	}
	/* Skip records from before the daemon started.  A pipe, as in tests, cannot seek. */
	lseek(fresh->fd, 0, SEEK_END);
	r = loop_add_fd(loop, &fresh->source, fresh->fd, LOOP_READ, on_input, fresh);
	if (r < 0) {
		snprintf(reason, size, "cannot wait for records of %s: %s", path, strerror(-r));
		return r;
	}
	*kmsg = TAKE_PTR(fresh);
	return 0;
}

void kmsg_free(struct kmsg **kmsg)
{
	struct kmsg *k = *kmsg;

	if (!k)
		return;
	loop_source_free(&k->source);
	cleanup_close(&k->fd);
	free(k);
	*kmsg = NULL;
}
