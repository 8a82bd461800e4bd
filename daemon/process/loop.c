/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/process/loop.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "common/cleanup.h"
#include "common/saturate.h"
#include "common/time.h"

#define NS_PER_US 1000ULL

/* The last minute in parts, of which the oldest is dropped. */
#define TURNS_PARTS 7
#define TURNS_PART_NS (10 * TIME_NS_PER_SECOND)

struct turn {
	uint64_t cpu_ns, wall_ns;
};

struct loop {
	sd_event *event;
	bool exiting;
	struct turn began;   /* when the turn that runs began */
	struct turn longest; /* since the loop began */
	struct turn part[TURNS_PARTS];
	uint64_t part_number; /* of the newest part, in TURNS_PART_NS since boot */
};

struct loop_source {
	struct loop *loop;
	sd_event_source *event;
	/* The state when enabled: SD_EVENT_ON or SD_EVENT_ONESHOT, by the kind of source. */
	int enabled;
	union {
		loop_fd_handler fd;
		loop_signal_handler signal;
		loop_handler plain;
	} handler;
	void *userdata;
	/* Timers only. */
	uint64_t period_ns;
	uint64_t next_ns;
};

/* Round up, so that a timer is never early. */
static uint64_t to_us(uint64_t ns)
{
	return ns / NS_PER_US + (ns % NS_PER_US != 0);
}

int loop_new(struct loop **loop)
{
	OWN_FREE struct loop *new = calloc(1, sizeof(*new));
	int r;

	if (!new)
		return -ENOMEM;
	r = sd_event_new(&new->event);
	if (r < 0)
		return r;
	new->part_number = time_monotonic() / TURNS_PART_NS;
	*loop = TAKE_PTR(new);
	return 0;
}

void loop_free(struct loop **loop)
{
	if (!*loop)
		return;
	sd_event_unref((*loop)->event);
	free(*loop);
	*loop = NULL;
}

/* ---- turns -------------------------------------------------------------- */

static struct turn turn_now(void)
{
	struct timespec cpu;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	return (struct turn){
		.cpu_ns = (uint64_t)cpu.tv_sec * TIME_NS_PER_SECOND + (uint64_t)cpu.tv_nsec,
		.wall_ns = time_monotonic(),
	};
}

static void keep_longest(struct turn *longest, const struct turn *turn)
{
	if (turn->cpu_ns > longest->cpu_ns)
		longest->cpu_ns = turn->cpu_ns;
	if (turn->wall_ns > longest->wall_ns)
		longest->wall_ns = turn->wall_ns;
}

/* Empty the parts that are older than a minute. */
static void pass_time(struct loop *loop, uint64_t now)
{
	uint64_t number = now / TURNS_PART_NS;

	for (int i = 0; loop->part_number < number && i < TURNS_PARTS; i++)
		loop->part[++loop->part_number % TURNS_PARTS] = (struct turn){0};
	loop->part_number = number;
}

static void begin_turn(struct loop *loop)
{
	loop->began = turn_now();
}

static void end_turn(struct loop *loop)
{
	struct turn turn = turn_now();

	pass_time(loop, turn.wall_ns);
	turn.cpu_ns -= loop->began.cpu_ns;
	turn.wall_ns -= loop->began.wall_ns;
	keep_longest(&loop->longest, &turn);
	keep_longest(&loop->part[loop->part_number % TURNS_PARTS], &turn);
}

struct loop_turns loop_turns(const struct loop *loop)
{
	uint64_t number = time_monotonic() / TURNS_PART_NS;
	struct turn minute = {0};

	for (uint64_t i = 0; i < TURNS_PARTS && i <= loop->part_number; i++)
		if (loop->part_number - i + TURNS_PARTS > number)
			keep_longest(&minute, &loop->part[(loop->part_number - i) % TURNS_PARTS]);
	return (struct loop_turns){
		.cpu_ns = loop->longest.cpu_ns,
		.wall_ns = loop->longest.wall_ns,
		.cpu_minute_ns = minute.cpu_ns,
		.wall_minute_ns = minute.wall_ns,
	};
}

