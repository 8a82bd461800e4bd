/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reload: read the settings and the alert rules again. */
#include <errno.h>

#include "daemon/control/internal.h"

static json_t *keys(const char *const *key, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < count; i++)
		if (json_array_append_new(array, json_string(key[i]))) {
			json_decref(array);
			return NULL;
		}
	return array;
}

int method_reload(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {{NULL, 0, 0}};
	struct control *control = userdata;
	struct control_reloaded reloaded = {0};
	json_t *reply;

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	control->parts.reload(control->parts.reload_userdata, &reloaded);
	if (reloaded.error[0])
		return call_error(call, "io.netflowd.InvalidSettings",
				  json_pack("{s:s}", "reason", reloaded.error));
	reply = json_pack("{s:o, s:o}", "applied", keys(reloaded.applied, reloaded.applied_count),
			  "restart", keys(reloaded.restart, reloaded.restart_count));
	return reply ? call_reply(call, reply) : -ENOMEM;
}
