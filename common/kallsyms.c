/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/kallsyms.h"

#include <stdlib.h>

const char *kallsyms_path(void)
{
	const char *path = getenv("NETFLOWD_KALLSYMS");

	return path && path[0] ? path : "/proc/kallsyms";
}
