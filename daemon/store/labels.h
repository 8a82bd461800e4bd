/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts that many records share, each kept once and counted: names of network
 * namespaces, paths of cgroups.  A label lives as long as a record holds it,
 * so the records bound the memory.
 */
#ifndef DAEMON_STORE_LABELS_H
#define DAEMON_STORE_LABELS_H

#include <stddef.h>

struct labels;

/* -ENOMEM.  labels_free() also frees labels that are still held. */
int labels_new(struct labels **labels);
void labels_free(struct labels **labels);

/* The label of this text, held once more.  NULL if `text` is NULL or memory ran out. */
const char *labels_hold(struct labels *labels, const char *text);

/* Let go of what labels_hold() returned; NULL is allowed. */
void labels_release(struct labels *labels, const char *label);

/* Different texts that are held. */
size_t labels_count(const struct labels *labels);

#endif
