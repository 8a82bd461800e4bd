/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text that identifies a cause of drops. */
#ifndef DAEMON_ROWS_DROP_CAUSE_H
#define DAEMON_ROWS_DROP_CAUSE_H

struct drop_row;

/*
 * What a row has of these fields (enum drop_field) as words, each a name and a value, such as "reason=NO_SOCKET
 * class=benign location=udp_queue_rcv_one_skb+0x1a device=eth0 ifindex=2".  Equal texts of two replies about the same
 * fields are the same cause: now, in the past, and after netflowd was restarted, unless the kernel has given a number
 * of what is gone to another namespace, device or cgroup.  So they have neither evidence nor the names of what has a
 * number.  The caller frees it; NULL: no memory.
 */
char *drop_cause_text(const struct drop_row *row, unsigned int fields);

#endif
