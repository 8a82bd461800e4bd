/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "common/cleanup.h"
#include "daemon/process/loop.h"
#include "tests/unit/test.h"

#define MS 1000000ULL

/* A loop, and what its handlers recorded. */
struct run {
	struct loop *loop;
	struct loop_source *source;
	struct loop_source *other;
	unsigned int calls;
	unsigned int events;
	int signal;
	int fds[2];
};

static int setup(void **state)
{
	struct run *run = calloc(1, sizeof(*run));

	if (!run || loop_new(&run->loop) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, run->fds) < 0)
		return -1;
	*state = run;
	return 0;
}

static int teardown(void **state)
{
	struct run *run = *state;

	loop_source_free(&run->source);
	loop_source_free(&run->other);
	loop_free(&run->loop);
	loop_free(&run->loop);
	cleanup_close(&run->fds[0]);
	cleanup_close(&run->fds[1]);
	free(run);
	return 0;
}

EACH_TEST(setup, teardown);

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000 * MS + (uint64_t)time.tv_nsec;
}

static int stop(void *userdata)
{
	struct run *run = userdata;

	run->calls++;
	loop_exit(run->loop, 7);
	/* Only the first exit status counts. */
	loop_exit(run->loop, 8);
	return 0;
}

static int stop_at_third(void *userdata)
{
	struct run *run = userdata;

	if (run->calls++ == 2)
		loop_exit(run->loop, 0);
	return 0;
}

static int fail_now(void *userdata)
{
	struct run *run = userdata;

	run->calls++;
	return -EPROTO;
}

static int free_self_and_defer(void *userdata)
{
	struct run *run = userdata;

	loop_source_free(&run->source);
	return loop_add_defer(run->loop, &run->source, stop, run);
}

TEST(test_once)
{
	struct run *run = *state;
	uint64_t start = now();

	assert_int_equal(loop_add_timer(run->loop, &run->source, 20 * MS, 0, stop, run), 0);
	assert_int_equal(loop_run(run->loop), 7);
	assert_int_equal(run->calls, 1);
	assert_in_range(now() - start, 20 * MS, 21 * MS);
}

TEST(test_periodic)
{
	struct run *run = *state;
	uint64_t start = now();

	assert_int_equal(loop_add_timer(run->loop, &run->source, 0, 20 * MS, stop_at_third, run),
			 0);
	assert_int_equal(loop_run(run->loop), 0);
	assert_int_equal(run->calls, 3);
	/* Half a period at least, to a multiple of it, and a whole one. */
	assert_in_range(now() - start, 30 * MS, 50 * MS + MS);
}

/* Timers of one period are due at the same moments, whenever they began. */
TEST(test_shared_moments)
{
	const uint64_t period = 20 * MS;

	for (int i = 0; i < 200; i++) {
		uint64_t before = now(), delay = loop_shared_ns(period), after = now();

		assert_in_range(delay, period / 2, period + period / 2);
		/* A multiple of the period lies between the two. */
		assert_true((after + delay) / period * period >= before + delay);
		usleep(300);
	}
}

static int sleep_first(void *userdata)
{
	struct run *run = userdata;

	if (run->calls++ == 0)
		usleep(55000);
	return 0;
}

/* The turns in the sleep are missed, and one of them is made up for; the others are on time. */
TEST(test_missed_turns)
{
	struct run *run = *state;

	assert_int_equal(loop_add_timer(run->loop, &run->source, 0, 20 * MS, sleep_first, run), 0);
	assert_int_equal(loop_add_timer(run->loop, &run->other, 110 * MS, 0, stop, run), 0);
	assert_int_equal(loop_run(run->loop), 7);
	/* 0 ms; 55 ms; from 65 to 85 ms on, every 20 ms; and the end. */
	assert_in_range(run->calls, 4, 5);
}

TEST(test_restart)
{
	struct run *run = *state;
	uint64_t start = now();

	assert_int_equal(loop_add_timer(run->loop, &run->source, 3600 * 1000 * MS, 0, stop, run),
			 0);
	assert_int_equal(loop_timer_restart(run->source, 10 * MS), 0);
	assert_int_equal(loop_run(run->loop), 7);
	assert_in_range(now() - start, 10 * MS, 11 * MS);
}

TEST(test_failure_ends)
{
	struct run *run = *state;

	assert_int_equal(loop_add_defer(run->loop, &run->source, fail_now, run), 0);
	assert_int_equal(loop_run(run->loop), -EPROTO);
	assert_int_equal(run->calls, 1);
}

TEST(test_free_in_own_handler)
{
	struct run *run = *state;

	assert_int_equal(
		loop_add_timer(run->loop, &run->source, 0, 1 * MS, free_self_and_defer, run), 0);
	assert_int_equal(loop_run(run->loop), 7);
	assert_int_equal(run->calls, 1);
}

static int defer_again(void *userdata)
{
	struct run *run = userdata;

	if (run->calls++ == 4) {
		loop_exit(run->loop, 0);
		return 0;
	}
	return loop_source_set_enabled(run->source, true);
}

TEST(test_defer_again)
{
	struct run *run = *state;

	assert_int_equal(loop_add_defer(run->loop, &run->source, defer_again, run), 0);
	assert_int_equal(loop_run(run->loop), 0);
	assert_int_equal(run->calls, 5);
}

