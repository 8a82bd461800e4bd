/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/netns_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/nearest.h"
#include "common/netns.h"
#include "common/time.h"
#include "daemon/kernel/netns_cookie.h"

/*
 * NET_NS_INIT_INO in include/uapi/linux/nsfs.h, 6.18 and later.  On earlier kernels no network namespace has this
 * number: theirs begin at PROC_DYNAMIC_FIRST, 0xf0000000.
 */
#define INIT_INODE 0xeffffff9U

/* The age of a reading at which a number without a name causes a new one, changes or not. */
#define MISS_NS TIME_NS_PER_SECOND
/* The shortest time from one reading to the next, for directories that change all the time. */
#define PAUSE_NS (TIME_NS_PER_SECOND / 50)
/* To read the cookie of a name that a client asks for. */
#define COOKIE_ATTEMPTS 4

struct entry {
	uint32_t inode;
	unsigned int directory;
	char *name;
};

/* Once complete, the entries are sorted by inode number and then by name. */
struct table {
	struct entry *entries;
	size_t count, room;
};

struct directory {
	const char *path;
	/* Of the directory that was last read; both 0: it could not be read. */
	dev_t dev;
	ino_t ino;
	/* Its mtime then; 0: so recent that a later change might not show. */
	struct timespec changed;
};

struct netns_names {
	struct directory directories[NETNS_NAMES_DIRECTORIES_MAX];
	size_t directory_count;
	uint32_t init; /* the host's namespace; 0: not known */
	dev_t nsfs;    /* 0: not known, and no name is found */
	struct table table;
	/* The reading in progress: the directory, its index, and the names found so far. */
	DIR *dir;
	unsigned int reading; /* directory_count: none */
	struct table found;
	uint64_t begun_ns; /* when the last reading began; 0: never */
};

/* ---- tables ------------------------------------------------------------- */

static void table_clear(struct table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->entries[i].name);
	free(table->entries);
	*table = (struct table){0};
}

