/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The client side of Varlink, against a peer that sends what a test chooses. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/ask/report.h"
#include "common/array.h"
#include "common/varlink.h"
#include "tests/unit/test.h"

#define TIMEOUT_MS 5000

struct peer {
	struct varlink *varlink;
	int fd; /* the daemon's end of the connection */
};

static void peer_open(struct peer *peer)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(varlink_new(&peer->varlink, fds[0]), 0);
	peer->fd = fds[1];
}

static void peer_close(struct peer *peer)
{
	varlink_free(&peer->varlink);
	if (peer->fd >= 0)
		close(peer->fd);
}

static void say(const struct peer *peer, const char *text, size_t len)
{
	assert_int_equal(write(peer->fd, text, len), len);
}

/* Sends a message with its NUL. */
#define SAY(peer, text) say(peer, text, sizeof(text))

static void expect_call(const struct peer *peer, const char *expected)
{
	char text[512] = "";
	ssize_t got = read(peer->fd, text, sizeof(text));

	assert_int_equal(got, strlen(expected) + 1);
	assert_string_equal(text, expected);
}

static int call(struct peer *peer, json_t **reply)
{
	return varlink_call(peer->varlink, "io.netflowd.X", NULL, TIMEOUT_MS, reply);
}

TEST(test_call)
{
	struct peer peer;
	json_t *reply = NULL;

	peer_open(&peer);
	SAY(&peer, "{\"parameters\":{\"a\":7}}");
	assert_int_equal(varlink_call(peer.varlink, "io.netflowd.X", json_pack("{s:i}", "p", 1),
				      TIMEOUT_MS, &reply),
			 0);
	assert_int_equal(json_integer_value(json_object_get(reply, "a")), 7);
	json_decref(reply);
	expect_call(&peer, "{\"method\":\"io.netflowd.X\",\"parameters\":{\"p\":1}}");

	/* a reply without parameters is an empty object */
	SAY(&peer, "{}");
	assert_int_equal(call(&peer, &reply), 0);
	assert_int_equal(json_object_size(reply), 0);
	json_decref(reply);
	peer_close(&peer);
}

static void *dribble(void *data)
{
	static const char text[] = "{\"parameters\":{\"text\":\"µ\"}}";
	const struct peer *peer = data;

	for (size_t i = 0; i < sizeof(text); i++) {
		say(peer, text + i, 1);
		usleep(500);
	}
	return NULL;
}

TEST(test_byte_by_byte)
{
	struct peer peer;
	json_t *reply = NULL;
	pthread_t thread;

	peer_open(&peer);
	assert_int_equal(pthread_create(&thread, NULL, dribble, &peer), 0);
	assert_int_equal(call(&peer, &reply), 0);
	pthread_join(thread, NULL);
	assert_string_equal(json_string_value(json_object_get(reply, "text")), "µ");
	json_decref(reply);
	peer_close(&peer);
}

static void *say_much(void *data)
{
	const struct peer *peer = data;
	const size_t blanks = 3 << 20;
	char *text = malloc(blanks);

	if (!text)
		return NULL;
	memset(text, ' ', blanks);
	for (size_t sent = 0; sent < blanks;) {
		ssize_t written = write(peer->fd, text + sent, blanks - sent);

		if (written < 0)
			break;
		sent += (size_t)written;
	}
	free(text);
	SAY(peer, "{\"parameters\":{\"a\":1}}");
	return NULL;
}

TEST(test_large)
{
	struct peer peer;
	json_t *reply = NULL;
	pthread_t thread;

	peer_open(&peer);
	assert_int_equal(pthread_create(&thread, NULL, say_much, &peer), 0);
	assert_int_equal(call(&peer, &reply), 0);
	pthread_join(thread, NULL);
	json_decref(reply);
	peer_close(&peer);
}

TEST(test_stream)
{
	static const char joined[] = "{\"parameters\":{\"n\":1},\"continues\":true}\0"
				     "{\"parameters\":{\"n\":2},\"continues\":true}\0"
				     "{\"parameters\":{\"n\":3}}";
	struct peer peer;
	bool continues;

	peer_open(&peer);
	assert_int_equal(varlink_stream(peer.varlink, "io.netflowd.X", NULL, TIMEOUT_MS), 0);
	expect_call(&peer, "{\"method\":\"io.netflowd.X\",\"parameters\":{},\"more\":true}");
	say(&peer, joined, sizeof(joined));
	for (int i = 1; i <= 3; i++) {
		json_t *reply = NULL;

		assert_int_equal(varlink_next(peer.varlink, TIMEOUT_MS, &reply, &continues), 0);
		assert_int_equal(json_integer_value(json_object_get(reply, "n")), i);
		assert_int_equal(continues, i < 3);
		json_decref(reply);
	}
	peer_close(&peer);
}

