/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sd_journal_sendv() returns 0 also if there is no journal, so its socket is checked first. */
#define SD_JOURNAL_SUPPRESS_LOCATION

#include "daemon/alert/journal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <systemd/sd-journal.h>

#include "common/log.h"
#include "daemon/alert/text.h"

#define JOURNAL_SOCKET "/run/systemd/journal/socket"
#define FIELDS_MAX 16

struct fields {
	struct iovec vector[FIELDS_MAX];
	int count;
};

/* Add "NAME=value".  A field for which there is no memory is left out. */
__attribute__((format(printf, 2, 3))) static void add(struct fields *fields, const char *format,
						      ...)
{
	char *text;
	va_list list;
	int length;

	va_start(list, format);
	length = vasprintf(&text, format, list);
	va_end(list);
	if (length < 0)
		return;
	fields->vector[fields->count++] = (struct iovec){text, (size_t)length};
}

static int priority(const struct alert_event *event)
{
	static const int priorities[ALERT_SEVERITY_COUNT] = {
		[ALERT_INFO] = 6, [ALERT_WARNING] = 4, [ALERT_CRITICAL] = 2};

	return event->change == ALERT_ENDED ? 5 : priorities[event->alert->rule->severity];
}

static void fill(struct fields *fields, const struct alert_event *event, const char *json,
		 const char *text)
{
	const struct alert_rule *rule = event->alert->rule;
	const struct alert_reading *reading = &event->alert->reading;

	add(fields, "MESSAGE=%s", text);
	add(fields, "MESSAGE_ID=%s",
	    event->change == ALERT_ENDED ? ALERT_JOURNAL_RESOLVED : ALERT_JOURNAL_FIRED);
	add(fields, "PRIORITY=%d", priority(event));
	add(fields, "SYSLOG_IDENTIFIER=netflowd");
	add(fields, "NETFLOWD_ALERT=%s", rule->name);
	add(fields, "NETFLOWD_CHANGE=%s", alert_change_name(event->change));
	add(fields, "NETFLOWD_SEVERITY=%s", alert_severity_name(rule->severity));
	add(fields, "NETFLOWD_CONDITION=%s", alert_kinds[rule->kind].name);
	if (reading->known) {
		add(fields, "NETFLOWD_VALUE=%.15g", reading->value);
		add(fields, "NETFLOWD_COUNT=%llu", (unsigned long long)reading->count);
	}
	add(fields, "NETFLOWD_BOUND=%.15g", rule->over);
	add(fields, "NETFLOWD_CAUSE=%s", alert_cause(event->alert));
	add(fields, "NETFLOWD_REMEDY=%s", alert_remedy(event->alert));
	add(fields, "NETFLOWD_EVENT=%s", json);
	if (event->test)
		add(fields, "NETFLOWD_TEST=1");
}

static void send_to_log(const struct alert_event *event, const char *text)
{
	if (event->change == ALERT_ENDED || event->alert->rule->severity == ALERT_INFO)
		log_info("%s", text);
	else if (event->alert->rule->severity == ALERT_WARNING)
		log_warning("%s", text);
	else
		log_error("%s", text);
}

int alert_journal_send(const struct alert_event *event, const char *json)
{
	char text[ALERT_TEXT_MAX];
	struct fields fields = {.count = 0};
	int r;

	alert_text_event(event, text);
	if (access(JOURNAL_SOCKET, F_OK) < 0) {
		send_to_log(event, text);
		return 1;
	}
	fill(&fields, event, json, text);
	r = sd_journal_sendv(fields.vector, fields.count);
	for (int i = 0; i < fields.count; i++)
		free(fields.vector[i].iov_base);
	if (r < 0)
		send_to_log(event, text);
	return r < 0 ? r : 0;
}