static int table_add(struct table *table, uint32_t inode, unsigned int directory, const char *name)
{
	OWN_FREE char *copy = NULL;
	int r;

	if (table->count >= NETNS_NAMES_MAX)
		return -ENOSPC;
	r = ARRAY_GROW(table->entries, table->count, table->room);
	if (r < 0)
		return r;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	table->entries[table->count++] =
		(struct entry){.inode = inode, .directory = directory, .name = TAKE_PTR(copy)};
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* The index of the first entry with this number or a larger one. */
static size_t table_position(const struct table *table, uint32_t inode)
{
	return LOWER_BOUND(entry, table->entries, table->count, entry->inode < inode);
}

/* ---- files -------------------------------------------------------------- */

/* Get the attributes that are in memory, without asking a file server or mounting anything. */
static int look(int dir, const char *path, int flags, struct statx *file)
{
	flags |= AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
	return statx(dir, path, flags, STATX_TYPE | STATX_INO | STATX_MTIME, file) < 0 ? -errno : 0;
}

static dev_t device_of(const struct statx *file)
{
	return makedev(file->stx_dev_major, file->stx_dev_minor);
}

/* "/proc/4711/ns/net".  Any other link might lead to a file server that does not answer. */
static bool is_proc_link(int dir, const char *path)
{
	char target[64];
	ssize_t len = readlinkat(dir, path, target, sizeof(target) - 1);
	int end = 0;

	if (len < 0)
		return false;
	target[len] = '\0';
	return sscanf(target, "/proc/%*[0-9]/ns/net%n", &end) == 0 && end == len;
}

/* The number of the namespace that a file, or the target of a link, is.  -ENOENT: it is not one. */
static int netns_of(const struct netns_names *names, int dir, const char *path, int flags,
		    uint32_t *inode)
{
	struct statx file;
	int r;

	r = look(dir, path, flags, &file);
	if (r < 0)
		return r;
	if (device_of(&file) != names->nsfs || !names->nsfs)
		return -ENOENT;
	*inode = (uint32_t)file.stx_ino;
	return 0;
}

/* The same for a file in a directory of names. */
static int netns_of_name(const struct netns_names *names, int dir, const char *path,
			 uint32_t *inode)
{
	int flags = is_proc_link(dir, path) ? 0 : AT_SYMLINK_NOFOLLOW;

	return netns_of(names, dir, path, flags, inode);
}

/* ---- reading the directories ------------------------------------------------ */

static bool is_read_already(const struct netns_names *names, const struct statx *dir)
{
	for (unsigned int i = 0; i < names->reading; i++)
		if (names->directories[i].dev == device_of(dir) &&
		    names->directories[i].ino == dir->stx_ino)
			return true;
	return false;
}

/* The mtime, or 0 if it may hide a later change: its resolution is the kernel's tick, at most 10 ms. */
static struct timespec time_of(const struct statx *dir)
{
	struct timespec changed = {dir->stx_mtime.tv_sec, dir->stx_mtime.tv_nsec}, now;
	int64_t age;

	clock_gettime(CLOCK_REALTIME, &now);
	age = (int64_t)(now.tv_sec - changed.tv_sec) * (int64_t)TIME_NS_PER_SECOND +
	      (now.tv_nsec - changed.tv_nsec);
	return age >= 0 && age < (int64_t)PAUSE_NS ? (struct timespec){0} : changed;
}

/* Open the directory to read next.  If that fails, it is skipped. */
static void open_directory(struct netns_names *names)
{
	struct directory *directory = names->directories + names->reading;
	OWN_FD int fd = open(directory->path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	struct statx dir;

	directory->dev = 0;
	directory->ino = 0;
	if (fd < 0 || look(fd, "", AT_EMPTY_PATH, &dir) < 0 || is_read_already(names, &dir))
		return;
	names->dir = fdopendir(fd);
	if (!names->dir)
		return;
	(void)TAKE_FD(fd);
	directory->dev = device_of(&dir);
	directory->ino = dir.stx_ino;
	directory->changed = time_of(&dir);
}

static void close_directory(struct netns_names *names)
{
	if (names->dir)
		closedir(names->dir);
	names->dir = NULL;
}

static void begin(struct netns_names *names, uint64_t now)
{
	names->begun_ns = now;
	names->reading = 0;
	if (names->directory_count)
		open_directory(names);
}

static void finish(struct netns_names *names)
{
	if (names->found.count)
		qsort(names->found.entries, names->found.count, sizeof(struct entry), compare);
	table_clear(&names->table);
	names->table = names->found;
	names->found = (struct table){0};
}

/* Read one file, or continue with the next directory. */
static void step(struct netns_names *names)
{
	struct dirent *file = names->dir ? readdir(names->dir) : NULL;
	uint32_t inode;

	if (!file) {
		close_directory(names);
		if (++names->reading < names->directory_count)
			open_directory(names);
		return;
	}
	if (file->d_type == DT_DIR || file->d_name[0] == '.')
		return;
	/* A name that does not fit in the table is skipped; its namespace is shown as a number. */
	if (netns_of_name(names, dirfd(names->dir), file->d_name, &inode) == 0)
		(void)table_add(&names->found, inode, names->reading, file->d_name);
}

/* Continue the reading.  When it is complete, its table replaces the current one. */
static void go_on(struct netns_names *names)
{
	for (int i = 0; i < NETNS_NAMES_STEP && names->reading < names->directory_count; i++)
		step(names);
	if (names->reading >= names->directory_count)
		finish(names);
}

static bool has_changed(const struct directory *directory)
{
	struct statx dir;

	if (look(AT_FDCWD, directory->path, 0, &dir) < 0)
		return false; /* noticed after MISS_NS */
	/* Not read, because it is the same directory as another one. */
	if (!directory->ino)
		return false;
	return device_of(&dir) != directory->dev || dir.stx_ino != directory->ino ||
	       dir.stx_mtime.tv_sec != directory->changed.tv_sec ||
	       dir.stx_mtime.tv_nsec != directory->changed.tv_nsec;
}

static bool is_due(const struct netns_names *names, uint64_t now)
{
	uint64_t age = now - names->begun_ns;

	if (!names->begun_ns || age >= MISS_NS)
		return true;
	if (age < PAUSE_NS)
		return false;
	for (size_t i = 0; i < names->directory_count; i++)
		if (has_changed(names->directories + i))
			return true;
	return false;
}

static void read_directories(struct netns_names *names, uint64_t now)
{
	bool under_way = names->reading < names->directory_count;

	if (!under_way && !is_due(names, now))
		return;
	if (!under_way)
		begin(names, now);
	go_on(names);
}

/* ---- names -------------------------------------------------------------- */

int netns_names_new(struct netns_names **names, const char *const *directories, size_t count,
		    const char *init)
{
	struct netns_names *n = calloc(1, sizeof(*n));
	uint32_t own_inode = 0;
	struct statx own;

	if (!n)
		return -ENOMEM;
	for (size_t i = 0; i < count && n->directory_count < NETNS_NAMES_DIRECTORIES_MAX; i++)
		if (directories[i])
			n->directories[n->directory_count++].path = directories[i];
	n->reading = (unsigned int)n->directory_count;
	if (look(AT_FDCWD, "/proc/self/ns/net", 0, &own) == 0) {
		n->nsfs = device_of(&own);
		own_inode = (uint32_t)own.stx_ino;
	}
	/* Requires CAP_SYS_PTRACE.  Without it the number is known if it is the kernel's fixed one. */
	if (init && netns_of(n, AT_FDCWD, init, 0, &n->init) < 0 && own_inode == INIT_INODE)
		n->init = INIT_INODE;
	*names = n;
	return 0;
}

void netns_names_free(struct netns_names **names)
{
	if (!*names)
		return;
	close_directory(*names);
	table_clear(&(*names)->found);
	table_clear(&(*names)->table);
	free(*names);
	*names = NULL;
}

/* The kernel uses a free number again at once, so the file of an entry is checked again. */
static bool still_so(const struct netns_names *names, const struct entry *entry)
{
	char path[PATH_MAX];
	uint32_t inode;
	int len = snprintf(path, sizeof(path), "%s/%s", names->directories[entry->directory].path,
			   entry->name);

	if (len < 0 || (size_t)len >= sizeof(path))
		return false;
	return netns_of_name(names, AT_FDCWD, path, &inode) == 0 && inode == entry->inode;
}

static const struct entry *find(const struct netns_names *names, uint32_t inode)
{
	const struct table *table = &names->table;

	for (size_t i = table_position(table, inode);
	     i < table->count && table->entries[i].inode == inode; i++)
		if (still_so(names, table->entries + i))
			return &table->entries[i];
	return NULL;
}

bool netns_names_is_host(const struct netns_names *names, uint32_t inode)
{
	return inode == INIT_INODE || inode == names->init;
}

/* The same after another reading of the directories, if that is due. */
static const struct entry *find_or_read(struct netns_names *names, uint32_t inode, uint64_t now)
{
	const struct entry *found = find(names, inode);

	if (found)
		return found;
	read_directories(names, now);
	return find(names, inode);
}

const char *netns_names_find(struct netns_names *names, uint32_t inode, uint64_t now,
			     char name[static NAME_MAX + 1])
{
	const struct entry *found;

	if (!inode)
		return NULL;
	if (netns_names_is_host(names, inode)) {
		strcpy(name, NETNS_NAMES_HOST);
		return name;
	}
	found = find_or_read(names, inode, now);
	if (!found)
		return NULL;
	snprintf(name, NAME_MAX + 1, "%s", found->name);
	return name;
}

/* ---- identities --------------------------------------------------------- */

/* Open the file of an entry; -ESTALE: it is not that namespace's file any more. */
static int open_entry(const struct netns_names *names, const struct entry *entry)
{
	char path[PATH_MAX];
	struct statx file;
	OWN_FD int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", names->directories[entry->directory].path,
		 entry->name);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || look(fd, "", AT_EMPTY_PATH, &file) < 0 || device_of(&file) != names->nsfs ||
	    (uint32_t)file.stx_ino != entry->inode)
		return -ESTALE;
	return TAKE_FD(fd);
}

