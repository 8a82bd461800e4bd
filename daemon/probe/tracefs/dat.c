/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/tracefs/dat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "common/array.h"
#include "common/cleanup.h"

#define BUILTIN "ftrace"
/* Pages that are copied before their room on the disk is given back. */
#define CHUNK_BYTES ((size_t)4 << 20)

/* The options of the format, by their numbers in trace-cmd; trace-cmd.dat.v6(5) does not list them. */
enum dat_option {
	DAT_END = 0,
	DAT_CPU_STATS = 2, /* one for each CPU */
	DAT_CLOCK = 4,	   /* times are of the clock whose name is behind the table of CPUs */
	DAT_UNAME = 5,
	DAT_VERSION = 9,
};

/* ---- numbers and texts --------------------------------------------------------------------- */

/* Numbers have the byte order of this machine, which the file's head names. */
static void put(FILE *file, const void *data, size_t size)
{
	fwrite(data, 1, size, file);
}

static void put_u16(FILE *file, uint16_t number)
{
	put(file, &number, sizeof(number));
}

static void put_u32(FILE *file, uint32_t number)
{
	put(file, &number, sizeof(number));
}

static void put_u64(FILE *file, uint64_t number)
{
	put(file, &number, sizeof(number));
}

/* With its NUL byte. */
static void put_string(FILE *file, const char *text)
{
	put(file, text, strlen(text) + 1);
}

/* A text without its NUL byte, its size before it. */
static void put_sized(FILE *file, const char *text)
{
	put_u64(file, strlen(text));
	put(file, text, strlen(text));
}

static void put_sized_u32(FILE *file, const char *text)
{
	put_u32(file, (uint32_t)strlen(text));
	put(file, text, strlen(text));
}

/* ---- sections ------------------------------------------------------------------------------ */

static void put_head(FILE *file, const struct dat *dat)
{
	static const char magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
	const char layout[] = {__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, sizeof(long)};

	put(file, magic, sizeof(magic));
	put_string(file, "6");
	put(file, layout, sizeof(layout));
	put_u32(file, dat->page_size);
	put_string(file, "header_page");
	put_sized(file, dat->header_page);
	put_string(file, "header_event");
	put_sized(file, dat->header_event);
}

/* The formats of the same system as the one at `from`, up to and without the returned index. */
static size_t end_of_system(const struct dat *dat, size_t from)
{
	size_t end = from;

	while (end < dat->formats_count &&
	       !strcmp(dat->formats[end].system, dat->formats[from].system))
		end++;
	return end;
}

static bool is_builtin(const struct dat_format *format)
{
	return !strcmp(format->system, BUILTIN);
}

static void put_formats(FILE *file, const struct dat *dat, size_t from, size_t end)
{
	put_u32(file, (uint32_t)(end - from));
	for (size_t i = from; i < end; i++)
		put_sized(file, dat->formats[i].text);
}

static void put_builtin(FILE *file, const struct dat *dat)
{
	for (size_t i = 0; i < dat->formats_count; i = end_of_system(dat, i))
		if (is_builtin(&dat->formats[i])) {
			put_formats(file, dat, i, end_of_system(dat, i));
			return;
		}
	put_u32(file, 0);
}

static void put_events(FILE *file, const struct dat *dat)
{
	uint32_t systems = 0;

	for (size_t i = 0; i < dat->formats_count; i = end_of_system(dat, i))
		systems += !is_builtin(&dat->formats[i]);
	put_u32(file, systems);
	for (size_t i = 0; i < dat->formats_count; i = end_of_system(dat, i)) {
		if (is_builtin(&dat->formats[i]))
			continue;
		put_string(file, dat->formats[i].system);
		put_formats(file, dat, i, end_of_system(dat, i));
	}
}

/* ---- options ------------------------------------------------------------------------------- */

/* A text with its NUL byte. */
static void put_option(FILE *file, enum dat_option option, const char *text)
{
	put_u16(file, option);
	put_u32(file, (uint32_t)strlen(text) + 1);
	put_string(file, text);
}

