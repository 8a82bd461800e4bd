/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/segment_name.h"
#include "common/units.h"
#include "daemon/core/stages.h"
#include "daemon/core/verdict.h"

/* "42.0/s", "5.00 ms", "3": a value in its kind's unit. */
static struct units_text value_text(const struct alert_rule *rule, double value)
{
	switch (rule->unit) {
	case ALERT_UNIT_SHARE:
		return units_percent(value);
	case ALERT_UNIT_RATE:
		return units_rate(value);
	case ALERT_UNIT_DURATION:
		return units_duration_real(value);
	case ALERT_UNIT_COUNT:
		break;
	}
	return units_count((uint64_t)value);
}

__attribute__((format(printf, 3, 4))) static void add(char *text, size_t size, const char *format,
						      ...)
{
	size_t used = strlen(text);
	va_list list;

	va_start(list, format);
	vsnprintf(text + used, size - used, format, list);
	va_end(list);
}

/* What the rule watches: "dropped packets on device eth0, netns 4026531840, protocol ipv4/udp". */
static void subject_text(const struct alert_rule *rule, char text[static ALERT_TEXT_MAX])
{
	const char *joint = " on";

	text[0] = 0;
	if (rule->kind == ALERT_LATENCY)
		add(text, ALERT_TEXT_MAX, "p%g of %s %s", rule->quantile * 100,
		    segment_histograms[rule->segment].direction,
		    segment_name_text(segment_histograms[rule->segment].name).s);
	else
		add(text, ALERT_TEXT_MAX, "%s", alert_kinds[rule->kind].what);
	if (rule->reasons)
		add(text, ALERT_TEXT_MAX, " of %s",
		    rule->not_reasons ? "reasons other than those named" : "the reasons named");
	if (rule->classes != VERDICT_CLASSES_ALL) {
		const char *word = " of class ";

		for (int i = 0; i < KNOWLEDGE_CLASSES; i++) {
			if (!(rule->classes & VERDICT_CLASS_BIT(i)))
				continue;
			add(text, ALERT_TEXT_MAX, "%s%s", word,
			    knowledge_class_name((enum knowledge_class)i));
			word = " or ";
		}
	}
	if (rule->device[0]) {
		add(text, ALERT_TEXT_MAX, "%s device %s", joint, rule->device);
		joint = ",";
	}
	if (rule->netns) {
		add(text, ALERT_TEXT_MAX, "%s netns %s", joint, rule->netns);
		joint = ",";
	}
	if (rule->protocol[0])
		add(text, ALERT_TEXT_MAX, "%s protocol %s", joint, rule->protocol);
}

void alert_text_reading(const struct alert_rule *rule, const struct alert_reading *reading,
			char text[static ALERT_TEXT_MAX])
{
	char subject[ALERT_TEXT_MAX];

	text[0] = 0;
	if (!reading->known) {
		add(text, ALERT_TEXT_MAX, "cannot evaluate: %s",
		    reading->unknown[0] ? reading->unknown : "the value was not read yet");
		return;
	}
	subject_text(rule, subject);
	if (rule->kind == ALERT_LATENCY)
		add(text, ALERT_TEXT_MAX, "%s was %s", subject, value_text(rule, reading->value).s);
	else
		add(text, ALERT_TEXT_MAX, "%s %s", value_text(rule, reading->value).s, subject);
	if (rule->unit == ALERT_UNIT_SHARE)
		add(text, ALERT_TEXT_MAX, ", of all events");
	if (rule->window_ns)
		add(text, ALERT_TEXT_MAX, " over %s", units_duration(rule->window_ns).s);
	add(text, ALERT_TEXT_MAX, ", threshold %s", value_text(rule, rule->over).s);
	if (reading->detail[0])
		add(text, ALERT_TEXT_MAX, " (%s)", reading->detail);
}

void alert_text_event(const struct alert_event *event, char text[static ALERT_TEXT_MAX])
{
	const struct alert *alert = event->alert;
	const struct alert_rule *rule = alert->rule;
	char reading[ALERT_TEXT_MAX];

	alert_text_reading(rule, &alert->reading, reading);
	text[0] = 0;
	add(text, ALERT_TEXT_MAX, "%salert %s%s%s (%s)", event->test ? "test of " : "", rule->name,
	    event->test ? "" : " ", event->test ? "" : alert_change_name(event->change),
	    alert_severity_name(rule->severity));
	if (event->change == ALERT_ENDED)
		add(text, ALERT_TEXT_MAX, " after %s",
		    units_duration(event->time_ns - alert->state.fired_ns).s);
	add(text, ALERT_TEXT_MAX, ": %s", event->why ? event->why : reading);
}
