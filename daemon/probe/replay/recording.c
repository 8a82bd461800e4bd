/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/replay/recording.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <trace-cmd/trace-cmd.h>
#include <unistd.h>

#include "daemon/probe/events/merge.h"
#include "daemon/probe/replay/cpu_data.h"
#include "daemon/probe/replay/fault.h"

/* More than any recording: a file that ends too early continues with zeros, which are no events. */
#define WHOLE_BYTES ((off_t)1 << 40)

/* CPU time that the library never needs for the headers or a page. */
#define CALL_SECONDS 10

struct recording {
	/* The first buffer is that of the file itself, the others those of its instances. */
	struct tracecmd_input **buffer;
	int buffers;
	uint32_t trace_page; /* bytes of a page of the traced kernel's ring buffers */
	uint64_t bytes;	     /* of the file */
};

/* ---- the library ------------------------------------------------------------------ */

/* It reports on stdout and stderr why it cannot read a file; our own message says more. */
struct silence {
	int out, err;
};

static struct silence silence_begin(void)
{
	const struct silence silence = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
	OWN_FD int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	fflush(stdout);
	if (null >= 0 && silence.out >= 0 && silence.err >= 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	return silence;
}

static void silence_end(const struct silence *silence)
{
	fflush(stdout);
	if (silence->out >= 0) {
		dup2(silence->out, STDOUT_FILENO);
		close(silence->out);
	}
	if (silence->err >= 0) {
		dup2(silence->err, STDERR_FILENO);
		close(silence->err);
	}
}

/* A call of the library that can crash on a damaged file. */
static bool call_guarded(void (*call)(void *userdata), void *userdata)
{
	const struct silence silence = silence_begin();
	struct fault_handlers others;
	bool is_whole;

	fault_begin(&others, CALL_SECONDS);
	is_whole = fault_guard(call, userdata) == 0;
	fault_end(&others);
	silence_end(&silence);
	return is_whole;
}

struct opening {
	int fd;
	struct tracecmd_input *input;
	bool headers; /* can be read */
	bool data;
};

/* Plugins of trace-cmd are programs in their own right, and of no use here. */
static void open_input(void *userdata)
{
	struct opening *opening = userdata;
	char path[32];

	/* The library takes a path only; of a descriptor it crashes where data are missing (tracecmd_open_fd()). */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", opening->fd);
	opening->input = tracecmd_open_head(path, TRACECMD_FL_LOAD_NO_PLUGINS);
	opening->headers = opening->input;
	opening->data = opening->input && tracecmd_init_data(opening->input) == 0;
}

/*
 * Open a descriptor, which stays the caller's.  NULL: it cannot be read; *headers says whether its headers can.  Then
 * what the library has opened is never freed: tracecmd_close() would crash.
 */
static struct tracecmd_input *open_fd(int fd, bool *headers)
{
	struct opening opening = {.fd = fd};
	bool is_whole = call_guarded(open_input, &opening);

