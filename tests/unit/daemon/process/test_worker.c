/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/process/loop.h"
#include "daemon/process/worker.h"

struct job {
	struct loop *loop;
	struct worker *worker;
	pid_t thread;
	int result;
	unsigned int turns, done;
};

static int work(void *userdata)
{
	struct job *job = userdata;

	job->thread = gettid();
	usleep(100000);
	return -EBADMSG;
}

static void done(int result, void *userdata)
{
	struct job *job = userdata;

	worker_free(&job->worker);
	job->result = result;
	job->done++;
	loop_exit(job->loop, 0);
}

static int on_turn(void *userdata)
{
	struct job *job = userdata;

	job->turns++;
	return 0;
}

/* The loop goes on while the thread works. */
static void test_work_beside_the_loop(void **state)
{
	struct job job = {0};
	struct loop_source *timer;

	(void)state;
	assert_int_equal(loop_new(&job.loop), 0);
	assert_int_equal(loop_add_timer(job.loop, &timer, 1000000, 1000000, on_turn, &job), 0);
	assert_int_equal(worker_new(&job.worker, job.loop, work, done, &job), 0);
	assert_int_equal(loop_run(job.loop), 0);
	assert_int_equal(job.done, 1);
	assert_int_equal(job.result, -EBADMSG);
	assert_int_not_equal(job.thread, gettid());
	assert_true(job.turns >= 10);
	loop_source_free(&timer);
	loop_free(&job.loop);
}

/* Freed before its end: it waits for the thread, and does not call `done`. */
static void test_free_waits(void **state)
{
	struct job job = {0};

	(void)state;
	assert_int_equal(loop_new(&job.loop), 0);
	assert_int_equal(worker_new(&job.worker, job.loop, work, done, &job), 0);
	worker_free(&job.worker);
	assert_null(job.worker);
	assert_true(job.thread > 0);
	assert_int_equal(job.done, 0);
	worker_free(&job.worker);
	loop_free(&job.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work_beside_the_loop),
		cmocka_unit_test(test_free_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
