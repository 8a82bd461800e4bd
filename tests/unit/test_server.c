/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Varlink server, over real sockets.  It runs in a thread of its own, as a
 * daemon would; the tests are its clients and simply wait for what must come.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <setjmp.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

#include <cmocka.h>
#include <jansson.h>

#include "daemon/control/server.h"
#include "daemon/loop.h"
#include "daemon/util/cleanup.h"

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
	/* Work for the loop's thread, and that it is done. */
	int wake;
	struct loop_source *wake_source;
	void (*work)(struct fixture *fixture);
	sem_t done;
	/* Calls that the methods kept, and what became of them. */
	struct call *kept;
	struct loop_source *timer;
	unsigned int closed;
	unsigned int oneways;
	int stream_result;
	unsigned int streamed;
	/* The last report, and how many there were. */
	char what[64];
	int error;
	unsigned int reports;
};

/* ---- methods -------------------------------------------------------------- */

static int echo(struct call *call, json_t *parameters, void *userdata)
{
	(void)userdata;
	return call_reply(call, json_incref(parameters));
}

static int empty(struct call *call, json_t *parameters, void *userdata)
{
	(void)parameters;
	(void)userdata;
	return call_reply(call, NULL);
}

static void on_closed(void *userdata)
{
	struct fixture *fixture = userdata;

	fixture->kept = NULL;
	fixture->closed++;
}

static int keep(struct call *call, json_t *parameters, void *userdata)
{
	struct fixture *fixture = userdata;

	(void)parameters;
	fixture->kept = call;
	call_on_close(call, on_closed, fixture);
	return 0;
}

static int start_stream(struct call *call, json_t *parameters, void *userdata)
{
	keep(call, parameters, userdata);
	return call_stream(call, NULL);
}

static int large(struct call *call, json_t *parameters, void *userdata)
{
	size_t size = (size_t)json_integer_value(json_object_get(parameters, "bytes"));
	OWN_FREE char *text = malloc(size);

	(void)userdata;
	if (!text)
		return -ENOMEM;
	memset(text, 'x', size);
	return call_reply(call, json_pack("{s:s%}", "text", text, size));
}

static int fail_at_once(struct call *call, json_t *parameters, void *userdata)
{
	(void)call;
	(void)parameters;
	(void)userdata;
	return -ENOSPC;
}

static int fail_afterwards(struct call *call, json_t *parameters, void *userdata)
{
	(void)userdata;
	call_error(call, "io.netflowd.NoData", json_pack("{s:s}", "reason", "none"));
	(void)parameters;
	return -ENOSPC;
}

static int check(struct call *call, json_t *parameters, void *userdata)
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

static int count_oneway(struct call *call, json_t *parameters, void *userdata)
{
	struct fixture *fixture = userdata;

	(void)parameters;
	fixture->oneways++;
	return call_reply(call, json_pack("{s:i}", "count", fixture->oneways));
}

static const struct method methods[] = {
	{"io.netflowd.Echo", ACCESS_READ, false, echo},
	{"io.netflowd.Empty", ACCESS_READ, false, empty},
	{"io.netflowd.Keep", ACCESS_READ, false, keep},
	{"io.netflowd.Stream", ACCESS_READ, true, start_stream},
	{"io.netflowd.Large", ACCESS_READ, false, large},
	{"io.netflowd.Fail", ACCESS_READ, false, fail_at_once},
	{"io.netflowd.FailAfterwards", ACCESS_READ, false, fail_afterwards},
	{"io.netflowd.Check", ACCESS_READ, false, check},
	{"io.netflowd.Oneway", ACCESS_READ, false, count_oneway},
	{"io.netflowd.Change", ACCESS_CHANGE, false, empty},
	{"io.netflowd.Planned", ACCESS_READ, false, NULL},
};

/* ---- the server's thread -------------------------------------------------- */

static void on_report(const char *what, int error, void *userdata)
{
	struct fixture *fixture = userdata;

	snprintf(fixture->what, sizeof(fixture->what), "%s", what);
	fixture->error = error;
	fixture->reports++;
}

static int on_work(int fd, unsigned int events, void *userdata)
{
	struct fixture *fixture = userdata;
	eventfd_t value;

	(void)events;
	eventfd_read(fd, &value);
	fixture->work(fixture);
	sem_post(&fixture->done);
	return 0;
}

/* Run `work` in the loop's thread, to its end. */
static void in_loop(struct fixture *fixture, void (*work)(struct fixture *fixture))
{
	fixture->work = work;
	eventfd_write(fixture->wake, 1);
	sem_wait(&fixture->done);
}

