/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/tracefs/pages.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/time.h"
#include "daemon/probe/events/merge.h"
#include "daemon/probe/events/subbuffer.h"
#include "daemon/probe/tracefs/instance.h"

struct buffer {
	int fd; /* -1: there is no such CPU */
	void *page;
	struct subbuffer events; /* of the page */
	struct subbuffer_event next;
	bool has_next;
};

struct pages {
	struct pages_sink sink;
	unsigned int cpus;
	uint32_t page_size;
	struct buffer *buffer;
	struct merge *merge; /* of the CPUs that have an event */
};

/* ---- pages ------------------------------------------------------------------------- */

/* The kernel's own pages are whole: if one is not, something is wrong with it, and events are missing. */
static void take_next(struct pages *pages, unsigned int cpu)
{
	struct buffer *buffer = &pages->buffer[cpu];
	int r = subbuffer_next(&buffer->events, &buffer->next);

	buffer->has_next = r > 0;
	if (r < 0)
		pages->sink.lost(pages->sink.userdata, cpu, 0);
}

static void take_page(struct pages *pages, unsigned int cpu)
{
	struct buffer *buffer = &pages->buffer[cpu];
	int64_t lost;

	if (subbuffer_load(&buffer->events, buffer->page, pages->page_size, &lost) < 0)
		lost = -1;
	if (lost)
		pages->sink.lost(pages->sink.userdata, cpu, lost > 0 ? (uint64_t)lost : 0);
	take_next(pages, cpu);
}

/*
 * Read pages until one has an event.  0, also if there is none, or a negative errno.  A CPU that was not online since
 * the instance was made has no ring buffer (ENODEV); it gets one when it comes online.
 */
static int load(struct pages *pages, unsigned int cpu)
{
	struct buffer *buffer = &pages->buffer[cpu];

	while (!buffer->has_next) {
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

		if (buffer->fd < 0 || buffer->has_next)
			continue;
		r = load(pages, cpu);
		if (r < 0)
			return r;
		if (buffer->has_next)
			merge_add(pages->merge, cpu, buffer->next.time_ns);
	}
	return 0;
}

/* Give the event of this CPU, which is the first of all. */
static int give_first(struct pages *pages, unsigned int cpu)
{
	struct buffer *buffer = &pages->buffer[cpu];
	int r = 0;

	pages->sink.event(pages->sink.userdata, cpu, buffer->next.time_ns, buffer->next.data,
			  buffer->next.size);
	take_next(pages, cpu);
	if (!buffer->has_next)
		r = load(pages, cpu);
	if (buffer->has_next)
		merge_advance(pages->merge, buffer->next.time_ns);
	else
		merge_drop(pages->merge);
	return r;
}

int pages_take(struct pages *pages, uint64_t limit)
{
	uint64_t horizon_ns = time_monotonic() - PAGES_MARGIN_NS;
	int r = load_empty(pages);
	uint64_t time_ns;
	unsigned int cpu;

	while (r == 0 && merge_first(pages->merge, &cpu, &time_ns) && time_ns <= horizon_ns) {
		if (!limit--)
			return 1;
		r = give_first(pages, cpu);
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
	subbuffer_init(&buffer->events, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, sizeof(long));
	return buffer->page ? 0 : -ENOMEM;
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
	fresh->merge = merge_new(cpus);
	if (!fresh->buffer || !fresh->merge)
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
	}
	free(old->buffer);
	merge_free(&old->merge);
	free(old);
	*pages = NULL;
}
