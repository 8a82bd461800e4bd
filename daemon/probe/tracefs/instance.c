/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/tracefs/instance.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <mntent.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs/tracefs.h>

#include "common/cleanup.h"
#include "common/time.h"
#include "common/version.h"
#include "daemon/probe/events/tracepoints.h"
#include "daemon/probe/exclusion.h"
#include "daemon/probe/tracefs/instance_internal.h"
#include "daemon/probe/tracefs/kprobes.h"

#define PREFIX "netflowd-"
/* A reader is woken when this share of a ring buffer is full.  The kernel's own value is 50 %. */
#define WAKE_PERCENT "10"
/* Larger pages of a ring buffer that has room for many. */
#define PAGE_KIB 32
#define PAGES_MIN 16
/*
 * After its events were on, the kernel keeps an instance busy for a moment.  An instance that another process left
 * behind gets fewer attempts: it may be in use.
 */
#define BUSY_PAUSE_US 20000
#define OWN_ATTEMPTS 50
#define STALE_ATTEMPTS 5

/* ---- files --------------------------------------------------------------------------------- */

int instance_put(const struct instance *instance, const char *path, const char *text)
{
	OWN_FD int fd = tracefs_instance_file_open(instance->kernel, path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -errno;
	return 0;
}

char *instance_read(const struct instance *instance, const char *path, ...)
{
	OWN_FREE char *name = NULL;
	va_list list;
	int len;

	va_start(list, path);
	len = vasprintf(&name, path, list);
	va_end(list);
	if (len < 0) {
		name = NULL;
		return NULL;
	}
	return tracefs_instance_file_read(
		tracefs_file_exists(instance->kernel, name) ? instance->kernel : NULL, name, NULL);
}

int instance_open_pages(const struct instance *instance, unsigned int cpu)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_pipe_raw", cpu);
	fd = tracefs_instance_file_open(instance->kernel, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

char **instance_builtin_events(void)
{
	return tracefs_system_events(NULL, "ftrace");
}

void instance_free_names(char **names)
{
	tracefs_list_free(names);
}

/* ---- who may trace ------------------------------------------------------------------------- */

static int explain(char *error, const char *path, const char *purpose, int r)
{
	if (r == -EACCES || r == -EROFS)
		return refusal(
			error, r,
			"cannot use %s: %s: only root may use the kernel's trace events; %s", path,
			r == -EACCES ? "permission denied" : strerror(-r),
			strcmp(purpose, INSTANCE_LIVE) != 0
				? "run this as root"
				: "a service needs the drop-in tracefs.conf: see netflowd(8)");
	if (r == -EPERM)
		return refusal(
			error, r,
			"cannot use %s: the kernel is locked down and forbids tracing; see `cat /sys/kernel/security/lockdown`",
			path);
	return refusal(
		error, r,
		"cannot use %s: %s; mount it with `mount -t tracefs nodev /sys/kernel/tracing`",
		path, strerror(-r));
}

/* Where tracefs is mounted, libtracefs finds it; elsewhere it would mount it. */
static bool is_mounted(void)
{
	FILE *mounts = setmntent("/proc/mounts", "re");
	const struct mntent *entry;
	bool found = false;

	while (mounts && !found && (entry = getmntent(mounts)))
		found = !strcmp(entry->mnt_type, "tracefs") || !strcmp(entry->mnt_type, "debugfs");
	if (mounts)
		endmntent(mounts);
	return found;
}

static int check_tracefs(const char *purpose, char *error)
{
	const char *directory = is_mounted() ? tracefs_tracing_dir() : NULL;
	char instances[256];

	if (!directory)
		return refusal(
			error, -ENOENT,
			"tracefs is not mounted, and a recording needs the kernel's trace events; run `mount -t tracefs nodev /sys/kernel/tracing`");
	snprintf(instances, sizeof(instances), "%s/instances", directory);
	/* With the rights that mkdir(2) would have: those of the effective user, and the capabilities. */
	if (faccessat(AT_FDCWD, instances, W_OK | X_OK, AT_EACCESS) < 0)
		return explain(error, errno == ENOENT ? directory : instances, purpose, -errno);
	return 0;
}

static int remove_instance(struct tracefs_instance *kernel, unsigned int attempts)
{
	while (tracefs_instance_destroy(kernel) < 0) {
		if (errno != EBUSY || !--attempts)
			return -errno;
		usleep(BUSY_PAUSE_US);
	}
	return 0;
}

/* ---- instances that were left behind ------------------------------------------------------- */

/* The process of an instance of ours; 0 if its name is not one of ours. */
static pid_t owner_of(const char *name)
{
	size_t prefix = strlen(PREFIX), purpose;
	const char *number;
	long pid;
	char *end;

	if (strncmp(name, PREFIX, prefix) != 0)
		return 0;
	purpose = strspn(name + prefix, "abcdefghijklmnopqrstuvwxyz");
	number = name + prefix + purpose;
	if (!purpose || number[0] != '-' || number[1] < '1' || number[1] > '9')
		return 0;
	pid = strtol(number + 1, &end, 10);
	return *end || pid > INT32_MAX ? 0 : (pid_t)pid;
}

/*
 * The instance of a process that was killed records on, into its ring buffers only.  The kernel refuses to remove one
 * whose files are open: that is in use, by a process that another PID namespace hides from this one.
 */
static int remove_stale(const char *name, void *data)
{
	pid_t pid = owner_of(name);
	struct tracefs_instance *stale;

	(void)data;
	if (!pid || (pid != getpid() && (kill(pid, 0) == 0 || errno != ESRCH)))
		return 0;
	stale = tracefs_instance_alloc(NULL, name);
	if (stale)
		remove_instance(stale, STALE_ATTEMPTS);
	tracefs_instance_free(stale);
	return 0;
}

/* ---- open ---------------------------------------------------------------------------------- */

static void count_cpus(struct instance *instance)
{
	char *file = tracefs_instance_get_file(instance->kernel, "per_cpu");
	DIR *directory = file ? opendir(file) : NULL;
	const struct dirent *entry;
	unsigned int cpu;

	tracefs_put_tracing_file(file);
	while (directory && (entry = readdir(directory)))
		if (sscanf(entry->d_name, "cpu%u", &cpu) == 1 && cpu >= instance->cpus)
			instance->cpus = cpu + 1;
	if (directory)
		closedir(directory);
}

/* The header of a page and its data; events/header_page describes both. */
static uint32_t read_page_size(const struct instance *instance)
{
	OWN_FREE char *text = instance_read(instance, "events/header_page");
	const char *data = text ? strstr(text, "char data;") : NULL;
	uint32_t offset, size;

	if (!data)
		data = text ? strstr(text, " data;") : NULL;
	if (data && (data = strstr(data, "offset:")) &&
	    sscanf(data, "offset:%" SCNu32 "; size:%" SCNu32, &offset, &size) == 2)
		return offset + size;
	return (uint32_t)sysconf(_SC_PAGESIZE);
}

static uint64_t default_buffer(unsigned int cpus)
{
	uint64_t share = INSTANCE_BUFFERS_KIB / (cpus ? cpus : 1);

	return share < INSTANCE_BUFFER_KIB ? share : INSTANCE_BUFFER_KIB;
}

/*
 * The daemon reads each page with a system call of its own.  Since 6.8 pages can be larger.  Those of a recording are
 * not, because older programs may read it.
 */
static void enlarge_pages(const struct instance *instance, const char *purpose)
{
	char kib[16];

	if (strcmp(purpose, INSTANCE_LIVE) != 0 || instance->buffer_kib < PAGES_MIN * PAGE_KIB)
		return;
	snprintf(kib, sizeof(kib), "%d", PAGE_KIB);
	(void)instance_put(instance, "buffer_subbuf_size_kb", kib);
}

static int set_buffer(const struct instance *instance, char *error)
{
	if (tracefs_instance_set_buffer_size(instance->kernel, instance->buffer_kib, -1) == 0)
		return 0;
	return refusal(error, -errno,
		       "cannot make a ring buffer of %" PRIu64
		       " KiB for each of %u CPUs: %s; choose a smaller one with --buffer KIB",
		       instance->buffer_kib, instance->cpus, strerror(errno));
}

static int set_up(struct instance *instance, const char *purpose, uint64_t buffer_kib, char *error)
{
	int r = instance_put(instance, "tracing_on", "0");

	if (r == 0)
		r = instance_put(instance, "trace_clock", "mono");
	if (r < 0)
		return refusal(
			error, r,
			"cannot set the clock of the trace instance: %s; this needs Linux 3.16",
			strerror(-r));
	/* Kernels before 5.0 have no such file, and wake the reader at each event. */
	instance->wakes_early = instance_put(instance, "buffer_percent", WAKE_PERCENT) == 0;
	count_cpus(instance);
	instance->buffer_kib = buffer_kib ? buffer_kib : default_buffer(instance->cpus);
	enlarge_pages(instance, purpose);
	r = set_buffer(instance, error);
	if (r < 0)
		return r;
	instance->page_size = read_page_size(instance);
	instance->marker =
		tracefs_instance_file_open(instance->kernel, "trace_marker", O_WRONLY | O_CLOEXEC);
	if (instance->marker < 0)
		return refusal(error, -errno, "cannot open trace_marker: %s", strerror(errno));
	return 0;
}

static int create(struct instance *instance, const char *purpose, uint64_t buffer_kib, char *error)
{
	char name[64];

	snprintf(name, sizeof(name), PREFIX "%s-%d", purpose, (int)getpid());
	instance->kernel = tracefs_instance_create(name);
	if (!instance->kernel)
		return refusal(
			error, -errno,
			"cannot create the trace instance %s: %s; see `ls %s/instances` for those of other tracers",
			name, strerror(errno), tracefs_tracing_dir());
	return set_up(instance, purpose, buffer_kib, error);
}

int instance_open(struct instance **instance, const char *purpose, uint64_t buffer_kib, char *error)
{
	struct instance *fresh;
	int r = check_tracefs(purpose, error);

	if (r < 0)
		return r;
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh)
		return refusal(error, -ENOMEM, "out of memory");
	fresh->marker = -1;
	tracefs_instances_walk(remove_stale, NULL);
	kprobes_remove_stale();
	r = create(fresh, purpose, buffer_kib, error);
	if (r < 0) {
		instance_close(&fresh);
		return r;
	}
	*instance = fresh;
	return 0;
}

/* ---- formats ------------------------------------------------------------------------------- */

struct tep_handle *instance_formats(const struct instance *instance)
{
	static const char *const systems[] = {
		"ftrace", "irq", "napi", "net", "sched", "skb", "sock", TRACEPOINTS_KPROBES, NULL};

	return tracefs_local_events_system(tracefs_instance_get_trace_dir(instance->kernel),
					   systems);
}

/* ---- start and stop ------------------------------------------------------------------------ */

static int mark(const struct instance *instance, const char *text)
{
	return write(instance->marker, text, strlen(text)) < 0 ? -errno : 0;
}

static int mark_clock(const struct instance *instance)
{
	char text[128];

	snprintf(text, sizeof(text),
		 "netflowd: CLOCK_REALTIME - CLOCK_MONOTONIC = %" PRId64 " ns\n",
		 (int64_t)time_realtime_of(0));
	return mark(instance, text);
}

/* Who reads the recording learns what it does not show. */
static int mark_excluded(const struct instance *instance)
{
	char names[EXCLUSION_TEXT_MAX], text[EXCLUSION_TEXT_MAX + 64];

	if (!instance->excluded.names)
		return 0;
	exclusion_format(&instance->excluded, names);
	snprintf(text, sizeof(text), TRACEPOINTS_EXCLUDED "%s\n", names);
	return mark(instance, text);
}

int instance_start(struct instance *instance)
{
	int r = instance_put(instance, "tracing_on", "1");

	if (r == 0)
		r = mark_clock(instance);
	if (r == 0)
		r = mark(instance, "netflowd: version " NETFLOWD_VERSION "\n");
	if (r == 0)
		r = mark_excluded(instance);
	return r;
}

int instance_stop(struct instance *instance)
{
	int marked = mark_clock(instance), r = instance_put(instance, "tracing_on", "0");

	return r < 0 ? r : marked;
}

int instance_note_lost(struct instance *instance, uint64_t lost)
{
	char text[64];
	int r = instance_put(instance, "events/enable", "0"), noted;

	if (r == 0)
		r = instance_put(instance, "tracing_on", "1");
	if (r < 0)
		return r;
	snprintf(text, sizeof(text), "netflowd: lost %" PRIu64 " events\n", lost);
	noted = mark(instance, text);
	r = instance_put(instance, "tracing_on", "0");
	return r < 0 ? r : noted;
}

unsigned int instance_cpus(const struct instance *instance)
{
	return instance->cpus;
}

uint64_t instance_buffer_kib(const struct instance *instance)
{
	return instance->buffer_kib;
}

bool instance_wakes_early(const struct instance *instance)
{
	return instance->wakes_early;
}

uint32_t instance_page_size(const struct instance *instance)
{
	return instance->page_size;
}

/* ---- close --------------------------------------------------------------------------------- */

int instance_close(struct instance **instance)
{
	struct instance *old = *instance;
	int r = 0;

	if (!old)
		return 0;
	if (old->marker >= 0)
		close(old->marker);
	if (old->kernel) {
		instance_put(old, "tracing_on", "0");
		instance_put(old, "events/enable", "0");
		r = remove_instance(old->kernel, OWN_ATTEMPTS);
		tracefs_instance_free(old->kernel);
	}
	instance_events_free(old);
	free(old);
	*instance = NULL;
	return r;
}
