/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the kernel's own events.  udev's events arrive only after udev has handled the module, and only where udev runs.
 */
#include "daemon/kernel/modules.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/cleanup.h"
#include "daemon/process/loop.h"

/* Only the beginning of an event is needed: "add@/module/xen_netfront". */
#define EVENT_MAX 256
#define CAME "add@/module/"
#define GONE "remove@/module/"
/* Events in one turn of the loop. */
#define TURN_EVENTS 64

struct modules {
	int fd;
	struct loop_source *source;
	int (*changed)(bool came, void *userdata);
	void *userdata;
};

static bool begins(const char *event, const char *with)
{
	return !strncmp(event, with, strlen(with));
}

static int on_input(int fd, unsigned int events, void *userdata)
{
	struct modules *modules = userdata;
	bool came = false, gone = false;

	(void)events;
	for (int i = 0; i < TURN_EVENTS; i++) {
		char event[EVENT_MAX];
		ssize_t n = recv(fd, event, sizeof(event) - 1, MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			break;
		/* ENOBUFS: events were lost, and a module may have come. */
		came |= n < 0 && errno != EINTR;
		event[n < 0 ? 0 : n] = '\0';
		came |= begins(event, CAME);
		gone |= begins(event, GONE);
	}
	return came || gone ? modules->changed(came, modules->userdata) : 0;
}

int modules_new(struct modules **modules, struct loop *loop,
		int (*changed)(bool came, void *userdata), void *userdata)
{
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK, .nl_groups = 1};
	OWN_MODULES struct modules *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->changed = changed;
	fresh->userdata = userdata;
	fresh->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	if (fresh->fd < 0 || bind(fresh->fd, (const struct sockaddr *)&kernel, sizeof(kernel)))
		return -errno;
	r = loop_add_fd(loop, &fresh->source, fresh->fd, LOOP_READ, on_input, fresh);
	if (r < 0)
		return r;
	*modules = TAKE_PTR(fresh);
	return 0;
}

void modules_free(struct modules **modules)
{
	struct modules *m = *modules;

	if (!m)
		return;
	loop_source_free(&m->source);
	cleanup_close(&m->fd);
	free(m);
	*modules = NULL;
}