static void *run_server(void *userdata)
{
	struct fixture *fixture = userdata;

	if (loop_new(&fixture->loop) < 0 ||
	    loop_add_fd(fixture->loop, &fixture->wake_source, fixture->wake, LOOP_READ, on_work,
			fixture) < 0)
		abort();
	loop_run(fixture->loop);
	server_free(&fixture->server);
	loop_source_free(&fixture->timer);
	loop_source_free(&fixture->wake_source);
	loop_free(&fixture->loop);
	return NULL;
}

static struct server_settings small_settings(struct fixture *fixture)
{
	return (struct server_settings){
		.path = fixture->path,
		.group = "no-such-group",
		.max_clients = 4,
		.max_queued_bytes = QUEUED_BYTES,
		.max_reply_bytes = REPLY_BYTES,
		.report = on_report,
	};
}

static void start_small(struct fixture *fixture)
{
	struct server_settings settings = small_settings(fixture);

	if (server_new(&fixture->server, fixture->loop, &settings, methods,
		       sizeof(methods) / sizeof(*methods), fixture) < 0)
		abort();
}

static void start_default(struct fixture *fixture)
{
	struct server_settings settings = {.path = fixture->path, .report = on_report};

	if (server_new(&fixture->server, fixture->loop, &settings, methods,
		       sizeof(methods) / sizeof(*methods), fixture) < 0)
		abort();
}

static void stop(struct fixture *fixture)
{
	loop_exit(fixture->loop, 0);
}

static void read_stats(struct fixture *fixture)
{
	server_stats(fixture->server, &fixture->stats);
}

static int setup(void **state)
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

static int setup_small(void **state)
{
	if (setup(state) < 0)
		return -1;
	in_loop(*state, start_small);
	return 0;
}

static int setup_default(void **state)
{
	if (setup(state) < 0)
		return -1;
	in_loop(*state, start_default);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	int r;

	in_loop(fixture, stop);
	pthread_join(fixture->thread, NULL);
	cleanup_close(&fixture->wake);
	sem_destroy(&fixture->done);
	/* Fails if the socket is still there. */
	r = rmdir(fixture->directory);
	free(fixture);
	return r;
}

/* ---- a client ------------------------------------------------------------- */

static int unconnected(void)
{
	struct timeval patience = {.tv_sec = 20};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	return fd;
}

static void connect_to(const struct fixture *fixture, int fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strcpy(address.sun_path, fixture->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

static int client_open(const struct fixture *fixture)
{
	int fd = unconnected();

	connect_to(fixture, fd);
	return fd;
}

static void send_bytes(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);

		assert_true(sent > 0);
		bytes += sent;
		size -= (size_t)sent;
	}
}

static void send_text(int fd, const char *text)
{
	send_bytes(fd, text, strlen(text) + 1);
}

static void request(int fd, const char *method, const char *rest)
{
	OWN_FREE char *text = NULL;

	assert_true(asprintf(&text, "{\"method\":\"%s\"%s}", method, rest) > 0);
	send_text(fd, text);
}

/* The next reply, byte by byte so that none of the one after it is taken; NULL at the end. */
static json_t *receive(int fd)
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

static void expect_json(int fd, const char *expected)
{
	CLEANUP(json_decrefp) json_t *reply = receive(fd);
	CLEANUP(json_decrefp) json_t *wanted = json_loads(expected, 0, NULL);
	OWN_FREE char *text = reply ? json_dumps(reply, JSON_COMPACT) : NULL;

	assert_non_null(wanted);
	if (!json_equal(reply, wanted))
		fail_msg("%s instead of %s", text, expected);
}

static void expect_end(int fd)
{
	assert_null(receive(fd));
}

static void expect_silence(int fd)
{
	char byte;

	usleep(30000);
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_true(errno == EAGAIN);
}

/* It answers, and in time. */
static void expect_service(const struct fixture *fixture)
{
	OWN_FD int fd = client_open(fixture);

	request(fd, "io.netflowd.Echo", ",\"parameters\":{\"x\":1}");
	expect_json(fd, "{\"parameters\":{\"x\":1}}");
}

/* What the server does after a client did something comes within a moment, but not at once. */
static bool soon(struct fixture *fixture, bool (*holds)(const struct fixture *fixture))
{
	for (int i = 0; i < 2000; i++) {
		in_loop(fixture, read_stats);
		if (holds(fixture))
			return true;
		usleep(2000);
	}
	return false;
}

static bool nobody_left(const struct fixture *fixture)
{
	return fixture->stats.clients == 0;
}

static bool call_is_kept(const struct fixture *fixture)
{
	return fixture->kept;
}

static bool hundred_handled(const struct fixture *fixture)
{
	return fixture->oneways == 100;
}

static bool one_closed(const struct fixture *fixture)
{
	return fixture->closed == 1;
}

