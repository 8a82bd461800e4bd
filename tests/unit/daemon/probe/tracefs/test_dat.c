/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes files, and reads them back as trace-cmd.dat.v6(5) describes them. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "daemon/probe/tracefs/dat.h"
#include "daemon/probe/tracefs/sections.h"
#include "tests/unit/test.h"

#define PAGE 4096u
/* Larger than the parts in which pages are copied. */
#define MANY_PAGES 2500u

/* ---- a reader ------------------------------------------------------------------------------ */

struct reader {
	char *data;
	size_t size, at;
};

static const void *take(struct reader *reader, size_t size)
{
	const void *data = reader->data + reader->at;

	assert_true(size <= reader->size - reader->at);
	reader->at += size;
	return data;
}

static uint64_t take_number(struct reader *reader, size_t size)
{
	uint64_t number = 0;

	assert_int_equal(__BYTE_ORDER__, __ORDER_LITTLE_ENDIAN__);
	memcpy(&number, take(reader, size), size);
	return number;
}

static void take_bytes(struct reader *reader, const char *bytes, size_t size)
{
	assert_memory_equal(take(reader, size), bytes, size);
}

/* With its NUL byte. */
static void take_string(struct reader *reader, const char *text)
{
	take_bytes(reader, text, strlen(text) + 1);
}

/* A text behind its size, of so many bytes. */
static void take_sized(struct reader *reader, size_t bytes, const char *text)
{
	assert_int_equal(take_number(reader, bytes), strlen(text));
	take_bytes(reader, text, strlen(text));
}

static void take_option(struct reader *reader, unsigned int option, const char *text)
{
	assert_int_equal(take_number(reader, 2), option);
	assert_int_equal(take_number(reader, 4), strlen(text) + 1);
	take_string(reader, text);
}

/* ---- a file -------------------------------------------------------------------------------- */

