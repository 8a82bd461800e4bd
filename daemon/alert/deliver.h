/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The actions of an alert when it changes: the journal, the program, the clients that follow alerts. */
#ifndef DAEMON_ALERT_DELIVER_H
#define DAEMON_ALERT_DELIVER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct alert;
struct alert_engine;
struct alert_event;
struct alert_exec;
struct alert_exec_result;
struct records;

/* The functions of the owner of the clients. */
struct alert_clients {
	/* Send the event, type AlertEvent, to all clients that follow alerts; returns their number. */
	unsigned int (*stream)(void *userdata, json_t *event);
	/* Keep the event, its JSON text, in the history; `rule`: the rule's name if it fired, NULL otherwise. */
	void (*keep)(void *userdata, uint64_t time_ns, const char *text, const char *rule);
	/* An action of a test has ended, exec or alertmanager; `data` is that of alerts_test(). */
	void (*tested)(void *userdata, void *data, const char *action,
		       const struct alert_exec_result *result);
	void *userdata;
};

/* The caller owns all of them. */
struct alert_delivery {
	struct alert_engine *engine;
	struct alert_exec *exec;
	struct records *records; /* for the evidence */
	struct alert_clients clients;
};

/* Run the actions of the rule.  Logs failures. */
void alert_deliver(const struct alert_delivery *delivery, const struct alert_event *event);

/*
 * Run the actions that the rule has for firing now, and append an object for each to the array `results`: action, fine,
 * result.  Returns 1 if a program was started, whose end clients.tested() reports with `data`; 0 if all actions are
 * done; -ENOMEM.
 */
int alert_try(const struct alert_delivery *delivery, const struct alert *alert, json_t *results,
	      void *data);

/* Append the result of one action. */
void alert_try_result(json_t *results, const char *action, bool fine, json_t *result);

#endif
