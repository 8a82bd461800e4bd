/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers over netlink, from a thread that plays the kernel at the other end of a socket. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/kernel/netlink.h"
#include "tests/unit/test.h"

#define ITEM 40 /* a type of message */

/* A message of an answer; a datagram ends after each with `flush`. */
struct reply {
	uint16_t type, flags;
	int value;
	bool flush;
};

struct kernel {
	int fd;
	const struct reply *replies;
	size_t count;
};

static void *answer(void *userdata)
{
	const struct kernel *kernel = userdata;
	struct nlmsghdr request;
	char buffer[1024];
	size_t used = 0;

	if (recv(kernel->fd, &request, sizeof(request), MSG_TRUNC) < 0)
		return NULL;
	for (size_t i = 0; i < kernel->count; i++) {
		const struct reply *reply = &kernel->replies[i];
		struct nlmsghdr header = {.nlmsg_len = NLMSG_LENGTH(sizeof(int)),
					  .nlmsg_type = reply->type,
					  .nlmsg_flags = reply->flags,
					  .nlmsg_seq = request.nlmsg_seq};

		memcpy(buffer + used, &header, sizeof(header));
		memcpy(buffer + used + NLMSG_HDRLEN, &reply->value, sizeof(reply->value));
		used += NLMSG_ALIGN(header.nlmsg_len);
		if (reply->flush) {
			if (send(kernel->fd, buffer, used, 0) < 0)
				return NULL;
			used = 0;
		}
	}
	return NULL;
}

static int add(const struct nlmsghdr *message, void *userdata)
{
	int value;

	memcpy(&value, NLMSG_DATA(message), sizeof(value));
	*(int *)userdata += value;
	return value < 0 ? value : 0;
}

/* Ask on `fd[0]`, and return what netlink_ask() returned. */
static int ask(const int fd[2], const struct reply *replies, size_t count, int *sum)
{
	struct nlmsghdr request = {.nlmsg_type = ITEM};
	struct kernel kernel = {fd[1], replies, count};
	pthread_t thread;
	int r;

	*sum = 0;
	assert_int_equal(pthread_create(&thread, NULL, answer, &kernel), 0);
	r = netlink_ask(fd[0], &request, sizeof(request), NLM_F_DUMP, add, sum);
	pthread_join(thread, NULL);
	return r;
}

static void open_pair(int fd[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fd), 0);
}

static void close_pair(const int fd[2])
{
	close(fd[0]);
	close(fd[1]);
}

static const struct reply whole[] = {{ITEM, NLM_F_MULTI, 1, false},
				     {ITEM, NLM_F_MULTI, 2, true},
				     {ITEM, NLM_F_MULTI, 4, true},
				     {NLMSG_DONE, NLM_F_MULTI, 0, true}};

TEST(test_a_dump_ends_with_done)
{
	int fd[2], sum;

	open_pair(fd);
	assert_int_equal(ask(fd, whole, 4, &sum), 0);
	assert_int_equal(sum, 7);
	close_pair(fd);
}

/* The rest of a disturbed answer is read, so that the same socket can ask again. */
TEST(test_a_disturbed_dump_is_read_to_its_end)
{
	static const struct reply in_the_middle[] = {
		{ITEM, NLM_F_MULTI, 1, true},
		{ITEM, NLM_F_MULTI | NLM_F_DUMP_INTR, 2, true},
		{ITEM, NLM_F_MULTI, 4, true},
		{NLMSG_DONE, NLM_F_MULTI | NLM_F_DUMP_INTR, 0, true},
	};
	static const struct reply at_the_end[] = {
		{ITEM, NLM_F_MULTI, 1, true},
		{NLMSG_DONE, NLM_F_MULTI | NLM_F_DUMP_INTR, 0, true},
	};
	char left[64];
	int fd[2], sum;

	open_pair(fd);
	assert_int_equal(ask(fd, in_the_middle, 4, &sum), -EAGAIN);
	assert_int_equal(recv(fd[0], left, sizeof(left), MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(ask(fd, at_the_end, 2, &sum), -EAGAIN);
	assert_int_equal(ask(fd, whole, 4, &sum), 0);
	assert_int_equal(sum, 7);
	close_pair(fd);
}

/* The kernel's error is more than that the list has changed. */
TEST(test_errors)
{
	static const struct reply refused[] = {{NLMSG_ERROR, 0, -EBUSY, true}};
	static const struct reply late[] = {
		{ITEM, NLM_F_MULTI | NLM_F_DUMP_INTR, 1, true},
		{NLMSG_DONE, NLM_F_MULTI | NLM_F_DUMP_INTR, -ENOBUFS, true},
	};
	static const struct reply unwanted[] = {{ITEM, NLM_F_MULTI, -ENOMEM, true}};
	int fd[2], sum;

	open_pair(fd);
	assert_int_equal(ask(fd, refused, 1, &sum), -EBUSY);
	assert_int_equal(ask(fd, late, 2, &sum), -ENOBUFS);
	assert_int_equal(ask(fd, unwanted, 1, &sum), -ENOMEM);
	close_pair(fd);
}
