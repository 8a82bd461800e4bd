/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/netlink.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/cleanup.h"

/* The kernel fills messages of a dump up to this size (netlink_dump()), if the reader has room. */
#define BUFFER_BYTES 32768

/* NLA_HDRLEN and NLA_ALIGN() without their signed arithmetic. */
#define HEADER_BYTES sizeof(struct nlattr)
#define ALIGNED(length) (((length) + 3) & ~(size_t)3)

int netlink_open(int protocol)
{
	const struct timeval wait = {.tv_sec = NETLINK_WAIT_MS / 1000,
				     .tv_usec = NETLINK_WAIT_MS % 1000 * 1000};
	const int on = 1;
	OWN_FD int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0)
		return -errno;
	/* The kernel then checks the headers of the requests that it checks only on demand.  Older ones refuse this. */
	(void)setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
	return TAKE_FD(fd);
}

struct answer {
	int (*visit)(const struct nlmsghdr *message, void *userdata);
	void *userdata;
	bool dump;
	bool changed; /* what is dumped has changed: the rest of the answer is only read */
};

/* What one message says about the answer: 1: it goes on, 0: it ends; or a negative errno. */
static int take_message(const struct nlmsghdr *message, struct answer *answer)
{
	int r;

	if (message->nlmsg_flags & NLM_F_DUMP_INTR)
		answer->changed = true;
	if (message->nlmsg_type == NLMSG_ERROR) {
		if (message->nlmsg_len < NLMSG_LENGTH(sizeof(int)))
			return -EBADMSG;
		return ((const struct nlmsgerr *)NLMSG_DATA(message))->error;
	}
	if (message->nlmsg_type == NLMSG_DONE) {
		int error = 0;

		if (message->nlmsg_len >= NLMSG_LENGTH(sizeof(error)))
			memcpy(&error, NLMSG_DATA(message), sizeof(error));
		return error < 0 ? error : answer->changed ? -EAGAIN : 0;
	}
	if (message->nlmsg_type == NLMSG_NOOP || answer->changed)
		return 1;
	r = answer->visit(message, answer->userdata);
	return r < 0 ? r : answer->dump;
}

static ssize_t receive(int fd, void *buffer)
{
	ssize_t n;

	do {
		n = recv(fd, buffer, BUFFER_BYTES, MSG_TRUNC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	return n > BUFFER_BYTES ? -EBADMSG : n;
}

int netlink_ask(int fd, void *request, size_t size, uint16_t flags,
		int (*visit)(const struct nlmsghdr *message, void *userdata), void *userdata)
{
	static _Atomic uint32_t sequence;
	struct nlmsghdr *header = request;
	struct answer answer = {.visit = visit, .userdata = userdata, .dump = flags & NLM_F_DUMP};
	OWN_FREE char *buffer = malloc(BUFFER_BYTES);
	int r = 1;

	if (!buffer)
		return -ENOMEM;
	header->nlmsg_len = (uint32_t)size;
	header->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	header->nlmsg_seq = ++sequence;
	if (send(fd, request, size, 0) < 0)
		return -errno;
	while (r > 0) {
		ssize_t n = receive(fd, buffer);
		unsigned int left = n > 0 ? (unsigned int)n : 0;

		if (n <= 0)
			return n < 0 ? (int)n : -EBADMSG;
		for (const struct nlmsghdr *message = (const void *)buffer;
		     r > 0 && NLMSG_OK(message, left); message = NLMSG_NEXT(message, left))
			if (message->nlmsg_seq == header->nlmsg_seq)
				r = take_message(message, &answer);
	}
	return r;
}

/* ---- attributes ----------------------------------------------------------- */

const void *netlink_data(const struct nlattr *attribute)
{
	return (const char *)attribute + HEADER_BYTES;
}

size_t netlink_size(const struct nlattr *attribute)
{
	return attribute->nla_len - HEADER_BYTES;
}

static void find(const char *at, size_t left, const struct nlattr **found, size_t count)
{
	memset(found, 0, count * sizeof(*found));
	while (left >= HEADER_BYTES) {
		const struct nlattr *attribute = (const void *)at;
		size_t length = attribute->nla_len, type = attribute->nla_type & NLA_TYPE_MASK;

		if (length < HEADER_BYTES || length > left)
			return;
		if (type < count)
			found[type] = attribute;
		length = ALIGNED(length) < left ? ALIGNED(length) : left;
		at += length;
		left -= length;
	}
}

void netlink_attributes(const struct nlmsghdr *message, size_t header, const struct nlattr **at,
			size_t count)
{
	size_t skip = NLMSG_HDRLEN + NLMSG_ALIGN(header);

	if (message->nlmsg_len < skip)
		skip = message->nlmsg_len;
	find((const char *)message + skip, message->nlmsg_len - skip, at, count);
}

void netlink_nested(const struct nlattr *outer, const struct nlattr **at, size_t count)
{
	find(netlink_data(outer), netlink_size(outer), at, count);
}

#define DEFINE_NUMBER(name, type)                                               \
	type name(const struct nlattr *attribute)                               \
	{                                                                       \
		type value = 0;                                                 \
                                                                                \
		if (attribute && netlink_size(attribute) == sizeof(value))      \
			memcpy(&value, netlink_data(attribute), sizeof(value)); \
		return value;                                                   \
	}

DEFINE_NUMBER(netlink_u8, uint8_t)
DEFINE_NUMBER(netlink_u16, uint16_t)
DEFINE_NUMBER(netlink_u32, uint32_t)
DEFINE_NUMBER(netlink_u64, uint64_t)

void netlink_text(const struct nlattr *attribute, char *text, size_t size)
{
	size_t length = attribute ? strnlen(netlink_data(attribute), netlink_size(attribute)) : 0;

	if (length >= size)
		length = size - 1;
	if (length)
		memcpy(text, netlink_data(attribute), length);
	text[length] = '\0';
}
