/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Settings: one table of keys gives the parser, the limits, the defaults and
 * the help.  A file is INI; a key is "section.key".
 */
#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H

#include <limits.h>
#include <stdint.h>
#include <stdio.h>

#include "daemon/control/control.h"
#include "daemon/probe/backend.h"

#define CONFIG_ERROR_MAX 512
#define CONFIG_TEXT_MAX 256

struct config {
	struct backend_settings backend;
	uint64_t slow_total_ns;	 /* of every kind of journey; 0 = off */
	uint64_t drops_recent;	 /* drop records held */
	uint64_t latency_recent; /* latency records held */
	uint64_t slots_recent;	 /* slots records held */
	char kmsg[PATH_MAX];	 /* the kernel's log; empty = not read */
	struct control_limits control;
	uint64_t alert_interval_ns;	       /* from one judging of the rules to the next */
	char alert_rules[CONFIG_TEXT_MAX];     /* directory of the rule files */
	char alert_exec_user[CONFIG_TEXT_MAX]; /* who runs the programs of alerts */
};

/* The defaults. */
void config_init(struct config *config);

/*
 * Set one key, given as KEY=VALUE.  -EINVAL with `error` (CONFIG_ERROR_MAX
 * bytes) naming the key, what is wrong and what is allowed; the setting is
 * then as it was.
 */
int config_set(struct config *config, const char *assignment, char *error);

/* Read a file.  As config_set; `error` names file and line too. */
int config_read(struct config *config, const char *path, char *error);

/* What no limit of a single key can say.  -EINVAL as above. */
int config_check(const struct config *config, char *error);

/* What of it the backend takes: thresholds that are off are UINT64_MAX there. */
void config_backend(const struct config *config, struct backend_settings *settings);

/* All keys with their limits, defaults and meaning, as comments of a shipped file are. */
void config_help(FILE *to);

#endif
