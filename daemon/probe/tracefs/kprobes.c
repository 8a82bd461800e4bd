/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/tracefs/kprobes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <tracefs/tracefs.h>

#include "common/cleanup.h"
#include "daemon/probe/events/tracepoints.h"

/* One write is one command. */
static int command(const char *text)
{
	/* Without O_APPEND, the kernel would remove all kprobe events, those of other programs, too. */
	OWN_FD int fd =
		tracefs_instance_file_open(NULL, "kprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int create(const struct tracepoint *point)
{
	OWN_FREE char *text = NULL;

	if (asprintf(&text, "p:%s/%s %s %s\n", point->system, point->name, point->function,
		     point->arguments) < 0) {
		text = NULL;
		return -ENOMEM;
	}
	return command(text);
}

int kprobes_create(const struct tracepoint *point, char *why, size_t size)
{
	int r;

	if (tracefs_event_file_exists(NULL, point->system, point->name, "enable"))
		return 0;
	if (!tracefs_file_exists(NULL, "kprobe_events")) {
		snprintf(why, size, "this kernel has no kprobe events (CONFIG_KPROBE_EVENTS)");
		return -EOPNOTSUPP;
	}
	r = create(point);
	if (r == 0 || r == -EEXIST)
		return 0;
	snprintf(why, size, "the kernel takes no kprobe on %s: %s", point->function, strerror(-r));
	return r;
}

static void remove_event(const char *name)
{
	char text[128];

	snprintf(text, sizeof(text), "-:%s/%s\n", TRACEPOINTS_KPROBES, name);
	(void)command(text);
}

void kprobes_remove(const struct tracepoint *point)
{
	remove_event(point->name);
}

void kprobes_remove_stale(void)
{
	char **names = tracefs_system_events(NULL, TRACEPOINTS_KPROBES);

	for (char **name = names; name && *name; name++)
		remove_event(*name);
	tracefs_list_free(names);
}
