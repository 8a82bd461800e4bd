/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/replay/cpu_data.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <trace-cmd/trace-cmd.h>
#include <unistd.h>

#include "daemon/probe/events/subbuffer.h"
#include "daemon/probe/replay/fault.h"

/* Pages that were read are released in parts of this size. */
#define RELEASE_BYTES ((uintptr_t)1 << 20)

struct cpu_data {
	struct tracecmd_input *input;
	int index;
	uint32_t cpu;
	uint32_t page_bytes;
	uint64_t file_bytes;

	/* The page that is read: a copy. */
	unsigned char *page;
	struct subbuffer events;
	int64_t lost; /* events before its first one; negative: not known how many */
	/* The times of its events where the library converts them; NULL: no page needed any. */
	uint64_t *converted_ns;
	uint32_t converted, next_converted;

	/* The next page: its place, as the library counts.  0: it is the first. */
	unsigned long long next;
	struct tep_record *record; /* its first one, while it is being loaded */
	bool is_other;		   /* it is another CPU's */
	uint64_t damaged;	   /* pages before it that could not be read */

	uintptr_t unread;      /* where the pages begin that are still in memory; 0: not known */
	uintptr_t memory_page; /* bytes */
};

/* ---- memory ------------------------------------------------------------------------ */

/* Whether one mapping of a file has all of this memory. */
static bool is_file(uintptr_t begin, uintptr_t end)
{
	OWN_FILE FILE *maps = fopen("/proc/self/maps", "re");
	uintptr_t from, to;
	unsigned long inode;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %lu", &from, &to, &inode) ==
			    3 &&
		    from <= begin && begin < to)
			return inode && end <= to;
	return false;
}

/*
 * The library maps the data of a CPU as a whole, or in large parts.  What was read is not needed any more: without
 * this, all of a large file would be in this process's memory.  Data that it has unpacked are in memory of its own,
 * which stays.  It may have unmapped a part since, and other memory may be there: so look each time.
 */
static void release(struct cpu_data *data, uintptr_t page)
{
	uintptr_t at = page & ~(data->memory_page - 1);

	if (!data->unread || at < data->unread)
		data->unread = at;
	if (at - data->unread < RELEASE_BYTES)
		return;
	if (is_file(data->unread, at))
		(void)madvise((void *)data->unread, at - data->unread, MADV_DONTNEED);
	data->unread = at;
}

/* ---- pages -------------------------------------------------------------------------- */

static void free_record(struct tep_record **record)
{
	tracecmd_free_record(*record);
	*record = NULL;
}

#define OWN_RECORD CLEANUP(free_record)

static uint32_t place_in_page(const struct cpu_data *data)
{
	return (uint32_t)data->record->offset & (data->page_bytes - 1);
}

static bool is_later_page(const struct cpu_data *data)
{
	uint32_t place = place_in_page(data);

	/* A page that says it is longer than it is can put an event into the next one's header. */
	return place >= data->events.header_bytes && data->record->offset - place >= data->next;
}

/* Only as many bytes as the page says it has: there need not be more in memory.  false: it says more than fit. */
static bool copy_page(struct cpu_data *data)
{
	const struct tep_record *record = data->record;
	uint32_t header = (uint32_t)record->record_size - (uint32_t)record->size, used;
	char *page = (char *)record->data - header - place_in_page(data);
	int64_t none;

	release(data, (uintptr_t)page);
	if (subbuffer_load(&data->events, page, data->page_bytes, &data->lost) < 0)
		return false;
	used = subbuffer_used(&data->events, page);
	memcpy(data->page, page, used);
	return subbuffer_load(&data->events, data->page, used, &none) == 0;
}

/* The page at data->next, or behind it if that has no event. */
static void read_page(void *userdata)
{
	struct cpu_data *data = userdata;
	int index = data->index;

	data->record = data->next ? tracecmd_read_at(data->input, data->next, &index)
				  : tracecmd_read_cpu_first(data->input, index);
	/* Behind the last page, this place can be in the data of another CPU. */
	data->is_other = index != data->index;
	if (!data->record || data->is_other || !is_later_page(data) || !copy_page(data))
		free_record(&data->record);
}

/*
 * Read the next page that can be read, and count those before it that cannot.  To the library, such a page looks
 * like the end of the data: so look up to the next CPU's pages or the end of the file.  Places in data that it has
 * unpacked can be behind that, and then such a page ends the data of its CPU.
 */
