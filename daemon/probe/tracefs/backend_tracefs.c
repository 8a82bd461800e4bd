/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The backend on trace events of this host, for kernels that take no BPF programs.  Events go through the correlator in
 * this process, some 100 ms after they happened.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <traceevent/event-parse.h>

#include "common/log.h"
#include "common/time.h"
#include "daemon/correlator/correlator.h"
#include "daemon/probe/events/backend_events.h"
#include "daemon/probe/events/tracepoints.h"
#include "daemon/probe/tracefs/instance.h"
#include "daemon/probe/tracefs/pages.h"
#include "daemon/probe/tracefs/slots.h"

/* Between two readings of all ring buffers, unless one has filled to a tenth of its size before. */
#define PERIOD_NS (TIME_NS_PER_SECOND / 10)
/* Of one dispatch, less than 1 ms. */
#define EVENTS_PER_DISPATCH 8192
/* A name is read again after this time: the thread may have run another program since. */
#define TASK_AGE_NS TIME_NS_PER_SECOND
#define TASKS 256 /* by thread id, direct-mapped; a power of two */

/* The name of a task, so that thousands of records of one read its file once. */
struct named_task {
	uint64_t read_ns; /* 0: none */
	struct nf_task task;
};

struct backend_tracefs {
	struct backend_events events; /* first */
	struct named_task tasks[TASKS];
	struct instance *instance;
	struct pages *pages;
	struct tep_handle *tep;
	int timer, epoll;
	enum backend_level level;
};

/* ---- tasks ------------------------------------------------------------------------ */

/* The task is probably still there: its record is some 100 ms old. */
static void read_task(struct nf_task *task)
{
	OWN_FILE FILE *file = NULL;
	char path[32], line[64], name[sizeof(task->comm)];

	snprintf(path, sizeof(path), "/proc/%u/status", task->tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Name:\t%15[^\n]", name) == 1)
			memcpy(task->comm, name, strlen(name));
		if (sscanf(line, "Tgid:\t%u", &task->pid) == 1)
			break;
	}
}

static void name_task(const struct backend_events *events, struct nf_task *task)
{
	struct backend_tracefs *tracefs = (struct backend_tracefs *)events;
	struct named_task *named = &tracefs->tasks[task->tid & (TASKS - 1)];
	uint64_t now = time_monotonic();

	if (!task->tid)
		return;
	if (!named->read_ns || named->task.tid != task->tid || now - named->read_ns > TASK_AGE_NS) {
		*named = (struct named_task){.read_ns = now, .task = {.tid = task->tid}};
		read_task(&named->task);
	}
	*task = named->task;
}

/* ---- events ------------------------------------------------------------------------ */

static void take_event(void *userdata, uint32_t cpu, uint64_t time_ns, const void *data,
		       size_t size)
{
	struct backend_tracefs *tracefs = userdata;

	/* A record that is too short is counted. */
	(void)backend_events_take(&tracefs->events, data, size, cpu, time_ns);
}

static void take_loss(void *userdata, uint32_t cpu, uint64_t events)
{
	struct backend_tracefs *tracefs = userdata;

	backend_events_lost(&tracefs->events, cpu, events);
}

static int tracefs_fd(const struct backend *backend)
{
	return ((const struct backend_tracefs *)backend)->epoll;
}

/* The timer stays readable until all that is there was taken. */
static int tracefs_dispatch(struct backend *backend)
{
	struct backend_tracefs *tracefs = (struct backend_tracefs *)backend;
	uint64_t expirations;
	int r = pages_take(tracefs->pages, EVENTS_PER_DISPATCH);

	if (r > 0)
		return 0;
	(void)!read(tracefs->timer, &expirations, sizeof(expirations));
	if (r < 0)
		log_error("cannot read the ring buffers of trace events: %s", strerror(-r));
	return 0;
}

/* ---- probes -------------------------------------------------------------------------- */

/* Ring slots need the end of start_xmit, too. */
static bool is_on(const struct backend_tracefs *tracefs, enum backend_level level,
		  enum nf_probe probe)
{
	bool slots = instance_probe(tracefs->instance, NF_PROBE_XENNET_START_XMIT)->event;

	if (probe == NF_PROBE_NET_DEV_XMIT && slots &&
	    backend_level_has(level, NF_PROBE_XENNET_START_XMIT))
		return true;
	return backend_level_has(level, probe);
}

static void tracefs_set_level(struct backend *backend, enum backend_level level)
{
	struct backend_tracefs *tracefs = (struct backend_tracefs *)backend;

	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		bool on = is_on(tracefs, level, (enum nf_probe)i);

		if (on != is_on(tracefs, tracefs->level, (enum nf_probe)i))
			(void)instance_switch(tracefs->instance, (enum nf_probe)i, on);
	}
	tracefs->level = level;
}

static void tracefs_probe(const struct backend *backend, enum nf_probe probe,
			  struct probe_status *status)
{
	const struct backend_tracefs *tracefs = (const struct backend_tracefs *)backend;
	const struct instance_probe *known = instance_probe(tracefs->instance, probe);

	events_probe(backend, probe, status);
	if (probe == NF_PROBE_XENNET_START_XMIT && !slots_has_driver() &&
	    !tracefs->events.disabled[probe])
		*status = (struct probe_status){
			.state = PROBE_UNNEEDED,
			.reason =
				known->event
					? "xen-netfront is not loaded; the kernel attaches the probe as soon as it is"
					: "xen-netfront is not loaded"};
	else if (status->state != PROBE_UNNEEDED && !known->event &&
		 !tracefs->events.disabled[probe])
		*status = (struct probe_status){.state = PROBE_UNAVAILABLE, .reason = known->why};
	else if (status->state == PROBE_ATTACHED && !backend_level_has(tracefs->level, probe))
		*status = (struct probe_status){.state = PROBE_DETACHED};
}

