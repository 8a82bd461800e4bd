/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sd_journal_sendv() returns 0 also if there is no journal, so its socket is checked first. */
#define SD_JOURNAL_SUPPRESS_LOCATION

#include "daemon/process/journal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <systemd/sd-journal.h>

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

void journal_free(struct journal_entry *entry)
{
	for (int i = 0; i < entry->count; i++)
		free(entry->fields[i].iov_base);
	entry->count = 0;
}

void journal_add(struct journal_entry *entry, const char *format, ...)
{
	char *text;
	va_list list;
	int length;

	if (entry->count == JOURNAL_FIELDS_MAX)
		return;
	va_start(list, format);
	length = vasprintf(&text, format, list);
	va_end(list);
	if (length < 0)
		return;
	entry->fields[entry->count++] = (struct iovec){text, (size_t)length};
}

bool journal_exists(void)
{
	return access(JOURNAL_SOCKET, F_OK) == 0;
}

int journal_send(struct journal_entry *entry)
{
	int r = sd_journal_sendv(entry->fields, entry->count);

	return r < 0 ? r : 0;
}

void journal_report(struct journal_entry *entry, enum log_level level, const char *message_id,
		    const char *format, ...)
{
	char message[1024];
	va_list list;

	va_start(list, format);
	vsnprintf(message, sizeof(message), format, list);
	va_end(list);
	if (log_is_journal() && journal_exists()) {
		journal_add(entry, "MESSAGE=%s", message);
		journal_add(entry, "MESSAGE_ID=%s", message_id);
		journal_add(entry, "PRIORITY=%d", level);
		journal_add(entry, "SYSLOG_IDENTIFIER=netflowd");
		if (journal_send(entry) == 0)
			return;
	}
	log_message(level, "%s", message);
}
