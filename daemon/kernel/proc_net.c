/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/proc_net.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

static int open_file(int directory, const char *name, FILE **file)
{
	OWN_FD int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	FILE *fresh = fd < 0 ? NULL : fdopen(fd, "r");

	if (!fresh)
		return -errno;
	(void)TAKE_FD(fd);
	*file = fresh;
	return 0;
}

/* netstat_seq_show() in net/ipv4/proc.c writes a line of names, and below it one of values, for each group. */
static int pair(char *names, char *values,
		void (*visit)(const char *name, uint64_t value, void *userdata), void *userdata)
{
	char *name_at, *value_at;
	const char *name = strtok_r(names, " \n", &name_at);
	const char *value = strtok_r(values, " \n", &value_at);

	while (name && value) {
		name = strtok_r(NULL, " \n", &name_at);
		value = strtok_r(NULL, " \n", &value_at);
		if (name && value)
			visit(name, strtoull(value, NULL, 10), userdata);
	}
	return name || value ? -EBADMSG : 0;
}

static bool is_of_group(const char *line, const char *group)
{
	size_t length = strlen(group);

	return !strncmp(line, group, length) && line[length] == ':';
}

int proc_net_counters(int directory, const char *group,
		      void (*visit)(const char *name, uint64_t value, void *userdata),
		      void *userdata)
{
	OWN_FILE FILE *file = NULL;
	OWN_FREE char *names = NULL, *values = NULL;
	size_t names_room = 0, values_room = 0;
	int r = open_file(directory, "netstat", &file);

	if (r < 0)
		return r;
	while (getline(&names, &names_room, file) > 0) {
		if (getline(&values, &values_room, file) <= 0)
			return -EBADMSG;
		if (is_of_group(names, group))
			return is_of_group(values, group) ? pair(names, values, visit, userdata)
							  : -EBADMSG;
	}
	return ferror(file) ? -EIO : -EBADMSG;
}

/* proto_seq_printf() in net/core/sock.c: the name, the size of a socket, and the number of sockets. */
int proc_net_sockets(int directory, const char *protocol, uint32_t *sockets)
{
	OWN_FILE FILE *file = NULL;
	OWN_FREE char *line = NULL;
	size_t room = 0;
	int r = open_file(directory, "protocols", &file);

	if (r < 0)
		return r;
	*sockets = 0;
	while (getline(&line, &room, file) > 0) {
		char name[64];
		unsigned int count;

		if (sscanf(line, "%63s %*u %u", name, &count) == 2 && !strcmp(name, protocol))
			*sockets = count;
	}
	return ferror(file) ? -EIO : 0;
}
