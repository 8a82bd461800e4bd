/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server and its clients of several users: time-outs, places, turns, the budget of unsent replies. */
#include <poll.h>
#include <sys/types.h>

#include "common/json.h"
#include "tests/unit/daemon/varlink/server_fixture.h"
#include "tests/unit/moved_time.h"

#define OTHER 65533
#define MS 1000000ULL

/* Each test's own settings; in_loop() has no argument for them. */
static struct server_settings chosen;

static void start_chosen(struct fixture *fixture)
{
	struct server_settings settings = default_settings(fixture);

	settings.max_clients = chosen.max_clients;
	settings.root_clients = chosen.root_clients;
	settings.user_clients = chosen.user_clients;
	settings.idle_ns = chosen.idle_ns;
	settings.max_queued_bytes = chosen.max_queued_bytes;
	settings.max_unsent_bytes = chosen.max_unsent_bytes;
	if (server_new(&fixture->server, fixture->loop, &settings, methods, ARRAY_SIZE(methods),
		       fixture) < 0)
		abort();
	/* All users may connect. */
	if (chmod(fixture->path, 0666) < 0 || chmod(fixture->directory, 0755) < 0)
		abort();
}

static void serve(struct fixture *fixture, struct server_settings settings)
{
	chosen = settings;
	in_loop(fixture, start_chosen);
}

/* Of the thread only, as connect() takes the user from the thread. */
static void become(uid_t uid)
{
	if (syscall(SYS_setresuid, -1, uid, -1) < 0)
		abort();
}

static int open_as(const struct fixture *fixture, uid_t uid)
{
	int fd;

	become(uid);
	fd = client_open(fixture);
	become(0);
	return fd;
}

/* The client has a place. */
static void expect_answer(int fd)
{
	request(fd, "org.example.Echo", ",\"parameters\":{\"x\":1}");
	expect_json(fd, "{\"parameters\":{\"x\":1}}");
}

static void expect_too_many(int fd, const char *what, int limit)
{
	OWN_FREE char *expected = NULL;

	assert_true(asprintf(&expected,
			     "{\"error\":\"org.example.TooMany\",\"parameters\":"
			     "{\"what\":\"%s\",\"limit\":%d}}",
			     what, limit) > 0);
	expect_json(fd, expected);
	expect_end(fd);
}

#define AS_ROOT()               \
	do {                    \
		if (geteuid())  \
			skip(); \
	} while (0)

/* Let time pass, and the server do what is due: it handles one event in a turn, and reads the statistics in another. */
static void pass_in_loop(struct fixture *fixture, uint64_t ns)
{
	let_pass(ns);
	for (int turn = 0; turn < 3; turn++)
		in_loop(fixture, read_stats);
}

/* ---- time-outs -------------------------------------------------------------- */

EACH_TEST(setup, teardown);

TEST(test_idle)
{
	struct fixture *fixture = *state;
	OWN_FD int idle = -1, busy = -1, kept = -1, stream = -1;

	serve(fixture, (struct server_settings){.idle_ns = 1500 * MS});
	idle = client_open(fixture);
	busy = client_open(fixture);
	kept = client_open(fixture);
	expect_answer(idle);
	request(kept, "org.example.Keep", "");
	assert_true(soon(fixture, call_is_kept));
	stream = client_open(fixture);
	for (int i = 0; i < 30; i++) {
		expect_answer(busy);
		let_pass(100 * MS);
	}
	expect_end(idle);
	expect_end(stream); /* it called nothing */
	in_loop(fixture, read_stats);
	assert_int_equal(fixture->stats.timed_out, 2);
	/* Its call has been running for all that time. */
	in_loop(fixture, answer_kept);
	expect_json(kept, "{\"parameters\":{\"late\":true}}");
}

TEST(test_stream_is_not_idle)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = -1;

	serve(fixture, (struct server_settings){.idle_ns = 200 * MS});
	fd = client_open(fixture);
	request(fd, "org.example.Stream", ",\"more\":true");
	expect_json(fd, "{\"parameters\":{},\"continues\":true}");
	for (int i = 0; i < 15; i++)
		pass_in_loop(fixture, 100 * MS);
	assert_int_equal(fixture->stats.streams, 1);
	assert_int_equal(fixture->stats.timed_out, 0);
}

