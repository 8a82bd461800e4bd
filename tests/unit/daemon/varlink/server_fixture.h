/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A Varlink server with real sockets, for the tests of the server and of its calls.  It runs in a
 * thread of its own, with an event loop, as in the daemon.  The tests are its clients and wait for
 * the expected replies.
 */
#ifndef TESTS_UNIT_DAEMON_VARLINK_SERVER_FIXTURE_H
#define TESTS_UNIT_DAEMON_VARLINK_SERVER_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/json.h"
#include "daemon/process/loop.h"
#include "daemon/varlink/server.h"
#include "tests/unit/test.h"

#define QUEUED_BYTES 65536UL
#define REPLY_BYTES (8UL * 1024 * 1024)
#define NOBODY 65534

struct fixture {
	char directory[32];
	char path[64];
	struct loop *loop;
	struct server *server;
	struct server_stats stats;
	pthread_t thread;
	/* Work for the loop's thread, and the signal that it is done. */
	int wake;
	struct loop_source *wake_source;
	void (*work)(struct fixture *fixture);
	sem_t done;
	/* The condition of soon(), evaluated in the loop's thread. */
	bool (*holds)(const struct fixture *fixture);
	bool held;
	/* Calls that the methods kept, and their results. */
	struct call *kept;
	unsigned int closed;
	unsigned int oneways;
	int stream_result;
	unsigned int streamed;
	/* The last report, and the number of reports. */
	char what[64];
	int error;
	unsigned int reports;
};

/* ---- methods -------------------------------------------------------------- */

static inline int echo(struct call *call, json_t *parameters, void *userdata)
{
	(void)userdata;
	return call_reply(call, json_incref(parameters));
}

static inline int empty(struct call *call, json_t *parameters, void *userdata)
{
	(void)parameters;
	(void)userdata;
	return call_reply(call, NULL);
}

static inline void on_closed(void *userdata)
{
	struct fixture *fixture = userdata;

	fixture->kept = NULL;
	fixture->closed++;
}

static inline int keep(struct call *call, json_t *parameters, void *userdata)
{
	struct fixture *fixture = userdata;

	(void)parameters;
	fixture->kept = call;
	call_on_close(call, on_closed, fixture);
	return 0;
}

static inline int start_stream(struct call *call, json_t *parameters, void *userdata)
{
	keep(call, parameters, userdata);
	return call_stream(call, NULL);
}

static inline int large(struct call *call, json_t *parameters, void *userdata)
{
	size_t size = (size_t)json_integer_value(json_object_get(parameters, "bytes"));
	OWN_FREE char *text = malloc(size);

	(void)userdata;
	if (!text)
		return -ENOMEM;
	memset(text, 'x', size);
	return call_reply(call, json_pack("{s:s%}", "text", text, size));
}

/* Uses the CPU for that many milliseconds. */
static inline int work_hard(struct call *call, json_t *parameters, void *userdata)
{
	json_int_t ms = json_integer_value(json_object_get(parameters, "ms"));
	struct timespec begin, now;

	(void)userdata;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
	return call_reply(call, NULL);
}

static inline int fail_at_once(struct call *call, json_t *parameters, void *userdata)
{
	(void)call;
	(void)parameters;
	(void)userdata;
	return -ENOSPC;
}

static inline int fail_afterwards(struct call *call, json_t *parameters, void *userdata)
{
	(void)userdata;
	call_error(call, "org.example.NoData", json_pack("{s:s}", "reason", "none"));
	(void)parameters;
	return -ENOSPC;
}

static inline int check(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"string", PARAMETER_STRING, false}, {"int", PARAMETER_INT, true},
		{"float", PARAMETER_FLOAT, true},    {"bool", PARAMETER_BOOL, true},
		{"object", PARAMETER_OBJECT, true},  {"array", PARAMETER_ARRAY, true},
		{NULL, PARAMETER_STRING, false},
	};
	int r = call_check_parameters(call, parameters, table);

	if (r < 0)
		return r;
	return echo(call, parameters, userdata);
}

static inline int count_oneway(struct call *call, json_t *parameters, void *userdata)
{
	struct fixture *fixture = userdata;

	(void)parameters;
	fixture->oneways++;
	return call_reply(call, json_pack("{s:i}", "count", fixture->oneways));
}

