/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/tracefs/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/time.h"
#include "common/units.h"
#include "daemon/probe/events/tracepoints.h"
#include "daemon/probe/probes.h"
#include "daemon/probe/tracefs/dat.h"
#include "daemon/probe/tracefs/instance.h"
#include "daemon/probe/tracefs/recorder.h"
#include "daemon/probe/tracefs/sections.h"
#include "daemon/probe/tracefs/slots.h"

struct record_file {
	const char *path;
	char *directory; /* of it */
	int signals;
	struct instance *instance;
	struct recorder *recorder;
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t bytes;		   /* of the file */
};

/* ---- the file ------------------------------------------------------------------------------ */

static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* Only a regular file may be replaced: a symbolic link can lead to a file that its owner chose. */
static int check_path(const char *path, char *error)
{
	struct stat status;

	if (lstat(path, &status) < 0 || S_ISREG(status.st_mode))
		return 0;
	return refusal(error, -EEXIST, "%s is %s, not a regular file; name another file", path,
		       S_ISLNK(status.st_mode)	 ? "a symbolic link"
		       : S_ISDIR(status.st_mode) ? "a directory"
						 : "a device, a socket or a pipe");
}

static int sync_directory(const char *path)
{
	OWN_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* Write to a temporary file beside it, and rename that. */
static int write_beside(struct record_file *recording, const struct dat *dat)
{
	OWN_FREE char *temporary = NULL;
	struct stat status;
	OWN_FD int fd = -1;
	int r;

	if (asprintf(&temporary, "%s.XXXXXX", recording->path) < 0) {
		temporary = NULL;
		return -ENOMEM;
	}
	/* With the mode 0600: the file says who talks with whom, and which programs run. */
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = dat_write(fd, dat);
	if (r == 0 &&
	    (fsync(fd) < 0 || fstat(fd, &status) < 0 || rename(temporary, recording->path) < 0))
		r = -errno;
	if (r < 0) {
		unlink(temporary);
		return r;
	}
	recording->bytes = (uint64_t)status.st_size;
	return sync_directory(recording->directory);
}

static int write_dat(struct record_file *recording, struct dat *dat)
{
	unsigned int count;
	const struct recorder_cpu *from = recorder_cpus(recording->recorder, &count);
	OWN_FREE struct dat_cpu *cpus = calloc(count, sizeof(*cpus));

	if (!cpus)
		return -ENOMEM;
	for (unsigned int cpu = 0; cpu < count; cpu++)
		cpus[cpu] = (struct dat_cpu){from[cpu].pages, from[cpu].bytes, from[cpu].text};
	dat->page_size = instance_page_size(recording->instance);
	dat->cpus = cpus;
	dat->cpus_count = count;
	recorder_release(recording->recorder);
	return write_beside(recording, dat);
}

static int write_file(struct record_file *recording, char *error)
{
	struct sections *sections = NULL;
	struct dat dat = {};
	int r = sections_new(&sections, recording->instance);

	if (r < 0)
		return refusal(error, r, "cannot read the formats of the trace events: %s",
			       strerror(-r));
	sections_fill(sections, &dat);
	if (!*dat.kallsyms)
		log_warning(
			"the recording has no function names, and locations of drops are addresses: the kernel hides the addresses in /proc/kallsyms; set kernel.kptr_restrict to 1 or 0");
	r = write_dat(recording, &dat);
	sections_free(&sections);
	if (r < 0)
		return refusal(error, r, "cannot write %s: %s; the recording is lost",
			       recording->path, strerror(-r));
	return 0;
}

/* ---- what is in it ------------------------------------------------------------------------- */

static void report_probes(const struct instance *instance)
{
	for (size_t i = 0; i <= NF_PROBE_XENNET_START_XMIT; i++) {
		const struct instance_probe *probe = instance_probe(instance, i);

		/* Most hosts have no use for it. */
		if (i == NF_PROBE_XENNET_START_XMIT && !slots_has_xen())
			continue;

		if (!probe->event)
			log_info("not recorded: %s: %s", probe_specs[i].name, probe->why);
		else if (probe->unfiltered)
			log_info(
				"the kernel refuses the filter `%s` of the event %s: all of its events are recorded",
				probe->filter, probe->event->name);
	}
}

/* "on CPU 3 (17), 5 (4)" */
static char *lossy_cpus(const struct recorder_cpu *cpus, unsigned int count)
{
	const char *before = "on CPU ";
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	for (unsigned int cpu = 0; cpu < count; cpu++) {
		if (!cpus[cpu].stats.lost)
			continue;
		fprintf(to, "%s%u (%s)", before, cpu, units_count(cpus[cpu].stats.lost).s);
		before = ", ";
	}
	fclose(to);
	return text;
}

static uint64_t lost_events(const struct record_file *recording)
{
	unsigned int count;
	const struct recorder_cpu *cpus = recorder_cpus(recording->recorder, &count);
	uint64_t lost = 0;

	for (unsigned int cpu = 0; cpu < count; cpu++)
		lost += cpus[cpu].stats.lost;
	return lost;
}

static void print_summary(const struct record_file *recording)
{
	unsigned int count;
	const struct recorder_cpu *cpus = recorder_cpus(recording->recorder, &count);
	OWN_FREE char *where = lossy_cpus(cpus, count);
	uint64_t lost = lost_events(recording), events = 0;

	for (unsigned int cpu = 0; cpu < count; cpu++)
		events += cpus[cpu].stats.events;
	printf("recorded %s events in %s, %s: %s\n", units_count(events).s,
	       units_duration(recording->end_ns - recording->begin_ns).s,
	       units_bytes(recording->bytes).s, recording->path);
	if (!lost) {
		printf("no event was lost\n");
		return;
	}
	printf("%s events were lost, %s\n", units_count(lost).s, where ? where : "");
	fflush(stdout);
	log_warning("%s events were lost, because the ring buffers of %" PRIu64
		    " KiB per CPU were full; record again with a larger one: --buffer KIB",
		    units_count(lost).s, instance_buffer_kib(recording->instance));
}

/* ---- the whole ----------------------------------------------------------------------------- */

static int open_signals(struct record_file *recording, char *error)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaddset(&set, numbers[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) == 0)
		recording->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	/* Who reads the lines may have gone, but the file is still wanted. */
	signal(SIGPIPE, SIG_IGN);
	return recording->signals < 0
		       ? refusal(error, -errno, "cannot wait for signals: %s", strerror(errno))
		       : 0;
}

