/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/varlink/dispatch.h"

#include <errno.h>
#include <string.h>

#include "daemon/varlink/call.h"
#include "daemon/varlink/client.h"
#include "daemon/varlink/message.h"
#include "daemon/varlink/server.h"
#include "daemon/varlink/service.h"

static const struct method *find_method(const struct dispatch_table *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++)
		if (!strcmp(table->methods[i].name, name))
			return &table->methods[i];
	return NULL;
}

static void answer_unknown(struct call *call, const struct client *client, const char *name)
{
	const struct server_settings *settings = client_context(client)->settings;
	const char *dot = strrchr(name, '.');
	size_t length = dot ? (size_t)(dot - name) : 0;

	if (!dot || service_interface(settings, name, length))
		call_error(call, "org.varlink.service.MethodNotFound",
			   json_pack("{s:s}", "method", name));
	else
		call_error(call, "org.varlink.service.InterfaceNotFound",
			   json_pack("{s:s%}", "interface", name, length));
}

/* True if `call` may be handled.  Otherwise it has ended with an error. */
static bool is_allowed(struct call *call, const struct client *client,
		       const struct message *message, const struct method *method)
{
	if (!method) {
		answer_unknown(call, client, message->method);
	} else if (!method->handle) {
		call_error(call, "org.varlink.service.MethodNotImplemented",
			   json_pack("{s:s}", "method", method->name));
	} else if (method->access == ACCESS_CHANGE && client_uid(client) != 0) {
		call_error(call, client_context(client)->settings->errors.permission_denied,
			   json_pack("{s:o}", "reason",
				     json_sprintf("only root may call %s", method->name)));
	} else if (method->streams && !message->more) {
		call_error(call, "org.varlink.service.ExpectedMore", NULL);
	} else {
		return true;
	}
	return false;
}

void dispatch_message(const struct dispatch_table *tables, size_t count, struct client *client,
		      const struct message *message)
{
	const struct method *method = NULL;
	void *userdata = NULL;
	struct call *call;
	int r;

	for (size_t i = 0; i < count && !method; i++) {
		method = find_method(&tables[i], message->method);
		userdata = tables[i].userdata;
	}
	r = call_new(&call, client, message, method);
	if (r < 0) {
		client_break(client);
		return;
	}
	if (!is_allowed(call, client, message, method))
		return;
	call_continue(call, method->handle, message->parameters, userdata);
}
