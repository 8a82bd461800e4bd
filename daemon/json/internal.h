/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that make JSON share: objects being filled, and a packet's members. */
#ifndef DAEMON_JSON_INTERNAL_H
#define DAEMON_JSON_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "bpf/records.h"

struct contents;
struct device;

/*
 * An object that is being filled.  The first member that does not fit makes it
 * NULL; members after that are dropped, so only the end needs a look.
 */
struct fill {
	json_t *object;
};

struct fill fill_new(void);

/* Takes `value` over.  NULL means that memory ran out. */
void fill_put(struct fill *f, const char *key, json_t *value);

void fill_int(struct fill *f, const char *key, uint64_t value);

/* For numbers of which 0 says that there is none. */
void fill_known(struct fill *f, const char *key, uint64_t value);

void fill_bool(struct fill *f, const char *key, bool value);

/* `text` is ours, hence valid; NULL is left out. */
void fill_text(struct fill *f, const char *key, const char *text);

/* Up to `max` bytes of others, see json_text(); nothing is left out. */
void fill_bytes(struct fill *f, const char *key, const char *bytes, size_t max);

/* The same of a string with its end; NULL is left out. */
void fill_foreign(struct fill *f, const char *key, const char *text);

/* CLOCK_MONOTONIC to a time of day. */
void fill_time(struct fill *f, const char *key, uint64_t monotonic_ns);

/* Append to an array as fill_put() does to an object: *array is NULL once memory ran out. */
void fill_append(json_t **array, json_t *value);

/* packet.c: members protocol, flow, ethernet, vlan, ip, transport, icmp. */
void fill_contents(struct fill *f, const struct contents *contents);
/* Members device, ifindex, netns, netns_name; what is not known is left out. */
void fill_device(struct fill *f, const struct device *device);
/* Member header. */
void fill_header(struct fill *f, const struct nf_bytes *bytes);
/* Member task. */
void fill_task(struct fill *f, const struct nf_task *task, bool involved);

#endif
