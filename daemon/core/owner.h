/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cgroup that a packet is attributed to, and the names in its path. */
#ifndef DAEMON_CORE_OWNER_H
#define DAEMON_CORE_OWNER_H

#include <stdbool.h>

/* All strings are borrowed. */
struct owner {
	const char *cgroup;    /* its path */
	const char *unit;      /* the systemd unit in that path; NULL: none */
	const char *container; /* the container in that path; NULL: none */
	const char *pod;       /* the UID of the Kubernetes pod in that path; NULL: none */
	bool by_netns; /* of the processes in the packet's namespace; otherwise of its socket or task */
};

#endif
