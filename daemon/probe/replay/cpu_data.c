/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/replay/cpu_data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <trace-cmd/trace-cmd.h>
#include <unistd.h>

#include <traceevent/kbuffer.h>

#include "daemon/probe/replay/fault.h"

/* Pages that were read are released in parts of this size. */
#define RELEASE_BYTES ((uintptr_t)1 << 20)

/* libtraceevent reads the header of an event, or a number of lost ones, behind the last event of a damaged page. */
#define SLACK_BYTES 16

struct cpu_data {
	struct tracecmd_input *input;
	int index;
	uint32_t cpu;
	uint32_t page_bytes, header_bytes;
	uint64_t file_bytes;
	struct kbuffer *kbuffer;

	/* The page that is read: a copy, and where its events end. */
	unsigned char *page;
	const char *end;
	int last; /* the place of its last event that was read; -1: none was */
	int lost; /* events before its first one */
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
	return place >= data->header_bytes && data->record->offset - place >= data->next;
}

/* Only as many bytes as the page says it has: there need not be more in memory. */
static void copy_page(struct cpu_data *data)
{
	const struct tep_record *record = data->record;
	uint32_t header = (uint32_t)record->record_size - (uint32_t)record->size;
	char *page = (char *)record->data - header - place_in_page(data);
	uint32_t bytes;

	release(data, (uintptr_t)page);
	/* The library has done the same with this page, and taken its size for a possible one. */
	kbuffer_load_subbuffer(data->kbuffer, page);
	bytes = data->header_bytes + (uint32_t)kbuffer_subbuffer_size(data->kbuffer);
	data->lost = kbuffer_missed_events(data->kbuffer);
	if (bytes > data->page_bytes)
		bytes = data->page_bytes;
	memcpy(data->page, page, bytes);
	memset(data->page + bytes, 0, SLACK_BYTES);
	data->end = (char *)data->page + bytes;
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
	if (data->record && !data->is_other && is_later_page(data))
		copy_page(data);
	else
		free_record(&data->record);
}

/*
 * Read the next page that can be read, and count those before it that cannot.  The library does not tell these from the
 * end of the data: so look up to the end of the file.  Places in data that it has unpacked can be behind that, and then
 * a page that cannot be read ends the data of its CPU.
 */
static bool find_page(struct cpu_data *data)
{
	uint32_t damaged = 0;

	do {
		if (fault_guard(read_page, data) && data->record) {
			data->next = data->record->offset - place_in_page(data) + data->page_bytes;
			data->damaged += damaged;
			if (damaged && !data->lost)
				data->lost = -1;
			return true;
		}
		free_record(&data->record);
		if (!data->next)
			return false;
		data->next += data->page_bytes;
		damaged++;
	} while (!data->is_other && data->next < data->file_bytes);
	return false;
}

/*
 * The library converts times where a file says so: of a guest to the host's, cycles to nanoseconds.  It must read each
 * record of the page for that.
 */
static int read_converted(struct cpu_data *data)
{
	/* An event has 4 bytes or more. */
	uint32_t most = data->page_bytes / 4;

	if (!data->converted_ns)
		data->converted_ns = calloc(most, sizeof(*data->converted_ns));
	if (!data->converted_ns)
		return -ENOMEM;
	data->converted_ns[data->converted++] = data->record->ts;
	while (data->converted < most) {
		OWN_RECORD struct tep_record *record = tracecmd_read_data(data->input, data->index);

		if (!record || record->offset >= data->next)
			break;
		data->converted_ns[data->converted++] = record->ts;
	}
	return 0;
}

/* 1, 0: there are no more pages, or -ENOMEM. */
static int load_page(struct cpu_data *data)
{
	unsigned long long first_ns;
	int r = 1;

	if (!find_page(data))
		return 0;
	data->cpu = (uint32_t)data->record->cpu;
	kbuffer_load_subbuffer(data->kbuffer, data->page);
	data->last = -1;
	data->converted = data->next_converted = 0;
	if (kbuffer_read_event(data->kbuffer, &first_ns) && first_ns != data->record->ts &&
	    read_converted(data) < 0)
		r = -ENOMEM;
	free_record(&data->record);
	return r;
}

/* ---- events ------------------------------------------------------------------------- */

/* Zeros, as behind the end of a truncated file, look like events whose length includes 4 bytes for itself. */
static bool is_zeros(const struct cpu_data *data)
{
	return kbuffer_event_size(data->kbuffer) == -4;
}

/* A length in a damaged file can be any number: so large that the next event would be before this one, too. */
static bool goes_on(struct cpu_data *data)
{
	int place = kbuffer_curr_index(data->kbuffer);
	bool is_later = place > data->last;

	data->last = place;
	return is_later;
}

/* The next event of the page; NULL: there is none. */
static char *next_in_page(struct cpu_data *data, unsigned long long *time_ns)
{
	struct kbuffer *kbuffer = data->kbuffer;
	char *event = data->last < 0 ? kbuffer_read_event(kbuffer, time_ns)
				     : kbuffer_next_event(kbuffer, time_ns);

	while (event && goes_on(data)) {
		if (data->next_converted < data->converted)
			*time_ns = data->converted_ns[data->next_converted++];
		if (!is_zeros(data))
			return event;
		event = kbuffer_next_event(kbuffer, time_ns);
	}
	return NULL;
}

int cpu_data_next(struct cpu_data *data, struct cpu_data_event *event)
{
	unsigned long long time_ns = 0;
	char *next = data->next ? next_in_page(data, &time_ns) : NULL;
	int size, r;

	event->lost = 0;
	while (!next) {
		r = load_page(data);
		if (r <= 0)
			return r;
		event->lost = event->lost ? event->lost : data->lost;
		next = next_in_page(data, &time_ns);
	}
	size = kbuffer_event_size(data->kbuffer);
	event->data = next;
	event->size = size > 0 && size <= data->end - next ? (size_t)size : 0;
	event->time_ns = time_ns;
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
	/* A time, and the bytes of the events in a long: kernel/trace/ring_buffer.c, struct buffer_data_page. */
	fresh->header_bytes = 8 + (tep_get_long_size(tep) == 8 ? 8 : 4);
	fresh->memory_page = (uintptr_t)sysconf(_SC_PAGESIZE);
	fresh->page = calloc(1, page_bytes + SLACK_BYTES);
	fresh->kbuffer = kbuffer_alloc(
		tep_get_long_size(tep) == 8 ? KBUFFER_LSIZE_8 : KBUFFER_LSIZE_4,
		tep_is_file_bigendian(tep) ? KBUFFER_ENDIAN_BIG : KBUFFER_ENDIAN_LITTLE);
	if (!fresh->page || !fresh->kbuffer)
		return -ENOMEM;
	if (tep_is_old_format(tep))
		kbuffer_set_old_format(fresh->kbuffer);
	*data = TAKE_PTR(fresh);
	return 0;
}

void cpu_data_free(struct cpu_data **data)
{
	struct cpu_data *old = *data;

	if (!old)
		return;
	free_record(&old->record);
	kbuffer_free(old->kbuffer);
	free(old->page);
	free(old->converted_ns);
	free(old);
	*data = NULL;
}