static const struct method methods[] = {
	{"org.example.Echo", ACCESS_READ, false, echo},
	{"org.example.Empty", ACCESS_READ, false, empty},
	{"org.example.Keep", ACCESS_READ, false, keep},
	{"org.example.Stream", ACCESS_READ, true, start_stream},
	{"org.example.Large", ACCESS_READ, false, large},
	{"org.example.Work", ACCESS_READ, false, work_hard},
	{"org.example.Fail", ACCESS_READ, false, fail_at_once},
	{"org.example.FailAfterwards", ACCESS_READ, false, fail_afterwards},
	{"org.example.Check", ACCESS_READ, false, check},
	{"org.example.Oneway", ACCESS_READ, false, count_oneway},
	{"org.example.Change", ACCESS_CHANGE, false, empty},
	{"org.example.Planned", ACCESS_READ, false, NULL},
};

/* ---- the server's thread -------------------------------------------------- */

static inline void on_report(const char *what, int error, void *userdata)
{
	struct fixture *fixture = userdata;

	snprintf(fixture->what, sizeof(fixture->what), "%s", what);
	fixture->error = error;
	fixture->reports++;
}

static inline int on_work(int fd, unsigned int events, void *userdata)
{
	struct fixture *fixture = userdata;
	eventfd_t value;

	(void)events;
	eventfd_read(fd, &value);
	fixture->work(fixture);
	sem_post(&fixture->done);
	return 0;
}

/* Runs `work` in the loop's thread and waits for its end. */
static inline void in_loop(struct fixture *fixture, void (*work)(struct fixture *fixture))
{
	fixture->work = work;
	eventfd_write(fixture->wake, 1);
	sem_wait(&fixture->done);
}

static inline void *run_server(void *userdata)
{
	struct fixture *fixture = userdata;

	if (loop_new(&fixture->loop) < 0 ||
	    loop_add_fd(fixture->loop, &fixture->wake_source, fixture->wake, LOOP_READ, on_work,
			fixture) < 0)
		abort();
	loop_run(fixture->loop);
	server_free(&fixture->server);
	loop_source_free(&fixture->wake_source);
	loop_free(&fixture->loop);
	return NULL;
}

static const struct server_interface interfaces[] = {
	{"org.example", "# An example.\ninterface org.example\n"},
	{"org.example.more", "# Another.\ninterface org.example.more\n"},
};

static inline struct server_settings default_settings(struct fixture *fixture)
{
	return (struct server_settings){
		.path = fixture->path,
		.vendor = "a vendor",
		.product = "a product",
		.version = "1.2.3",
		.interfaces = interfaces,
		.interface_count = ARRAY_SIZE(interfaces),
		.errors =
			{
				.failed = "org.example.Failed",
				.too_many = "org.example.TooMany",
				.permission_denied = "org.example.PermissionDenied",
				.invalid_message = "org.example.InvalidMessage",
			},
		.report = on_report,
	};
}

static inline struct server_settings small_settings(struct fixture *fixture)
{
	struct server_settings settings = default_settings(fixture);

	settings.group = "no-such-group";
	settings.max_clients = 4;
	settings.max_queued_bytes = QUEUED_BYTES;
	settings.max_reply_bytes = REPLY_BYTES;
	return settings;
}

static inline void start_small(struct fixture *fixture)
{
	struct server_settings settings = small_settings(fixture);

	if (server_new(&fixture->server, fixture->loop, &settings, methods, ARRAY_SIZE(methods),
		       fixture) < 0)
		abort();
}

static inline void start_default(struct fixture *fixture)
{
	struct server_settings settings = default_settings(fixture);

	if (server_new(&fixture->server, fixture->loop, &settings, methods, ARRAY_SIZE(methods),
		       fixture) < 0)
		abort();
}

static inline void stop(struct fixture *fixture)
{
	loop_exit(fixture->loop, 0);
}

static inline void read_stats(struct fixture *fixture)
{
	server_stats(fixture->server, &fixture->stats);
}

static inline int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture)
		return -1;
	strcpy(fixture->directory, "/tmp/netflowd-test-XXXXXX");
	if (!mkdtemp(fixture->directory))
		return -1;
	snprintf(fixture->path, sizeof(fixture->path), "%s/socket", fixture->directory);
	fixture->wake = eventfd(0, EFD_CLOEXEC);
	sem_init(&fixture->done, 0, 0);
	if (pthread_create(&fixture->thread, NULL, run_server, fixture) != 0)
		return -1;
	*state = fixture;
	return 0;
}

static inline int setup_small(void **state)
{
	if (setup(state) < 0)
		return -1;
	in_loop(*state, start_small);
	return 0;
}

