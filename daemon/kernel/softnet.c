/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * softnet_seq_show() in the kernel's net/core/net-procfs.c writes hexadecimal columns.  The first three are processed,
 * dropped and time_squeeze on all kernels.  Later kernels have more columns, 9 to 15 in all; since 5.10 (7d58e6555870)
 * the 13th is the number of the CPU.  Earlier kernels do not write it: their rows are the online CPUs in order, and
 * `cpu` is then the index of the row.
 */
#include "daemon/kernel/softnet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/cleanup.h"

#define COLUMNS_LEAST 3
#define COLUMNS_MAX 32
#define COLUMN_CPU 12
#define CPUS_MAX 8192 /* the kernel's own limit on x86-64 and arm64 */

/* Read the columns of a line.  Returns their number; -1 if the line contains another character. */
static int read_columns(const char *line, uint32_t columns[static COLUMNS_MAX])
{
	int count = 0;

	for (;;) {
		unsigned long value;
		char *end;

		line += strspn(line, " \t\n");
		if (!*line)
			return count;
		errno = 0;
		value = strtoul(line, &end, 16);
		if (errno || end == line || *line == '-' || *line == '+' || value > UINT32_MAX)
			return -1;
		if (*end && !strchr(" \t\n", *end))
			return -1;
		if (count < COLUMNS_MAX)
			columns[count++] = (uint32_t)value;
		line = end;
	}
}

static int read_row(const char *line, size_t number, struct softnet *row)
{
	uint32_t columns[COLUMNS_MAX];
	int count = read_columns(line, columns);

	if (count < COLUMNS_LEAST)
		return -EBADMSG;
	*row = (struct softnet){
		.cpu = count > COLUMN_CPU ? columns[COLUMN_CPU] : (uint32_t)number,
		.processed = columns[0],
		.dropped = columns[1],
		.time_squeeze = columns[2],
	};
	return 0;
}

static int add_row(struct softnet **rows, size_t *room, size_t count, const char *line)
{
	struct softnet row;
	int r = read_row(line, count, &row);

	if (r == 0 && count == CPUS_MAX)
		r = -EBADMSG;
	if (r < 0)
		return r;
	r = ARRAY_GROW(*rows, count, *room);
	if (r < 0)
		return r;
	(*rows)[count] = row;
	return 0;
}

int softnet_read(const char *path, struct softnet **rows, size_t *count)
{
	OWN_FILE FILE *file = fopen(path, "re");
	OWN_FREE struct softnet *fresh = NULL;
	size_t read = 0, room = 0;
	char line[512]; /* 32 columns of 9 characters fit */

	if (!file)
		return -errno;
	errno = 0;
	while (fgets(line, sizeof(line), file)) {
		int r = strchr(line, '\n') ? add_row(&fresh, &room, read, line) : -EBADMSG;

		if (r < 0)
			return r;
		read++;
	}
	if (ferror(file))
		return errno ? -errno : -EIO;
	if (!read)
		return -EBADMSG;
	*rows = TAKE_PTR(fresh);
	*count = read;
	return 0;
}

int softnet_packets(const char *path, uint32_t *packets, size_t *cpus)
{
	OWN_FREE struct softnet *rows = NULL;
	uint32_t sum = 0;
	int r = softnet_read(path, &rows, cpus);

	if (r < 0)
		return r;
	for (size_t i = 0; i < *cpus; i++)
		sum += rows[i].processed;
	*packets = sum;
	return 0;
}

int softnet_sum_add(struct softnet_sum *sum, const char *path)
{
	uint32_t packets;
	size_t cpus;
	int r = softnet_packets(path, &packets, &cpus);

	if (r < 0)
		return r;
	if (sum->begun && cpus == sum->cpus)
		sum->packets += (uint32_t)(packets - sum->last);
	sum->begun = true;
	sum->last = packets;
	sum->cpus = cpus;
	return 0;
}
