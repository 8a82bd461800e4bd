/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's alerts: the engine, the counters that it reads, what is done
 * about a change.  A timer evaluates the rules; SIGHUP reads them again.
 */
#ifndef DAEMON_ALERT_ALERTS_H
#define DAEMON_ALERT_ALERTS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct alert;
struct alert_clients;
struct alert_engine;
struct alerts;
struct attribution;
struct backend;
struct loop;
struct names;
struct records;
struct rockets;
struct symbols;

/* All are the caller's and must outlive the alerts. */
struct alerts_parts {
	struct loop *loop;
	const struct backend *backend;
	const char *backend_reason;
	const struct names *names;
	const struct symbols *symbols;
	struct attribution *attribution; /* for namespaces that rules name */
	struct records *records;	 /* the evidence */
	const bool *disabled;		 /* probes, NF_PROBE_COUNT of them */
	const struct rockets *rockets;	 /* of the kernel's log, NULL if it is not read */
	const char *directory;
	const char *exec_user;
	uint64_t interval_ns;
};

/*
 * Read and evaluate nothing yet.  Logs what failed.  A negative errno; free
 * with alerts_free, after the owner of the clients.
 */
int alerts_new(struct alerts **alerts, const struct alerts_parts *parts);
void alerts_free(struct alerts **alerts);

struct alert_engine *alerts_engine(const struct alerts *alerts);

/* Read the rules and begin; changes also go to `clients`, which is copied.  Logs what failed. */
int alerts_start(struct alerts *alerts, const struct alert_clients *clients);

/* alert_try() of one alert, see deliver.h. */
int alerts_test(struct alerts *alerts, const struct alert *alert, json_t *results, void *data);
/* The end of the program that a test started with `data` is not to be reported. */
void alerts_forget_test(struct alerts *alerts, const void *data);

#endif