static int begin(struct record_file *recording, uint64_t buffer_kib,
		 const struct exclusion *excluded, char *error)
{
	int r = check_path(recording->path, error);

	if (r == 0)
		r = open_signals(recording, error);
	if (r == 0)
		r = instance_open(&recording->instance, "record", buffer_kib, error);
	if (r == 0)
		r = recorder_new(&recording->recorder, recording->instance, recording->directory,
				 recording->signals, error);
	if (r == 0)
		r = instance_enable(recording->instance, NULL, excluded, error);
	if (r < 0)
		return r;
	report_probes(recording->instance);
	recording->begin_ns = time_monotonic();
	r = instance_start(recording->instance);
	if (r < 0)
		return refusal(error, r, "cannot switch tracing on: %s", strerror(-r));
	printf("recording into %s\n", recording->path);
	fflush(stdout);
	return 0;
}

/* A disk that is full ends the recording, but its file still has everything until then. */
/* The pages say that events were lost before them, but often not how many: the counters do. */
static int note_lost(struct record_file *recording, char *error)
{
	int r = instance_note_lost(recording->instance, lost_events(recording));

	if (r < 0)
		log_warning("cannot note in the recording how many events were lost: %s",
			    strerror(-r));
	return r < 0 ? 0 : recorder_finish(recording->recorder, error);
}

static int finish(struct record_file *recording, char *error)
{
	int ran = recorder_run(recording->recorder, error), r;
	int stopped = instance_stop(recording->instance);
	char later[REFUSAL_MAX];

	recording->end_ns = time_monotonic();
	if (stopped < 0)
		log_warning(
			"cannot end the recording at one moment, or note the time of day in it: %s",
			strerror(-stopped));
	r = recorder_finish(recording->recorder, ran < 0 ? later : error);
	if (r == 0)
		r = note_lost(recording, ran < 0 ? later : error);
	ran = ran < 0 ? ran : r;
	r = write_file(recording, later);
	if (r < 0) {
		if (ran < 0)
			log_error("%s", error);
		return refusal(error, r, "%s", later);
	}
	print_summary(recording);
	fflush(stdout);
	if (ran < 0)
		log_warning("the recording ended early; %s has everything until then",
			    recording->path);
	return ran;
}

int record(const char *path, uint64_t buffer_kib, const struct exclusion *excluded, char *error)
{
	struct record_file recording = {
		.path = path, .directory = directory_of(path), .signals = -1};
	int r, closed;

	r = recording.directory ? begin(&recording, buffer_kib, excluded, error)
				: refusal(error, -ENOMEM, "out of memory");
	if (r == 0)
		r = finish(&recording, error);
	/* It has files of the instance open, and the kernel keeps an instance with open files. */
	recorder_free(&recording.recorder);
	closed = instance_close(&recording.instance);
	if (closed < 0)
		log_warning(
			"cannot remove the trace instance: %s; another program reads its files; the next recording removes it",
			strerror(-closed));
	if (recording.signals >= 0)
		close(recording.signals);
	free(recording.directory);
	return r;
}
