/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server: clients that leave or must leave, limits, the socket. */
#include "common/json.h"
#include "tests/unit/daemon/varlink/server_fixture.h"

/* ---- clients that leave or must leave ---------------------------------------- */

EACH_TEST(setup_small, teardown);

TEST(test_kept_and_gone)
{
	struct fixture *fixture = *state;
	int fd = client_open(fixture);

	request(fd, "org.example.Keep", "");
	/* Not read any more, and no reason to miss that it leaves. */
	request(fd, "org.example.Echo", "");
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

TEST(test_server_gone)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);

	request(fd, "org.example.Keep", "");
	assert_true(soon(fixture, call_is_kept));
	in_loop(fixture, restart);
	assert_int_equal(fixture->closed, 1);
	assert_null(fixture->kept);
	expect_end(fd);
	expect_service(fixture);
}

TEST(test_half_closed)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);
	OWN_FD int late = client_open(fixture);
	OWN_FD int idle = client_open(fixture);

	for (int i = 0; i < 40; i++)
		request(fd, "org.example.Echo", "");
	shutdown(fd, SHUT_WR);
	for (int i = 0; i < 40; i++)
		expect_json(fd, "{\"parameters\":{}}");
	expect_end(fd);

	request(late, "org.example.Keep", "");
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
			     "{\"error\":\"org.example.InvalidMessage\","
			     "\"parameters\":{\"reason\":\"%s\"}}",
			     reason) > 0);
	request(fd, "org.example.Empty", "");
	send_bytes(fd, bytes, size);
	shutdown(fd, SHUT_WR);
	expect_json(fd, "{\"parameters\":{}}");
	expect_json(fd, expected);
	expect_end(fd);
}

TEST(test_garbage)
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
	/* The client can send all of it before it reads the reply. */
	expect_refused(fixture, long_text, size, "the message is longer than 1048576 bytes");
	assert_true(soon(fixture, nobody_left));
	assert_int_equal(fixture->stats.rejected, 5);
	expect_service(fixture);
}

/* The client got the error and stays connected; the server does not wait for it. */
TEST(test_garbage_and_stay)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);

	send_text(fd, "nonsense");
	request(fd, "org.example.Oneway", "");
	expect_json(fd, "{\"error\":\"org.example.InvalidMessage\",\"parameters\":"
			"{\"reason\":\"byte 8: invalid token near 'nonsense'\"}}");
	expect_end(fd);
	assert_true(soon(fixture, nobody_left));
	assert_int_equal(fixture->oneways, 0);
}

/* ---- limits ------------------------------------------------------------------ */

TEST(test_large_reply)
{
	struct fixture *fixture = *state;
	OWN_FD int fd = client_open(fixture);
	OWN_JSON json_t *reply = NULL;

	/* Far more than a stream may leave, and still one reply. */
	request(fd, "org.example.Large", ",\"parameters\":{\"bytes\":8000000}");
	request(fd, "org.example.Empty", "");
	usleep(30000);
	expect_service(fixture);
	reply = receive(fd);
	assert_int_equal(
		json_string_length(json_object_get(json_object_get(reply, "parameters"), "text")),
		8000000);
	expect_json(fd, "{\"parameters\":{}}");

	request(fd, "org.example.Large", ",\"parameters\":{\"bytes\":8388608}");
	expect_json(fd, "{\"error\":\"org.example.Failed\",\"parameters\":"
			"{\"reason\":\"the reply is longer than 8388608 bytes: request less, "
			"with a limit or a filter\"}}");
	assert_int_equal(fixture->reports, 1);
	assert_int_equal(fixture->error, -EMSGSIZE);
	request(fd, "org.example.Empty", "");
	expect_json(fd, "{\"parameters\":{}}");
}

/* A client sends calls and never reads: they wait in the kernel, and others are served. */
TEST(test_never_reads)
{
	static const char text[] = "{\"method\":\"org.example.Large\","
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

static const char too_many[] = "{\"error\":\"org.example.TooMany\",\"parameters\":"
			       "{\"what\":\"clients\",\"limit\":128}}";

static bool one_place_free(const struct fixture *fixture)
{
	return fixture->stats.clients == 127;
}

/* Too many clients: the server rejects those above the limit, and accepts one after another leaves. */
TEST_WITH(test_too_many, setup_default, teardown)
{
	struct fixture *fixture = *state;
	int fds[300];

	for (int i = 0; i < 300; i++) {
		fds[i] = client_open(fixture);
		request(fds[i], "org.example.Echo", "");
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
	assert_true(soon(fixture, one_place_free));
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

TEST(test_out_of_fds)
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
	request(fd, "org.example.Empty", "");
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

TEST_WITH(test_mode, setup, teardown)
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

TEST_WITH(test_stale, setup, teardown)
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

TEST_WITH(test_bad_paths, setup, teardown)
{
	struct fixture *fixture = *state;
	char path[200];
	OWN_FD int file = -1;

	assert_int_equal(try_path(fixture->path), 0);
	/* The server removed its socket. */
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

/* Another daemon replaced the socket, so the server must not remove it. */
TEST_WITH(test_replaced, setup, teardown)
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
