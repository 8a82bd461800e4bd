/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drop reasons: numbers to names and back, as the running kernel has them.  A
 * backend fills the table while it starts, and adds what modules bring later.
 *
 * A reason's number has its subsystem in the upper 16 bits, 0 being the core
 * (SKB_DROP_REASON_SUBSYS_SHIFT in include/net/dropreason.h).
 */
#ifndef DAEMON_CORE_NAMES_H
#define DAEMON_CORE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"

struct names;

/* More of them, or longer ones, are refused: no kernel has half as many. */
#define NAMES_REASONS_MAX 4096
#define NAMES_SUBSYSTEMS_MAX 64
#define NAMES_LENGTH_MAX 63

/* An empty table, but for the subsystem "core".  The caller frees it.  -ENOMEM. */
int names_new(struct names **names);
void names_free(struct names **names);
#define OWN_NAMES CLEANUP(names_free)

/*
 * Add a reason by the name of its enumerator.  The prefix SKB_DROP_REASON_, SKB_
 * or ___ is taken off, as the kernel's own texts have it: "NO_SOCKET",
 * "SKB_CSUM", "CONSUMED"; reasons of subsystems keep theirs ("RX_DROP_U_MIC_FAIL",
 * "OVS_DROP_LAST_ACTION").  Enumerators that only mark an enum's ends are
 * passed over: SKB_DROP_REASON_MAX, SKB_DROP_REASON_SUBSYS_MASK, OVS_DROP_MAX,
 * __OVS_DROP_REASON.
 *
 * 0, or -EEXIST: the number has a name already, which it keeps; -EINVAL: the
 * name is empty, too long or not made of printable ASCII; -ENOSPC, -ENOMEM.
 */
int names_add_reason(struct names *names, uint32_t number, const char *name);

/*
 * Add a subsystem by its id (reason >> 16) and the name of its enumerator:
 * SKB_DROP_REASON_SUBSYS_ is taken off and the rest is made lower case
 * ("openvswitch"); …_NUM is passed over.  Errors as above.
 */
int names_add_subsystem(struct names *names, uint16_t id, const char *name);

/* The reason's name, or NULL when it is not known.  Lives as long as `names`. */
const char *names_reason(const struct names *names, uint32_t number);

/* The name of the subsystem that reason `number` belongs to, or NULL. */
const char *names_subsystem(const struct names *names, uint32_t number);

/* Whether any reason of the subsystem that reason `number` belongs to has a name. */
bool names_has_reasons(const struct names *names, uint32_t number);

/*
 * What a person means by `text`: a name, with or without prefix, in any case,
 * or a number ("3", "0x10005"), which need not have a name.  -ENOENT.
 */
int names_find_reason(const struct names *names, const char *text, uint32_t *number);

/* The known reason nearest to a mistyped one, or NULL when none is near. */
const char *names_nearest_reason(const struct names *names, const char *text);

#endif
