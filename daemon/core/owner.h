/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cgroup that a packet is attributed to, and the names in its path. */
#ifndef DAEMON_CORE_OWNER_H
#define DAEMON_CORE_OWNER_H

#include <limits.h>
#include <stdbool.h>

/* All strings are borrowed. */
struct owner {
	const char *cgroup;    /* its path */
	const char *unit;      /* the systemd unit in that path; NULL: none */
	const char *container; /* the container in that path; NULL: none */
	const char *pod;       /* the UID of the Kubernetes pod in that path; NULL: none */
	bool by_netns; /* of the processes in the packet's namespace; otherwise of its socket or task */
};

/* ---- what a path says ---------------------------------------------------------- */

/* Sizes of the buffers, with the NUL byte.  Each function returns its buffer; NULL: the path has no such name. */
#define OWNER_NAME_MAX (NAME_MAX + 1)
#define OWNER_POD_MAX 37 /* a UID has 36 characters */

/*
 * The innermost systemd unit in a cgroup's path: "/system.slice/nginx.service" is "nginx.service",
 * "…/user@1000.service/app.slice/foo.scope" is "foo.scope".  Escapes ("\x2d") stay as systemd writes them.
 */
const char *owner_unit(const char *path, char unit[static OWNER_NAME_MAX]);

/*
 * The innermost container in a cgroup's path: the first 12 digits of its id, as docker, podman and crictl show it; for
 * a container of LXC or systemd-nspawn its name.
 */
const char *owner_container(const char *path, char container[static OWNER_NAME_MAX]);

/*
 * The innermost Kubernetes pod in a cgroup's path: its UID, with dashes as in the API.  The UID of a static pod has 32
 * digits without dashes.
 */
const char *owner_pod(const char *path, char pod[static OWNER_POD_MAX]);

struct owner_names {
	char unit[OWNER_NAME_MAX], container[OWNER_NAME_MAX], pod[OWNER_POD_MAX];
};

/* All of them; the owner borrows the path and the names. */
void owner_of_cgroup(struct owner *owner, const char *path, bool by_netns,
		     struct owner_names *names);

#endif
