/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netflowd-post: sends one request to Alertmanager.  netflowd starts it as an unprivileged user, so that neither TLS
 * nor HTTP nor a server's answer is near the daemon's privileges.
 *
 * Standard input is JSON: url (of the server, without /api/v2), timeout_ms, body (an array of alerts).  The exit status
 * is 0 if the server accepted it.  Otherwise one line on standard output says why not.
 */
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <jansson.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/json.h"
#include "common/version.h"

#define PATH "/api/v2/alerts"
#define ANSWER_MAX 512
#define CONNECT_MS 5000L

struct answer {
	char text[ANSWER_MAX + 1];
	size_t length;
};

static void cleanup_curl(CURL **curl)
{
	curl_easy_cleanup(*curl);
}

static void cleanup_headers(struct curl_slist **headers)
{
	curl_slist_free_all(*headers);
}

/* The begin of the answer is for the log; a server can send any number of bytes. */
static size_t take_answer(char *bytes, size_t size, size_t count, void *userdata)
{
	struct answer *answer = userdata;
	size_t room = ANSWER_MAX - answer->length, length = size * count;
	size_t taken = length < room ? length : room;

	memcpy(answer->text + answer->length, bytes, taken);
	answer->length += taken;
	return length;
}

/* One line without control characters. */
static const char *printable(struct answer *answer)
{
	for (size_t i = 0; i < answer->length; i++)
		if ((unsigned char)answer->text[i] < ' ')
			answer->text[i] = ' ';
	return answer->text;
}

static int fail(const char *what, const char *why)
{
	printf("%s: %s\n", what, why);
	return EXIT_FAILURE;
}

/* Without the slash at the end that a person may have written. */
static char *target(const char *url)
{
	size_t length = strlen(url);
	char *path;

	while (length && url[length - 1] == '/')
		length--;
	return asprintf(&path, "%.*s" PATH, (int)length, url) < 0 ? NULL : path;
}

/* The unit of the service allows no Internet sockets without its drop-in; libcurl does not say why it has none. */
static int check_sockets(void)
{
	static const int families[] = {AF_INET, AF_INET6};

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		OWN_FD int fd = socket(families[i], SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd >= 0)
			return 0;
	}
	return -errno;
}

/* An address that the unit of the service does not allow neither answers nor refuses. */
static const char *hint(CURLcode result)
{
	if (result == CURLE_OPERATION_TIMEDOUT || result == CURLE_COULDNT_RESOLVE_HOST)
		return "; a service reaches only the addresses in its drop-in internet.conf: see netflowd(8)";
	return "";
}

static int send_request(const char *url, long timeout_ms, const char *body)
{
	CLEANUP(cleanup_headers) struct curl_slist *headers = NULL;
	CLEANUP(cleanup_curl) CURL *curl = curl_easy_init();
	char error[CURL_ERROR_SIZE] = "";
	struct answer answer = {.length = 0};
	long status = 0;
	CURLcode r;

	headers = curl_slist_append(headers, "Content-Type: application/json");
	if (!curl || !headers)
		return fail("cannot post", "out of memory");
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout_ms);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "netflowd/" NETFLOWD_VERSION);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
	r = curl_easy_perform(curl);
	if (r != CURLE_OK) {
		printf("cannot post: %s%s\n", error[0] ? error : curl_easy_strerror(r), hint(r));
		return EXIT_FAILURE;
	}
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	if (status / 100 == 2)
		return EXIT_SUCCESS;
	printf("the server answered %ld: %s\n", status, printable(&answer));
	return EXIT_FAILURE;
}

int main(void)
{
	json_error_t error;
	OWN_JSON json_t *request = json_loadf(stdin, 0, &error);
	OWN_FREE char *body = NULL, *url = NULL;
	const char *server;
	json_t *alerts;
	json_int_t timeout_ms;
	int r;

	if (!request)
		return fail("the request is not JSON", error.text);
	if (json_unpack_ex(request, &error, 0, "{s:s, s:I, s:o}", "url", &server, "timeout_ms",
			   &timeout_ms, "body", &alerts) < 0)
		return fail("the request is not complete", error.text);
	body = json_dumps(alerts, JSON_COMPACT);
	url = target(server);
	if (!body || !url || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return fail("cannot post", "out of memory");
	r = check_sockets();
	if (r < 0) {
		printf("cannot post: no TCP/IP: %s; a service needs the drop-in internet.conf: see netflowd(8)\n",
		       strerror(-r));
		return EXIT_FAILURE;
	}
	return send_request(url, (long)timeout_ms, body);
}
