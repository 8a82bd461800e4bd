/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of drop reasons in the format of kfree_skb. */
#ifndef DAEMON_PROBE_EVENTS_REASONS_H
#define DAEMON_PROBE_EVENTS_REASONS_H

struct names;
struct tep_handle;

/* Add the reasons that the format names, those of the core, to `names`.  0 or -ENOMEM. */
int reasons_of_format(struct names *names, struct tep_handle *tep);

#endif