static int put_stats(FILE *file, unsigned int cpu, const char *stats)
{
	OWN_FREE char *text = NULL;

	if (asprintf(&text, "CPU: %u\n%s", cpu, stats) < 0) {
		text = NULL;
		return -ENOMEM;
	}
	put_option(file, DAT_CPU_STATS, text);
	return 0;
}

static int put_options(FILE *file, const struct dat *dat, const char *clock)
{
	int r = 0;

	put(file, "options  ", 10);
	put_option(file, DAT_CLOCK, clock);
	put_option(file, DAT_UNAME, dat->host);
	put_option(file, DAT_VERSION, dat->writer);
	for (unsigned int cpu = 0; cpu < dat->cpus_count && r == 0; cpu++)
		if (dat->cpus[cpu].stats)
			r = put_stats(file, cpu, dat->cpus[cpu].stats);
	put_u16(file, DAT_END);
	return r;
}

/* ---- pages --------------------------------------------------------------------------------- */

static uint64_t align(uint64_t at, uint32_t size)
{
	return (at + size - 1) / size * size;
}

/* The table of where the pages of each CPU are, and the clock.  Returns where the first pages begin. */
static uint64_t put_table(FILE *file, const struct dat *dat, const char *clock)
{
	static const char name[] = "flyrecord";
	uint64_t at = (uint64_t)ftello(file) + sizeof(name) +
		      (uint64_t)dat->cpus_count * 2 * sizeof(uint64_t) + sizeof(uint64_t) +
		      strlen(clock);
	uint64_t first = align(at, dat->page_size);

	put_string(file, name);
	at = first;
	for (unsigned int cpu = 0; cpu < dat->cpus_count; cpu++) {
		put_u64(file, at);
		put_u64(file, dat->cpus[cpu].bytes);
		at += dat->cpus[cpu].bytes;
	}
	put_sized(file, clock);
	return first;
}

static int copy_pages(int fd, const struct dat_cpu *cpu)
{
	off_t from = 0;

	while ((uint64_t)from < cpu->bytes) {
		uint64_t left = cpu->bytes - (uint64_t)from;
		ssize_t copied = sendfile(fd, cpu->pages, &from,
					  left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES);

		if (copied < 0 && errno == EINTR)
			continue;
		if (copied <= 0)
			return copied < 0 ? -errno : -EIO;
		/* A file system that cannot do this only needs more room. */
		fallocate(cpu->pages, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, from);
	}
	return 0;
}

static int write_head(FILE *file, const struct dat *dat, uint64_t *first)
{
	OWN_FREE char *clock = NULL;
	int r;

	if (asprintf(&clock, "[%s]", dat->clock) < 0) {
		clock = NULL;
		return -ENOMEM;
	}
	put_head(file, dat);
	put_builtin(file, dat);
	put_events(file, dat);
	put_sized_u32(file, dat->kallsyms);
	put_sized_u32(file, dat->printk_formats);
	put_sized(file, dat->processes);
	put_u32(file, dat->cpus_count);
	r = put_options(file, dat, clock);
	*first = put_table(file, dat, clock);
	return r;
}

int dat_write(int fd, const struct dat *dat)
{
	OWN_FILE FILE *file = NULL;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), r;
	uint64_t first;

	file = copy < 0 ? NULL : fdopen(copy, "w");
	if (!file) {
		r = -errno;
		if (copy >= 0)
			close(copy);
		return r;
	}
	r = write_head(file, dat, &first);
	errno = 0;
	if (r == 0 && (fflush(file) || ferror(file)))
		r = errno ? -errno : -EIO;
	if (r == 0 && (ftruncate(fd, (off_t)first) < 0 || lseek(fd, (off_t)first, SEEK_SET) < 0))
		r = -errno;
	for (unsigned int cpu = 0; cpu < dat->cpus_count && r == 0; cpu++)
		r = copy_pages(fd, &dat->cpus[cpu]);
	return r;
}
