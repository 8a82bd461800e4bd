/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "daemon/http/address.h"
#include "tests/unit/test.h"

static struct http_address parsed(const char *text)
{
	struct http_address address;

	assert_int_equal(http_address_parse(&address, text), 0);
	return address;
}

TEST(test_values)
{
	struct http_address address;

	assert_int_equal(parsed("").where, HTTP_NOWHERE);
	address = parsed("unix");
	assert_int_equal(address.where, HTTP_UNIX);
	assert_string_equal(address.path, "");
	address = parsed("/run/x.sock");
	assert_int_equal(address.where, HTTP_UNIX);
	assert_string_equal(address.path, "/run/x.sock");
	address = parsed("tcp");
	assert_int_equal(address.where, HTTP_TCP);
	assert_int_equal(ntohs(((struct sockaddr_in *)&address.tcp)->sin_port), 9477);
	assert_true(address.local);
	address = parsed("[::1]:65535");
	assert_int_equal(((struct sockaddr_in6 *)&address.tcp)->sin6_family, AF_INET6);
	assert_int_equal(ntohs(((struct sockaddr_in6 *)&address.tcp)->sin6_port), 65535);
	assert_true(address.local);
	assert_false(parsed("0.0.0.0:1").local);
	assert_false(parsed("[::]:1").local);
}

TEST(test_mistakes)
{
	static const char *const wrong[] = {
		"yes",
		"UNIX",
		"9477",
		":9477",
		"localhost:9477",
		"127.0.0.1",
		"127.0.0.1:",
		"127.0.0.1:0",
		"1.2.3:80",
		"127.0.0.1:65536",
		"127.0.0.1:-1",
		"127.0.0.1:+80",
		"127.0.0.1:80x",
		"::1:9477",
		"[::1]",
		"[::1]9477",
		"[]:80",
		"[127.0.0.1]:9477",
		"[::1:9477",
		"metrics.sock",
	};
	struct http_address address = {.where = HTTP_UNIX};
	char path[300];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(http_address_parse(&address, wrong[i]), -EINVAL);
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = 0;
	assert_int_equal(http_address_parse(&address, path), -ENAMETOOLONG);
	assert_int_equal(address.where, HTTP_UNIX);
}
