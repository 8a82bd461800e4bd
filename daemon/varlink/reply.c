/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/varlink/reply.h"

#include "common/cleanup.h"
#include "common/json.h"

/* jansson's setters steal the value also when they fail, and they fail for NULL. */
static json_t *envelope(const char *error, json_t *parameters, bool continues)
{
	OWN_JSON json_t *reply = json_object();
	int r = 0;

	if (error)
		r |= json_object_set_new(reply, "error", json_string(error));
	r |= json_object_set_new(reply, "parameters", parameters ? parameters : json_object());
	if (continues)
		r |= json_object_set_new(reply, "continues", json_true());
	return r ? NULL : TAKE_PTR(reply);
}

json_t *reply_new(json_t *parameters, bool continues)
{
	return envelope(NULL, parameters, continues);
}

json_t *reply_error(const char *error, json_t *parameters)
{
	return envelope(error, parameters, false);
}