/* A byte now and then does not complete a call. */
TEST(test_slow_loris)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = -1;
	int sent = 0;

	serve(fixture, (struct server_settings){.idle_ns = 400 * MS});
	fd = client_open(fixture);
	send_bytes(fd, "{", 1);
	while (send(fd, " ", 1, MSG_NOSIGNAL) == 1) {
		char byte;

		assert_true(sent++ < 40);
		pass_in_loop(fixture, 50 * MS);
		if (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1)
			break;
	}
	expect_json(
		fd,
		"{\"error\":\"org.example.InvalidMessage\",\"parameters\":{\"reason\":"
		"\"the call was not complete within the time that a connection may be idle\"}}");
	assert_true(soon(fixture, nobody_left));
	assert_int_equal(fixture->stats.timed_out, 1);
}

static bool one_left(const struct fixture *fixture)
{
	return fixture->stats.clients == 1;
}

/* One takes nothing of its reply, the other a part now and then, for longer than a client may stall. */
TEST(test_stall)
{
	struct fixture *fixture = *state;
	OWN_FREE char *bytes = malloc(200000);
	OWN_FD int stalled = -1, slow = -1;
	size_t got = 0;

	assert_non_null(bytes);
	serve(fixture, (struct server_settings){.idle_ns = 2000 * MS});
	stalled = client_open(fixture);
	slow = client_open(fixture);
	request(stalled, "org.example.Large", ",\"parameters\":{\"bytes\":3000000}");
	request(slow, "org.example.Large", ",\"parameters\":{\"bytes\":3000000}");
	while (got < 3000000) {
		ssize_t part = recv(slow, bytes, 200000, 0);

		assert_true(part > 0);
		got += (size_t)part;
		pass_in_loop(fixture, 200 * MS);
	}
	assert_true(soon(fixture, one_left));
	assert_int_equal(fixture->stats.timed_out, 1);
	assert_int_equal(fixture->stats.unsent_bytes, 0);
}

static struct {
	int fd;
	ssize_t got;
} reader;

