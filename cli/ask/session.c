/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/ask/session.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "cli/ask/covered.h"
#include "cli/ask/options.h"
#include "cli/terminal/text.h"
#include "common/array.h"
#include "common/json.h"
#include "common/rows.h"
#include "common/time.h"
#include "common/units.h"

void session_done(struct session *session)
{
	varlink_free(&session->varlink);
	free(session->filter);
	session->filter = NULL;
}

enum report_status session_connect(struct session *session)
{
	const struct arguments *arguments = &session->arguments;
	int r;

	if (session->varlink)
		return REPORT_FINE;
	r = varlink_connect(&session->varlink, arguments->socket, arguments->timeout_ms);
	return r ? report_connect(arguments->socket, r) : REPORT_FINE;
}

/* Whether a call changes nothing, so that it can be made again. */
static bool only_reads(const char *method)
{
	static const char *const verbs[] = {"io.netflowd.Get", "io.netflowd.List",
					    "io.netflowd.Explain"};

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!strncmp(method, verbs[i], strlen(verbs[i])))
			return true;
	return false;
}

/* Connect again; false: no process listens, and the old connection stays. */
static bool reconnect(struct session *session)
{
	struct varlink *fresh = NULL;

	if (varlink_connect(&fresh, session->arguments.socket, session->arguments.timeout_ms))
		return false;
	varlink_free(&session->varlink);
	session->varlink = fresh;
	return true;
}

/*
 * A daemon that restarts drops the calls that it has not answered.  If the service manager keeps the socket, a new
 * connection waits there for the next daemon.
 */
static int call(struct session *session, const char *method, json_t *parameters, int64_t timeout_ms,
		json_t **reply)
{
	json_t *whole;
	int r = rows_call(session->varlink, method, json_incref(parameters), timeout_ms, &whole);

	if ((r == -ECONNRESET || r == -EPIPE) && only_reads(method) && reconnect(session)) {
		json_decref(whole);
		r = rows_call(session->varlink, method, json_incref(parameters), timeout_ms,
			      &whole);
	}
	if (r)
		json_decref(whole);
	else
		*reply = whole;
	return r;
}

enum report_status session_call(struct session *session, const char *method, json_t *parameters,
				int64_t extra_ms, json_t **reply)
{
	OWN_JSON json_t *owned = parameters;
	enum report_status status = session_connect(session);
	int r;

	if (status)
		return status;
	r = call(session, method, owned, session->arguments.timeout_ms + extra_ms, reply);
	return r ? report_call(session->varlink, method, r) : REPORT_FINE;
}

enum report_status session_call_past(struct session *session, const char *method,
				     json_t *parameters, json_t **reply)
{
	OWN_JSON json_t *owned = parameters;
	enum report_status status = session_connect(session);
	const json_t *about;
	int r;

	if (status)
		return status;
	r = call(session, method, owned, session->arguments.timeout_ms, reply);
	if (r == -EREMOTEIO && !strcmp(varlink_error(session->varlink, &about), COVERED_NOTHING)) {
		*reply = NULL;
		return REPORT_FINE;
	}
	return r ? report_call(session->varlink, method, r) : REPORT_FINE;
}

json_t *session_parameters(const char *name, ...)
{
	json_t *parameters = json_object();
	va_list list;

	va_start(list, name);
	for (; name; name = va_arg(list, const char *)) {
		json_t *value = va_arg(list, json_t *);

		if (value && json_object_set_new(parameters, name, value)) {
			json_decref(parameters);
			parameters = NULL;
		}
	}
	va_end(list);
	return parameters;
}

/*
 * JSON cannot contain text that is not UTF-8, but leaving it out would select
 * everything.  It is sent escaped, and the daemon then finds nothing.
 */
json_t *session_text(const char *text)
{
	OWN_FREE char *printable = NULL;
	json_t *value;

	if (!text)
		return NULL;
	value = json_string(text);
	if (value)
		return value;
	printable = text_printable(text, true);
	return json_string(printable ? printable : "?");
}

json_t *session_number(int64_t number)
{
	return number >= 0 ? json_integer(number) : NULL;
}

json_t *session_rows_limit(const struct session *session)
{
	bool every = session->arguments.all || session->arguments.json;

	return every ? NULL : json_integer(OPTION_ROWS_SHOWN);
}

json_t *session_records_limit(const struct session *session)
{
	int64_t limit = session->arguments.limit;

	return json_integer(limit >= 0 ? limit : OPTION_RECORDS_SHOWN);
}

void session_put_rest(struct page *page, uint64_t shown, uint64_t matched)
{
	if (shown < matched)
		page_line(page, PAGE_DIM, "… %s more rows; --all shows them",
			  units_count(matched - shown).s);
}

void session_report_rest(const struct session *session, const json_t *reply)
{
	uint64_t shown = json_array_size(json_object_get(reply, "records"));
	int64_t matched = json_integer_value(json_object_get(reply, "matched"));
	int64_t limit = session->arguments.limit;

	if (!json_object_get(reply, "period") || (int64_t)shown >= matched ||
	    (limit >= 0 && shown >= (uint64_t)limit))
		return;
	report("only the newest %s of %s records; the others are in shorter times, see --since and --until%s",
	       units_count(shown).s, units_count((uint64_t)matched).s,
	       limit < 0 ? ", or with --limit" : "");
}

