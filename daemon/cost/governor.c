/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/cost/governor.h"

#include <errno.h>
#include <stdlib.h>

struct governor {
	struct backend *backend;
	struct governor_settings settings;
};

int governor_new(struct governor **governor, struct loop *loop, struct backend *backend,
		 const struct governor_settings *settings)
{
	struct governor *fresh = calloc(1, sizeof(*fresh));

	(void)loop;
	if (!fresh)
		return -ENOMEM;
	fresh->backend = backend;
	fresh->settings = *settings;
	*governor = fresh;
	return 0;
}

void governor_free(struct governor **governor)
{
	free(*governor);
	*governor = NULL;
}

void governor_set(struct governor *governor, const struct governor_settings *settings)
{
	governor->settings.host_budget = settings->host_budget;
	governor->settings.cpu_budget = settings->cpu_budget;
}

void governor_limit(struct governor *governor, enum backend_level level)
{
	governor->backend->ops->set_level(governor->backend, level);
}