/* The watch for stalled clients is due, and the socket takes more. */
static void be_busy_while_it_reads(struct fixture *fixture)
{
	static char bytes[200000];

	(void)fixture;
	let_pass(600 * MS);
	reader.got = recv(reader.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
}

TEST(test_a_busy_server_is_no_stall)
{
	struct fixture *fixture = *state;
	struct pollfd fd = {.events = POLLIN};

	serve(fixture, (struct server_settings){.idle_ns = 60000 * MS});
	fd.fd = reader.fd = client_open(fixture);
	request(reader.fd, "org.example.Large", ",\"parameters\":{\"bytes\":3000000}");
	for (int i = 0; i < 5; i++) {
		assert_int_equal(poll(&fd, 1, 20000), 1);
		in_loop(fixture, be_busy_while_it_reads);
		assert_true(reader.got > 0);
	}
	in_loop(fixture, read_stats);
	assert_int_equal(fixture->stats.timed_out, 0);
	assert_int_equal(fixture->stats.clients, 1);
	close(reader.fd);
}

/* ---- places ----------------------------------------------------------------- */

static bool all_left(const struct fixture *fixture)
{
	return fixture->stats.clients == 0;
}

TEST(test_users)
{
	struct fixture *fixture = *state;
	int hog[4], other[2], root[3], fd;

	AS_ROOT();
	serve(fixture,
	      (struct server_settings){.max_clients = 8, .root_clients = 2, .user_clients = 4});
	for (int i = 0; i < 4; i++)
		expect_answer(hog[i] = open_as(fixture, NOBODY));
	fd = open_as(fixture, NOBODY);
	expect_too_many(fd, "clients of one user", 4);
	close(fd);
	for (int i = 0; i < 2; i++)
		expect_answer(other[i] = open_as(fixture, OTHER));
	/* Six of eight, and two are for root. */
	fd = open_as(fixture, OTHER);
	expect_too_many(fd, "clients", 8);
	close(fd);
	for (int i = 0; i < 2; i++)
		expect_answer(root[i] = client_open(fixture));
	root[2] = client_open(fixture);
	expect_too_many(root[2], "clients", 8);
	close(root[2]);
	/* A second later, the oldest of the user with the most makes room; then they have 3 each. */
	let_pass(1200 * MS);
	expect_answer(hog[1]);
	fd = open_as(fixture, OTHER);
	expect_answer(fd);
	expect_too_many(hog[0], "clients", 8);
	expect_answer(hog[1]);
	close(fd);
	in_loop(fixture, read_stats);
	assert_int_equal(fixture->stats.displaced, 1);
	for (int i = 0; i < 4; i++)
		close(hog[i]);
	for (int i = 0; i < 2; i++) {
		close(other[i]);
		close(root[i]);
	}
	assert_true(soon(fixture, all_left));
}

/* Root gets in even if all the others are root's own, and have calls that run. */
TEST(test_root_gets_in)
{
	struct fixture *fixture = *state;
	int fds[4], fd;

	serve(fixture, (struct server_settings){.max_clients = 4});
	for (int i = 0; i < 4; i++) {
		fds[i] = client_open(fixture);
		if (i == 2)
			expect_answer(fds[i]);
		else
			request(fds[i], "org.example.Stream", ",\"more\":true");
		if (i != 2)
			expect_json(fds[i], "{\"parameters\":{},\"continues\":true}");
	}
	let_pass(1200 * MS);
	fd = client_open(fixture);
	expect_answer(fd);
	expect_too_many(fds[2], "clients", 4);
	let_pass(1200 * MS);
	expect_answer(fd);
	close(fds[2]);
	fds[2] = client_open(fixture);
	expect_answer(fds[2]);
	expect_too_many(fds[0], "clients", 4);
	for (int i = 0; i < 4; i++)
		close(fds[i]);
	close(fd);
	assert_true(soon(fixture, all_left));
}

/* ---- turns ------------------------------------------------------------------ */

#define FLOODS 3
#define CALLS 100

static int flood[FLOODS], single;

/* In the loop's thread, so that the server sees all of them at once. */
static void send_all(struct fixture *fixture)
{
	(void)fixture;
	for (int i = 0; i < FLOODS; i++)
		for (int j = 0; j < CALLS; j++)
			request(flood[i], "org.example.Oneway", ",\"oneway\":true");
	request(single, "org.example.Oneway", "");
}

static bool all_handled(const struct fixture *fixture)
{
	return fixture->oneways == FLOODS * CALLS + 1;
}

TEST(test_turns)
{
	struct fixture *fixture = *state;
	OWN_JSON json_t *reply = NULL;

	AS_ROOT();
	serve(fixture, (struct server_settings){0});
	for (int i = 0; i < FLOODS; i++)
		expect_answer(flood[i] = open_as(fixture, NOBODY));
	expect_answer(single = open_as(fixture, OTHER));
	in_loop(fixture, send_all);
	reply = receive(single);
	/* The calls before it: those until the server read its socket, and one of the other user. */
	assert_in_range(
		json_integer_value(json_object_get(json_object_get(reply, "parameters"), "count")),
		1, 8);
	assert_true(soon(fixture, all_handled));
	for (int i = 0; i < FLOODS; i++)
		close(flood[i]);
	close(single);
}

/* Expensive calls leave half of the time to others, who are served in that time. */
TEST(test_rest)
{
	struct fixture *fixture = *state;
	OWN_FD int hog = -1, other = -1;
	struct timespec begin, end;
	double elapsed;

	AS_ROOT();
	serve(fixture, (struct server_settings){0});
	expect_answer(hog = open_as(fixture, NOBODY));
	expect_answer(other = open_as(fixture, OTHER));
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < 10; i++)
		request(hog, "org.example.Work", ",\"parameters\":{\"ms\":20}");
	for (int i = 0; i < 10; i++)
		expect_answer(other);
	for (int i = 0; i < 10; i++)
		expect_json(hog, "{\"parameters\":{}}");
	clock_gettime(CLOCK_MONOTONIC, &end);
	elapsed = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
	/* 200 ms of work, and 9 rests of 20 ms. */
	assert_true(elapsed >= 0.37);
}

/* ---- the budget ------------------------------------------------------------- */