/* Records the events of the fd, and then asks for fewer events after each call. */
static int on_fd(int fd, unsigned int events, void *userdata)
{
	struct run *run = userdata;

	assert_int_equal(fd, run->fds[0]);
	run->events |= events;
	if (events & LOOP_HANGUP) {
		loop_exit(run->loop, 0);
		return 0;
	}
	run->calls++;
	if (events & LOOP_WRITE)
		return loop_fd_set_events(run->source, LOOP_READ);
	/* The byte is not read, so the fd stays readable, but with 0 only a hangup is reported. */
	cleanup_close(&run->fds[1]);
	run->fds[1] = -1;
	return loop_fd_set_events(run->source, 0);
}

TEST(test_fd)
{
	struct run *run = *state;

	assert_int_equal(loop_add_fd(run->loop, &run->source, run->fds[0], LOOP_WRITE, on_fd, run),
			 0);
	assert_int_equal(write(run->fds[1], "x", 1), 1);
	assert_int_equal(loop_run(run->loop), 0);
	assert_int_equal(run->calls, 2);
	assert_int_equal(run->events, LOOP_READ | LOOP_WRITE | LOOP_HANGUP);
}

TEST(test_disabled)
{
	struct run *run = *state;

	assert_int_equal(loop_add_fd(run->loop, &run->other, run->fds[0], LOOP_READ, on_fd, run),
			 0);
	assert_int_equal(write(run->fds[1], "x", 1), 1);
	assert_int_equal(loop_source_set_enabled(run->other, false), 0);
	assert_int_equal(loop_add_timer(run->loop, &run->source, 10 * MS, 0, stop, run), 0);
	assert_int_equal(loop_run(run->loop), 7);
	assert_int_equal(run->events, 0);
}

TEST(test_bad_fd)
{
	struct run *run = *state;

	assert_int_equal(loop_add_fd(run->loop, &run->source, -1, LOOP_READ, on_fd, run), -EBADF);
	assert_null(run->source);
	assert_int_equal(loop_add_fd(run->loop, &run->source, 1000000, LOOP_READ, on_fd, run),
			 -EBADF);
	assert_null(run->source);
}

static int on_signal(int signal, void *userdata)
{
	struct run *run = userdata;

	run->signal = signal;
	loop_exit(run->loop, 0);
	return 0;
}

TEST(test_signal)
{
	struct run *run = *state;
	sigset_t blocked;

	assert_int_equal(loop_add_signal(run->loop, &run->source, SIGTERM, on_signal, run), 0);
	sigprocmask(SIG_SETMASK, NULL, &blocked);
	assert_true(sigismember(&blocked, SIGTERM));
	raise(SIGTERM);
	assert_int_equal(loop_run(run->loop), 0);
	assert_int_equal(run->signal, SIGTERM);
	loop_source_free(&run->source);
	sigprocmask(SIG_SETMASK, NULL, &blocked);
	assert_false(sigismember(&blocked, SIGTERM));
}

TEST(test_notify)
{
	struct run *run = *state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t size = sizeof(address.sun_family);
	OWN_FD int manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char name[128];
	char text[128] = "";

	(void)run;
	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(loop_notify("READY=1"), 0);
	/* The kernel chooses an abstract address. */
	assert_int_equal(bind(manager, (struct sockaddr *)&address, size), 0);
	size = sizeof(address);
	assert_int_equal(getsockname(manager, (struct sockaddr *)&address, &size), 0);
	snprintf(name, sizeof(name), "@%.*s",
		 (int)(size - offsetof(struct sockaddr_un, sun_path) - 1), address.sun_path + 1);
	setenv("NOTIFY_SOCKET", name, 1);
	assert_int_equal(loop_notify("READY=1\nSTATUS=%d probes", 9), 0);
	assert_true(recv(manager, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "READY=1\nSTATUS=9 probes");
	unsetenv("NOTIFY_SOCKET");
}

static int burn(void *userdata)
{
	struct run *run = userdata;
	struct timespec cpu;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	for (uint64_t end = (uint64_t)cpu.tv_sec * 1000 * MS + (uint64_t)cpu.tv_nsec + 20 * MS;
	     (uint64_t)cpu.tv_sec * 1000 * MS + (uint64_t)cpu.tv_nsec < end;)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	usleep(30000);
	loop_exit(run->loop, 0);
	return 0;
}

TEST(test_longest_turn)
{
	struct run *run = *state;
	struct loop_turns turns;

	assert_int_equal(loop_turns(run->loop).cpu_ns, 0);
	assert_int_equal(loop_add_defer(run->loop, &run->source, burn, run), 0);
	assert_int_equal(loop_run(run->loop), 0);
	turns = loop_turns(run->loop);
	assert_in_range(turns.cpu_ns, 20 * MS, 100 * MS);
	assert_in_range(turns.wall_ns, 30 * MS, 31 * MS);
	assert_true(turns.cpu_minute_ns == turns.cpu_ns);
	assert_true(turns.wall_minute_ns == turns.wall_ns);
}

TEST(test_free_nothing)
{
	struct loop_source *source = NULL;
	struct loop *loop = NULL;

	loop_source_free(&source);
	loop_free(&loop);
}
