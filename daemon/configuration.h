/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The settings of all sources, and where each value came from.  Later sources win:
 *
 *   the defaults of settings.h
 *   the configuration file, /etc/netflowd/netflowd.conf unless --config names others
 *   its drop-ins, FILE.d/ *.conf, in the order of their names
 *   --set on the command line
 */
#ifndef DAEMON_CONFIGURATION_H
#define DAEMON_CONFIGURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "daemon/config.h"

#define CONFIGURATION_FILE "/etc/netflowd/netflowd.conf"
/* Beside it: the file that pauses netflowd while it exists. */
#define CONFIGURATION_PAUSE "pause"

/* What the command line says about settings.  The texts belong to the caller. */
struct configuration_arguments {
	const char *const *file; /* of --config; none: CONFIGURATION_FILE, which need not exist */
	size_t files;
	const char *const *set; /* KEY=VALUE, of --set */
	size_t sets;
};

struct configuration;
struct setting;

/*
 * Read all sources.  On failure there is no configuration, and `error` (CONFIG_ERROR_MAX bytes) says what to correct,
 * with the place: the file and the line, or --set.  -EINVAL: a setting is refused; -ENOMEM; or the negative errno of a
 * file that cannot be read.
 */
int configuration_read(struct configuration **configuration,
		       const struct configuration_arguments *arguments, char *error);
/* NULL-safe; sets *configuration to NULL. */
void configuration_free(struct configuration **configuration);
#define OWN_CONFIGURATION CLEANUP(configuration_free)

/* The values; valid as long as the configuration. */
const struct config *configuration_values(const struct configuration *configuration);

/* Number of files that were read, drop-ins included. */
size_t configuration_files(const struct configuration *configuration);

/*
 * Give `running` the values that can change without a restart.  `visit` gets each setting whose value differs, `live`
 * if `running` has the new value now.
 */
void configuration_apply(const struct configuration *configuration, struct config *running,
			 void (*visit)(const struct setting *setting, bool live, void *userdata),
			 void *userdata);

/* Write all settings as a configuration file, each with a comment that says where its value came from. */
void configuration_print(const struct configuration *configuration, FILE *to);

#endif
