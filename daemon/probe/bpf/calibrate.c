/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a hook costs by itself: the difference that an empty program makes to a system call that hits its
 * tracepoint.  A datagram that is read from a socket pair of AF_UNIX passes consume_skb once.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/time.h"
#include "daemon/probe/bpf/internal.h"

/* Many short stretches with and without the program in turn: the shortest of each was not disturbed. */
#define STRETCHES 24
#define STRETCH_HITS 400

/* The time of a stretch in ns; 0: a system call failed. */
static uint64_t stretch(const int pair[2])
{
	uint64_t begin = time_monotonic();
	char byte = 0;

	for (int i = 0; i < STRETCH_HITS; i++)
		if (send(pair[0], &byte, 1, MSG_DONTWAIT) != 1 ||
		    recv(pair[1], &byte, 1, MSG_DONTWAIT) != 1)
			return 0;
	return time_monotonic() - begin;
}

static uint64_t shorter(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

double bpf_calibrate(struct bpf_program *empty)
{
	OWN_FD int first = -1, second = -1;
	uint64_t without = UINT64_MAX, with = UINT64_MAX;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair))
		return 0;
	first = pair[0];
	second = pair[1];
	stretch(pair);
	for (size_t i = 0; i < STRETCHES; i++) {
		struct bpf_link *link;

		without = shorter(without, stretch(pair));
		link = bpf_program__attach(empty);
		if (!link)
			return 0;
		with = shorter(with, stretch(pair));
		bpf_link__destroy(link);
	}
	return without && with > without ? (double)(with - without) / STRETCH_HITS : 0;
}
