/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's alerts: the engine, the counters that it reads, and the actions on a change.  A timer evaluates the
 * rules.
 */
#ifndef DAEMON_ALERT_ALERTS_H
#define DAEMON_ALERT_ALERTS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct alert;
struct alert_clients;
struct alert_engine;
struct alert_rules;
struct alerts;
struct attribution;
struct backend;
struct helper;
struct loop;
struct readings;
struct names;
struct records;
struct rockets;

/* The caller owns all of these, and they must outlive the alerts. */
struct alerts_parts {
	struct loop *loop;
	const struct backend *backend;
	struct readings *readings; /* the counters */
	const char *backend_reason;
	const struct names *names;
	struct attribution *attribution; /* for namespaces that rules name */
	struct records *records;	 /* for the evidence */
	const bool *disabled;		 /* by probe, NF_PROBE_COUNT entries */
	const struct rockets *rockets; /* of the kernel's log; NULL if netflowd does not read it */
	const char *directory;
	/* Why counters stand still because of a pause, those of drops and slots or others; NULL: they do not. */
	const char *(*paused)(void *userdata, bool counts);
	void *userdata;
	struct helper *helper; /* starts programs */
	uint64_t interval_ns;
};

/*
 * Create the alerts, but read and evaluate no rules yet.  Logs the cause of a failure.  Returns 0 or a negative errno.
 * Free with alerts_free, after the owner of the clients.
 */
int alerts_new(struct alerts **alerts, const struct alerts_parts *parts);
void alerts_free(struct alerts **alerts);

struct alert_engine *alerts_engine(const struct alerts *alerts);

/* Read the rules from the directory of the parts; see alert_rules_read().  They change nothing yet. */
int alerts_read_rules(const struct alerts *alerts, struct alert_rules **rules);

/*
 * Begin to evaluate the rules, which must have no faults and are taken, also on failure.  Changes also go to `clients`,
 * which is copied.  Logs the cause of a failure.  Returns 0 or a negative errno.
 */
int alerts_start(struct alerts *alerts, const struct alert_clients *clients,
		 struct alert_rules **rules);

/* Evaluate these rules instead, at this interval.  Takes them, logs and returns as alerts_start(). */
int alerts_reload(struct alerts *alerts, uint64_t interval_ns, struct alert_rules **rules);

struct alertmanager_settings;
struct alertmanager_stats;

/* Post alerts to Alertmanager, see alertmanager.h.  Logs the cause of a failure.  0 or a negative errno. */
int alerts_set_alertmanager(struct alerts *alerts, const struct alertmanager_settings *settings);
struct alertmanager_stats alerts_alertmanager_stats(const struct alerts *alerts);

/*
 * Test one alert: alert_try(), see deliver.h, and a post to Alertmanager if one is set.  Returns how many results come
 * later, by clients.tested() with `data`, or -ENOMEM.
 */
int alerts_test(struct alerts *alerts, const struct alert *alert, json_t *results, void *data);
/* Report no more results of the test with `data`. */
void alerts_forget_test(struct alerts *alerts, const void *data);

#endif