/* ---- open, close ----------------------------------------------------------------------- */

static void tracefs_close(struct backend *backend)
{
	struct backend_tracefs *tracefs = (struct backend_tracefs *)backend;
	int r;

	pages_free(&tracefs->pages);
	backend_events_close(&tracefs->events);
	tep_free(tracefs->tep);
	if (tracefs->timer >= 0)
		close(tracefs->timer);
	if (tracefs->epoll >= 0)
		close(tracefs->epoll);
	r = instance_close(&tracefs->instance);
	if (r < 0)
		log_warning(
			"cannot remove the trace instance: %s; the next netflowd with the backend tracefs does it",
			strerror(-r));
	free(tracefs);
}

static void cleanup_tracefs(struct backend_tracefs **tracefs)
{
	if (*tracefs)
		tracefs_close(&(*tracefs)->events.backend);
}

#define OWN_TRACEFS CLEANUP(cleanup_tracefs)

static int open_timer(struct backend_tracefs *tracefs)
{
	const struct itimerspec period = {.it_interval.tv_nsec = PERIOD_NS,
					  .it_value.tv_nsec = PERIOD_NS};

	tracefs->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (tracefs->timer < 0 || timerfd_settime(tracefs->timer, 0, &period, NULL) < 0)
		return -errno;
	return 0;
}

static int open_epoll(struct backend_tracefs *tracefs)
{
	struct epoll_event readable = {.events = EPOLLIN};

	tracefs->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (tracefs->epoll < 0 ||
	    epoll_ctl(tracefs->epoll, EPOLL_CTL_ADD, tracefs->timer, &readable) < 0)
		return -errno;
	return instance_wakes_early(tracefs->instance) ? pages_watch(tracefs->pages, tracefs->epoll)
						       : 0;
}

static int open_instance(struct backend_tracefs *tracefs, const struct backend_settings *settings,
			 char *reason)
{
	char refused[REFUSAL_MAX];
	int r = instance_open(&tracefs->instance, INSTANCE_LIVE, settings->trace_kib, refused);

	if (r == 0)
		r = instance_enable(tracefs->instance, settings->disabled, &settings->excluded,
				    refused);
	if (r < 0)
		snprintf(reason, BACKEND_REASON_MAX, "%.500s", refused);
	return r;
}

/* The setting promises that these are not there. */
static void warn_unfiltered(const struct instance *instance)
{
	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		const struct instance_probe *probe = instance_probe(instance, (enum nf_probe)i);

		if (probe->event && probe->event->device && probe->unfiltered)
			log_warning(
				"the kernel refuses the filter `%s` of the event %s: it shows excluded devices, too",
				probe->filter, probe->event->name);
	}
}

static int exclude(struct backend_tracefs *tracefs, const struct exclusion *excluded)
{
	char names[EXCLUSION_TEXT_MAX];

	if (!excluded->names)
		return 0;
	warn_unfiltered(tracefs->instance);
	exclusion_format(excluded, names);
	return backend_events_exclude(&tracefs->events, "probes.trace_exclude", names);
}

/* What reads the events, in the order in which it needs each other. */
static int open_reader(struct backend_tracefs *tracefs, const struct backend_settings *settings,
		       const struct backend_sink *sink, struct names *names)
{
	const struct pages_sink pages = {
		.event = take_event, .lost = take_loss, .userdata = tracefs};
	int r;

	tracefs->tep = instance_formats(tracefs->instance);
	if (!tracefs->tep)
		return -EBADMSG;
	r = backend_events_open(&tracefs->events, settings, sink, tracefs->tep,
				instance_cpus(tracefs->instance), names);
	if (r == 0)
		r = exclude(tracefs, &settings->excluded);
	if (r == 0)
		r = pages_new(&tracefs->pages, tracefs->instance, &pages);
	if (r == 0)
		r = open_timer(tracefs);
	if (r == 0)
		r = open_epoll(tracefs);
	return r < 0 ? r : instance_start(tracefs->instance);
}

static int tracefs_open(struct backend **backend, const struct backend_settings *settings,
			const struct backend_sink *sink, struct names *names, char *reason)
{
	OWN_TRACEFS struct backend_tracefs *tracefs = calloc(1, sizeof(*tracefs));
	int r;

	if (!tracefs)
		return -ENOMEM;
	tracefs->events.backend.ops = &backend_tracefs;
	tracefs->events.name_task = name_task;
	tracefs->timer = tracefs->epoll = -1;
	r = open_instance(tracefs, settings, reason);
	if (r < 0)
		return r;
	r = open_reader(tracefs, settings, sink, names);
	if (r < 0) {
		snprintf(reason, BACKEND_REASON_MAX, "cannot read trace events: %s", strerror(-r));
		return r;
	}
	*backend = &TAKE_PTR(tracefs)->events.backend;
	return 0;
}

const struct backend_ops backend_tracefs = {
	.name = "tracefs",
	.open = tracefs_open,
	.close = tracefs_close,
	.fd = tracefs_fd,
	.dispatch = tracefs_dispatch,
	.probe = tracefs_probe,
	.trace = events_trace,
	.set_level = tracefs_set_level,
	.recording = absent_recording,
	BACKEND_EVENTS_OPS,
};
