/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/netns_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "daemon/kernel/netns_cookie.h"

struct state {
	struct netns_walk *walk;
	const atomic_bool *stop;
	int (*visit)(const struct netns_visit *at, void *userdata);
	void *userdata;
	int proc;
	uint32_t *visited; /* sorted inode numbers */
	size_t count, room;
	size_t seen, hidden; /* processes */
};

static bool is_marked(const struct state *state, uint32_t inode)
{
	size_t at = LOWER_BOUND(one, state->visited, state->count, *one < inode);

	return at < state->count && state->visited[at] == inode;
}

/* 1: it was not visited yet; 0: it was; -ENOMEM. */
static int mark(struct state *state, uint32_t inode)
{
	size_t at = LOWER_BOUND(one, state->visited, state->count, *one < inode);

	if (is_marked(state, inode))
		return 0;
	if (ARRAY_GROW(state->visited, state->count, state->room) < 0)
		return -ENOMEM;
	memmove(&state->visited[at + 1], &state->visited[at],
		(state->count - at) * sizeof(state->visited[0]));
	state->visited[at] = inode;
	state->count++;
	return 1;
}

/* Enter the namespace that `fd` is, and visit it.  `proc_net` is -1 if no process is known in it. */
static int enter(struct state *state, int fd, uint32_t inode, int proc_net)
{
	struct netns_visit at = {.inode = inode, .proc_net = proc_net};
	OWN_FD int own = -1;
	int r;

	state->walk->namespaces++;
	if (state->walk->namespaces - state->walk->skipped > NETNS_WALK_MAX) {
		state->walk->skipped++;
		return 0;
	}
	r = netns_cookie_enter(fd, &at.cookie);
	/* Kernels before 5.14 have no cookies to show, but the thread is in the namespace. */
	at.entered = r == 0 || r == -ENOPROTOOPT;
	if (!at.entered) {
		state->walk->refused++;
		state->walk->refused_error = r;
	}
	if (at.entered)
		own = openat(state->proc, "thread-self/net", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (own >= 0)
		at.proc_net = own;
	return at.entered || at.proc_net >= 0 ? state->visit(&at, state->userdata) : 0;
}

/* The namespace of the calling thread, before it enters others. */
static int visit_own(struct state *state)
{
	OWN_FD int fd = openat(state->proc, "thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	OWN_FD int net = openat(state->proc, "thread-self/net", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct netns_visit at = {.entered = true, .proc_net = net};
	struct stat file;
	int r;

	if (fd < 0 || fstat(fd, &file) < 0)
		return -errno;
	at.inode = (uint32_t)file.st_ino;
	/* Entering it again needs CAP_SYS_ADMIN, and only shows the cookie. */
	if (netns_cookie_enter(fd, &at.cookie) < 0)
		at.cookie = 0;
	r = mark(state, at.inode);
	if (r < 0)
		return r;
	state->walk->namespaces++;
	return state->visit(&at, state->userdata);
}

static int visit_process(struct state *state, const char *name)
{
	OWN_FD int process = openat(state->proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	OWN_FD int fd = -1, net = -1;
	struct stat file;
	int r;

	if (process < 0)
		return 0;
	if (fstatat(process, "ns/net", &file, 0) < 0) {
		state->hidden += errno == EACCES || errno == EPERM;
		return 0;
	}
	state->seen++;
	if (is_marked(state, (uint32_t)file.st_ino))
		return 0;
	/* The process can have ended or entered another namespace since then. */
	fd = openat(process, "ns/net", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &file) < 0)
		return 0;
	r = mark(state, (uint32_t)file.st_ino);
	if (r <= 0)
		return r;
	net = openat(process, "net", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return enter(state, fd, (uint32_t)file.st_ino, net);
}

static int visit_processes(struct state *state, DIR *dir)
{
	const struct dirent *file;
	int r = 0;

	while (r == 0 && (file = readdir(dir))) {
		if (atomic_load(state->stop))
			return -ECANCELED;
		if (file->d_name[0] >= '1' && file->d_name[0] <= '9')
			r = visit_process(state, file->d_name);
	}
	return r;
}

/* A name is a file in the directory of `ip netns`, on which the namespace is mounted. */
static int visit_names(struct state *state, DIR *dir)
{
	const struct dirent *file;
	int r = 0;

	while (r == 0 && (file = readdir(dir))) {
		OWN_FD int fd = -1;
		struct stat name, nsfs;

		if (atomic_load(state->stop))
			return -ECANCELED;
		if (file->d_name[0] == '.')
			continue;
		fd = openat(dirfd(dir), file->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0 || fstat(fd, &name) < 0 ||
		    fstatat(state->proc, "self/ns/net", &nsfs, 0) < 0 || name.st_dev != nsfs.st_dev)
			continue;
		r = mark(state, (uint32_t)name.st_ino);
		if (r > 0)
			r = enter(state, fd, (uint32_t)name.st_ino, -1);
	}
	return r;
}

int netns_walk(struct netns_walk *walk, const char *proc, const atomic_bool *stop,
	       int (*visit)(const struct netns_visit *at, void *userdata), void *userdata)
{
	static const char *const names[] = {"/run/netns", "/run/docker/netns"};
	struct state state = {.walk = walk, .stop = stop, .visit = visit, .userdata = userdata};
	DIR *dir = opendir(proc);
	int r;

	if (!dir)
		return -errno;
	*walk = (struct netns_walk){0};
	state.proc = dirfd(dir);
	r = visit_own(&state);
	if (r == 0)
		r = visit_processes(&state, dir);
	walk->blind = state.hidden > state.seen;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++) {
		DIR *named = opendir(names[i]);

		if (named) {
			r = visit_names(&state, named);
			closedir(named);
		}
	}
	closedir(dir);
	free(state.visited);
	return r;
}