/* ---- life and handlers --------------------------------------------------- */

int loop_run(struct loop *loop)
{
	return sd_event_loop(loop->event);
}

static void exit_once(struct loop *loop, int code)
{
	if (loop->exiting)
		return;
	loop->exiting = true;
	sd_event_exit(loop->event, code);
}

void loop_exit(struct loop *loop, int code)
{
	exit_once(loop, code);
}

/*
 * The end of each callback of sd-event.  A handler may free its own source, so only `loop` is used after it.  sd-event
 * itself would only disable a source whose handler fails; here a failure ends the loop.
 */
static int finish(struct loop *loop, int r)
{
	end_turn(loop);
	if (r < 0)
		exit_once(loop, r);
	return 0;
}

static int on_fd(sd_event_source *event, int fd, uint32_t revents, void *userdata)
{
	struct loop_source *source = userdata;
	struct loop *loop = source->loop;
	unsigned int events = 0;

	(void)event;
	if (revents & EPOLLIN)
		events |= LOOP_READ;
	if (revents & EPOLLOUT)
		events |= LOOP_WRITE;
	if (revents & (EPOLLHUP | EPOLLERR))
		events |= LOOP_HANGUP;
	begin_turn(loop);
	return finish(loop, source->handler.fd(fd, events, source->userdata));
}

static int on_signal(sd_event_source *event, const struct signalfd_siginfo *info, void *userdata)
{
	struct loop_source *source = userdata;
	struct loop *loop = source->loop;

	(void)event;
	begin_turn(loop);
	return finish(loop, source->handler.signal((int)info->ssi_signo, source->userdata));
}

static int on_defer(sd_event_source *event, void *userdata)
{
	struct loop_source *source = userdata;
	struct loop *loop = source->loop;

	(void)event;
	begin_turn(loop);
	return finish(loop, source->handler.plain(source->userdata));
}

/* 1 % of the wait, but never 0, which selects sd-event's default of 250 ms. */
static uint64_t accuracy_us(uint64_t interval_ns)
{
	return interval_ns / 100 / NS_PER_US + 1;
}

static int arm(struct loop_source *source, uint64_t interval_ns)
{
	int r;

	r = sd_event_source_set_time_accuracy(source->event, accuracy_us(interval_ns));
	if (r < 0)
		return r;
	r = sd_event_source_set_time(source->event, to_us(time_of_kernel(source->next_ns)));
	if (r < 0)
		return r;
	return sd_event_source_set_enabled(source->event, SD_EVENT_ONESHOT);
}

/*
 * A wakeup costs more than what most timers do, and much more where a load fills the CPUs: after each wakeup, a UDP
 * flood over loopback on two CPUs ran at two thirds of its rate for some 15 ms.  So timers are due together.
 */
static uint64_t shared_after(uint64_t time_ns, uint64_t period_ns)
{
	return add_saturated(time_ns, period_ns + period_ns / 2) / period_ns * period_ns;
}

uint64_t loop_shared_ns(uint64_t period_ns)
{
	uint64_t now = time_monotonic();

	return shared_after(now, period_ns) - now;
}

static int on_timer(sd_event_source *event, uint64_t due_us, void *userdata)
{
	struct loop_source *source = userdata;
	struct loop *loop = source->loop;
	uint64_t now = time_monotonic();

	(void)event;
	(void)due_us;
	begin_turn(loop);
	if (source->period_ns) {
		int r;

		source->next_ns = shared_after(now, source->period_ns);
		r = arm(source, source->period_ns);
		if (r < 0)
			return finish(loop, r);
	}
	return finish(loop, source->handler.plain(source->userdata));
}

static struct loop_source *source_new(struct loop *loop, int enabled, void *userdata)
{
	struct loop_source *source = calloc(1, sizeof(*source));

	if (!source)
		return NULL;
	source->loop = loop;
	source->enabled = enabled;
	source->userdata = userdata;
	return source;
}