static int new_file(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Pages whose words are numbers that occur once. */
static int new_pages(unsigned int pages, uint32_t first)
{
	int fd = new_file();

	for (uint32_t i = 0; i < pages * PAGE / sizeof(i); i += PAGE / sizeof(i)) {
		uint32_t page[PAGE / sizeof(i)];

		for (uint32_t k = 0; k < ARRAY_SIZE(page); k++)
			page[k] = first + i + k;
		assert_int_equal(write(fd, page, sizeof(page)), sizeof(page));
	}
	return fd;
}

static struct reader write_and_open(const struct dat *dat)
{
	OWN_FD int fd = new_file();
	struct reader reader = {};
	struct stat status;

	assert_int_equal(dat_write(fd, dat), 0);
	assert_int_equal(fstat(fd, &status), 0);
	reader.size = (size_t)status.st_size;
	reader.data = malloc(reader.size);
	assert_non_null(reader.data);
	assert_int_equal(pread(fd, reader.data, reader.size, 0), reader.size);
	return reader;
}

static const struct dat_format formats[] = {
	{"ftrace", "name: print\n"},
	{"irq", "name: softirq_entry\n"},
	{"irq", "name: softirq_exit\n"},
	{"skb", "name: kfree_skb\nID: 1234\n"},
};

static struct dat small(void)
{
	return (struct dat){
		.page_size = PAGE,
		.header_page = "\tfield: u64 timestamp;\n",
		.header_event = "# compressed entry header\n",
		.formats = formats,
		.formats_count = ARRAY_SIZE(formats),
		.kallsyms = "ffffffff81000000 T _text\n",
		.printk_formats = "0xffffffff82000000 : \"%s\"\n",
		.processes = "1 init\n4217 a program\n",
		.clock = "mono",
		.host = "Linux host 6.18",
		.writer = "netflowd 1",
	};
}

static void take_formats(struct reader *reader)
{
	assert_int_equal(take_number(reader, 4), 1);
	take_sized(reader, 8, formats[0].text);
	assert_int_equal(take_number(reader, 4), 2);
	take_string(reader, "irq");
	assert_int_equal(take_number(reader, 4), 2);
	take_sized(reader, 8, formats[1].text);
	take_sized(reader, 8, formats[2].text);
	take_string(reader, "skb");
	assert_int_equal(take_number(reader, 4), 1);
	take_sized(reader, 8, formats[3].text);
}

static void take_head(struct reader *reader, const struct dat *dat)
{
	const char layout[] = {0, sizeof(long)};

	take_bytes(reader, "\x17\x08\x44tracing6", 12);
	take_bytes(reader, layout, sizeof(layout));
	assert_int_equal(take_number(reader, 4), dat->page_size);
	take_string(reader, "header_page");
	take_sized(reader, 8, dat->header_page);
	take_string(reader, "header_event");
	take_sized(reader, 8, dat->header_event);
}

static void take_texts(struct reader *reader, const struct dat *dat)
{
	take_sized(reader, 4, dat->kallsyms);
	take_sized(reader, 4, dat->printk_formats);
	take_sized(reader, 8, dat->processes);
	assert_int_equal(take_number(reader, 4), dat->cpus_count);
}

TEST(test_sections)
{
	OWN_FD int first = new_pages(1, 7);
	OWN_FD int third = new_pages(MANY_PAGES, 5000);
	const struct dat_cpu cpus[] = {
		{.pages = first, .bytes = PAGE, .stats = "entries: 0\n"},
		{.pages = -1},
		{.pages = third, .bytes = MANY_PAGES * PAGE, .stats = "entries: 2\n"},
	};
	struct dat dat = small();
	struct reader reader;
	uint64_t begin;

	dat.cpus = cpus;
	dat.cpus_count = ARRAY_SIZE(cpus);
	reader = write_and_open(&dat);
	take_head(&reader, &dat);
	take_formats(&reader);
	take_texts(&reader, &dat);
	take_string(&reader, "options  ");
	take_option(&reader, 4, "[mono]");
	take_option(&reader, 5, dat.host);
	take_option(&reader, 9, dat.writer);
	take_option(&reader, 2, "CPU: 0\nentries: 0\n");
	take_option(&reader, 2, "CPU: 2\nentries: 2\n");
	assert_int_equal(take_number(&reader, 2), 0);
	take_string(&reader, "flyrecord");
	begin = take_number(&reader, 8);
	assert_int_equal(take_number(&reader, 8), PAGE);
	assert_int_equal(take_number(&reader, 8), begin + PAGE);
	assert_int_equal(take_number(&reader, 8), 0);
	assert_int_equal(take_number(&reader, 8), begin + PAGE);
	assert_int_equal(take_number(&reader, 8), MANY_PAGES * PAGE);
	take_sized(&reader, 8, "[mono]");
	/* Between the table and the first page that follows it there is nothing but zeros. */
	assert_int_equal(begin % PAGE, 0);
	assert_in_range(begin - reader.at, 0, PAGE - 1);
	while (reader.at < begin)
		assert_int_equal(take_number(&reader, 1), 0);
	for (uint32_t i = 0; i < PAGE / 4; i++)
		assert_int_equal(take_number(&reader, 4), 7 + i);
	for (uint32_t i = 0; i < MANY_PAGES * (PAGE / 4); i++)
		assert_int_equal(take_number(&reader, 4), 5000 + i);
	assert_int_equal(reader.at, reader.size);
	free(reader.data);
}

/* A recording without events, of a host that hides all names, is a file nevertheless. */
TEST(test_empty)
{
	static const struct dat_cpu cpu = {.pages = -1};
	struct dat dat = {.page_size = 65536,
			  .header_page = "",
			  .header_event = "",
			  .kallsyms = "",
			  .printk_formats = "",
			  .processes = "",
			  .clock = "mono",
			  .host = "",
			  .writer = "",
			  .cpus = &cpu,
			  .cpus_count = 1};
	struct reader reader;

	reader = write_and_open(&dat);
	take_head(&reader, &dat);
	assert_int_equal(take_number(&reader, 4), 0);
	assert_int_equal(take_number(&reader, 4), 0);
	take_texts(&reader, &dat);
	assert_int_equal(reader.size, 65536);
	free(reader.data);
}

/* The pages leave their file while they are copied: the disk needs little room for both. */
TEST(test_copied_pages_take_no_room)
{
	OWN_FD int pages = new_pages(MANY_PAGES, 1);
	const struct dat_cpu cpu = {.pages = pages, .bytes = MANY_PAGES * PAGE};
	struct dat dat = small();
	struct stat status;
	OWN_FD int fd = new_file();

	dat.cpus = &cpu;
	dat.cpus_count = 1;
	assert_int_equal(dat_write(fd, &dat), 0);
	assert_int_equal(fstat(pages, &status), 0);
	assert_int_equal(status.st_size, MANY_PAGES * PAGE);
	assert_int_equal(status.st_blocks, 0);
}

TEST(test_errors_of_the_disk)
{
	OWN_FD int pages = new_pages(1, 1);
	OWN_FD int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	OWN_FD int closed = new_file();
	/* Pages that the file does not have. */
	const struct dat_cpu cpu = {.pages = pages, .bytes = 2 * PAGE};
	struct dat dat = small();

	assert_true(full >= 0);
	assert_int_equal(dat_write(full, &dat), -ENOSPC);
	dat.cpus = &cpu;
	dat.cpus_count = 1;
	assert_int_equal(dat_write(closed, &dat), -EIO);
}

/* ---- functions ----------------------------------------------------------------------------- */

/* `path` is a template for mkostemp(3). */
static void write_file(char *path, const char *text)
{
	OWN_FD int fd = mkostemp(path, O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static char *functions_of(const char *symbols)
{
	char path[] = "/tmp/netflowd-test.XXXXXX", modules[] = "/tmp/netflowd-test.XXXXXX";
	char *functions;

	write_file(path, symbols);
	write_file(modules, "a_module 4096 0 - Live 0xffffffffc0000000\n");
	functions = sections_functions(path, modules);
	unlink(path);
	unlink(modules);
	assert_non_null(functions);
	return functions;
}

TEST(test_functions)
{
	OWN_FREE char *found = functions_of("ffffffff81000000 T _text\n"
					    "ffffffff81000010 t local\n"
					    "ffffffff82000000 D data\n"
					    "ffffffff82000010 b bss\n"
					    "0000000000000000 A absolute\n"
					    "0000000000000000 T hidden\n"
					    "ffffffffc0000000 W weak\t[a_module]\n"
					    "ffffffffc0000008 t freed\t[another]\n"
					    "ffffffffc0000010 w other\t[bpf]\n");

	assert_string_equal(found, "ffffffff81000000 T _text\n"
				   "ffffffff81000010 t local\n"
				   "ffffffffc0000000 W weak\t[a_module]\n"
				   "ffffffffc0000010 w other\t[bpf]\n");
}

TEST(test_hidden_functions)
{
	OWN_FREE char *hidden = functions_of("0000000000000000 T _text\n0000000000000000 t x\n");
	OWN_FREE char *none = functions_of("");
	OWN_FREE char *wrong = functions_of("\n \nT\nffffffff81000000\nffffffff81000000 T\n");

	assert_string_equal(hidden, "");
	assert_string_equal(none, "");
	assert_string_equal(wrong, "");
	assert_null(sections_functions("/nonexistent/kallsyms", "/nonexistent/modules"));
}
