/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl alerts: the rules and their states; testing and silencing one. */
#include <errno.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/ask/options.h"
#include "cli/ask/stream.h"
#include "cli/command/command.h"
#include "cli/show/alert_page.h"
#include "cli/show/period.h"
#include "common/array.h"
#include "common/nearest.h"
#include "common/units.h"

/* A test runs the rule's program, which may run for the rule's exec_limit: at most a day. */
#define TEST_EXTRA_MS (24 * 3600 * 1000LL)
#define SILENCE_MAX_NS (365LL * 86400 * 1000000000)

static const struct argument arguments[] = {
	OPTION_FOLLOW("changes"),
	OPTION_PERIOD,
	OPTION_COUNT(
		limit,
		"with --follow stop after N changes; with --since show the newest N, 1 to 1048576"),
	OPTION("for", DURATION, for_ns, .value = "TIME", .min = 1, .max = SILENCE_MAX_NS,
	       .help = "silence a rule for TIME, such as 30min, 2h or 1d; at most 365d"),
	{},
};

/* ---- test, silence, unsilence ------------------------------------------------------------ */

static bool all_fine(const json_t *results)
{
	const json_t *result;
	size_t i;

	json_array_foreach(results, i, result) if (!field_true(result, "fine")) return false;
	return true;
}

static enum report_status print_results(struct session *session, struct page *page,
					const json_t *reply, void *data)
{
	const json_t *results = json_object_get(reply, "results"), *result;
	size_t i;

	(void)session;
	(void)data;
	json_array_foreach(results, i, result)
	{
		page_put(page, PAGE_PLAIN, "%s", field_text(result, "action"));
		page_pad(page, sizeof("alertmanager"), 1);
		page_line(page, field_true(result, "fine") ? PAGE_GOOD : PAGE_BAD, "%s",
			  field_text(result, "result"));
	}
	if (!json_array_size(results))
		page_line(page, PAGE_WARN, "The rule has no actions.");
	return session_print(page, 0);
}

static enum report_status test(struct session *session, const char *rule)
{
	OWN_JSON json_t *reply = NULL;
	enum report_status status;

	status = session_call(session, "io.netflowd.TestAlert",
			      session_parameters("rule", session_text(rule), NULL), TEST_EXTRA_MS,
			      &reply);
	if (!status)
		status = session_output(session, reply, false, print_results, NULL);
	if (status)
		return status;
	return all_fine(json_object_get(reply, "results")) ? REPORT_FINE : REPORT_FAILED;
}

static enum report_status print_silenced(struct session *session, struct page *page,
					 const json_t *reply, void *data)
{
	const char *rule = data;

	(void)session;
	page_line(page, PAGE_PLAIN, "%s is silenced until %s.", rule, field_date(reply, "until").s);
	return session_print(page, 0);
}

static enum report_status silence(struct session *session, const char *rule)
{
	if (session->arguments.for_ns < 0) {
		report("silence needs a duration: `netflowctl alerts silence %s --for 2h`", rule);
		return REPORT_USAGE;
	}
	return session_show(session, "io.netflowd.SilenceAlert",
			    session_parameters("rule", session_text(rule), "for_ns",
					       session_number(session->arguments.for_ns), NULL),
			    0, print_silenced, (void *)rule);
}

static enum report_status print_unsilenced(struct session *session, struct page *page,
					   const json_t *reply, void *data)
{
	const char *rule = data;

	(void)session;
	(void)reply;
	page_line(page, PAGE_PLAIN, "%s is not silenced.", rule);
	return session_print(page, 0);
}

static enum report_status unsilence(struct session *session, const char *rule)
{
	return session_show(session, "io.netflowd.UnsilenceAlert",
			    session_parameters("rule", session_text(rule), NULL), 0,
			    print_unsilenced, (void *)rule);
}

static const struct verb {
	const char *name;
	enum report_status (*run)(struct session *session, const char *rule);
} verbs[] = {{"test", test}, {"silence", silence}, {"unsilence", unsilence}};

/* "VERB RULE": the words of the command line, joined by a blank. */
static enum report_status run_verb(struct session *session, char *words)
{
	const char *name = strsep(&words, " ");
	struct nearest nearest;

