/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that the daemon knows now, for a shell that completes a command line.  A person waits, so these functions are
 * quick and silent: they pass on what arrives before the deadline, and report no failure.
 */
#ifndef CLI_ASK_NAMES_H
#define CLI_ASK_NAMES_H

#include <stdint.h>

struct names_source {
	const char *socket;  /* path of the daemon's socket */
	int64_t deadline_ms; /* of time_monotonic_ms() */
};

/* A name and what it is; `about` is never NULL.  Names come in any order and more than once. */
typedef void names_visitor(void *data, const char *name, const char *about);

/* Devices of this namespace, and those of all namespaces whose packets the daemon saw. */
void names_devices(const struct names_source *source, names_visitor *visit, void *data);

/* Reasons of the drops that the daemon counted. */
void names_reasons(const struct names_source *source, names_visitor *visit, void *data);

/* Network namespaces: host, those with a name in `ip netns`, and inode numbers of those with drops. */
void names_netns(const struct names_source *source, names_visitor *visit, void *data);

/* Numbers of incidents, each with its time and its rule. */
void names_incidents(const struct names_source *source, names_visitor *visit, void *data);

/* Alert rules. */
void names_rules(const struct names_source *source, names_visitor *visit, void *data);

#endif
