/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/ask/report.h"

#include <errno.h>
#include <langinfo.h>
#include <stdarg.h>
#include <string.h>

#include "cli/ask/arguments.h"
#include "cli/ask/field.h"
#include "cli/terminal/text.h"
#include "common/array.h"

void report(const char *format, ...)
{
	OWN_FREE char *text = NULL;
	OWN_FREE char *printable = NULL;
	va_list list;
	int len;

	va_start(list, format);
	len = vasprintf(&text, format, list);
	va_end(list);
	if (len < 0)
		text = NULL;
	if (text)
		printable = text_printable(text, !strcmp(nl_langinfo(CODESET), "UTF-8"));
	fprintf(stderr, "netflowctl: %s\n", printable ? printable : "out of memory");
}

enum report_status report_connect(const char *path, int error)
{
	switch (-error) {
	case ENOENT:
	case ECONNREFUSED:
		report("no daemon listens at %s: is it running? Start netflowd as root, or use `sudo make run` in its source tree",
		       path);
		break;
	case EACCES:
	case EPERM:
		report("permission denied on %s: be root, or a member of the group netflow (`usermod -aG netflow USER`, then log in again)",
		       path);
		break;
	case ETIMEDOUT:
		report("the daemon at %s does not accept connections: too many clients wait, or it hangs (its log says more)",
		       path);
		break;
	case ENOTSOCK:
	case EPROTOTYPE:
		report("%s is not the socket of a daemon", path);
		break;
	default:
		report("cannot connect to %s: %s", path, strerror(-error));
	}
	return REPORT_UNREACHABLE;
}

/* How an error of the daemon reads; the value of `member` stands between the two texts. */
struct sentence {
	const char *error;
	const char *before;
	const char *member;
	const char *after;
	enum report_status status;
};

static const struct sentence sentences[] = {
	{"io.netflowd.UnknownReason", "no such drop reason: ", "reason", "", REPORT_USAGE},
	{"io.netflowd.UnknownDevice", "no such device: ", "device", "", REPORT_USAGE},
	{"io.netflowd.UnknownNetns", "no such network namespace: ", "netns", "", REPORT_USAGE},
	{"io.netflowd.UnknownField", "drops cannot be joined by ", "field", "", REPORT_USAGE},
	{"io.netflowd.UnknownSegment", "no such segment: ", "segment", "", REPORT_USAGE},
	{"io.netflowd.UnknownName", "nothing is known of ", "name", "", REPORT_USAGE},
	{"io.netflowd.UnknownAlert", "no such alert rule: ", "rule", "", REPORT_USAGE},
	{"io.netflowd.InvalidFilter", "no tcpdump expression: ", "reason", "", REPORT_USAGE},
	{"io.netflowd.NoData", "no data: ", "reason", "", REPORT_FAILED},
	{"io.netflowd.InvalidMessage", "the daemon did not understand the call: ", "reason", "",
	 REPORT_FAILED},
	{"io.netflowd.TooMany", "the daemon serves too many ", "what", "; try again later",
	 REPORT_FAILED},
	{"io.netflowd.PermissionDenied", "permission denied: ", "reason", "", REPORT_FAILED},
	{"org.varlink.service.InvalidParameter", "the daemon refuses the parameter ", "parameter",
	 "", REPORT_FAILED},
	{"org.varlink.service.MethodNotFound", "the daemon knows no method ", "method",
	 ": it is of another version than netflowctl " NETFLOWD_VERSION, REPORT_FAILED},
	{"org.varlink.service.MethodNotImplemented", "the daemon does not implement ", "method", "",
	 REPORT_FAILED},
	{"org.varlink.service.InterfaceNotFound", "what listens there is no netflowd: it knows no ",
	 "interface", "", REPORT_FAILED},
};

static enum report_status report_error(const struct varlink *varlink)
{
	const json_t *parameters;
	const char *error = varlink_error(varlink, &parameters);
	const char *nearest = field_text_or(parameters, "nearest", NULL);
	OWN_FREE char *dump = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(sentences); i++) {
		const struct sentence *sentence = &sentences[i];

		if (strcmp(error, sentence->error))
			continue;
		report("%s%s%s%s", sentence->before,
		       field_text_or(parameters, sentence->member, "(it does not say which)"),
		       sentence->after, arguments_suggestion(nearest).s);
		return sentence->status;
	}
	dump = parameters ? json_dumps(parameters, JSON_COMPACT) : NULL;
	report("the daemon answered with the error %s %s", error, dump ? dump : "");
	return REPORT_FAILED;
}

enum report_status report_call(const struct varlink *varlink, const char *method, int error)
{
	switch (-error) {
	case EREMOTEIO:
		return report_error(varlink);
	case ETIMEDOUT:
		report("the daemon did not answer %s in time; --timeout S waits longer", method);
		return REPORT_UNREACHABLE;
	case ECONNRESET:
	case EPIPE:
		report("the daemon ended the connection before %s was answered: did it stop? (its log says more)",
		       method);
		return REPORT_UNREACHABLE;
	case EMSGSIZE:
		report("the answer to %s is larger than %u MiB", method, VARLINK_REPLY_MAX >> 20);
		return REPORT_FAILED;
	case EBADMSG:
		report("the answer to %s is no Varlink message: is it netflowd that listens there?",
		       method);
		return REPORT_FAILED;
	default:
		report("%s failed: %s", method, strerror(-error));
		return REPORT_FAILED;
	}
}