	*headers = opening.headers;
	return is_whole && opening.data ? opening.input : NULL;
}

/* ---- damaged files ----------------------------------------------------------------- */

/* A copy that continues with zeros, unlinked; or a negative errno. */
static int copy_extended(int fd, off_t bytes)
{
	const char *directory = getenv("TMPDIR");
	OWN_FD int copy = open(directory && directory[0] ? directory : "/var/tmp",
			       O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	off_t at = 0;

	if (copy < 0)
		return -errno;
	while (at < bytes) {
		ssize_t sent = sendfile(copy, fd, &at, (size_t)(bytes - at));

		if (sent < 0)
			return -errno;
		if (!sent)
			break;
	}
	if (ftruncate(copy, WHOLE_BYTES) < 0)
		return -errno;
	return TAKE_FD(copy);
}

/* The file says that it has more data than there are.  NULL: that is not what is wrong with it. */
static struct tracecmd_input *open_truncated(int fd, off_t bytes, char *error)
{
	OWN_FD int copy = copy_extended(fd, bytes);
	bool headers;
	struct tracecmd_input *input = copy < 0 ? NULL : open_fd(copy, &headers);

	if (input)
		snprintf(
			error, RECORDING_ERROR_MAX,
			"the file ends at offset %jd, before the end of its data: it was truncated; what it has up to there is shown",
			(intmax_t)bytes);
	return input;
}

static void read_copy(void *userdata)
{
	const int *copy = userdata;

	(void)tracecmd_open_fd(*copy, TRACECMD_FL_LOAD_NO_PLUGINS);
}

/* Where the library gives up the headers: a copy of a descriptor shares its position. */
static off_t find_damage(int fd)
{
	int copy = dup(fd);

	if (copy >= 0 && lseek(copy, 0, SEEK_SET) == 0)
		call_guarded(read_copy, &copy);
	return lseek(fd, 0, SEEK_CUR);
}

/* "\027\010Dtracing", see trace-cmd.dat.v6(5) */
static const unsigned char first_bytes[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};

#define PAGE_SIZE_AT (sizeof(first_bytes) + 4)

static bool has_mark(int fd)
{
	unsigned char mark[sizeof(first_bytes)];

	return pread(fd, mark, sizeof(mark), 0) == sizeof(mark) &&
	       memcmp(mark, first_bytes, sizeof(mark)) == 0;
}

/*
 * The library knows the size of a page, and does not tell.  Behind the mark are the version with its NUL byte, the
 * order of bytes, the size of a long, and the size of a page in 32 bits.  false: these are not there.
 */
static bool read_page_size(int fd, uint32_t *bytes)
{
	struct {
		char version[2];
		uint8_t is_big_endian, long_bytes;
		uint32_t page;
	} head;
	static_assert(offsetof(typeof(head), page) == PAGE_SIZE_AT - sizeof(first_bytes),
		      "as in the file");

	if (!has_mark(fd) || pread(fd, &head, sizeof(head), sizeof(first_bytes)) != sizeof(head) ||
	    head.version[1])
		return false;
	*bytes = head.is_big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
			 ? head.page
			 : __builtin_bswap32(head.page);
	return true;
}

/* Of a ring buffer: kernel/trace/ring_buffer.c has 20 bits for a place in it (RB_WRITE_MASK). */
static bool is_page_size(uint32_t bytes)
{
	return bytes >= 4096 && bytes <= 1 << 20 && !(bytes & (bytes - 1));
}

/* With another size, the library divides by zero or finds no events. */
static int refuse_page_size(const char *path, uint32_t bytes, char *error)
{
	snprintf(
		error, RECORDING_ERROR_MAX,
		"%.200s is damaged: at offset %zu it has %u as the bytes of a page, and no kernel has such pages; copy the file again, or record again",
		path, PAGE_SIZE_AT, bytes);
	return -EBADMSG;
}

/* Before 2.6.31, when the kernel had none of the events that name an skb. */
static int refuse_old(const char *path, char *error)
{
	snprintf(
		error, RECORDING_ERROR_MAX,
		"%.200s is of a kernel before Linux 2.6.31, whose ring buffer had another format; record on a later kernel",
		path);
	return -EBADMSG;
}

static int refuse(int fd, const char *path, off_t bytes, bool headers, char *error)
{
	off_t at = has_mark(fd) ? find_damage(fd) : -1;

	if (headers)
		snprintf(
			error, RECORDING_ERROR_MAX,
			"%.200s is damaged: its headers can be read up to offset %jd, but not the first page of a CPU; copy the file again, or record again",
			path, (intmax_t)at);
	else if (at < 0)
		snprintf(
			error, RECORDING_ERROR_MAX,
			"%.200s is not a recording: it does not begin with the mark of trace.dat at offset 0; make one with netflowctl record or trace-cmd record",
			path);
	else if (at >= bytes)
		snprintf(
			error, RECORDING_ERROR_MAX,
			"%.200s was truncated: it ends at offset %jd, before the end of its headers; copy the file again, or record again",
			path, (intmax_t)bytes);
	else
		snprintf(
			error, RECORDING_ERROR_MAX,
			"%.200s is damaged: its headers cannot be read from offset %jd of %jd on; copy the file again, or record again",
			path, (intmax_t)at, (intmax_t)bytes);
	return -EBADMSG;
}

/* ---- open ---------------------------------------------------------------------------- */

static int add_instances(struct recording *recording, struct tracecmd_input *input)
{
	int instances = tracecmd_buffer_instances(input);

	recording->buffer =
		calloc((size_t)(instances > 0 ? instances : 0) + 1, sizeof(*recording->buffer));
	if (!recording->buffer) {
		tracecmd_close(input);
		return -ENOMEM;
	}
	recording->buffer[recording->buffers++] = input;
	for (int i = 0; i < instances; i++) {
		struct tracecmd_input *instance = tracecmd_buffer_instance_handle(input, i);

		if (instance)
			recording->buffer[recording->buffers++] = instance;
	}
	return 0;
}

static int open_checked(const char *path, int *fd, off_t *bytes, char *error)
{
	struct stat status;

	*fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0 || fstat(*fd, &status) < 0) {
		int r = -errno;

		snprintf(error, RECORDING_ERROR_MAX, "cannot open %.200s: %s", path, strerror(-r));
		return r;
	}
	if (!S_ISREG(status.st_mode)) {
		snprintf(error, RECORDING_ERROR_MAX,
			 "%.200s is not a regular file: a recording is read at several places",
			 path);
		return -EINVAL;
	}
	*bytes = status.st_size;
	return 0;
}

int recording_open(struct recording **recording, const char *path,
		   char error[static RECORDING_ERROR_MAX])
{
	OWN_RECORDING struct recording *fresh = calloc(1, sizeof(*fresh));
	struct tracecmd_input *input;
	OWN_FD int fd = -1;
	off_t bytes = 0;
	bool headers;
	int r;

	error[0] = 0;
	if (!fresh)
		return -ENOMEM;
	r = open_checked(path, &fd, &bytes, error);
	if (r < 0)
		return r;
	tracecmd_set_loglevel(TEP_LOG_NONE);
	if (!read_page_size(fd, &fresh->trace_page))
		return refuse(fd, path, bytes, false, error);
	if (!is_page_size(fresh->trace_page))
		return refuse_page_size(path, fresh->trace_page, error);
	fresh->bytes = (uint64_t)bytes;
	input = open_fd(fd, &headers);
	if (!input && headers)
		input = open_truncated(fd, bytes, error);
	if (!input)
		return refuse(fd, path, bytes, headers, error);
	if (tep_is_old_format(tracecmd_get_tep(input)))
		return refuse_old(path, error);
	r = add_instances(fresh, input);
	if (r < 0)
		return r;
	*recording = TAKE_PTR(fresh);
	return 0;
}

void recording_free(struct recording **recording)
{
	struct recording *r = *recording;

	if (!r)
		return;
	while (r->buffers)
		tracecmd_close(r->buffer[--r->buffers]);
	free(r->buffer);
	free(r);
	*recording = NULL;
}

struct tep_handle *recording_formats(const struct recording *recording)
{
	return tracecmd_get_tep(recording->buffer[0]);
}

uint32_t recording_cpus(const struct recording *recording)
{
	int cpus = tep_get_cpus(recording_formats(recording));

	return cpus > 0 ? (uint32_t)cpus : 1;
}

/* ---- read ----------------------------------------------------------------------------- */

/* All CPUs of all buffers. */
struct playback {
	struct cpu_data **cpu;
	uint32_t cpus;
	struct cpu_data_event *event; /* of each: its next one */
	struct merge *merge;
};

static void reading_end(struct playback *reading)
{
	while (reading->cpus)
		cpu_data_free(&reading->cpu[--reading->cpus]);
	free(reading->cpu);
	free(reading->event);
	merge_free(&reading->merge);
}

/* 0 or a negative errno. */
static int add_cpu(struct playback *reading, const struct recording *recording, uint32_t buffer,
		   uint32_t index)
{
	uint32_t at = reading->cpus;
	int r = cpu_data_new(&reading->cpu[at], recording->buffer[buffer], (int)index,
			     recording->trace_page, recording->bytes);

	if (r < 0)
		return r;
	reading->cpus++;
	r = cpu_data_next(reading->cpu[at], &reading->event[at]);
	if (r > 0)
		merge_add(reading->merge, at, reading->event[at].time_ns);
	return r < 0 ? r : 0;
}

/* In the file's order, so that of events with the same time that of the lower CPU comes first. */
static int reading_begin(struct playback *reading, const struct recording *recording)
{
	uint32_t cpus = recording_cpus(recording), buffers = (uint32_t)recording->buffers, all;
	int r = 0;

	if (__builtin_mul_overflow(cpus, buffers, &all))
		return -ENOMEM;
	reading->cpu = calloc(all, sizeof(struct cpu_data *));
	reading->event = calloc(all, sizeof(*reading->event));
	reading->merge = merge_new(all);
	if (!reading->cpu || !reading->event || !reading->merge)
		return -ENOMEM;
	for (uint32_t buffer = 0; buffer < buffers; buffer++)
		for (uint32_t i = 0; i < cpus && r == 0; i++)
			r = add_cpu(reading, recording, buffer, i);
	return r;
}

/* Give the event of this CPU, which is the first of all, and read its next one. */
static int give_first(struct playback *reading, uint32_t first,
		      const struct recording_visitor *visitor)
{
	struct cpu_data_event *event = &reading->event[first];
	struct cpu_data *data = reading->cpu[first];
	int r;

	if (event->lost)
		visitor->lost(visitor->userdata, cpu_data_cpu(data),
			      event->lost > 0 ? (uint64_t)event->lost : 0);
	r = visitor->record(visitor->userdata, cpu_data_cpu(data), event->time_ns, event->data,
			    event->size);
	if (r < 0)
		return r;
	r = cpu_data_next(data, event);
	if (r > 0)
		merge_advance(reading->merge, event->time_ns);
	else
		merge_drop(reading->merge);
	return r < 0 ? r : 0;
}

int recording_read(struct recording *recording, const struct recording_visitor *visitor)
{
	struct fault_handlers others;
	struct playback reading = {};
	uint64_t time_ns;
	uint32_t first;
	int r;

	fault_begin(&others, CALL_SECONDS);
	r = reading_begin(&reading, recording);
	while (r == 0 && merge_first(reading.merge, &first, &time_ns))
		r = give_first(&reading, first, visitor);
	for (uint32_t cpu = 0; cpu < reading.cpus; cpu++)
		visitor->damaged(visitor->userdata, cpu_data_damaged(reading.cpu[cpu]));
	reading_end(&reading);
	fault_end(&others);
	return r;
}
