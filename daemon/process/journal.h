/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries of the system journal with fields of their own.  netflowd writes one per change of state, not one per event:
 * the messages and their fields are listed in docs/service.md.
 */
#ifndef DAEMON_PROCESS_JOURNAL_H
#define DAEMON_PROCESS_JOURNAL_H

#include <stdbool.h>
#include <sys/uio.h>

#include "common/cleanup.h"
#include "common/log.h"

#define JOURNAL_FIELDS_MAX 20

/* An entry that grows field by field.  Starts as {0}; free with journal_free(). */
struct journal_entry {
	struct iovec fields[JOURNAL_FIELDS_MAX];
	int count;
};

void journal_free(struct journal_entry *entry);
#define OWN_ENTRY CLEANUP(journal_free)

/*
 * Add a field: "NAME=value".  A field for which there is no memory, or that is one more than JOURNAL_FIELDS_MAX, is
 * left out.  The value may contain any characters.
 */
void journal_add(struct journal_entry *entry, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Whether this host has a journal that accepts entries. */
bool journal_exists(void);

/* Send the entry as it is.  Returns 0 or a negative errno; 0 also if there is no journal. */
int journal_send(struct journal_entry *entry);

/*
 * Report a change of state.  If standard error is the journal, send the entry with the fields that were added and
 * MESSAGE, MESSAGE_ID (32 hexadecimal digits), PRIORITY and SYSLOG_IDENTIFIER.  Otherwise, or if the journal refuses
 * the entry, log the message as a line (common/log.h).
 */
void journal_report(struct journal_entry *entry, enum log_level level, const char *message_id,
		    const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
