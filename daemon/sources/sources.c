/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/sources.h"

#include "daemon/probe/backend.h"

const char *sources_recorded(const struct sources *sources)
{
	struct backend_recording shown;

	return sources->backend->ops->recording(sources->backend, &shown)
		       ? "a recording is shown, which does not have it"
		       : NULL;
}