static void answer_kept(struct fixture *fixture)
{
	struct call *call = fixture->kept;

	fixture->kept = NULL;
	call_reply(call, json_pack("{s:b}", "late", 1));
}

/* ---- org.varlink.service and what it says of methods ----------------------- */

static void test_get_info(void **state)
{
	OWN_FD int fd = client_open(*state);
	CLEANUP(json_decrefp) json_t *reply = NULL;

	request(fd, "org.varlink.service.GetInfo", "");
	reply = receive(fd);
	assert_int_equal(json_unpack(reply, "{s:{s:s, s:s, s:s, s:s, s:[s,s!]!}!}", "parameters",
				     "vendor", &(const char *){0}, "product", &(const char *){0},
				     "version", &(const char *){0}, "url", &(const char *){0},
				     "interfaces", &(const char *){0}, &(const char *){0}),
			 0);
	request(fd, "org.varlink.service.GetInfo", ",\"parameters\":{\"x\":1}");
	expect_json(fd, "{\"error\":\"org.varlink.service.InvalidParameter\","
			"\"parameters\":{\"parameter\":\"x\"}}");
}

static void expect_interface(int fd, const char *name)
{
	CLEANUP(json_decrefp) json_t *reply = NULL;
	OWN_FREE char *parameters = NULL;
	OWN_FREE char *line = NULL;
	const char *text;

	assert_true(asprintf(&parameters, ",\"parameters\":{\"interface\":\"%s\"}", name) > 0);
	assert_true(asprintf(&line, "\ninterface %s\n", name) > 0);
	request(fd, "org.varlink.service.GetInterfaceDescription", parameters);
	reply = receive(fd);
	assert_int_equal(json_unpack(reply, "{s:{s:s!}!}", "parameters", "description", &text), 0);
	assert_non_null(strstr(text, line));
}

static void test_interfaces(void **state)
{
	OWN_FD int fd = client_open(*state);

	expect_interface(fd, "org.varlink.service");
	expect_interface(fd, "io.netflowd");
	request(fd, "org.varlink.service.GetInterfaceDescription",
		",\"parameters\":{\"interface\":\"io.netflow\"}");
	expect_json(fd, "{\"error\":\"org.varlink.service.InterfaceNotFound\","
			"\"parameters\":{\"interface\":\"io.netflow\"}}");
	request(fd, "org.varlink.service.GetInterfaceDescription", "");
	expect_json(fd, "{\"error\":\"org.varlink.service.InvalidParameter\","
			"\"parameters\":{\"parameter\":\"interface\"}}");
}

static void test_unknown_methods(void **state)
{
	OWN_FD int fd = client_open(*state);

	request(fd, "io.netflowd.echo", "");
	expect_json(fd, "{\"error\":\"org.varlink.service.MethodNotFound\","
			"\"parameters\":{\"method\":\"io.netflowd.echo\"}}");
	request(fd, "org.varlink.service.Get", "");
	expect_json(fd, "{\"error\":\"org.varlink.service.MethodNotFound\","
			"\"parameters\":{\"method\":\"org.varlink.service.Get\"}}");
	request(fd, "Echo", "");
	expect_json(fd, "{\"error\":\"org.varlink.service.MethodNotFound\","
			"\"parameters\":{\"method\":\"Echo\"}}");
	request(fd, "io.netflow.Echo", "");
	expect_json(fd, "{\"error\":\"org.varlink.service.InterfaceNotFound\","
			"\"parameters\":{\"interface\":\"io.netflow\"}}");
	request(fd, ".Echo", "");
	expect_json(fd, "{\"error\":\"org.varlink.service.InterfaceNotFound\","
			"\"parameters\":{\"interface\":\"\"}}");
	request(fd, "io.netflowd.Planned", "");
	expect_json(fd, "{\"error\":\"org.varlink.service.MethodNotImplemented\","
			"\"parameters\":{\"method\":\"io.netflowd.Planned\"}}");
}

static void expect_checked(int fd, const char *parameters, const char *expected)
{
	OWN_FREE char *rest = NULL;

	assert_true(asprintf(&rest, ",\"parameters\":%s", parameters) > 0);
	request(fd, "io.netflowd.Check", rest);
	expect_json(fd, expected);
}

static void expect_wrong(int fd, const char *parameters, const char *name)
{
	OWN_FREE char *expected = NULL;

	assert_true(asprintf(&expected,
			     "{\"error\":\"org.varlink.service.InvalidParameter\","
			     "\"parameters\":{\"parameter\":\"%s\"}}",
			     name) > 0);
	expect_checked(fd, parameters, expected);
}

