/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/netns.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

int netns_parse(const char *text, uint32_t *inode)
{
	size_t length = strlen(text);
	unsigned long long number;

	if (!length || length > NAME_MAX)
		return -EINVAL;
	if (strspn(text, "0123456789") < length) {
		/* A name is that of a file in one directory; these lead out of it. */
		if (strchr(text, '/') || !strcmp(text, ".") || !strcmp(text, ".."))
			return -EINVAL;
		*inode = 0;
		return 0;
	}
	errno = 0;
	number = strtoull(text, NULL, 10);
	if (errno || !number || number > UINT32_MAX)
		return -EINVAL;
	*inode = (uint32_t)number;
	return 0;
}
