/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls: their methods, parameters, order and streams. */
#include "common/json.h"
#include "tests/unit/daemon/varlink/server_fixture.h"

/* ---- org.varlink.service and descriptions of methods ---------------------- */

EACH_TEST(setup_small, teardown);

TEST(test_get_info)
{
	OWN_FD int fd = client_open(*state);

	request(fd, "org.varlink.service.GetInfo", "");
	expect_json(fd, "{\"parameters\":{\"vendor\":\"a vendor\",\"product\":\"a product\","
			"\"version\":\"1.2.3\",\"url\":\"\",\"interfaces\":"
			"[\"org.varlink.service\",\"org.example\",\"org.example.more\"]}}");
	request(fd, "org.varlink.service.GetInfo", ",\"parameters\":{\"x\":1}");
	expect_json(fd, "{\"error\":\"org.varlink.service.InvalidParameter\","
			"\"parameters\":{\"parameter\":\"x\"}}");
}

static void expect_interface(int fd, const char *name)
{
	OWN_JSON json_t *reply = NULL;
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

TEST(test_interfaces)
{
	OWN_FD int fd = client_open(*state);

	expect_interface(fd, "org.varlink.service");
	expect_interface(fd, "org.example");
	expect_interface(fd, "org.example.more");
	request(fd, "org.varlink.service.GetInterfaceDescription",
		",\"parameters\":{\"interface\":\"org.exampl\"}");
	expect_json(fd, "{\"error\":\"org.varlink.service.InterfaceNotFound\","
			"\"parameters\":{\"interface\":\"org.exampl\"}}");
	request(fd, "org.varlink.service.GetInterfaceDescription", "");
	expect_json(fd, "{\"error\":\"org.varlink.service.InvalidParameter\","
			"\"parameters\":{\"parameter\":\"interface\"}}");
}

TEST(test_unknown_methods)
{
	OWN_FD int fd = client_open(*state);

	request(fd, "org.example.echo", "");
	expect_json(fd, "{\"error\":\"org.varlink.service.MethodNotFound\","
			"\"parameters\":{\"method\":\"org.example.echo\"}}");
	request(fd, "org.varlink.service.Get", "");
	expect_json(fd, "{\"error\":\"org.varlink.service.MethodNotFound\","
			"\"parameters\":{\"method\":\"org.varlink.service.Get\"}}");
	request(fd, "Echo", "");
	expect_json(fd, "{\"error\":\"org.varlink.service.MethodNotFound\","
			"\"parameters\":{\"method\":\"Echo\"}}");
	request(fd, "org.exampl.Echo", "");
	expect_json(fd, "{\"error\":\"org.varlink.service.InterfaceNotFound\","
			"\"parameters\":{\"interface\":\"org.exampl\"}}");
	request(fd, ".Echo", "");
	expect_json(fd, "{\"error\":\"org.varlink.service.InterfaceNotFound\","
			"\"parameters\":{\"interface\":\"\"}}");
	request(fd, "org.example.Planned", "");
	expect_json(fd, "{\"error\":\"org.varlink.service.MethodNotImplemented\","
			"\"parameters\":{\"method\":\"org.example.Planned\"}}");
}

static void expect_checked(int fd, const char *parameters, const char *expected)
{
	OWN_FREE char *rest = NULL;

	assert_true(asprintf(&rest, ",\"parameters\":%s", parameters) > 0);
	request(fd, "org.example.Check", rest);
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

TEST(test_parameters)
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
	/* Mistakes of a client are not logged. */
	assert_int_equal(fixture->reports, 0);
}

TEST(test_failing_methods)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);

	request(fd, "org.example.Fail", "");
	expect_json(fd, "{\"error\":\"org.example.Failed\","
			"\"parameters\":{\"reason\":\"No space left on device\"}}");
	assert_int_equal(fixture->reports, 1);
	assert_string_equal(fixture->what, "org.example.Fail");
	assert_int_equal(fixture->error, -ENOSPC);
	request(fd, "org.example.FailAfterwards", "");
	expect_json(fd, "{\"error\":\"org.example.NoData\",\"parameters\":{\"reason\":\"none\"}}");
	request(fd, "org.example.Empty", "");
	expect_json(fd, "{\"parameters\":{}}");
	assert_int_equal(fixture->reports, 1);
}

TEST(test_access)
{
	struct fixture *fixture = *state;
	OWN_FD int mine = client_open(fixture);
	OWN_FD int others = unconnected();

	if (geteuid() != 0)
		skip();
	request(mine, "org.example.Change", "");
	expect_json(mine, "{\"parameters\":{}}");
	/* Only this thread changes its user: connect(2) records the user of the thread that calls it. */
	assert_int_equal(chmod(fixture->directory, 0755), 0);
	assert_int_equal(chmod(fixture->path, 0666), 0);
	assert_int_equal(syscall(SYS_setresuid, -1, NOBODY, -1), 0);
	connect_to(fixture, others);
	assert_int_equal(syscall(SYS_setresuid, -1, 0, -1), 0);
	request(others, "org.example.Change", "");
	expect_json(others, "{\"error\":\"org.example.PermissionDenied\",\"parameters\":"
			    "{\"reason\":\"only root may call org.example.Change\"}}");
	request(others, "org.example.Echo", "");
	expect_json(others, "{\"parameters\":{}}");
}

/* ---- order ----------------------------------------------------------------- */

TEST(test_split)
{
	static const char text[] = "{\"method\":\"org.example.Echo\",\"parameters\":{\"x\":1}}";
	OWN_FD int fd = client_open(*state);

	for (size_t i = 0; i < sizeof(text); i++) {
		send_bytes(fd, text + i, 1);
		if (i % 8 == 0)
			usleep(1000);
	}
	expect_json(fd, "{\"parameters\":{\"x\":1}}");
}

