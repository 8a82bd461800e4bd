/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/journal.h"

#include "common/log.h"
#include "daemon/alert/text.h"
#include "daemon/process/journal.h"

static int priority(const struct alert_event *event)
{
	static const int priorities[ALERT_SEVERITY_COUNT] = {
		[ALERT_INFO] = 6, [ALERT_WARNING] = 4, [ALERT_CRITICAL] = 2};

	return event->change == ALERT_ENDED ? 5 : priorities[event->alert->rule->severity];
}

static void fill(struct journal_entry *entry, const struct alert_event *event, const char *json,
		 const char *text)
{
	const struct alert_rule *rule = event->alert->rule;
	const struct alert_reading *reading = &event->alert->reading;

	journal_add(entry, "MESSAGE=%s", text);
	journal_add(entry, "MESSAGE_ID=%s",
		    event->change == ALERT_ENDED ? ALERT_JOURNAL_RESOLVED : ALERT_JOURNAL_FIRED);
	journal_add(entry, "PRIORITY=%d", priority(event));
	journal_add(entry, "SYSLOG_IDENTIFIER=netflowd");
	journal_add(entry, "NETFLOWD_ALERT=%s", rule->name);
	journal_add(entry, "NETFLOWD_CHANGE=%s", alert_change_name(event->change));
	journal_add(entry, "NETFLOWD_SEVERITY=%s", alert_severity_name(rule->severity));
	journal_add(entry, "NETFLOWD_CONDITION=%s", alert_kinds[rule->kind].name);
	if (reading->known) {
		journal_add(entry, "NETFLOWD_VALUE=%.15g", reading->value);
		journal_add(entry, "NETFLOWD_COUNT=%llu", (unsigned long long)reading->count);
	}
	journal_add(entry, "NETFLOWD_BOUND=%.15g", rule->over);
	journal_add(entry, "NETFLOWD_CAUSE=%s", alert_cause(event->alert));
	journal_add(entry, "NETFLOWD_REMEDY=%s", alert_remedy(event->alert));
	journal_add(entry, "NETFLOWD_EVENT=%s", json);
	if (event->test)
		journal_add(entry, "NETFLOWD_TEST=1");
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
	OWN_ENTRY struct journal_entry entry = {0};
	char text[ALERT_TEXT_MAX];
	int r;

	alert_text_event(event, text);
	if (!journal_exists()) {
		send_to_log(event, text);
		return 1;
	}
	fill(&entry, event, json, text);
	r = journal_send(&entry);
	if (r < 0)
		send_to_log(event, text);
	return r;
}