static void test_parameters(void **state)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);

	expect_checked(fd, "{\"string\":\"\"}", "{\"parameters\":{\"string\":\"\"}}");
	expect_checked(fd,
		       "{\"string\":\"s\",\"int\":1,\"float\":2,\"bool\":false,\"object\":{},"
		       "\"array\":[]}",
		       "{\"parameters\":{\"string\":\"s\",\"int\":1,\"float\":2,\"bool\":false,"
		       "\"object\":{},\"array\":[]}}");
	expect_checked(fd, "{\"string\":\"s\",\"float\":0.1,\"int\":null,\"bool\":null}",
		       "{\"parameters\":{\"string\":\"s\",\"float\":0.1}}");
	expect_wrong(fd, "{}", "string");
	expect_wrong(fd, "null", "string");
	expect_wrong(fd, "{\"string\":null}", "string");
	expect_wrong(fd, "{\"string\":1}", "string");
	expect_wrong(fd, "{\"string\":\"\",\"int\":1.0}", "int");
	expect_wrong(fd, "{\"string\":\"\",\"int\":\"1\"}", "int");
	expect_wrong(fd, "{\"string\":\"\",\"float\":\"1\"}", "float");
	expect_wrong(fd, "{\"string\":\"\",\"bool\":0}", "bool");
	expect_wrong(fd, "{\"string\":\"\",\"object\":[]}", "object");
	expect_wrong(fd, "{\"string\":\"\",\"array\":{}}", "array");
	expect_wrong(fd, "{\"string\":\"\",\"strin\":1}", "strin");
	expect_wrong(fd, "{\"string\":\"\",\"\\u00e4\":null}", "\xc3\xa4");
	/* The caller's mistake is nothing for the log. */
	assert_int_equal(fixture->reports, 0);
}

static void test_failing_methods(void **state)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);

	request(fd, "io.netflowd.Fail", "");
	expect_json(fd, "{\"error\":\"io.netflowd.Failed\","
			"\"parameters\":{\"reason\":\"No space left on device\"}}");
	assert_int_equal(fixture->reports, 1);
	assert_string_equal(fixture->what, "io.netflowd.Fail");
	assert_int_equal(fixture->error, -ENOSPC);
	request(fd, "io.netflowd.FailAfterwards", "");
	expect_json(fd, "{\"error\":\"io.netflowd.NoData\",\"parameters\":{\"reason\":\"none\"}}");
	request(fd, "io.netflowd.Empty", "");
	expect_json(fd, "{\"parameters\":{}}");
	assert_int_equal(fixture->reports, 1);
}

static void test_access(void **state)
{
	struct fixture *fixture = *state;
	OWN_FD int mine = client_open(fixture);
	OWN_FD int others = unconnected();

	if (geteuid() != 0)
		skip();
	request(mine, "io.netflowd.Change", "");
	expect_json(mine, "{\"parameters\":{}}");
	/* Of this thread only; who connects is recorded in connect(2). */
	assert_int_equal(chmod(fixture->directory, 0755), 0);
	assert_int_equal(chmod(fixture->path, 0666), 0);
	assert_int_equal(syscall(SYS_setresuid, -1, NOBODY, -1), 0);
	connect_to(fixture, others);
	assert_int_equal(syscall(SYS_setresuid, -1, 0, -1), 0);
	request(others, "io.netflowd.Change", "");
	expect_json(others, "{\"error\":\"io.netflowd.PermissionDenied\",\"parameters\":"
			    "{\"reason\":\"only root may call io.netflowd.Change\"}}");
	request(others, "io.netflowd.Echo", "");
	expect_json(others, "{\"parameters\":{}}");
}

/* ---- order ----------------------------------------------------------------- */

static void test_split(void **state)
{
	static const char text[] = "{\"method\":\"io.netflowd.Echo\",\"parameters\":{\"x\":1}}";
	OWN_FD int fd = client_open(*state);

	for (size_t i = 0; i < sizeof(text); i++) {
		send_bytes(fd, text + i, 1);
		if (i % 8 == 0)
			usleep(1000);
	}
	expect_json(fd, "{\"parameters\":{\"x\":1}}");
}

static void test_pipeline(void **state)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);
	OWN_FREE char *text = malloc(300 * 64);
	size_t size = 0;

	assert_non_null(text);
	for (int i = 0; i < 300; i++)
		size += (size_t)sprintf(text + size,
					"{\"method\":\"io.netflowd.%s\",\"parameters\":{\"x\":%d}}",
					i == 150 ? "Keep" : "Echo", i) +
			1;
	send_bytes(fd, text, size);
	for (int i = 0; i < 300; i++) {
		char expected[64];

		snprintf(expected, sizeof(expected), "{\"parameters\":{\"x\":%d}}", i);
		if (i == 150) {
			/* What is kept keeps back what follows. */
			expect_silence(fd);
			in_loop(fixture, answer_kept);
			expect_json(fd, "{\"parameters\":{\"late\":true}}");
		} else {
			expect_json(fd, expected);
		}
	}
}

