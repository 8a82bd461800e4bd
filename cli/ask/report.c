/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/ask/report.h"

#include <errno.h>
#include <langinfo.h>
#include <stdarg.h>
#include <string.h>

#include "cli/ask/arguments.h"
#include "cli/ask/covered.h"
#include "cli/ask/field.h"
#include "cli/terminal/text.h"
#include "common/array.h"
#include "common/nearest.h"
#include "common/version.h"

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
		report("no daemon is running at %s; as root, run `systemctl start netflowd`, or `make run` in its source tree",
		       path);
		break;
	case EACCES:
	case EPERM:
		report("permission denied on %s; run netflowctl as root or as a member of the group netflow (`usermod -aG netflow USER`, then log in again)",
		       path);
		break;
	case ETIMEDOUT:
		report("the daemon at %s does not accept connections: too many clients are waiting, or it hangs; see its log",
		       path);
		break;
	case ENOTSOCK:
	case EPROTOTYPE:
		report("%s is not the socket of netflowd; check --socket", path);
		break;
	default:
		report("cannot connect to %s: %s", path, strerror(-error));
	}
	return REPORT_UNREACHABLE;
}

/* An error of the daemon as a sentence, with the value of its `member` between the two texts. */
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
	{"io.netflowd.UnknownField", "cannot group drops by ", "field", "", REPORT_USAGE},
	{"io.netflowd.UnknownSegment", "no such segment: ", "segment", "", REPORT_USAGE},
	{"io.netflowd.UnknownName", "no entry for ", "name", "", REPORT_USAGE},
	{"io.netflowd.UnknownAlert", "no such alert rule: ", "rule", "", REPORT_USAGE},
	{"io.netflowd.InvalidSettings", "nothing was reloaded: ", "reason", "", REPORT_FAILED},
	{"io.netflowd.CannotSelect", "cannot select by this: ", "reason", "", REPORT_USAGE},
	{"io.netflowd.InvalidFilter", "invalid tcpdump expression: ", "reason", "", REPORT_USAGE},
	{"io.netflowd.UnknownIncident", "", "reason", "; `netflowctl incidents` lists all",
	 REPORT_USAGE},
	{"io.netflowd.NoHistory", "no history: ", "reason", "", REPORT_FAILED},
	{"io.netflowd.Failed", "the daemon cannot do this: ", "reason", "", REPORT_FAILED},
	{"io.netflowd.NoData", "no data: ", "reason", "", REPORT_FAILED},
	{"io.netflowd.InvalidMessage", "the daemon rejects the message: ", "reason", "",
	 REPORT_FAILED},
	{"io.netflowd.TooMany", "the daemon has reached its limit of ", "what",
	 "; close other connections to it, or try again later", REPORT_FAILED},
	{"io.netflowd.PermissionDenied", "permission denied: ", "reason", "", REPORT_FAILED},
	{"org.varlink.service.InvalidParameter", "the daemon rejects the parameter ", "parameter",
	 "", REPORT_FAILED},
	{"org.varlink.service.MethodNotFound", "the daemon has no method ", "method",
	 ": its version is not that of netflowctl, " NETFLOWD_VERSION
	 "; install both from one version",
	 REPORT_FAILED},
	{"org.varlink.service.MethodNotImplemented", "the daemon does not implement ", "method", "",
	 REPORT_FAILED},
	{"org.varlink.service.InterfaceNotFound",
	 "the server is not netflowd: it has no interface ", "interface", "; check --socket",
	 REPORT_FAILED},
};

static enum report_status report_error(const struct varlink *varlink)
{
	const json_t *parameters;
	const char *error = varlink_error(varlink, &parameters);
	const char *nearest = field_text_or(parameters, "nearest", NULL);
	OWN_FREE char *dump = NULL;

	if (!strcmp(error, COVERED_NOTHING)) {
		report("%s", covered_nothing(parameters).s);
		return REPORT_FAILED;
	}
	for (size_t i = 0; i < ARRAY_SIZE(sentences); i++) {
		const struct sentence *sentence = &sentences[i];

		if (strcmp(error, sentence->error))
			continue;
		report("%s%s%s%s", sentence->before,
		       field_text_or(parameters, sentence->member, "(not named)"), sentence->after,
		       nearest_hint("", nearest).s);
		return sentence->status;
	}
	dump = parameters ? json_dumps(parameters, JSON_COMPACT) : NULL;
	report("the daemon replied with the error %s %s", error, dump ? dump : "");
	return REPORT_FAILED;
}

enum report_status report_call(const struct varlink *varlink, const char *method, int error)
{
	switch (-error) {
	case EREMOTEIO:
		return report_error(varlink);
	case ETIMEDOUT:
		report("the daemon did not reply to %s in time; wait longer with --timeout S",
		       method);
		return REPORT_UNREACHABLE;
	case ECONNRESET:
	case EPIPE:
		report("the daemon closed the connection before it replied to %s: it may have stopped; see its log",
		       method);
		return REPORT_UNREACHABLE;
	case EMSGSIZE:
		report("the reply to %s is larger than %u MiB; select less", method,
		       VARLINK_REPLY_MAX >> 20);
		return REPORT_FAILED;
	case EBADMSG:
		report("the reply to %s is not a Varlink message: is this netflowd?", method);
		return REPORT_FAILED;
	default:
		report("%s failed: %s", method, strerror(-error));
		return REPORT_FAILED;
	}
}
