/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/rocket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE "skb rides the rocket: "
#define RECORD_MAX 1024

/* The facility of the kernel's own messages; those that processes write have another one. */
#define FACILITY_KERNEL 0

/* "vif vif-0 eth0: skb rides …": the device is the last word before the message, if the driver names it. */
static void read_device(struct rocket *rocket, const char *text, const char *message)
{
	const char *end = message, *start;

	while (end > text && (end[-1] == ' ' || end[-1] == ':'))
		end--;
	start = end;
	while (start > text && start[-1] != ' ')
		start--;
	if (end == start || (size_t)(end - start) >= sizeof(rocket->device) ||
	    (end - start == 6 && !strncmp(start, "xennet", 6)))
		return;
	memcpy(rocket->device, start, (size_t)(end - start));
}

int rocket_parse(struct rocket *rocket, const char *record, size_t size)
{
	char line[RECORD_MAX];
	const char *text, *message;
	struct rocket found = {0};

	snprintf(line, sizeof(line), "%.*s", (int)(size < RECORD_MAX ? size : RECORD_MAX - 1),
		 record);
	line[strcspn(line, "\n")] = '\0';
	text = strchr(line, ';');
	if (!text || strtoul(line, NULL, 10) >> 3 != FACILITY_KERNEL)
		return -ENOENT;
	text++;
	message = strstr(text, MESSAGE);
	if (!message ||
	    sscanf(message, MESSAGE "%u slots, %u bytes", &found.slots, &found.bytes) != 2)
		return -ENOENT;
	read_device(&found, text, message);
	found.time_ns = rocket->time_ns;
	*rocket = found;
	return 0;
}