static void test_oneway(void **state)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);

	for (int i = 0; i < 20; i++)
		request(fd, "io.netflowd.Oneway", ",\"oneway\":true");
	request(fd, "io.netflowd.NoSuch", ",\"oneway\":true");
	request(fd, "io.netflowd.Fail", ",\"oneway\":true");
	request(fd, "io.netflowd.Check", ",\"oneway\":true");
	request(fd, "io.netflowd.Stream", ",\"oneway\":true");
	request(fd, "io.netflowd.Keep", ",\"oneway\":true");
	request(fd, "io.netflowd.Oneway", "");
	expect_silence(fd);
	in_loop(fixture, answer_kept);
	expect_json(fd, "{\"parameters\":{\"count\":21}}");
	assert_int_equal(fixture->reports, 1);
	in_loop(fixture, read_stats);
	assert_int_equal(fixture->stats.streams, 0);
}

/* All that was sent before the client left is done, however much it was. */
static void test_oneway_and_gone(void **state)
{
	struct fixture *fixture = *state;
	int fd = client_open(fixture);

	for (int i = 0; i < 100; i++)
		request(fd, "io.netflowd.Oneway", ",\"oneway\":true");
	close(fd);
	assert_true(soon(fixture, hundred_handled));
	assert_true(soon(fixture, nobody_left));
}

/* ---- streams ----------------------------------------------------------------- */

static void stream_one(struct fixture *fixture)
{
	fixture->stream_result =
		call_stream(fixture->kept, json_pack("{s:i}", "n", fixture->streamed));
	if (fixture->stream_result == 0)
		fixture->streamed++;
}

static void stream_until_full(struct fixture *fixture)
{
	do
		stream_one(fixture);
	while (fixture->stream_result == 0);
}

static void expect_stream(int fd, unsigned int n)
{
	char expected[64];

	snprintf(expected, sizeof(expected), "{\"parameters\":{\"n\":%u},\"continues\":true}", n);
	expect_json(fd, expected);
}

static void test_stream(void **state)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);

	request(fd, "io.netflowd.Stream", "");
	expect_json(fd, "{\"error\":\"org.varlink.service.ExpectedMore\",\"parameters\":{}}");
	request(fd, "io.netflowd.Echo", ",\"more\":true");
	expect_json(fd, "{\"parameters\":{}}");

	request(fd, "io.netflowd.Stream", ",\"more\":true");
	expect_json(fd, "{\"parameters\":{},\"continues\":true}");
	in_loop(fixture, read_stats);
	assert_int_equal(fixture->stats.streams, 1);
	for (unsigned int i = 0; i < 10; i++) {
		in_loop(fixture, stream_one);
		expect_stream(fd, i);
	}
	/* The stream goes before. */
	request(fd, "io.netflowd.Empty", "");
	expect_silence(fd);
	in_loop(fixture, answer_kept);
	expect_json(fd, "{\"parameters\":{\"late\":true}}");
	expect_json(fd, "{\"parameters\":{}}");
	in_loop(fixture, read_stats);
	assert_int_equal(fixture->stats.streams, 0);
	assert_int_equal(fixture->closed, 0);
}

static void test_stream_not_asked_for(void **state)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);

	request(fd, "io.netflowd.Keep", "");
	assert_true(soon(fixture, call_is_kept));
	in_loop(fixture, stream_one);
	assert_int_equal(fixture->stream_result, -EINVAL);
	in_loop(fixture, answer_kept);
	expect_json(fd, "{\"parameters\":{\"late\":true}}");
}

/* A reader that stopped loses its own replies, is told so, and can go on. */
static void test_slow_reader(void **state)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);
	unsigned int before;

	request(fd, "io.netflowd.Stream", ",\"more\":true");
	expect_json(fd, "{\"parameters\":{},\"continues\":true}");
	in_loop(fixture, stream_until_full);
	assert_int_equal(fixture->stream_result, -ENOBUFS);
	/* What the kernel holds, and the queue behind it. */
	assert_true(fixture->streamed > QUEUED_BYTES / 48);
	assert_true(fixture->streamed < 1000000 / 40);
	in_loop(fixture, stream_one);
	in_loop(fixture, read_stats);
	assert_int_equal(fixture->stats.gaps, 2);
	expect_service(fixture);

	before = fixture->streamed;
	for (unsigned int i = 0; i < before; i++)
		expect_stream(fd, i);
	in_loop(fixture, stream_one);
	assert_int_equal(fixture->stream_result, 0);
	expect_stream(fd, before);
	/* The end finds room even in a full queue. */
	in_loop(fixture, stream_until_full);
	in_loop(fixture, answer_kept);
	for (unsigned int i = before + 1; i < fixture->streamed; i++)
		expect_stream(fd, i);
	expect_json(fd, "{\"parameters\":{\"late\":true}}");
}

