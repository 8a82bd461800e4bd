/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/http/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int parse_port(const char *text, uint16_t *port)
{
	unsigned long value;
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	value = strtoul(text, &end, 10);
	if (*end || !value || value > UINT16_MAX)
		return -EINVAL;
	*port = htons((uint16_t)value);
	return 0;
}

static int parse_ipv4(struct http_address *address, const char *host, const char *port)
{
	struct sockaddr_in *tcp = (struct sockaddr_in *)&address->tcp;

	tcp->sin_family = AF_INET;
	address->tcp_length = sizeof(*tcp);
	if (inet_pton(AF_INET, host, &tcp->sin_addr) != 1)
		return -EINVAL;
	address->local = ntohl(tcp->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return parse_port(port, &tcp->sin_port);
}

static int parse_ipv6(struct http_address *address, const char *host, const char *port)
{
	struct sockaddr_in6 *tcp = (struct sockaddr_in6 *)&address->tcp;

	tcp->sin6_family = AF_INET6;
	address->tcp_length = sizeof(*tcp);
	if (inet_pton(AF_INET6, host, &tcp->sin6_addr) != 1)
		return -EINVAL;
	address->local = IN6_IS_ADDR_LOOPBACK(&tcp->sin6_addr);
	return parse_port(port, &tcp->sin6_port);
}

static int parse_tcp(struct http_address *address, const char *text)
{
	const char *colon = strrchr(text, ':'), *host = text;
	char copy[INET6_ADDRSTRLEN] = "";
	size_t length;

	if (!colon)
		return -EINVAL;
	length = (size_t)(colon - text);
	if (host[0] == '[') {
		if (length < 2 || text[length - 1] != ']')
			return -EINVAL;
		host++;
		length -= 2;
	}
	if (length >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, host, length);
	address->where = HTTP_TCP;
	return text[0] == '[' ? parse_ipv6(address, copy, colon + 1)
			      : parse_ipv4(address, copy, colon + 1);
}

int http_address_parse(struct http_address *address, const char *text)
{
	struct http_address fresh = {.where = HTTP_NOWHERE, .local = true};
	int r = 0;

	if (!strcmp(text, "tcp")) {
		r = parse_tcp(&fresh, HTTP_TCP_DEFAULT);
	} else if (!strcmp(text, "unix")) {
		fresh.where = HTTP_UNIX;
	} else if (text[0] == '/') {
		fresh.where = HTTP_UNIX;
		if (strlen(text) >= sizeof(fresh.path))
			return -ENAMETOOLONG;
		strcpy(fresh.path, text);
	} else if (text[0]) {
		r = parse_tcp(&fresh, text);
	}
	if (r == 0)
		*address = fresh;
	return r;
}
