/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a message to the method it names, and the rules that hold for all methods. */
#ifndef DAEMON_VARLINK_DISPATCH_H
#define DAEMON_VARLINK_DISPATCH_H

#include <stddef.h>

struct client;
struct message;
struct method;

/* The methods beside those of org.varlink.service. */
struct dispatch_table {
	const struct method *methods;
	size_t count;
	void *userdata;
};

/* Begin the call that `message` makes; it may have ended on return. */
void dispatch_message(const struct dispatch_table *table, struct client *client,
		      const struct message *message);

#endif