json_t *session_selection(const struct session *session)
{
	const struct arguments *arguments = &session->arguments;

	return session_parameters("reason", session_text(arguments->reason), "device",
				  session_text(arguments->device), "netns",
				  session_text(arguments->netns), "filter",
				  session_text(session->filter), NULL);
}

void session_put_selection(const struct session *session, struct page *page)
{
	const struct arguments *given = &session->arguments;
	const struct {
		const char *name;
		const char *value;
	} texts[] = {{"reason", given->reason},
		     {"dev", given->device},
		     {"segment", given->segment},
		     {"netns", given->netns}};
	const char *before = " with";

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!texts[i].value)
			continue;
		page_put(page, PAGE_PLAIN, "%s --%s %s", before, texts[i].name, texts[i].value);
		before = "";
	}
	if (given->over_ns >= 0) {
		page_put(page, PAGE_PLAIN, "%s --over %s", before,
			 units_duration((uint64_t)given->over_ns).s);
		before = "";
	}
	if (given->faults) {
		page_put(page, PAGE_PLAIN, "%s --faults", before);
		before = "";
	}
	if (given->classes) {
		page_put(page, PAGE_PLAIN, "%s --class %s", before, given->classes);
		before = "";
	}
	if (session->filter)
		page_put(page, PAGE_PLAIN, "%s '%s'", before, session->filter);
}

enum report_status session_page(struct session *session, struct page **page)
{
	int r = page_new(page, &session->term);

	if (!r)
		return REPORT_FINE;
	report("%s", strerror(-r));
	return REPORT_FAILED;
}

/*
 * JSON allows DEL and the C1 control characters (U+0080 to U+009f) unescaped,
 * but a terminal may obey them.  They appear only inside strings, where their
 * escapes mean the same.
 */
static void put_json(const char *text)
{
	for (const unsigned char *u = (const unsigned char *)text; *u; u++) {
		if (*u == 0x7f) {
			fputs("\\u007f", stdout);
		} else if (u[0] == 0xc2 && u[1] >= 0x80 && u[1] <= 0x9f) {
			printf("\\u%04x", u[1]);
			u++;
		} else {
			putchar(*u);
		}
	}
	putchar('\n');
}

static enum report_status written(int error)
{
	if (!error)
		return REPORT_FINE;
	report("cannot write the output: %s", strerror(-error));
	return REPORT_FAILED;
}

/* Print JSON to the standard output: on one line, or indented over several. */
static enum report_status print_json(const json_t *json, bool one_line)
{
	OWN_FREE char *text = json_dumps(json, one_line ? JSON_COMPACT : JSON_INDENT(2));

	if (!text)
		return written(-ENOMEM);
	put_json(text);
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return REPORT_FINE;
	return written(errno ? -errno : -EIO);
}

enum report_status session_print(struct page *page, int put)
{
	int r = page_write(page, stdout);

	return written(put ? put : r);
}

enum report_status session_output(struct session *session, const json_t *json, bool one_line,
				  session_printer *print, void *data)
{
	OWN_PAGE struct page *page = NULL;
	enum report_status status;

	if (session->arguments.json)
		return print_json(json, one_line);
	status = session_page(session, &page);
	return status ? status : print(session, page, json, data);
}

static void add_moment(json_t *parameters, const char *name, int64_t ns)
{
	char text[TIME_TEXT_MAX];

	if (ns < 0)
		return;
	time_format_realtime(ns, text);
	json_object_set_new(parameters, name, json_string(text));
}

enum report_status session_add_period(const struct session *session, json_t *parameters)
{
	const struct arguments *given = &session->arguments;

	if ((given->follow || given->follow_ms >= 0) &&
	    (given->since_ns >= 0 || given->until_ns >= 0)) {
		report("--follow shows what happens from now on; it cannot be used with --since or --until");
		return REPORT_USAGE;
	}
	if (given->since_ns >= 0 && given->until_ns >= 0 && given->since_ns >= given->until_ns) {
		report("--since must be before --until");
		return REPORT_USAGE;
	}
	if (given->since_ns >= (int64_t)time_realtime()) {
		report("--since is still to come; it must be before now");
		return REPORT_USAGE;
	}
	add_moment(parameters, "since", given->since_ns);
	add_moment(parameters, "until", given->until_ns);
	return REPORT_FINE;
}

enum report_status session_show(struct session *session, const char *method, json_t *parameters,
				int64_t extra_ms, session_printer *print, void *data)
{
	OWN_JSON json_t *reply = NULL;
	enum report_status status = session_add_period(session, parameters);

	if (status) {
		json_decref(parameters);
		return status;
	}
	status = session_call(session, method, parameters, extra_ms, &reply);
	return status ? status : session_output(session, reply, false, print, data);
}
