/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/proc_net.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

/* A name has no colon (dev_valid_name()), and the first value can follow the colon without a blank. */
static int parse_device(char *line, struct proc_net_device *device)
{
	char *colon = strchr(line, ':'), *name = line + strspn(line, " ");
	size_t length = colon ? (size_t)(colon - name) : 0;

	if (!length || length >= sizeof(device->name))
		return -EBADMSG;
	*device = (struct proc_net_device){0};
	memcpy(device->name, name, length);
	return sscanf(colon + 1,
		      "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64
		      "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64
		      "%" SCNu64 "%" SCNu64,
		      &device->rx_bytes, &device->rx_packets, &device->rx_errors,
		      &device->rx_dropped, &device->rx_fifo, &device->rx_frame,
		      &device->rx_compressed, &device->multicast, &device->tx_bytes,
		      &device->tx_packets, &device->tx_errors, &device->tx_dropped,
		      &device->tx_fifo, &device->collisions, &device->tx_carrier,
		      &device->tx_compressed) == 16
		       ? 0
		       : -EBADMSG;
}

int proc_net_devices(int directory,
		     int (*visit)(const struct proc_net_device *device, void *userdata),
		     void *userdata)
{
	OWN_FILE FILE *file = NULL;
	OWN_FREE char *line = NULL;
	struct proc_net_device device;
	size_t room = 0, lines = 0;
	int r = open_file(directory, "dev", &file);

	while (r == 0 && getline(&line, &room, file) > 0) {
		/* Two lines of headings. */
		if (++lines <= 2)
			continue;
		r = parse_device(line, &device);
		if (r == 0)
			r = visit(&device, userdata);
	}
	if (r < 0)
		return r;
	return ferror(file) ? -EIO : lines < 2 ? -EBADMSG : 0;
}