static bool find_page(struct cpu_data *data)
{
	uint64_t before = data->damaged, perhaps = 0; /* perhaps damaged, or behind the end */
	int signal;

	while ((signal = fault_guard(read_page, data)) || !data->record) {
		free_record(&data->record);
		if (signal)
			data->damaged++;
		else if (data->is_other)
			data->damaged += perhaps;
		else
			perhaps++;
		/* The first one, the last one, or the file has been shortened. */
		if (!data->next || data->is_other || signal == SIGBUS)
			return false;
		data->next += data->page_bytes;
		if (data->next >= data->file_bytes)
			return false;
	}
	data->damaged += perhaps;
	if (data->damaged > before && !data->lost)
		data->lost = -1;
	data->next = data->record->offset - place_in_page(data) + data->page_bytes;
	return true;
}

/* An event has 4 bytes or more. */
static uint32_t events_most(const struct cpu_data *data)
{
	return data->page_bytes / 4;
}

/* The library goes on to the next page to find that this one has no more: what is damaged there ends this, too. */
static void read_times(void *userdata)
{
	struct cpu_data *data = userdata;

	data->converted_ns[data->converted++] = data->record->ts;
	while (data->converted < events_most(data)) {
		OWN_RECORD struct tep_record *record = tracecmd_read_data(data->input, data->index);

		if (!record || record->offset >= data->next)
			break;
		data->converted_ns[data->converted++] = record->ts;
	}
}

/*
 * The library converts times where a file says so: of a guest to the host's, cycles to nanoseconds.  It must read each
 * record of the page for that.
 */
static int read_converted(struct cpu_data *data)
{
	if (!data->converted_ns)
		data->converted_ns = calloc(events_most(data), sizeof(*data->converted_ns));
	if (!data->converted_ns)
		return -ENOMEM;
	(void)fault_guard(read_times, data);
	return 0;
}

/* 1, 0: there are no more pages, or -ENOMEM. */
static int load_page(struct cpu_data *data)
{
	struct subbuffer first;
	struct subbuffer_event event;
	int r = 1;

	if (!find_page(data))
		return 0;
	first = data->events;
	data->cpu = (uint32_t)data->record->cpu;
	data->converted = data->next_converted = 0;
	if (subbuffer_next(&first, &event) > 0 && event.time_ns != data->record->ts &&
	    read_converted(data) < 0)
		r = -ENOMEM;
	free_record(&data->record);
	return r;
}

/* ---- events ------------------------------------------------------------------------- */

/* As subbuffer_next(). */
static int next_in_page(struct cpu_data *data, struct cpu_data_event *event)
{
	struct subbuffer_event next = {.time_ns = data->events.time_ns};
	int r = subbuffer_next(&data->events, &next);

	event->data = next.data;
	event->size = next.size;
	event->time_ns = next.time_ns;
	if (r && data->next_converted < data->converted)
		event->time_ns = data->converted_ns[data->next_converted++];
	/* What cannot be read ends the page. */
	if (r < 0)
		data->events.at = data->events.end;
	return r;
}

int cpu_data_next(struct cpu_data *data, struct cpu_data_event *event)
{
	int r = next_in_page(data, event);

	event->lost = 0;
	while (!r) {
		r = load_page(data);
		if (r <= 0)
			return r;
		event->lost = event->lost ? event->lost : data->lost;
		r = next_in_page(data, event);
	}
	return 1;
}

uint32_t cpu_data_cpu(const struct cpu_data *data)
{
	return data->cpu;
}

uint64_t cpu_data_damaged(const struct cpu_data *data)
{
	return data->damaged;
}

/* ---- open, close -------------------------------------------------------------------- */

int cpu_data_new(struct cpu_data **data, struct tracecmd_input *input, int index,
		 uint32_t page_bytes, uint64_t file_bytes)
{
	OWN_CPU_DATA struct cpu_data *fresh = calloc(1, sizeof(*fresh));
	struct tep_handle *tep = tracecmd_get_tep(input);

	if (!fresh)
		return -ENOMEM;
	fresh->input = input;
	fresh->index = index;
	fresh->page_bytes = page_bytes;
	fresh->file_bytes = file_bytes;
	subbuffer_init(&fresh->events, tep_is_file_bigendian(tep),
		       tep_get_long_size(tep) == 8 ? 8 : 4);
	fresh->memory_page = (uintptr_t)sysconf(_SC_PAGESIZE);
	fresh->page = malloc(page_bytes);
	if (!fresh->page)
		return -ENOMEM;
	*data = TAKE_PTR(fresh);
	return 0;
}

void cpu_data_free(struct cpu_data **data)
{
	struct cpu_data *old = *data;

	if (!old)
		return;
	free_record(&old->record);
	free(old->page);
	free(old->converted_ns);
	free(old);
	*data = NULL;
}
