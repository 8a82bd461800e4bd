/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The values of the settings, and how one is set from text.  The table in settings.h has their keys,
 * defaults, limits and help; configuration.h reads them from files and the command line.  Values without a setting
 * follow from the others.
 */
#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "daemon/alert/alertmanager.h"
#include "daemon/control/control.h"
#include "daemon/cost/governor.h"
#include "daemon/export/exporter.h"
#include "daemon/export/lines.h"
#include "daemon/probe/backend.h"

#define CONFIG_ERROR_MAX 512
#define CONFIG_TEXT_MAX 256
#define CONFIG_KEY_MAX 128 /* "section.key", longer than any */

struct setting;

struct config {
	struct backend_settings backend;
	uint64_t records_recent; /* records of each kind that are kept */
	char kmsg[PATH_MAX];	 /* the kernel's log; empty: not read */
	struct control_limits control;
	uint64_t alert_interval_ns;	       /* between two evaluations of the rules */
	char alert_rules[CONFIG_TEXT_MAX];     /* directory of the rule files */
	char alert_exec_user[CONFIG_TEXT_MAX]; /* user that runs the programs of alerts */
	struct alertmanager_settings alertmanager;
	struct exporter_settings exporter;
	struct lines_settings lines;
	struct governor_settings governor;
	/* That pauses netflowd while it exists, beside the first configuration file; empty: none. */
	char pause_file[CONFIG_TEXT_MAX];
	uint64_t elsewhere_interval_ns; /* between two scans of other counters of drops; 0: none */
	uint64_t history_enabled;	/* 0: no */
	char history_directory[CONFIG_TEXT_MAX];
	uint64_t history_bytes;	      /* of its file and log */
	uint64_t history_age_ns;      /* after which it is deleted */
	uint64_t history_interval_ns; /* between two writes */
	uint64_t history_records;     /* of each kind in an interval */
};

/* Set every setting to its default. */
void config_init(struct config *config);

/* Show a recording: no setting that reads, watches or writes anything of this host is in force. */
void config_replay(struct config *config, const char *recording);

/*
 * Set one setting.  Returns -EINVAL if it is refused: the setting then keeps its value, and `error`
 * (CONFIG_ERROR_MAX bytes) names the key, the mistake and the values allowed.  *setting is its index
 * in setting_table otherwise.
 */
int config_set_key(struct config *config, const char *key, const char *value, size_t *setting,
		   char *error);
/* The same, given as KEY=VALUE. */
int config_set(struct config *config, const char *assignment, size_t *setting, char *error);

/* Whether both have the same value. */
bool config_same(const struct config *a, const struct config *b, const struct setting *setting);
/* Give `to` the value of `from`. */
void config_copy(struct config *to, const struct config *from, const struct setting *setting);

/* Write a value as a file would have it. */
void config_print_value(const struct config *config, const struct setting *setting, FILE *to);

/* The backend's part of the settings.  Thresholds that are off are UINT64_MAX there. */
void config_backend(const struct config *config, struct backend_settings *settings);

#endif