/* find() has checked that the file is a namespace's, and not one of a server that may not answer. */
static int compare_cookie(const struct netns_names *names, const struct entry *entry, uint32_t id)
{
	OWN_FD int fd = -1;
	uint64_t cookie;
	int r;

	if (id == entry->inode) /* nf_netns_id() without a cookie */
		return NETNS_NAMES_CLAIMED;
	fd = open_entry(names, entry);
	if (fd < 0)
		return -EAGAIN;
	r = netns_cookie(fd, &cookie);
	if (r < 0)
		return r == -ENOPROTOOPT || r == -EPERM ? NETNS_NAMES_CLAIMED : -EAGAIN;
	return (uint32_t)cookie == id ? NETNS_NAMES_PROVEN : -ESTALE;
}

int netns_names_identify(struct netns_names *names, uint32_t id, uint32_t inode, uint64_t now,
			 char name[static NAME_MAX + 1])
{
	const struct entry *found;
	int r;

	if (!inode)
		return -ENOENT;
	/* The host's own namespace is never deleted. */
	if (netns_names_is_host(names, inode)) {
		strcpy(name, NETNS_NAMES_HOST);
		return NETNS_NAMES_PROVEN;
	}
	found = find_or_read(names, inode, now);
	if (!found)
		return -ENOENT;
	r = compare_cookie(names, found, id);
	if (r >= 0)
		snprintf(name, NAME_MAX + 1, "%s", found->name);
	return r;
}