	nearest_init(&nearest, name);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		nearest_consider(&nearest, verbs[i].name);
		if (strcmp(verbs[i].name, name))
			continue;
		if (words && *words && !strchr(words, ' '))
			return verbs[i].run(session, words);
		report("alerts %s requires the name of one rule; `netflowctl alerts` lists the rules",
		       name);
		return REPORT_USAGE;
	}
	report("unexpected argument '%.60s' of alerts%s; see `netflowctl alerts --help`", name,
	       nearest_hint("", nearest.best).s);
	return REPORT_USAGE;
}

/* ---- rules and changes ------------------------------------------------------------------- */

static enum report_status print_followed(struct session *session, struct page *page,
					 const json_t *event, void *data)
{
	(void)session;
	(void)data;
	alert_page_put_event(page, event);
	return session_print(page, 0);
}

static enum report_status put_followed(void *data, const json_t *event)
{
	return session_output(data, event, true, print_followed, NULL);
}

static enum report_status follow(struct session *session)
{
	const struct stream following = {.kind = "event",
					 .method = "io.netflowd.MonitorAlerts",
					 .record = put_followed,
					 .data = session,
					 .duration_ms = -1};

	return stream_follow(session, json_object(), &following);
}

static enum report_status print_list(struct session *session, struct page *page,
				     const json_t *reply, void *data)
{
	(void)session;
	(void)data;
	return session_print(page, alert_page_put(page, reply));
}

static enum report_status print_past(struct session *session, struct page *page,
				     const json_t *reply, void *data)
{
	const json_t *events = json_object_get(reply, "events"), *event;
	uint64_t shown;
	size_t i;

	(void)session;
	(void)data;
	json_array_foreach(events, i, event) alert_page_put_event(page, event);
	if (!json_array_size(events)) {
		page_put(page, PAGE_PLAIN, "No alert fired or was resolved");
		period_put_since(page, reply);
		page_line(page, PAGE_PLAIN, ".");
	}
	shown = json_array_size(events);
	if (shown < field_count_or(reply, "matched", 0))
		page_line(page, PAGE_DIM, "… %s older changes; --limit shows more, at most 2,048",
			  units_count(field_count_or(reply, "matched", 0) - shown).s);
	period_put(page, reply, NULL);
	return session_print(page, 0);
}

static bool wants_past(const struct arguments *given)
{
	return given->since_ns >= 0 || given->until_ns >= 0;
}

static enum report_status list(struct session *session)
{
	bool past = wants_past(&session->arguments);
	json_t *limit = past ? session_records_limit(session) : NULL;

	return session_show(session, "io.netflowd.GetAlerts",
			    session_parameters("limit", limit, NULL), 0,
			    past ? print_past : print_list, NULL);
}

/* Why the options cannot be used together; NULL if they can. */
static const char *contradiction(const struct session *session)
{
	const struct arguments *given = &session->arguments;
	bool silences = session->filter && !strncmp(session->filter, "silence", 7);

	if (session->filter && (given->follow || given->limit >= 0))
		return "--follow and --limit cannot be used with test, silence or unsilence";
	if (session->filter && wants_past(given))
		return "--since and --until cannot be used with test, silence or unsilence";
	if (!given->follow && !wants_past(given) && given->limit >= 0)
		return "--limit is only for --follow, --since and --until";
	if (given->for_ns >= 0 && !silences)
		return "--for is only for `netflowctl alerts silence RULE`";
	return NULL;
}

static enum report_status run(struct session *session)
{
	const char *wrong = contradiction(session);

	if (wrong) {
		report("%s", wrong);
		return REPORT_USAGE;
	}
	if (session->filter)
		return run_verb(session, session->filter);
	return session->arguments.follow ? follow(session) : list(session);
}

const struct command command_alerts = {
	.name = "alerts",
	.summary = "list the alert rules: what fires, why, and what to do; test or silence a rule",
	.arguments = arguments,
	.word = "[test|silence|unsilence RULE]",
	.words = true,
	.notes =
		"test runs the rule's actions now and prints the results; it also posts to Alertmanager, with the label test=\"true\", if alertmanager.url is set.\n"
		"silence stops its journal entries and its program for a time; the rule is evaluated and listed as before.\n"
		"test, silence and unsilence require root.\n"
		"A file in /etc/netflowd/alerts.d adds rules to the shipped ones, or replaces the shipped file of the same name; `netflowd --help-alerts` lists the keys of a rule.\n"
		"`netflowctl reload` makes the daemon read changed files.\n",
	.run = run,
};
