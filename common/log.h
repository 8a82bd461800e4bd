/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's log, on standard error.  A line begins with the journal's level prefix if JOURNAL_STREAM is set, because
 * the journal then reads it, and with the program's name otherwise.  errno stays as it was.
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

/* The levels of syslog(3), which the journal understands. */
enum log_level {
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_INFO = 6,
};

void log_message(enum log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define log_error(...) log_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_message(LOG_LEVEL_INFO, __VA_ARGS__)

#endif
