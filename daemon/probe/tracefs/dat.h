/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording as a file in the format trace.dat, version 6, which trace-cmd and KernelShark open: trace-cmd.dat.v6(5).
 */
#ifndef DAEMON_PROBE_TRACEFS_DAT_H
#define DAEMON_PROBE_TRACEFS_DAT_H

#include <stddef.h>
#include <stdint.h>

/* The file `format` of an event. */
struct dat_format {
	char *system, *text;
};

struct dat_cpu {
	int pages;	   /* a file with the pages of the ring buffer; -1: there are none */
	uint64_t bytes;	   /* in it, whole pages */
	const char *stats; /* the kernel's counters of the ring buffer; NULL: not known */
};

/* Everything that the file says.  Texts are as the kernel gives them; none is NULL except `stats`. */
struct dat {
	uint32_t page_size;
	const char *header_page, *header_event;
	/* Those of one system follow each other.  The system "ftrace" has those of the kernel's own events. */
	const struct dat_format *formats;
	size_t formats_count;
	const char *kallsyms, *printk_formats;
	const char *processes; /* a line for each: its PID and its name */
	const char *clock;     /* of the times, as trace_clock names it */
	const char *host;      /* as of uname -a */
	const char *writer;    /* the program and its version */
	const struct dat_cpu *cpus;
	unsigned int cpus_count;
};

/*
 * Write all of it to `fd`, an empty file.  What was copied from the files of pages is taken off their disk at once, so
 * that the copy needs little more room than they had.  Returns 0 or a negative errno.
 */
int dat_write(int fd, const struct dat *dat);

#endif
