/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/varlink/service.h"

#include <errno.h>
#include <string.h>

#include "common/array.h"
#include "daemon/varlink/call.h"
#include "daemon/varlink/server.h"

/* As https://varlink.org/Service defines it. */
static const char service_text[] =
	"# The interface of every Varlink service: its identity and its interfaces.\n"
	"interface org.varlink.service\n"
	"\n"
	"# The identity of this service, and the names of its interfaces.\n"
	"method GetInfo() -> (\n"
	"  vendor: string,\n"
	"  product: string,\n"
	"  version: string,\n"
	"  url: string,\n"
	"  interfaces: []string\n"
	")\n"
	"\n"
	"# The definition of an interface.\n"
	"method GetInterfaceDescription(interface: string) -> (description: string)\n"
	"\n"
	"# The service has no such interface.\n"
	"error InterfaceNotFound (interface: string)\n"
	"\n"
	"# The interface has no such method.\n"
	"error MethodNotFound (method: string)\n"
	"\n"
	"# The interface has the method, but this service does not implement it.\n"
	"error MethodNotImplemented (method: string)\n"
	"\n"
	"# A parameter is unknown, missing or of another type, or its value is not valid.\n"
	"error InvalidParameter (parameter: string)\n"
	"\n"
	"# The client may not call the method.\n"
	"error PermissionDenied ()\n"
	"\n"
	"# The method must be called with `more`.\n"
	"error ExpectedMore ()\n";

static const struct server_interface service = {"org.varlink.service", service_text};

static bool is_named(const struct server_interface *interface, const char *name, size_t length)
{
	return strlen(interface->name) == length && !memcmp(interface->name, name, length);
}

const char *service_interface(const struct server_settings *settings, const char *name,
			      size_t length)
{
	if (is_named(&service, name, length))
		return service.text;
	for (size_t i = 0; i < settings->interface_count; i++)
		if (is_named(&settings->interfaces[i], name, length))
			return settings->interfaces[i].text;
	return NULL;
}

static int get_info(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {{0}};
	const struct server_settings *settings = userdata;
	json_t *names;
	json_t *info;
	int r;

	r = call_check_parameters(call, parameters, table);
	if (r < 0)
		return r;
	names = json_pack("[s]", service.name);
	for (size_t i = 0; i < settings->interface_count; i++)
		json_array_append_new(names, json_string(settings->interfaces[i].name));
	info = json_pack("{s:s, s:s, s:s, s:s, s:o}", "vendor", settings->vendor, "product",
			 settings->product, "version", settings->version, "url", settings->url,
			 "interfaces", names);
	return info ? call_reply(call, info) : -ENOMEM;
}

static int get_interface_description(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {{"interface", PARAMETER_STRING, false}, {0}};
	const char *name;
	const char *text;
	json_t *reply;
	int r;

	r = call_check_parameters(call, parameters, table);
	if (r < 0)
		return r;
	name = json_string_value(json_object_get(parameters, "interface"));
	text = service_interface(userdata, name, strlen(name));
	if (!text)
		return call_error(call, "org.varlink.service.InterfaceNotFound",
				  json_pack("{s:s}", "interface", name));
	reply = json_pack("{s:s}", "description", text);
	return reply ? call_reply(call, reply) : -ENOMEM;
}

const struct method service_methods[] = {
	{"org.varlink.service.GetInfo", ACCESS_READ, false, get_info},
	{"org.varlink.service.GetInterfaceDescription", ACCESS_READ, false,
	 get_interface_description},
};
const size_t service_method_count = ARRAY_SIZE(service_methods);