static void stream_much(struct fixture *fixture)
{
	for (int i = 0; i < 3000; i++) {
		stream_one(fixture);
		if (fixture->stream_result < 0)
			return;
	}
}

/* More than its queue holds, out of one handler: the kernel has room for it, so no gap. */
static void test_burst(void **state)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);
	int size = 4 * 1024 * 1024;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	request(fd, "io.netflowd.Stream", ",\"more\":true");
	expect_json(fd, "{\"parameters\":{},\"continues\":true}");
	in_loop(fixture, stream_much);
	assert_int_equal(fixture->streamed, 3000);
	assert_true(3000 * 40 > QUEUED_BYTES);
	for (unsigned int i = 0; i < 3000; i++)
		expect_stream(fd, i);
}

static void test_stream_and_gone(void **state)
{
	struct fixture *fixture = *state;
	int fd = client_open(fixture);

	request(fd, "io.netflowd.Stream", ",\"more\":true");
	expect_json(fd, "{\"parameters\":{},\"continues\":true}");
	in_loop(fixture, stream_until_full);
	close(fd);
	assert_true(soon(fixture, one_closed));
	assert_int_equal(fixture->stats.streams, 0);
	assert_int_equal(fixture->stats.clients, 0);
	assert_null(fixture->kept);
}

/* It can no more be written to, but it did not hang up. */
static void test_stream_unheard(void **state)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);

	request(fd, "io.netflowd.Stream", ",\"more\":true");
	expect_json(fd, "{\"parameters\":{},\"continues\":true}");
	assert_int_equal(shutdown(fd, SHUT_RD), 0);
	in_loop(fixture, stream_one);
	assert_true(soon(fixture, one_closed));
	assert_int_equal(fixture->stats.clients, 0);
}

/* ---- clients that leave, or should ------------------------------------------- */

static void test_kept_and_gone(void **state)
{
	struct fixture *fixture = *state;
	int fd = client_open(fixture);

	request(fd, "io.netflowd.Keep", "");
	/* Not read any more, and no reason to miss that it leaves. */
	request(fd, "io.netflowd.Echo", "");
	assert_true(soon(fixture, call_is_kept));
	close(fd);
	assert_true(soon(fixture, one_closed));
	assert_int_equal(fixture->stats.clients, 0);
}

static void restart(struct fixture *fixture)
{
	server_free(&fixture->server);
	start_small(fixture);
}

static void test_server_gone(void **state)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);

	request(fd, "io.netflowd.Keep", "");
	assert_true(soon(fixture, call_is_kept));
	in_loop(fixture, restart);
	assert_int_equal(fixture->closed, 1);
	assert_null(fixture->kept);
	expect_end(fd);
	expect_service(fixture);
}

static void test_half_closed(void **state)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);
	OWN_FD int late = client_open(fixture);
	OWN_FD int idle = client_open(fixture);

	for (int i = 0; i < 40; i++)
		request(fd, "io.netflowd.Echo", "");
	shutdown(fd, SHUT_WR);
	for (int i = 0; i < 40; i++)
		expect_json(fd, "{\"parameters\":{}}");
	expect_end(fd);

	request(late, "io.netflowd.Keep", "");
	shutdown(late, SHUT_WR);
	assert_true(soon(fixture, call_is_kept));
	expect_silence(late);
	in_loop(fixture, answer_kept);
	expect_json(late, "{\"parameters\":{\"late\":true}}");
	expect_end(late);

	shutdown(idle, SHUT_WR);
	expect_end(idle);
	assert_true(soon(fixture, nobody_left));
}

static void expect_refused(const struct fixture *fixture, const char *bytes, size_t size,
			   const char *reason)
{
	OWN_FD int fd = client_open(fixture);
	OWN_FREE char *expected = NULL;

	assert_true(asprintf(&expected,
			     "{\"error\":\"io.netflowd.InvalidMessage\","
			     "\"parameters\":{\"reason\":\"%s\"}}",
			     reason) > 0);
	request(fd, "io.netflowd.Empty", "");
	send_bytes(fd, bytes, size);
	shutdown(fd, SHUT_WR);
	expect_json(fd, "{\"parameters\":{}}");
	expect_json(fd, expected);
	expect_end(fd);
}

