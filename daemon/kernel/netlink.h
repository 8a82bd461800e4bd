/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions to the kernel over netlink: a request, and the messages of its answer. */
#ifndef DAEMON_KERNEL_NETLINK_H
#define DAEMON_KERNEL_NETLINK_H

#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>

/* How long a call waits for the kernel at most.  An answer usually takes microseconds. */
#define NETLINK_WAIT_MS 2000

/*
 * A socket in the network namespace of the calling thread.  `protocol` is one of linux/netlink.h.  Returns the socket,
 * which the caller closes, or the negative errno of socket(2).
 */
int netlink_open(int protocol);

/*
 * Send `request`, and call `visit` for each message of the answer, until it ends or `visit` returns a negative errno,
 * which is returned.  The function sets the length, flags and sequence number of the header at the start of `request`;
 * `flags` are NLM_F_DUMP, or 0 for an answer of one message.
 *
 * -EAGAIN: what is dumped changed during the answer, so that messages can be missing or doubled; the answer was read to
 * its end, so that the question can be asked again.  -ETIMEDOUT: no answer within NETLINK_WAIT_MS; -EBADMSG: the answer
 * cannot be read; or the kernel's errno.  After these and after an error of `visit` the socket can hold the rest of the
 * answer, and the kernel refuses another dump on it with -EBUSY.
 */
int netlink_ask(int fd, void *request, size_t size, uint16_t flags,
		int (*visit)(const struct nlmsghdr *message, void *userdata), void *userdata);

/*
 * The attributes of a message behind a fixed header of `header` bytes, or those in an attribute: at[i] is the one of
 * type i, or NULL.  Attributes whose type is `count` or more are skipped.
 */
void netlink_attributes(const struct nlmsghdr *message, size_t header, const struct nlattr **at,
			size_t count);
void netlink_nested(const struct nlattr *outer, const struct nlattr **at, size_t count);

/* The bytes of an attribute, and their number. */
const void *netlink_data(const struct nlattr *attribute);
size_t netlink_size(const struct nlattr *attribute);

/* The value of an attribute; 0 if it is NULL or has another size. */
uint8_t netlink_u8(const struct nlattr *attribute);
uint16_t netlink_u16(const struct nlattr *attribute);
uint32_t netlink_u32(const struct nlattr *attribute);
uint64_t netlink_u64(const struct nlattr *attribute);

/* Copy the text of an attribute to `text`, cut if it has `size` bytes or more; empty if it is NULL. */
void netlink_text(const struct nlattr *attribute, char *text, size_t size);

#endif