TEST(test_pipeline)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);
	OWN_FREE char *text = malloc(300 * 64);
	size_t size = 0;

	assert_non_null(text);
	for (int i = 0; i < 300; i++)
		size += (size_t)sprintf(text + size,
					"{\"method\":\"org.example.%s\",\"parameters\":{\"x\":%d}}",
					i == 150 ? "Keep" : "Echo", i) +
			1;
	send_bytes(fd, text, size);
	for (int i = 0; i < 300; i++) {
		char expected[64];

		snprintf(expected, sizeof(expected), "{\"parameters\":{\"x\":%d}}", i);
		if (i == 150) {
			/* A kept call delays the calls after it. */
			expect_silence(fd);
			in_loop(fixture, answer_kept);
			expect_json(fd, "{\"parameters\":{\"late\":true}}");
		} else {
			expect_json(fd, expected);
		}
	}
}

TEST(test_oneway)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);

	for (int i = 0; i < 20; i++)
		request(fd, "org.example.Oneway", ",\"oneway\":true");
	request(fd, "org.example.NoSuch", ",\"oneway\":true");
	request(fd, "org.example.Fail", ",\"oneway\":true");
	request(fd, "org.example.Check", ",\"oneway\":true");
	request(fd, "org.example.Stream", ",\"oneway\":true");
	request(fd, "org.example.Keep", ",\"oneway\":true");
	request(fd, "org.example.Oneway", "");
	expect_silence(fd);
	in_loop(fixture, answer_kept);
	expect_json(fd, "{\"parameters\":{\"count\":21}}");
	assert_int_equal(fixture->reports, 1);
	in_loop(fixture, read_stats);
	assert_int_equal(fixture->stats.streams, 0);
}

/* The server executes every call that the client sent before it left. */
TEST(test_oneway_and_gone)
{
	struct fixture *fixture = *state;
	int fd = client_open(fixture);

	for (int i = 0; i < 100; i++)
		request(fd, "org.example.Oneway", ",\"oneway\":true");
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

TEST(test_stream)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);

	request(fd, "org.example.Stream", "");
	expect_json(fd, "{\"error\":\"org.varlink.service.ExpectedMore\",\"parameters\":{}}");
	request(fd, "org.example.Echo", ",\"more\":true");
	expect_json(fd, "{\"parameters\":{}}");

	request(fd, "org.example.Stream", ",\"more\":true");
	expect_json(fd, "{\"parameters\":{},\"continues\":true}");
	in_loop(fixture, read_stats);
	assert_int_equal(fixture->stats.streams, 1);
	for (unsigned int i = 0; i < 10; i++) {
		in_loop(fixture, stream_one);
		expect_stream(fd, i);
	}
	/* The stream goes before. */
	request(fd, "org.example.Empty", "");
	expect_silence(fd);
	in_loop(fixture, answer_kept);
	expect_json(fd, "{\"parameters\":{\"late\":true}}");
	expect_json(fd, "{\"parameters\":{}}");
	in_loop(fixture, read_stats);
	assert_int_equal(fixture->stats.streams, 0);
	assert_int_equal(fixture->closed, 0);
}

TEST(test_stream_not_asked_for)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);

	request(fd, "org.example.Keep", "");
	assert_true(soon(fixture, call_is_kept));
	in_loop(fixture, stream_one);
	assert_int_equal(fixture->stream_result, -EINVAL);
	in_loop(fixture, answer_kept);
	expect_json(fd, "{\"parameters\":{\"late\":true}}");
}

/* A reader that stops loses replies of its own stream, which the gaps count, and can continue. */
TEST(test_slow_reader)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);
	unsigned int before;

	request(fd, "org.example.Stream", ",\"more\":true");
	expect_json(fd, "{\"parameters\":{},\"continues\":true}");
	in_loop(fixture, stream_until_full);
	assert_int_equal(fixture->stream_result, -ENOBUFS);
	/* The kernel's buffer and the queue limit the number of replies. */
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
	/* The last reply fits even into a full queue. */
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

/* One handler sends more than the queue holds; the socket's buffer has room, so there is no gap. */
TEST(test_burst)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);
	int size = 4 * 1024 * 1024;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	request(fd, "org.example.Stream", ",\"more\":true");
	expect_json(fd, "{\"parameters\":{},\"continues\":true}");
	in_loop(fixture, stream_much);
	assert_int_equal(fixture->streamed, 3000);
	assert_true(3000 * 40 > QUEUED_BYTES);
	for (unsigned int i = 0; i < 3000; i++)
		expect_stream(fd, i);
}

TEST(test_stream_and_gone)
{
	struct fixture *fixture = *state;
	int fd = client_open(fixture);

	request(fd, "org.example.Stream", ",\"more\":true");
	expect_json(fd, "{\"parameters\":{},\"continues\":true}");
	in_loop(fixture, stream_until_full);
	close(fd);
	assert_true(soon(fixture, one_closed));
	assert_int_equal(fixture->stats.streams, 0);
	assert_int_equal(fixture->stats.clients, 0);
	assert_null(fixture->kept);
}

/* The client shut down its reading side but did not close the connection. */
TEST(test_stream_unheard)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);

	request(fd, "org.example.Stream", ",\"more\":true");
	expect_json(fd, "{\"parameters\":{},\"continues\":true}");
	assert_int_equal(shutdown(fd, SHUT_RD), 0);
	in_loop(fixture, stream_one);
	assert_true(soon(fixture, one_closed));
	assert_int_equal(fixture->stats.clients, 0);
}