static void test_garbage(void **state)
{
	static const char http[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct fixture *fixture = *state;
	size_t size = 16UL * 1024 * 1024;
	OWN_FREE char *long_text = malloc(size);

	assert_non_null(long_text);
	memset(long_text, '[', size);
	expect_refused(fixture, http, sizeof(http), "byte 3: invalid token near 'GET'");
	expect_refused(fixture, http, strlen(http), "the connection ended inside a message");
	expect_refused(fixture, "\0", 1, "the message is empty");
	expect_refused(fixture, "[]", 3, "the message is an array, not an object");
	/* All of it can be written before the answer is read. */
	expect_refused(fixture, long_text, size, "the message is longer than 1048576 bytes");
	assert_true(soon(fixture, nobody_left));
	assert_int_equal(fixture->stats.rejected, 5);
	expect_service(fixture);
}

/* It heard that it is refused, and stays: it is not waited for. */
static void test_garbage_and_stay(void **state)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);

	send_text(fd, "nonsense");
	request(fd, "io.netflowd.Oneway", "");
	expect_json(fd, "{\"error\":\"io.netflowd.InvalidMessage\",\"parameters\":"
			"{\"reason\":\"byte 8: invalid token near 'nonsense'\"}}");
	expect_end(fd);
	assert_true(soon(fixture, nobody_left));
	assert_int_equal(fixture->oneways, 0);
}

/* ---- limits ------------------------------------------------------------------ */

static void test_large_reply(void **state)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);
	CLEANUP(json_decrefp) json_t *reply = NULL;

	/* Far more than a stream may leave, and still one reply. */
	request(fd, "io.netflowd.Large", ",\"parameters\":{\"bytes\":8000000}");
	request(fd, "io.netflowd.Empty", "");
	usleep(30000);
	expect_service(fixture);
	reply = receive(fd);
	assert_int_equal(
		json_string_length(json_object_get(json_object_get(reply, "parameters"), "text")),
		8000000);
	expect_json(fd, "{\"parameters\":{}}");

	request(fd, "io.netflowd.Large", ",\"parameters\":{\"bytes\":8388608}");
	expect_json(fd, "{\"error\":\"io.netflowd.Failed\",\"parameters\":"
			"{\"reason\":\"the reply is longer than 8388608 bytes\"}}");
	assert_int_equal(fixture->reports, 1);
	assert_int_equal(fixture->error, -EMSGSIZE);
	request(fd, "io.netflowd.Empty", "");
	expect_json(fd, "{\"parameters\":{}}");
}

/* It asks and asks and never reads: its requests wait in the kernel, others are served. */
static void test_never_reads(void **state)
{
	static const char text[] = "{\"method\":\"io.netflowd.Large\","
				   "\"parameters\":{\"bytes\":100000}}";
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);
	size_t sent = 0;

	while (send(fd, text, sizeof(text), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(text))
		assert_true(sent++ < 100000);
	for (int i = 0; i < 20; i++)
		expect_service(fixture);
	close(TAKE_FD(fd));
	assert_true(soon(fixture, nobody_left));
}

static const char too_many[] = "{\"error\":\"io.netflowd.TooMany\",\"parameters\":"
			       "{\"what\":\"clients\",\"limit\":128}}";

/* Every place taken, and as many again turned away; then one leaves and one comes. */
static void test_too_many(void **state)
{
	struct fixture *fixture = *state;
	int fds[300];

	for (int i = 0; i < 300; i++) {
		fds[i] = client_open(fixture);
		request(fds[i], "io.netflowd.Echo", "");
	}
	for (int i = 0; i < 300; i++)
		expect_json(fds[i], i < 128 ? "{\"parameters\":{}}" : too_many);
	for (int i = 128; i < 300; i++)
		expect_end(fds[i]);
	in_loop(fixture, read_stats);
	assert_int_equal(fixture->stats.clients, 128);
	assert_int_equal(fixture->stats.rejected, 172);
	for (int i = 127; i < 300; i++)
		close(fds[i]);
	expect_service(fixture);
	for (int i = 0; i < 127; i++)
		close(fds[i]);
	assert_true(soon(fixture, nobody_left));
}

static double thread_seconds(const struct fixture *fixture)
{
	clockid_t clock;
	struct timespec used;

	pthread_getcpuclockid(fixture->thread, &clock);
	clock_gettime(clock, &used);
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static void test_out_of_fds(void **state)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = unconnected();
	OWN_FD int next = dup(fd);
	struct rlimit before;
	struct rlimit none;
	double used;

	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = (rlim_t)next;
	close(TAKE_FD(next));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	used = thread_seconds(fixture);
	connect_to(fixture, fd);
	request(fd, "io.netflowd.Empty", "");
	usleep(500000);
	used = thread_seconds(fixture) - used;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	expect_json(fd, "{\"parameters\":{}}");
	if (used > 0.05)
		fail_msg("%.3f s of CPU in 0.5 s", used);
	assert_int_equal(fixture->reports, 1);
	assert_string_equal(fixture->what, "accept");
	assert_int_equal(fixture->error, -EMFILE);
}