static bool much_is_unsent(const struct fixture *fixture)
{
	return fixture->stats.unsent_bytes > 500000;
}

TEST(test_budget)
{
	struct fixture *fixture = *state;
	OWN_FD int hog = -1, other = -1;
	OWN_JSON json_t *reply = NULL;

	AS_ROOT();
	serve(fixture, (struct server_settings){.max_unsent_bytes = 2000000});
	hog = open_as(fixture, NOBODY);
	other = open_as(fixture, OTHER);
	request(hog, "org.example.Large", ",\"parameters\":{\"bytes\":1800000}");
	assert_true(soon(fixture, much_is_unsent));
	/* Together more than the budget: the one with less keeps its reply. */
	request(other, "org.example.Large", ",\"parameters\":{\"bytes\":1000000}");
	reply = receive(other);
	assert_int_equal(
		json_string_length(json_object_get(json_object_get(reply, "parameters"), "text")),
		1000000);
	in_loop(fixture, read_stats);
	assert_int_equal(fixture->stats.clients, 1);
	assert_int_equal(fixture->stats.over_budget, 1);
	assert_int_equal(fixture->stats.unsent_bytes, 0);
}

/* The client that goes beyond the budget has the most itself: an error instead of its reply. */
TEST(test_budget_of_the_sender)
{
	struct fixture *fixture = *state;
	OWN_FD int small = -1, large = -1;
	OWN_JSON json_t *reply = NULL;

	AS_ROOT();
	serve(fixture, (struct server_settings){.max_unsent_bytes = 2000000});
	small = open_as(fixture, NOBODY);
	large = open_as(fixture, OTHER);
	request(small, "org.example.Large", ",\"parameters\":{\"bytes\":900000}");
	assert_true(soon(fixture, much_is_unsent));
	request(large, "org.example.Large", ",\"parameters\":{\"bytes\":1900000}");
	expect_json(large, "{\"error\":\"org.example.Failed\",\"parameters\":{\"reason\":"
			   "\"replies that clients have not read exceed 2000000 bytes together, "
			   "and this client has the most: read faster or request less\"}}");
	reply = receive(small);
	assert_int_equal(
		json_string_length(json_object_get(json_object_get(reply, "parameters"), "text")),
		900000);
	expect_answer(large);
	/* A reply that no budget holds is the usual error. */
	request(large, "org.example.Large", ",\"parameters\":{\"bytes\":2000000}");
	expect_json(large, "{\"error\":\"org.example.Failed\",\"parameters\":"
			   "{\"reason\":\"the reply is longer than 2000000 bytes: request less, "
			   "with a limit or a filter\"}}");
	assert_int_equal(fixture->reports, 1);
}

static void stream_much(struct fixture *fixture)
{
	OWN_FREE char *text = malloc(100000);

	if (!text || !fixture->kept)
		abort();
	memset(text, 'x', 100000);
	fixture->stream_result = 0;
	for (fixture->streamed = 0; !fixture->stream_result && fixture->streamed < 100;
	     fixture->streamed++)
		fixture->stream_result = call_stream(
			fixture->kept, json_pack("{s:s%}", "text", text, (size_t)100000));
}

/* A stream beyond the budget has a gap, and stays connected. */
TEST(test_budget_of_a_stream)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = -1;

	serve(fixture,
	      (struct server_settings){.max_unsent_bytes = 1000000, .max_queued_bytes = 8000000});
	fd = client_open(fixture);
	request(fd, "org.example.Stream", ",\"more\":true");
	expect_json(fd, "{\"parameters\":{},\"continues\":true}");
	in_loop(fixture, stream_much);
	assert_int_equal(fixture->stream_result, -ENOBUFS);
	assert_in_range(fixture->streamed, 10, 20);
	in_loop(fixture, read_stats);
	assert_int_equal(fixture->stats.gaps, 1);
	assert_int_equal(fixture->stats.clients, 1);
	assert_true(fixture->stats.unsent_bytes <= 1000000);
	/* Whole messages only. */
	for (unsigned int i = 1; i < fixture->streamed; i++) {
		OWN_JSON json_t *reply = receive(fd);

		assert_true(json_is_true(json_object_get(reply, "continues")));
	}
	expect_silence(fd);
}
