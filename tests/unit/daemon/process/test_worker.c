/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <unistd.h>

#include "daemon/process/loop.h"
#include "daemon/process/worker.h"
#include "tests/unit/test.h"

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
TEST(test_work_beside_the_loop)
{
	struct job job = {0};
	struct loop_source *timer;

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
TEST(test_free_waits)
{
	struct job job = {0};

	assert_int_equal(loop_new(&job.loop), 0);
	assert_int_equal(worker_new(&job.worker, job.loop, work, done, &job), 0);
	worker_free(&job.worker);
	assert_null(job.worker);
	assert_true(job.thread > 0);
	assert_int_equal(job.done, 0);
	worker_free(&job.worker);
	loop_free(&job.loop);
}
