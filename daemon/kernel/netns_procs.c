/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/netns_procs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/time.h"

struct netns_procs {
	DIR *proc;
	uint32_t *read; /* sorted inode numbers of the namespaces that were read */
	size_t count, room;
};

int netns_procs_new(struct netns_procs **procs, const char *proc)
{
	struct netns_procs *fresh = calloc(1, sizeof(*fresh));
	int r = 0;

	if (!fresh)
		return -ENOMEM;
	fresh->proc = opendir(proc);
	if (!fresh->proc) {
		r = -errno;
		free(fresh);
		return r;
	}
	*procs = fresh;
	return 0;
}

void netns_procs_free(struct netns_procs **procs)
{
	struct netns_procs *old = *procs;

	if (!old)
		return;
	closedir(old->proc);
	free(old->read);
	free(old);
	*procs = NULL;
}

/* Where a number is, or would be inserted. */
static size_t find(const struct netns_procs *procs, uint32_t inode, bool *known)
{
	size_t at = LOWER_BOUND(one, procs->read, procs->count, *one < inode);

	*known = at < procs->count && procs->read[at] == inode;
	return at;
}

static int inode_of(int process, uint32_t *inode)
{
	struct stat file;

	if (fstatat(process, "ns/net", &file, 0) < 0)
		return -errno;
	*inode = (uint32_t)file.st_ino;
	return 0;
}

/* 1: the namespace was read; 0: not by this process. */
static int read_by(int process, uint32_t inode, const struct netns_procs_visitor *visitor)
{
	OWN_FD int net = openat(process, "net", O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint32_t after;
	int r;

	if (net < 0)
		return 0;
	r = visitor->read(inode, net, visitor->userdata);
	if (r == 0 && inode_of(process, &after) == 0 && after == inode)
		return 1;
	visitor->forget(visitor->userdata);
	return r == -ENOMEM ? r : 0;
}

static int visit(struct netns_procs *procs, const char *name,
		 const struct netns_procs_visitor *visitor)
{
	OWN_FD int process = openat(dirfd(procs->proc), name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint32_t inode;
	bool known;
	size_t at;
	int r;

	/* It has ended, or is hidden from this process. */
	if (process < 0 || inode_of(process, &inode) < 0)
		return 0;
	at = find(procs, inode, &known);
	if (known)
		return 0;
	if (ARRAY_GROW(procs->read, procs->count, procs->room) < 0)
		return -ENOMEM;
	r = read_by(process, inode, visitor);
	if (r <= 0)
		return r;
	memmove(&procs->read[at + 1], &procs->read[at],
		(procs->count - at) * sizeof(procs->read[0]));
	procs->read[at] = inode;
	procs->count++;
	return 0;
}

int netns_procs_step(struct netns_procs *procs, uint64_t deadline_ns,
		     const struct netns_procs_visitor *visitor)
{
	const struct dirent *file;

	while ((file = readdir(procs->proc))) {
		int r = 0;

		if (file->d_name[0] >= '1' && file->d_name[0] <= '9')
			r = visit(procs, file->d_name, visitor);
		if (r < 0)
			return r;
		if (time_monotonic() >= deadline_ns)
			return 1;
	}
	return 0;
}
