/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of trace-cmd record or of netflowctl record: trace.dat of version 6 or 7, compressed or not.  libtracecmd
 * reads it.
 */
#ifndef DAEMON_PROBE_REPLAY_RECORDING_H
#define DAEMON_PROBE_REPLAY_RECORDING_H

#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

struct recording;
struct tep_handle;

#define RECORDING_ERROR_MAX 512

/*
 * Open a file.  On failure `error` says what is wrong, where, and what to do; -ENOMEM leaves it empty.  On success it
 * is empty, or says which part of a damaged file is missing.  Free with recording_free.
 */
int recording_open(struct recording **recording, const char *path,
		   char error[static RECORDING_ERROR_MAX]);
void recording_free(struct recording **recording);
#define OWN_RECORDING CLEANUP(recording_free)

/* The formats and symbols in the file; valid as long as the recording. */
struct tep_handle *recording_formats(const struct recording *recording);
uint32_t recording_cpus(const struct recording *recording);

/* What recording_read() visits. */
struct recording_visitor {
	/* The bytes are valid during the call; `size` 0: they do not end within their page.  A negative errno ends
	 * the reading. */
	int (*record)(void *userdata, uint32_t cpu, uint64_t time_ns, const void *data,
		      size_t size);
	/* Events of a CPU were lost before its next record; 0: not known how many. */
	void (*lost)(void *userdata, uint32_t cpu, uint64_t events);
	/* At the end: N pages could not be read. */
	void (*damaged)(void *userdata, uint64_t pages);
	void *userdata;
};

/* Visit all records of all buffers in the order of their times, once.  0 or a negative errno, also the visitor's. */
int recording_read(struct recording *recording, const struct recording_visitor *visitor);

#endif
