/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/varlink/dispatch.h"

#include <errno.h>
#include <string.h>

#include "daemon/varlink/call.h"
#include "daemon/varlink/client.h"
#include "daemon/varlink/message.h"
#include "daemon/varlink/server.h"
#include "daemon/varlink/service.h"

static const struct method *find(const struct method *methods, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(methods[i].name, name))
			return &methods[i];
	return NULL;
}

static const struct method *find_method(const struct dispatch_table *table, const char *name)
{
	const struct method *method = find(table->methods, table->count, name);

	return method ? method : find(service_methods, service_method_count, name);
}

static void answer_unknown(struct call *call, const char *name)
{
	const char *dot = strrchr(name, '.');
	size_t length = dot ? (size_t)(dot - name) : 0;

	if (!dot || service_interface(name, length))
		call_error(call, "org.varlink.service.MethodNotFound",
			   json_pack("{s:s}", "method", name));
	else
		call_error(call, "org.varlink.service.InterfaceNotFound",
			   json_pack("{s:s%}", "interface", name, length));
}

/* Whether `call` may be handled; if not it has been answered. */
static bool is_allowed(struct call *call, const struct client *client,
		       const struct message *message, const struct method *method)
{
	if (!method) {
		answer_unknown(call, message->method);
	} else if (!method->handle) {
		call_error(call, "org.varlink.service.MethodNotImplemented",
			   json_pack("{s:s}", "method", method->name));
	} else if (method->access == ACCESS_CHANGE && client_uid(client) != 0) {
		call_error(call, "io.netflowd.PermissionDenied",
			   json_pack("{s:o}", "reason",
				     json_sprintf("only root may call %s", method->name)));
	} else if (method->streams && !message->more) {
		call_error(call, "org.varlink.service.ExpectedMore", NULL);
	} else {
		return true;
	}
	return false;
}

static void fail(struct client *client, const struct method *method, int error)
{
	const struct client_context *context = client_context(client);

	context->report(method->name, error, context->userdata);
	call_error(client_call(client), "io.netflowd.Failed",
		   json_pack("{s:s}", "reason", strerror(-error)));
}

void dispatch_message(const struct dispatch_table *table, struct client *client,
		      const struct message *message)
{
	const struct method *method = find_method(table, message->method);
	struct call *call;
	int r;

	r = call_new(&call, client, message, method);
	if (r < 0) {
		client_break(client);
		return;
	}
	if (!is_allowed(call, client, message, method))
		return;
	r = method->handle(call, message->parameters, table->userdata);
	/* The call may be gone; the client still knows whether it is. */
	if (r < 0 && client_call(client))
		fail(client, method, r);
}
