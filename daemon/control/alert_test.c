/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TestAlert: run a rule's actions now, and answer when all of them have ended. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/alert/alerts.h"
#include "daemon/alert/deliver.h"
#include "daemon/alert/engine.h"
#include "daemon/control/internal.h"

/* A call that may have to wait for the rule's program and for Alertmanager. */
struct trial {
	struct control *control;
	struct call *call;
	json_t *results;
	int pending; /* actions that have not ended */
};

static void trial_free(struct trial *trial)
{
	json_decref(trial->results);
	free(trial);
}

static void trial_closed(void *userdata)
{
	struct trial *trial = userdata;

	alerts_forget_test(trial->control->parts.alerts, trial);
	trial_free(trial);
}

static void trial_end(struct trial *trial)
{
	struct call *call = trial->call;
	json_t *reply = json_pack("{s:O}", "results", trial->results);

	trial_free(trial);
	if (reply)
		call_reply(call, reply);
	else
		call_error(call, "io.netflowd.Failed", NULL);
}

void alert_test_ended(void *data, const char *action, const struct alert_exec_result *result)
{
	struct trial *trial = data;

	alert_try_result(trial->results, action, result->fine, json_string(result->text));
	if (--trial->pending == 0)
		trial_end(trial);
}

int alert_test(struct control *control, struct call *call, const struct alert *alert)
{
	struct trial *trial = calloc(1, sizeof(*trial));
	int r;

	if (!trial)
		return -ENOMEM;
	trial->control = control;
	trial->call = call;
	trial->results = json_array();
	r = alerts_test(control->parts.alerts, alert, trial->results, trial);
	if (r < 0) {
		trial_free(trial);
		return r;
	}
	trial->pending = r;
	if (r > 0)
		call_on_close(call, trial_closed, trial);
	else
		trial_end(trial);
	return 0;
}