/* The end of loop_add_…(): the caller gets `new` unless sd-event refused it with `r`. */
static int give(struct loop_source **source, struct loop_source **new, int r)
{
	if (r < 0)
		return r;
	*source = TAKE_PTR(*new);
	return 0;
}

static uint32_t to_epoll(unsigned int events)
{
	return (events & LOOP_READ ? (uint32_t)EPOLLIN : 0) |
	       (events & LOOP_WRITE ? (uint32_t)EPOLLOUT : 0);
}

int loop_add_fd(struct loop *loop, struct loop_source **source, int fd, unsigned int events,
		loop_fd_handler handler, void *userdata)
{
	OWN_FREE struct loop_source *new = source_new(loop, SD_EVENT_ON, userdata);

	if (!new)
		return -ENOMEM;
	new->handler.fd = handler;
	return give(source, &new,
		    sd_event_add_io(loop->event, &new->event, fd, to_epoll(events), on_fd, new));
}

int loop_fd_set_events(struct loop_source *source, unsigned int events)
{
	int r = sd_event_source_set_io_events(source->event, to_epoll(events));

	return r < 0 ? r : 0;
}

int loop_add_timer(struct loop *loop, struct loop_source **source, uint64_t delay_ns,
		   uint64_t period_ns, loop_handler handler, void *userdata)
{
	OWN_FREE struct loop_source *new = source_new(loop, SD_EVENT_ONESHOT, userdata);

	if (!new)
		return -ENOMEM;
	new->handler.plain = handler;
	new->period_ns = period_ns;
	new->next_ns = add_saturated(time_monotonic(), delay_ns);
	return give(source, &new,
		    sd_event_add_time(loop->event, &new->event, CLOCK_MONOTONIC,
				      to_us(time_of_kernel(new->next_ns)), accuracy_us(delay_ns),
				      on_timer, new));
}

int loop_timer_restart(struct loop_source *source, uint64_t delay_ns)
{
	int r;

	source->next_ns = add_saturated(time_monotonic(), delay_ns);
	r = arm(source, delay_ns);
	return r < 0 ? r : 0;
}

int loop_add_signal(struct loop *loop, struct loop_source **source, int signal,
		    loop_signal_handler handler, void *userdata)
{
	OWN_FREE struct loop_source *new = source_new(loop, SD_EVENT_ON, userdata);

	if (!new)
		return -ENOMEM;
	new->handler.signal = handler;
	return give(source, &new,
		    sd_event_add_signal(loop->event, &new->event, signal | SD_EVENT_SIGNAL_PROCMASK,
					on_signal, new));
}

int loop_add_defer(struct loop *loop, struct loop_source **source, loop_handler handler,
		   void *userdata)
{
	OWN_FREE struct loop_source *new = source_new(loop, SD_EVENT_ONESHOT, userdata);

	if (!new)
		return -ENOMEM;
	new->handler.plain = handler;
	return give(source, &new, sd_event_add_defer(loop->event, &new->event, on_defer, new));
}

int loop_source_set_enabled(struct loop_source *source, bool enabled)
{
	int r = sd_event_source_set_enabled(source->event,
					    enabled ? source->enabled : SD_EVENT_OFF);

	return r < 0 ? r : 0;
}

void loop_source_free(struct loop_source **source)
{
	if (!*source)
		return;
	sd_event_source_disable_unref((*source)->event);
	free(*source);
	*source = NULL;
}

int loop_notify(const char *format, ...)
{
	OWN_FREE char *state = NULL;
	va_list arguments;
	int r;

	va_start(arguments, format);
	r = vasprintf(&state, format, arguments);
	va_end(arguments);
	if (r < 0) {
		state = NULL;
		return -ENOMEM;
	}
	r = sd_notify(0, state);
	return r < 0 ? r : 0;
}

uint64_t loop_watchdog_ns(void)
{
	uint64_t us;

	return sd_watchdog_enabled(0, &us) > 0 ? us * NS_PER_US : 0;
}
