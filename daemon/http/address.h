/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the server listens, as a setting writes it. */
#ifndef DAEMON_HTTP_ADDRESS_H
#define DAEMON_HTTP_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

enum http_where {
	HTTP_NOWHERE,
	HTTP_UNIX,
	HTTP_TCP,
};

/* "tcp" in a setting. */
#define HTTP_TCP_DEFAULT "127.0.0.1:9477"

struct http_address {
	enum http_where where;
	/* HTTP_UNIX: empty: the usual name in the runtime directory, which the caller fills in. */
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	struct sockaddr_storage tcp;
	socklen_t tcp_length;
	bool local; /* only this host can connect */
};

/* The values that http_address_parse() accepts, for messages. */
#define HTTP_ADDRESS_VALUES                   \
	"empty, unix, tcp (" HTTP_TCP_DEFAULT \
	"), a socket's absolute path, or a numeric ADDRESS:PORT"

/*
 * Read a setting: empty, "unix", "tcp", "/path", "127.0.0.1:9477", "[::1]:9477".  Names of hosts are not looked up.
 * -EINVAL; -ENAMETOOLONG: the path does not fit into a socket's address.
 */
int http_address_parse(struct http_address *address, const char *text);

#endif
