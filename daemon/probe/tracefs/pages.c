/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/tracefs/pages.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <traceevent/kbuffer.h>

#include "common/time.h"
#include "daemon/probe/tracefs/instance.h"

struct buffer {
	int fd; /* -1: there is no such CPU */
	struct kbuffer *kbuffer;
	void *page;
	void *event; /* the next one; NULL: none is loaded */
	unsigned long long time_ns;
};

struct pages {
	struct pages_sink sink;
	unsigned int cpus;
	uint32_t page_size;
	struct buffer *buffer;
	/* A heap of the CPUs that have an event, the earliest first. */
	unsigned int *heap, count;
};

/* ---- the heap ------------------------------------------------------------------- */

static bool is_before(const struct pages *pages, unsigned int a, unsigned int b)
{
	const struct buffer *x = &pages->buffer[pages->heap[a]],
			    *y = &pages->buffer[pages->heap[b]];

	return x->time_ns < y->time_ns;
}

static void swap(struct pages *pages, unsigned int a, unsigned int b)
{
	unsigned int cpu = pages->heap[a];

	pages->heap[a] = pages->heap[b];
	pages->heap[b] = cpu;
}

static void sift_down(struct pages *pages, unsigned int at)
{
	for (;;) {
		unsigned int child = 2 * at + 1;

		if (child >= pages->count)
			return;
		if (child + 1 < pages->count && is_before(pages, child + 1, child))
			child++;
		if (!is_before(pages, child, at))
			return;
		swap(pages, child, at);
		at = child;
	}
}

static void push(struct pages *pages, unsigned int cpu)
{
	unsigned int at = pages->count++;

	pages->heap[at] = cpu;
	while (at && is_before(pages, at, (at - 1) / 2)) {
		swap(pages, at, (at - 1) / 2);
		at = (at - 1) / 2;
	}
}

/* The earliest has got its next event, or has none any more. */
static void settle_first(struct pages *pages)
{
	if (!pages->buffer[pages->heap[0]].event)
		pages->heap[0] = pages->heap[--pages->count];
	sift_down(pages, 0);
}

/* ---- pages ------------------------------------------------------------------------- */

static void take_page(struct pages *pages, unsigned int cpu)
{
	struct buffer *buffer = &pages->buffer[cpu];
	int missed;

	kbuffer_load_subbuffer(buffer->kbuffer, buffer->page);
	missed = kbuffer_missed_events(buffer->kbuffer);
	if (missed)
		pages->sink.lost(pages->sink.userdata, cpu, missed > 0 ? (uint64_t)missed : 0);
	buffer->event = kbuffer_read_event(buffer->kbuffer, &buffer->time_ns);
}

/*
 * Read pages until one has an event.  0, also if there is none, or a negative errno.  A CPU that was not online since
 * the instance was made has no ring buffer (ENODEV); it gets one when it comes online.
 */
static int load(struct pages *pages, unsigned int cpu)
{
	struct buffer *buffer = &pages->buffer[cpu];

	while (!buffer->event) {
		ssize_t bytes = read(buffer->fd, buffer->page, pages->page_size);

		if (bytes < 0 && errno == EINTR)
			continue;
		if (bytes < 0)
			return errno == EAGAIN || errno == ENODEV ? 0 : -errno;
		if (bytes < (ssize_t)pages->page_size)
			return 0;
		take_page(pages, cpu);
	}
	return 0;
}

static int load_empty(struct pages *pages)
{
	for (unsigned int cpu = 0; cpu < pages->cpus; cpu++) {
		struct buffer *buffer = &pages->buffer[cpu];
		int r;

		if (buffer->fd < 0 || buffer->event)
			continue;
		r = load(pages, cpu);
		if (r < 0)
			return r;
		if (buffer->event)
			push(pages, cpu);
	}
	return 0;
}

static int give_first(struct pages *pages)
{
	unsigned int cpu = pages->heap[0];
	struct buffer *buffer = &pages->buffer[cpu];
	int r = 0;

	pages->sink.event(pages->sink.userdata, cpu, buffer->time_ns, buffer->event,
			  (size_t)kbuffer_event_size(buffer->kbuffer));
	buffer->event = kbuffer_next_event(buffer->kbuffer, &buffer->time_ns);
	if (!buffer->event)
		r = load(pages, cpu);
	settle_first(pages);
	return r;
}

int pages_take(struct pages *pages, uint64_t limit)
{
	uint64_t horizon_ns = time_monotonic() - PAGES_MARGIN_NS;
	int r = load_empty(pages);

	while (r == 0 && pages->count && pages->buffer[pages->heap[0]].time_ns <= horizon_ns) {
		if (!limit--)
			return 1;
		r = give_first(pages);
	}
	return r;
}

/* ---- open, close --------------------------------------------------------------------- */

static int open_buffer(struct pages *pages, const struct instance *instance, unsigned int cpu)
{
	struct buffer *buffer = &pages->buffer[cpu];
	int fd = instance_open_pages(instance, cpu);

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	buffer->fd = fd;
	buffer->page = malloc(pages->page_size);
	buffer->kbuffer = kbuffer_alloc(KBUFFER_LSIZE_SAME_AS_HOST, KBUFFER_ENDIAN_SAME_AS_HOST);
	return buffer->page && buffer->kbuffer ? 0 : -ENOMEM;
}

int pages_new(struct pages **pages, const struct instance *instance, const struct pages_sink *sink)
{
	OWN_PAGES struct pages *fresh = calloc(1, sizeof(*fresh));
	unsigned int cpus = instance_cpus(instance);

	if (!fresh)
		return -ENOMEM;
	fresh->sink = *sink;
	fresh->page_size = instance_page_size(instance);
	fresh->buffer = calloc(cpus, sizeof(*fresh->buffer));
	fresh->heap = calloc(cpus, sizeof(*fresh->heap));
	if (!fresh->buffer || !fresh->heap)
		return -ENOMEM;
	for (; fresh->cpus < cpus; fresh->cpus++) {
		int r;

		fresh->buffer[fresh->cpus].fd = -1;
		r = open_buffer(fresh, instance, fresh->cpus);
		if (r < 0) {
			fresh->cpus++;
			return r;
		}
	}
	*pages = TAKE_PTR(fresh);
	return 0;
}

/* Without a ring buffer, the file would be ready all the time. */
static bool can_watch(const struct buffer *buffer)
{
	struct pollfd ready = {.fd = buffer->fd, .events = POLLIN};

	return buffer->fd >= 0 && poll(&ready, 1, 0) >= 0 && !(ready.revents & POLLERR);
}

int pages_watch(const struct pages *pages, int epoll)
{
	struct epoll_event readable = {.events = EPOLLIN};

	for (unsigned int cpu = 0; cpu < pages->cpus; cpu++)
		if (can_watch(&pages->buffer[cpu]) &&
		    epoll_ctl(epoll, EPOLL_CTL_ADD, pages->buffer[cpu].fd, &readable) < 0)
			return -errno;
	return 0;
}

void pages_free(struct pages **pages)
{
	struct pages *old = *pages;

	if (!old)
		return;
	while (old->cpus) {
		struct buffer *buffer = &old->buffer[--old->cpus];

		if (buffer->fd >= 0)
			close(buffer->fd);
		free(buffer->page);
		if (buffer->kbuffer)
			kbuffer_free(buffer->kbuffer);
	}
	free(old->buffer);
	free(old->heap);
	free(old);
	*pages = NULL;
}
