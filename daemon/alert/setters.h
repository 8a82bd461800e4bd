/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions that the table of keys (keys.c) names: one for each kind of value, which checks the
 * value against the limits of its row and sets it, and one for each list of words.
 */
#ifndef DAEMON_ALERT_SETTERS_H
#define DAEMON_ALERT_SETTERS_H

#include "daemon/alert/keys.h"

/* A text or a duration of struct alert_rule, at the offset of the row. */
alert_setter alert_set_text;
alert_setter alert_set_duration;

/* Of one member of the rule or of the draft. */
alert_setter alert_set_enabled;
alert_setter alert_set_severity;
alert_setter alert_set_condition;
alert_setter alert_set_reason;
alert_setter alert_set_class;
alert_setter alert_set_device;
alert_setter alert_set_netns;
alert_setter alert_set_protocol;
alert_setter alert_set_segment;
alert_setter alert_set_quantile;
alert_setter alert_set_at_least;
alert_setter alert_set_over;
alert_setter alert_set_clear;
alert_setter alert_set_actions;
alert_setter alert_set_exec;

/* The i-th word, or NULL after the last. */
const char *alert_condition_word(int i);
const char *alert_severity_word(int i);
const char *alert_class_word(int i);
const char *alert_segment_word(int i);
const char *alert_action_word(int i);

#endif
