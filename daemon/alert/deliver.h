/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an alert does when it changes: the journal, the program, the clients that follow alerts. */
#ifndef DAEMON_ALERT_DELIVER_H
#define DAEMON_ALERT_DELIVER_H

#include <stdbool.h>

#include <jansson.h>

struct alert;
struct alert_engine;
struct alert_event;
struct alert_exec;
struct alert_exec_result;
struct records;

/* What the owner of the clients does. */
struct alert_clients {
	/* Send the event, type AlertEvent, to all that follow alerts; returns to how many. */
	unsigned int (*stream)(void *userdata, json_t *event);
	/* The program that a test started has ended; `data` is alert_try()'s. */
	void (*tested)(void *userdata, void *data, const struct alert_exec_result *result);
	void *userdata;
};

/* All are the caller's. */
struct alert_delivery {
	struct alert_engine *engine;
	struct alert_exec *exec;
	struct records *records; /* the evidence */
	struct alert_clients clients;
};

/* Do what the rule says.  Logs what failed. */
void alert_deliver(const struct alert_delivery *delivery, const struct alert_event *event);

/*
 * Do now what the rule does when it fires, and append to `results`, an array,
 * an object for each action: action, fine, result.  Returns 1 if a program was
 * started, whose end clients.tested() reports with `data`; 0 if all is done;
 * -ENOMEM.
 */
int alert_try(const struct alert_delivery *delivery, const struct alert *alert, json_t *results,
	      void *data);

/* Append the result of one action. */
void alert_try_result(json_t *results, const char *action, bool fine, json_t *result);

#endif
