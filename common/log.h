/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's log, on standard error.  A line begins with the journal's level prefix if the journal reads it, and with
 * the program's name otherwise.  errno stays as it was.
 *
 * Lines of one kind (one format) are limited to LOG_BURST at once and one per LOG_INTERVAL_NS after that.  The next
 * line of that kind is then preceded by the number of those that were not logged.
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#include <stdbool.h>

/* The levels of syslog(3), which the journal understands. */
enum log_level {
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_NOTICE = 5,
	LOG_LEVEL_INFO = 6,
};

#define LOG_BURST 200
#define LOG_INTERVAL_NS 1000000000ULL

/* `format` must be a literal, or live as long as the program. */
void log_message(enum log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define log_error(...) log_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_message(LOG_LEVEL_INFO, __VA_ARGS__)

/* Whether standard error is the journal: JOURNAL_STREAM, which children inherit, names it. */
bool log_is_journal(void);

#endif