/* ---- numbers ------------------------------------------------------------ */

/* Namespaces of all kinds are files of nsfs, and only the kernel says which kind one is. */
static bool is_network(const char *path)
{
	OWN_FD int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return fd >= 0 && ioctl(fd, NS_GET_NSTYPE) == CLONE_NEWNET;
}

static int number_of_file_in(const struct netns_names *names, size_t directory, const char *name,
			     uint32_t *inode)
{
	char path[PATH_MAX];
	uint32_t number;
	int len = snprintf(path, sizeof(path), "%s/%s", names->directories[directory].path, name);

	if (len < 0 || (size_t)len >= sizeof(path) ||
	    netns_of_name(names, AT_FDCWD, path, &number) < 0 || !is_network(path))
		return -ENOENT;
	*inode = number;
	return 0;
}

static int number_of_file(const struct netns_names *names, const char *name, uint32_t *inode)
{
	for (size_t i = 0; i < names->directory_count; i++)
		if (number_of_file_in(names, i, name, inode) == 0)
			return 0;
	return -ENOENT;
}

int netns_names_number(const struct netns_names *names, const char *text, uint32_t *inode)
{
	uint32_t number;
	int r = netns_parse(text, &number);

	if (r < 0)
		return r;
	if (!number && !strcmp(text, NETNS_NAMES_HOST)) {
		if (!names->init)
			return -EACCES;
		number = names->init;
	}
	if (!number)
		return number_of_file(names, text, inode);
	*inode = number;
	return 0;
}

/* A host that is very busy may need more than one attempt: without the cookie, a name would be any namespace's. */
static uint32_t cookie_for_name(int fd)
{
	uint64_t cookie;
	int r = -ETIMEDOUT;

	for (int i = 0; i < COOKIE_ATTEMPTS && r == -ETIMEDOUT; i++)
		r = netns_cookie(fd, &cookie);
	return r == 0 ? (uint32_t)cookie : 0;
}

uint32_t netns_names_id(const struct netns_names *names, const char *text)
{
	struct entry entry = {.name = (char *)text};
	uint32_t number;

	if (netns_parse(text, &number) < 0 || number || !strcmp(text, NETNS_NAMES_HOST))
		return 0;
	for (size_t i = 0; i < names->directory_count; i++) {
		OWN_FD int fd = -1;

		entry.directory = (unsigned int)i;
		if (number_of_file_in(names, i, text, &entry.inode) < 0)
			continue;
		fd = open_entry(names, &entry);
		return fd >= 0 ? cookie_for_name(fd) : 0;
	}
	return 0;
}

static void consider(struct nearest *search, const char *name, char best[static NAME_MAX + 1])
{
	nearest_consider(search, name);
	/* The candidate is valid only during the call. */
	if (search->best == name) {
		snprintf(best, NAME_MAX + 1, "%s", name);
		search->best = best;
	}
}

static void consider_directory(struct nearest *search, const char *path,
			       char best[static NAME_MAX + 1])
{
	DIR *dir = opendir(path);
	const struct dirent *file;

	for (int i = 0; dir && i < NETNS_NAMES_MAX && (file = readdir(dir)); i++)
		if (file->d_type != DT_DIR && file->d_name[0] != '.' &&
		    strcmp(file->d_name, search->word) != 0)
			consider(search, file->d_name, best);
	if (dir)
		closedir(dir);
}

const char *netns_names_nearest(const struct netns_names *names, const char *text,
				char nearest[static NAME_MAX + 1])
{
	struct nearest search;
	uint32_t inode;

	nearest_init(&search, text);
	if (names->init)
		consider(&search, NETNS_NAMES_HOST, nearest);
	for (size_t i = 0; i < names->directory_count; i++)
		consider_directory(&search, names->directories[i].path, nearest);
	/* A file that `ip netns` left behind is no namespace. */
	return search.best && netns_names_number(names, search.best, &inode) == 0 ? nearest : NULL;
}
