/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The settings of one run, and how a file and the command line set them.  The table in settings.h
 * has their keys, defaults, limits and help.  A file is INI; a key is "section.key".
 */
#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H

#include <limits.h>
#include <stdint.h>

#include "daemon/control/control.h"
#include "daemon/probe/backend.h"

#define CONFIG_ERROR_MAX 512
#define CONFIG_TEXT_MAX 256

struct config {
	struct backend_settings backend;
	uint64_t slow_total_ns;	 /* threshold of a journey of any kind; 0: off */
	uint64_t drops_recent;	 /* drop records kept */
	uint64_t latency_recent; /* latency records kept */
	uint64_t slots_recent;	 /* slots records kept */
	char kmsg[PATH_MAX];	 /* the kernel's log; empty: not read */
	struct control_limits control;
	uint64_t alert_interval_ns;	       /* between two evaluations of the rules */
	char alert_rules[CONFIG_TEXT_MAX];     /* directory of the rule files */
	char alert_exec_user[CONFIG_TEXT_MAX]; /* user that runs the programs of alerts */
};

/* Set every setting to its default. */
void config_init(struct config *config);

/*
 * Set one setting, given as KEY=VALUE.  Returns -EINVAL if it is refused: the setting then keeps its
 * value, and `error` (CONFIG_ERROR_MAX bytes) names the key, the mistake and the values allowed.
 */
int config_set(struct config *config, const char *assignment, char *error);

/*
 * Set the settings that a file names, all or none.  Returns -EINVAL as config_set() does, with file
 * and line in `error`, or the negative errno of a file that cannot be read.
 */
int config_read(struct config *config, const char *path, char *error);

/* The backend's part of the settings.  Thresholds that are off are UINT64_MAX there. */
void config_backend(const struct config *config, struct backend_settings *settings);

#endif