static inline int setup_default(void **state)
{
	if (setup(state) < 0)
		return -1;
	in_loop(*state, start_default);
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *fixture = *state;
	int r;

	in_loop(fixture, stop);
	pthread_join(fixture->thread, NULL);
	cleanup_close(&fixture->wake);
	sem_destroy(&fixture->done);
	/* Fails if the server did not remove its socket. */
	r = rmdir(fixture->directory);
	free(fixture);
	return r;
}

/* ---- a client ------------------------------------------------------------- */

static inline int unconnected(void)
{
	struct timeval patience = {.tv_sec = 20};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	return fd;
}

static inline void connect_to(const struct fixture *fixture, int fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strcpy(address.sun_path, fixture->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

static inline int client_open(const struct fixture *fixture)
{
	int fd = unconnected();

	connect_to(fixture, fd);
	return fd;
}

static inline void send_bytes(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);

		assert_true(sent > 0);
		bytes += sent;
		size -= (size_t)sent;
	}
}

static inline void send_text(int fd, const char *text)
{
	send_bytes(fd, text, strlen(text) + 1);
}

static inline void request(int fd, const char *method, const char *rest)
{
	OWN_FREE char *text = NULL;

	assert_true(asprintf(&text, "{\"method\":\"%s\"%s}", method, rest) > 0);
	send_text(fd, text);
}

/* Reads the next reply, byte by byte, so that the one after it stays unread; NULL at the end. */
static inline json_t *receive(int fd)
{
	size_t capacity = 4096;
	size_t size = 0;
	OWN_FREE char *text = malloc(capacity);

	for (;;) {
		ssize_t got;
		char *nul;

		assert_non_null(text);
		got = recv(fd, text + size, capacity - size, MSG_PEEK);
		if (got == 0 || (got < 0 && errno == ECONNRESET)) {
			assert_int_equal(size, 0);
			return NULL;
		}
		assert_true(got > 0);
		nul = memchr(text + size, '\0', (size_t)got);
		if (nul)
			got = nul - (text + size) + 1;
		assert_int_equal(recv(fd, text + size, (size_t)got, 0), got);
		size += (size_t)got;
		if (nul)
			return json_loads(text, JSON_REJECT_DUPLICATES, NULL);
		if (size == capacity) {
			capacity *= 2;
			text = realloc(text, capacity);
		}
	}
}

static inline void expect_json(int fd, const char *expected)
{
	OWN_JSON json_t *reply = receive(fd);
	OWN_JSON json_t *wanted = json_loads(expected, 0, NULL);
	OWN_FREE char *text = reply ? json_dumps(reply, JSON_COMPACT) : NULL;

	assert_non_null(wanted);
	if (!json_equal(reply, wanted))
		fail_msg("%s instead of %s", text, expected);
}

static inline void expect_end(int fd)
{
	assert_null(receive(fd));
}

static inline void expect_silence(int fd)
{
	char byte;

	usleep(30000);
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_true(errno == EAGAIN);
}

/* Checks that the server answers in time. */
static inline void expect_service(const struct fixture *fixture)
{
	OWN_FD int fd = client_open(fixture);

	request(fd, "org.example.Echo", ",\"parameters\":{\"x\":1}");
	expect_json(fd, "{\"parameters\":{\"x\":1}}");
}

static inline void look(struct fixture *fixture)
{
	server_stats(fixture->server, &fixture->stats);
	fixture->held = fixture->holds(fixture);
}

/* Waits until the condition holds: the server reacts to a client soon, but not at once. */
static inline bool soon(struct fixture *fixture, bool (*holds)(const struct fixture *fixture))
{
	fixture->holds = holds;
	for (int i = 0; i < 2000; i++) {
		in_loop(fixture, look);
		if (fixture->held)
			return true;
		usleep(2000);
	}
	return false;
}

static inline bool nobody_left(const struct fixture *fixture)
{
	return fixture->stats.clients == 0;
}

static inline bool call_is_kept(const struct fixture *fixture)
{
	return fixture->kept;
}

static inline bool hundred_handled(const struct fixture *fixture)
{
	return fixture->oneways == 100;
}

static inline bool one_closed(const struct fixture *fixture)
{
	return fixture->closed == 1;
}

static inline void answer_kept(struct fixture *fixture)
{
	struct call *call = fixture->kept;

	fixture->kept = NULL;
	call_reply(call, json_pack("{s:b}", "late", 1));
}

#endif
