/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/file/pcap_option.h"

#include <errno.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/ask/stream.h"
#include "cli/file/capture.h"

struct writing {
	struct session *session;
	struct capture capture;
	int (*add)(struct capture *capture, const json_t *record);
};

static enum report_status failed(const struct session *session, int error)
{
	report("cannot write %s: %s", session->arguments.pcap, strerror(-error));
	return REPORT_FAILED;
}

static enum report_status add(void *data, const json_t *record)
{
	struct writing *writing = data;
	int r = writing->add(&writing->capture, record);

	return r ? failed(writing->session, r) : REPORT_FINE;
}

static enum report_status add_held(struct writing *writing, const char *method, json_t *parameters)
{
	OWN_JSON json_t *reply = NULL;
	const json_t *record;
	enum report_status status = session_add_period(writing->session, parameters);
	size_t i;

	if (status) {
		json_decref(parameters);
		return status;
	}
	status = session_call(writing->session, method, parameters, 0, &reply);

	json_array_foreach(json_object_get(reply, "records"), i, record)
	{
		status = add(writing, record);
		if (status)
			break;
	}
	if (!status)
		session_report_rest(writing->session, reply);
	return status;
}

static enum report_status end(struct writing *writing)
{
	struct session *session = writing->session;
	const char *path = session->arguments.pcap;
	OWN_PAGE struct page *page = NULL;
	enum report_status status;
	uint64_t packets;
	int r = capture_close(&writing->capture, &packets);

	if (r)
		return failed(session, r);
	if (!strcmp(path, "-"))
		return REPORT_FINE;
	status = session_page(session, &page);
	if (status)
		return status;
	page_put(page, PAGE_PLAIN, "%s packets", units_count(packets).s);
	session_put_selection(session, page);
	page_line(page, PAGE_PLAIN, " written to %s", path);
	return session_print(page, 0);
}

enum report_status pcap_option_write(struct session *session, const char *kind, const char *method,
				     json_t *parameters)
{
	bool following = session->arguments.follow;
	struct writing writing = {
		.session = session,
		.add = strcmp(kind, "drop") ? capture_latency : capture_drop,
	};
	struct stream stream = {
		.kind = kind, .record = add, .data = &writing, .duration_ms = -1, .quiet = true};
	/* Connect before opening the file: if the daemon is not reachable, an older file stays as it is. */
	enum report_status status = session_connect(session);
	int r;

	if (status) {
		json_decref(parameters);
		return status;
	}
	r = capture_open(&writing.capture, session->arguments.pcap, following);
	if (r) {
		json_decref(parameters);
		return failed(session, r);
	}
	status = following ? stream_follow(session, parameters, &stream)
			   : add_held(&writing, method, parameters);
	if (!status)
		status = end(&writing);
	capture_done(&writing.capture);
	return status;
}
