/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drop reasons of the running kernel: from number to name, and back.  A backend fills the table at startup and adds the
 * reasons of modules that are loaded later.
 *
 * The upper 16 bits of a reason's number are its subsystem; 0 is the core (SKB_DROP_REASON_SUBSYS_SHIFT in
 * include/net/dropreason.h).
 */
#ifndef DAEMON_CORE_NAMES_H
#define DAEMON_CORE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"

struct names;

/* The table refuses more entries and longer names.  No kernel has half as many. */
#define NAMES_REASONS_MAX 4096
#define NAMES_SUBSYSTEMS_MAX 64
#define NAMES_LENGTH_MAX 63

/* A table with nothing but the subsystem "core".  The caller frees it.  -ENOMEM. */
int names_new(struct names **names);
void names_free(struct names **names);
#define OWN_NAMES CLEANUP(names_free)

/*
 * Add a reason by the name of its enumerator.  The prefix SKB_DROP_REASON_, SKB_ or ___ is removed, as in the kernel's
 * own texts: "NO_SOCKET", "SKB_CSUM", "CONSUMED".  Reasons of subsystems keep their prefix ("RX_DROP_U_MIC_FAIL",
 * "OVS_DROP_LAST_ACTION").  Enumerators that only mark the ends of an enum are ignored: SKB_DROP_REASON_MAX,
 * SKB_DROP_REASON_SUBSYS_MASK, OVS_DROP_MAX, __OVS_DROP_REASON.
 *
 * -EEXIST: the number already has a name, which it keeps; -EINVAL: the name is empty, too long or not printable ASCII;
 * -ENOSPC: the table is full; -ENOMEM.
 */
int names_add_reason(struct names *names, uint32_t number, const char *name);

/*
 * Add a subsystem by its id (reason >> 16) and the name of its enumerator.  SKB_DROP_REASON_SUBSYS_ is removed and the
 * rest becomes lower case ("openvswitch"); SKB_DROP_REASON_SUBSYS_NUM is ignored.  Errors as above.
 */
int names_add_subsystem(struct names *names, uint16_t id, const char *name);

/* The reason's name, or NULL if it is not known.  Valid as long as `names`. */
const char *names_reason(const struct names *names, uint32_t number);

/* The name of the subsystem that reason `number` belongs to, or NULL. */
const char *names_subsystem(const struct names *names, uint32_t number);

/* Whether any reason of the subsystem that reason `number` belongs to has a name. */
bool names_has_reasons(const struct names *names, uint32_t number);

/*
 * Find a reason by `text`: a name, with or without its prefix, in upper or lower case; or a number ("3", "0x10005"),
 * which need not have a name.  -ENOENT.
 */
int names_find_reason(const struct names *names, const char *text, uint32_t *number);

/* The known reason nearest to a mistyped one, or NULL if none is near. */
const char *names_nearest_reason(const struct names *names, const char *text);

#endif
