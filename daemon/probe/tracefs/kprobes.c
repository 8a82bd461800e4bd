/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/tracefs/kprobes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <tracefs/tracefs.h>

#include "common/cleanup.h"
#include "daemon/probe/events/tracepoints.h"
#include "daemon/probe/kernel_types.h"

/* One write is one command.  Since 5.0 a file takes all kinds of such events: the service may write to this one. */
static int command(const char *text)
{
	const char *file =
		tracefs_file_exists(NULL, "dynamic_events") ? "dynamic_events" : "kprobe_events";
	/* Without O_APPEND, the kernel would remove all events, those of other programs, too. */
	OWN_FD int fd = tracefs_instance_file_open(NULL, file, O_WRONLY | O_APPEND | O_CLOEXEC);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* Write the offset of a member, described as {struct.member}. */
static int put_offset(FILE *to, const struct btf *kernel, const char *text)
{
	char structure[32], member[32];
	int offset = -EINVAL;

	if (sscanf(text, "{%31[^.].%31[^}]}", structure, member) == 2)
		offset = kernel_types_offset(kernel, structure, member);
	if (offset >= 0)
		fprintf(to, "%d", offset);
	return offset < 0 ? offset : 0;
}

static int put_arguments(FILE *to, const char *text)
{
	OWN_TYPES struct btf *kernel = NULL;
	int r = 0;

	for (; *text && r == 0; text++) {
		if (*text != '{') {
			fputc(*text, to);
			continue;
		}
		if (!kernel)
			kernel = kernel_types_load();
		r = kernel ? put_offset(to, kernel, text) : -ENODATA;
		text += strcspn(text, "}");
	}
	return r;
}

static int create(const struct tracepoint *point)
{
	OWN_FREE char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	int r;

	if (!to)
		return -ENOMEM;
	fprintf(to, "p:%s/%s %s ", point->system, point->name, point->function);
	r = put_arguments(to, point->arguments);
	if (fclose(to) != 0)
		return -ENOMEM;
	return r < 0 ? r : command(text);
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
	if (r == -ENODATA)
		snprintf(why, size,
			 "a kprobe on %s needs the kernel's types, and this kernel has no BTF",
			 point->function);
	else
		snprintf(why, size, "the kernel takes no kprobe on %s: %s", point->function,
			 strerror(-r));
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
