/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/own_device.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "daemon/kernel/netns_cookie.h"

#define DIRECTORY "/sys/class/net/%.15s" /* IF_NAMESIZE */
#define PATH_LENGTH 64

/* Whether the directory is that of this device: sysfs shows the namespace in which it was mounted. */
static int check_index(const char *name, unsigned int index)
{
	OWN_FILE FILE *file = NULL;
	char path[PATH_LENGTH];
	unsigned int found;

	snprintf(path, sizeof(path), DIRECTORY "/ifindex", name);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	return fscanf(file, "%u", &found) == 1 && found == index ? 0 : -ESTALE;
}

int own_device(const char *name, uint32_t *netns_id, uint32_t *number)
{
	/* It fails for a name that is no name of a device, and so could be part of a path. */
	unsigned int index = if_nametoindex(name);
	char directory[PATH_LENGTH];
	struct stat file;
	uint64_t cookie;
	int r;

	if (!index)
		return -ENODEV;
	snprintf(directory, sizeof(directory), DIRECTORY, name);
	r = check_index(name, index);
	if (r == 0)
		r = netns_cookie_own(&cookie);
	if (r < 0)
		return r;
	if (stat(directory, &file) < 0)
		return -errno;
	*netns_id = (uint32_t)cookie;
	*number = (uint32_t)file.st_ino;
	return 0;
}