TEST(test_error)
{
	const json_t *parameters;
	struct peer peer;
	json_t *reply = NULL;

	peer_open(&peer);
	SAY(&peer, "{\"error\":\"io.netflowd.UnknownReason\",\"parameters\":"
		   "{\"reason\":\"NO_SOKET\",\"nearest\":\"NO_SOCKET\"}}");
	assert_int_equal(call(&peer, &reply), -EREMOTEIO);
	assert_null(reply);
	assert_string_equal(varlink_error(peer.varlink, &parameters), "io.netflowd.UnknownReason");
	assert_string_equal(json_string_value(json_object_get(parameters, "nearest")), "NO_SOCKET");
	assert_int_equal(report_call(peer.varlink, "io.netflowd.X", -EREMOTEIO), REPORT_USAGE);

	/* the connection stays usable, and an error may have no parameters */
	SAY(&peer, "{\"error\":\"org.example.Odd\"}");
	assert_int_equal(call(&peer, &reply), -EREMOTEIO);
	assert_string_equal(varlink_error(peer.varlink, &parameters), "org.example.Odd");
	assert_null(parameters);
	assert_int_equal(report_call(peer.varlink, "io.netflowd.X", -EREMOTEIO), REPORT_FAILED);
	SAY(&peer, "{}");
	assert_int_equal(call(&peer, &reply), 0);
	json_decref(reply);
	peer_close(&peer);
}

TEST(test_no_answers)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"7",
		"not JSON",
		"{\"parameters\":[]}",
		"{\"parameters\":{},\"continues\":1}",
		"{\"error\":5}",
		"{\"a\":1,\"a\":2}",
		"{\"parameters\":{\"a\":\"\xff\"}}",
		"{\"parameters\":{\"a\":99999999999999999999}}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct peer peer;
		json_t *reply = NULL;

		peer_open(&peer);
		say(&peer, texts[i], strlen(texts[i]) + 1);
		assert_int_equal(call(&peer, &reply), -EBADMSG);
		assert_null(reply);
		peer_close(&peer);
	}
}

TEST(test_end)
{
	struct peer peer;
	json_t *reply = NULL;

	peer_open(&peer);
	say(&peer, "{\"parameters\":{", 15);
	shutdown(peer.fd, SHUT_WR);
	assert_int_equal(call(&peer, &reply), -ECONNRESET);
	peer_close(&peer);

	/* the peer is gone, but the client reads the message that it sent before */
	peer_open(&peer);
	SAY(&peer, "{\"error\":\"io.netflowd.TooMany\",\"parameters\":{\"what\":\"clients\","
		   "\"limit\":128}}");
	close(peer.fd);
	peer.fd = -1;
	assert_int_equal(call(&peer, &reply), -EREMOTEIO);
	assert_int_equal(call(&peer, &reply), -ECONNRESET);
	peer_close(&peer);
}

TEST(test_timeout)
{
	struct peer peer;
	json_t *reply = NULL;

	peer_open(&peer);
	assert_int_equal(varlink_call(peer.varlink, "io.netflowd.X", NULL, 30, &reply), -ETIMEDOUT);
	peer_close(&peer);
	peer_open(&peer);
	say(&peer, "{\"parameters\":{", 15);
	assert_int_equal(varlink_call(peer.varlink, "io.netflowd.X", NULL, 30, &reply), -ETIMEDOUT);
	peer_close(&peer);
}

/* The peer does not read, so sending the call times out. */
TEST(test_send_timeout)
{
	const size_t len = 4 << 20;
	char *text = malloc(len + 1);
	struct peer peer;
	json_t *reply = NULL;

	assert_non_null(text);
	memset(text, 'a', len);
	text[len] = '\0';
	peer_open(&peer);
	assert_int_equal(varlink_call(peer.varlink, "io.netflowd.X",
				      json_pack("{s:s}", "text", text), 30, &reply),
			 -ETIMEDOUT);
	peer_close(&peer);
	free(text);
}

TEST(test_interrupt)
{
	struct peer peer;
	json_t *reply = NULL;
	bool continues;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	peer_open(&peer);
	varlink_interrupt(peer.varlink, fds[0]);
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(call(&peer, &reply), -EINTR);
	/* the client continues with the reply */
	varlink_interrupt(peer.varlink, -1);
	SAY(&peer, "{\"parameters\":{\"a\":1}}");
	assert_int_equal(varlink_next(peer.varlink, TIMEOUT_MS, &reply, &continues), 0);
	assert_int_equal(json_integer_value(json_object_get(reply, "a")), 1);
	json_decref(reply);
	peer_close(&peer);
	close(fds[0]);
	close(fds[1]);
}

TEST(test_connect)
{
	char directory[] = "/tmp/test_varlink.XXXXXX";
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct varlink *varlink = NULL, *second = NULL;
	char path[200];
	int fd;

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(varlink_connect(&varlink, path, 100), -ENAMETOOLONG);
	assert_non_null(mkdtemp(directory));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", directory);
	assert_int_equal(varlink_connect(&varlink, address.sun_path, 100), -ENOENT);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(varlink_connect(&varlink, address.sun_path, 100), -ECONNREFUSED);
	assert_int_equal(listen(fd, 0), 0);
	assert_int_equal(varlink_connect(&varlink, address.sun_path, 100), 0);
	/* the queue of the socket is full now, because no process accepts */
	assert_int_equal(varlink_connect(&second, address.sun_path, 60), -ETIMEDOUT);
	assert_null(second);
	varlink_free(&varlink);
	assert_null(varlink);
	varlink_free(&varlink);
	close(fd);
	unlink(address.sun_path);
	rmdir(directory);
}
