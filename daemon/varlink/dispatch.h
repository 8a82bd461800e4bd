/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a message to the method that it names, and the checks that apply to all methods. */
#ifndef DAEMON_VARLINK_DISPATCH_H
#define DAEMON_VARLINK_DISPATCH_H

#include <stddef.h>

struct client;
struct message;
struct method;

/* Methods, and the userdata for them. */
struct dispatch_table {
	const struct method *methods;
	size_t count;
	void *userdata;
};

/* Begin the call that `message` makes of a method in one of the `count` tables.  The call may have ended on return. */
void dispatch_message(const struct dispatch_table *tables, size_t count, struct client *client,
		      const struct message *message);

#endif
