/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configuration file that packages install: config/netflowd.conf is what this prints. */
#ifndef DAEMON_DEFAULT_CONFIG_H
#define DAEMON_DEFAULT_CONFIG_H

#include <stdio.h>

/*
 * Write a configuration file with every setting under its section, in a comment: its meaning, its values, whether a new
 * one needs a restart, its default.  As it stands, the file sets nothing.
 */
void default_config_print(FILE *to);

#endif
