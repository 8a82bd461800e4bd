/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/log.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/time.h"

/* More than there are calls of log_message(), so that each finds a bucket. */
#define BUCKETS 512

/* Lines of one kind: of one format. */
struct bucket {
	const char *format;
	uint64_t lines;	   /* that may still be written at once */
	uint64_t since_ns; /* when `lines` was last right */
	uint64_t suppressed;
};

static struct bucket buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* NULL: there are too many kinds, so this one has no limit. */
static struct bucket *find(const char *format, uint64_t now)
{
	size_t start = (uintptr_t)format / sizeof(void *) % BUCKETS;

	for (size_t i = 0; i < BUCKETS; i++) {
		struct bucket *bucket = &buckets[(start + i) % BUCKETS];

		if (!bucket->format)
			*bucket = (struct bucket){format, LOG_BURST, now, 0};
		if (bucket->format == format)
			return bucket;
	}
	return NULL;
}

/* Whether a line of this kind may be written; *suppressed is then the number of those before it that were not. */
static bool admit(const char *format, uint64_t *suppressed)
{
	uint64_t now = time_monotonic(), fresh;
	struct bucket *bucket;
	bool admitted = true;

	pthread_mutex_lock(&lock);
	bucket = find(format, now);
	*suppressed = 0;
	if (bucket) {
		fresh = (now - bucket->since_ns) / LOG_INTERVAL_NS;
		bucket->since_ns += fresh * LOG_INTERVAL_NS;
		bucket->lines += fresh;
		if (bucket->lines > LOG_BURST)
			bucket->lines = LOG_BURST;
		admitted = bucket->lines > 0;
		if (admitted) {
			bucket->lines--;
			*suppressed = bucket->suppressed;
			bucket->suppressed = 0;
		} else {
			bucket->suppressed++;
		}
	}
	pthread_mutex_unlock(&lock);
	return admitted;
}

bool log_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uint64_t device, inode;
	struct stat file;

	return stream && sscanf(stream, "%" SCNu64 ":%" SCNu64, &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &file) == 0 && file.st_dev == device && file.st_ino == inode;
}

static void put(enum log_level level, const char *line)
{
	if (log_is_journal())
		fprintf(stderr, "<%d>%s\n", level, line);
	else
		fprintf(stderr, "netflowd: %s\n", line);
}

void log_message(enum log_level level, const char *format, ...)
{
	uint64_t suppressed;
	int saved = errno;
	char line[1024];
	va_list arguments;

	if (admit(format, &suppressed)) {
		if (suppressed) {
			snprintf(line, sizeof(line),
				 "%" PRIu64 " lines like the next one were not logged", suppressed);
			put(level, line);
		}
		va_start(arguments, format);
		vsnprintf(line, sizeof(line), format, arguments);
		va_end(arguments);
		put(level, line);
	}
	errno = saved;
}
