/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts of this kernel that a recording needs, so that it can be read on another host: struct dat without pages. */
#ifndef DAEMON_PROBE_TRACEFS_SECTIONS_H
#define DAEMON_PROBE_TRACEFS_SECTIONS_H

#include "daemon/probe/tracefs/dat.h"

struct instance;
struct sections;

/*
 * Read the formats of the events that are enabled and of the kernel's own, the symbols of functions, and the names of
 * processes.  A text that cannot be read is empty, except the formats: without them this returns a negative errno.
 */
int sections_new(struct sections **sections, const struct instance *instance);
void sections_free(struct sections **sections);

/* Set everything in *dat but the pages; the texts belong to `sections`. */
void sections_fill(const struct sections *sections, struct dat *dat);

/*
 * The lines of /proc/kallsyms, or of a file like it, that name functions: other symbols are in no event.  Functions
 * whose memory is another module's now are left out; `modules`: a file like /proc/modules.  Empty if the kernel hides
 * the addresses.  NULL: out of memory, or the file cannot be read.
 */
char *sections_functions(const char *path, const char *modules);

#endif