/* ---- the socket ---------------------------------------------------------------- */

static mode_t socket_mode(const struct fixture *fixture, gid_t *group)
{
	struct stat found;

	assert_int_equal(lstat(fixture->path, &found), 0);
	assert_true(S_ISSOCK(found.st_mode));
	*group = found.st_gid;
	return found.st_mode & 07777;
}

static void stop_serving(struct fixture *fixture)
{
	server_free(&fixture->server);
}

static void start_for_group(struct fixture *fixture)
{
	struct server_settings settings = small_settings(fixture);

	settings.group = "nogroup";
	if (server_new(&fixture->server, fixture->loop, &settings, methods, 1, fixture) < 0)
		abort();
}

static void test_mode(void **state)
{
	struct fixture *fixture = *state;
	struct group *nogroup = getgrnam("nogroup");
	mode_t mask = umask(0);
	gid_t group;

	in_loop(fixture, start_small);
	assert_int_equal(socket_mode(fixture, &group), 0600);
	assert_int_equal(umask(mask), 0);
	if (!nogroup || geteuid() != 0)
		return;
	in_loop(fixture, stop_serving);
	in_loop(fixture, start_for_group);
	assert_int_equal(socket_mode(fixture, &group), 0660);
	assert_int_equal(group, nogroup->gr_gid);
}

static void test_stale(void **state)
{
	struct fixture *fixture = *state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = unconnected();

	strcpy(address.sun_path, fixture->path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	in_loop(fixture, start_small);
	expect_service(fixture);
}

static int try_path(const char *path)
{
	struct server_settings settings = {.path = path};
	struct server *server = NULL;
	struct loop *loop = NULL;
	int r;

	assert_int_equal(loop_new(&loop), 0);
	r = server_new(&server, loop, &settings, methods, 1, NULL);
	if (r < 0)
		assert_null(server);
	server_free(&server);
	loop_free(&loop);
	return r;
}

static void test_bad_paths(void **state)
{
	struct fixture *fixture = *state;
	char path[200];
	OWN_FD int file = -1;

	assert_int_equal(try_path(fixture->path), 0);
	/* Removed again. */
	assert_int_equal(access(fixture->path, F_OK), -1);
	file = open(fixture->path, O_CREAT | O_CLOEXEC | O_WRONLY, 0600);
	assert_true(file >= 0);
	assert_int_equal(try_path(fixture->path), -EEXIST);
	assert_int_equal(unlink(fixture->path), 0);
	assert_int_equal(try_path("/nonexistent/socket"), -ENOENT);
	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(try_path(path), -ENAMETOOLONG);
}

/* Another daemon took the place: what it listens on is not ours to remove. */
static void test_replaced(void **state)
{
	struct fixture *fixture = *state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	OWN_FD int fd = unconnected();

	in_loop(fixture, start_small);
	assert_int_equal(unlink(fixture->path), 0);
	strcpy(address.sun_path, fixture->path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	in_loop(fixture, stop_serving);
	assert_int_equal(access(fixture->path, F_OK), 0);
	assert_int_equal(unlink(fixture->path), 0);
}

#define SMALL(test) cmocka_unit_test_setup_teardown(test, setup_small, teardown)
#define DEFAULT(test) cmocka_unit_test_setup_teardown(test, setup_default, teardown)
#define NONE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SMALL(test_get_info),
		SMALL(test_interfaces),
		SMALL(test_unknown_methods),
		SMALL(test_parameters),
		SMALL(test_failing_methods),
		SMALL(test_access),
		SMALL(test_split),
		SMALL(test_pipeline),
		SMALL(test_oneway),
		SMALL(test_oneway_and_gone),
		SMALL(test_stream),
		SMALL(test_stream_not_asked_for),
		SMALL(test_slow_reader),
		SMALL(test_burst),
		SMALL(test_stream_and_gone),
		SMALL(test_stream_unheard),
		SMALL(test_kept_and_gone),
		SMALL(test_server_gone),
		SMALL(test_half_closed),
		SMALL(test_garbage),
		SMALL(test_garbage_and_stay),
		SMALL(test_large_reply),
		SMALL(test_never_reads),
		DEFAULT(test_too_many),
		SMALL(test_out_of_fds),
		NONE(test_mode),
		NONE(test_stale),
		NONE(test_bad_paths),
		NONE(test_replaced),
	};

	return cmocka_run_group_tests_name("server", tests, NULL, NULL);
}
