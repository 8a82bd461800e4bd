/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Explain: the meaning of names. */
#include <errno.h>

#include "common/knowledge.h"
#include "daemon/control/internal.h"
#include "daemon/json/json.h"

int method_explain(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {{"name", PARAMETER_STRING, true}, {NULL, 0, 0}};
	const struct knowledge *entry;
	json_t *found = json_array();
	const char *name;

	(void)userdata;
	if (call_check_parameters(call, parameters, table) < 0) {
		json_decref(found);
		return -EINVAL;
	}
	name = json_string_value(json_object_get(parameters, "name"));
	for (size_t i = 0; (entry = knowledge_at(i)); i++)
		if (!name || knowledge_meant(entry, name))
			json_array_append_new(found, json_knowledge(entry));
	if (json_array_size(found))
		return control_reply(call, json_pack("{s:o}", "explanations", found));
	json_decref(found);
	return call_error(
		call, "io.netflowd.UnknownName",
		json_pack("{s:s, s:s*}", "name", name, "nearest", knowledge_nearest(name)));
}
