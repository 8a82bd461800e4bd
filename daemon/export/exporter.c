/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/export/exporter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "common/time.h"
#include "daemon/export/file.h"
#include "daemon/export/negotiate.h"
#include "daemon/http/http.h"
#include "daemon/process/loop.h"
#include "daemon/process/worker.h"
#include "daemon/store/readings.h"

#define FORMAT_BIT(format) (1U << (format))
#define PARTS                                                                                      \
	(READING_BIT(COUNTERS) | READING_BIT(TABLES) | READING_BIT(DROPS) | READING_BIT(DEVICES) | \
	 READING_BIT(NAPI) | READING_BIT(SLOTS) | READING_BIT(TRAFFIC))

/* A request that waits for the text. */
struct waiter {
	struct waiter *next;
	struct http_request *request;
	enum metrics_format format;
};

/* What the thread has while it runs. */
struct job {
	struct metrics_snapshot *snapshot;
	struct metrics_limits limits;
	unsigned int formats; /* FORMAT_BIT() of the texts to make */
	struct metrics_text text[METRICS_FORMATS];
	char textfile[PATH_MAX]; /* empty: not now */
	int file_result;
	uint64_t cpu_ns;
};

struct exporter {
	struct exporter_parts parts;
	struct exporter_settings settings;
	double started_unix;
	struct metrics *metrics; /* of the thread while it runs */
	struct http *http;
	struct waiter *waiters;
	struct http_document *document[METRICS_FORMATS];
	uint64_t made_ns[METRICS_FORMATS]; /* of the documents */
	struct readings_request *request;
	struct worker *worker;
	struct job job;
	struct loop_source *timer; /* of the file; NULL: there is none */
	bool file_due;
	int file_error; /* that was logged last; 0: none */
	struct metrics_exports stats;
};

static void start(struct exporter *exporter);

/* ---- the thread --------------------------------------------------------------- */

static int make_texts(struct exporter *exporter, struct job *job)
{
	int r = metrics_update(exporter->metrics, job->snapshot, &job->limits);

	for (int i = 0; r == 0 && i < METRICS_FORMATS; i++) {
		if (!(job->formats & FORMAT_BIT(i)))
			continue;
		metrics_text_begin(&job->text[i], (enum metrics_format)i);
		r = metrics_write(exporter->metrics, job->snapshot, &job->text[i]);
	}
	return r;
}

static int work(void *userdata)
{
	struct exporter *exporter = userdata;
	struct job *job = &exporter->job;
	const struct metrics_text *text = &job->text[METRICS_PROMETHEUS];
	int r = make_texts(exporter, job);

	if (r == 0 && job->textfile[0])
		job->file_result = file_replace(job->textfile, text->bytes, text->length);
	job->cpu_ns = time_thread_cpu();
	return r;
}

/* ---- answers ------------------------------------------------------------------ */

static void answer(struct exporter *exporter, enum metrics_format format,
		   struct http_document *document)
{
	struct waiter **link = &exporter->waiters;

	while (*link) {
		struct waiter *waiter = *link;

		if (waiter->format != format) {
			link = &waiter->next;
			continue;
		}
		*link = waiter->next;
		http_answer(waiter->request, document);
		free(waiter);
	}
}

static void fail(struct exporter *exporter, int error)
{
	log_warning("cannot make the metrics: %s", strerror(-error));
	for (int i = 0; i < METRICS_FORMATS; i++)
		answer(exporter, (enum metrics_format)i, NULL);
}

/* A failure is logged when it begins, and when it is another one. */
static void note_file(struct exporter *exporter, const struct job *job)
{
	if (!job->textfile[0])
		return;
	if (job->file_result == 0)
		exporter->stats.files_textfile++;
	else
		exporter->stats.errors_textfile++;
	if (job->file_result && job->file_result != exporter->file_error)
		log_warning("cannot write metrics.textfile = %s: %s; %s", job->textfile,
			    strerror(-job->file_result), file_remedy(job->file_result));
	else if (!job->file_result && exporter->file_error)
		log_info("metrics.textfile = %s is written again", job->textfile);
	exporter->file_error = job->file_result;
}

static void publish(struct exporter *exporter, enum metrics_format format, uint64_t now)
{
	struct metrics_text *text = &exporter->job.text[format];
	size_t length = text->length;

	http_document_free(&exporter->document[format]);
	if (http_document_new(&exporter->document[format], TAKE_PTR(text->bytes), length,
			      negotiate_type(format)) < 0) {
		fail(exporter, -ENOMEM);
		return;
	}
	exporter->made_ns[format] = now;
	answer(exporter, format, exporter->document[format]);
}

static void clear_job(struct exporter *exporter)
{
	struct job *job = &exporter->job;

	metrics_snapshot_free(&job->snapshot);
	for (int i = 0; i < METRICS_FORMATS; i++)
		metrics_text_free(&job->text[i]);
	*job = (struct job){0};
}

static void on_done(int result, void *userdata)
{
	struct exporter *exporter = userdata;
	struct job *job = &exporter->job;

	worker_free(&exporter->worker);
	exporter->stats.cpu_ns += job->cpu_ns;
	note_file(exporter, job);
	if (result < 0)
		fail(exporter, result);
	for (int i = 0; result == 0 && exporter->http && i < METRICS_FORMATS; i++)
		if (job->formats & FORMAT_BIT(i))
			publish(exporter, (enum metrics_format)i, job->snapshot->now_ns);
	clear_job(exporter);
	start(exporter);
}

/* ---- the snapshot ------------------------------------------------------------- */

static void fill_exports(const struct exporter *exporter, struct metrics_exports *exports)
{
	struct http_stats http = {0};

	if (exporter->http)
		http = http_stats(exporter->http);
	exports->http_ok = http.ok;
	exports->http_refused = http.refused;
	exports->http_missing = http.missing;
	exports->http_failed = http.failed;
	exports->http_timed_out = http.timed_out;
	exports->files_textfile = exporter->stats.files_textfile;
	exports->errors_textfile = exporter->stats.errors_textfile;
	exports->cpu_ns = exporter->stats.cpu_ns;
}

static int take_snapshot(struct exporter *exporter, struct metrics_snapshot **snapshot)
{
	const struct readings *readings = exporter->parts.readings;
	struct metrics_snapshot *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->now_ns = time_monotonic();
	fresh->started_unix = exporter->started_unix;
	for (int i = 0; i < READING_PARTS; i++) {
		const struct reading *latest = readings_latest(readings, (enum reading_part)i);
		struct readings_cost cost = readings_cost(readings, (enum reading_part)i);

		if (latest)
			fresh->reading[i] = reading_hold(latest);
		fresh->part[i] = (struct metrics_part_cost){cost.name, cost.readings, cost.cpu_ns};
	}
	r = exporter->parts.fill(fresh, exporter->parts.userdata);
	if (r < 0) {
		metrics_snapshot_free(&fresh);
		return r;
	}
	fill_exports(exporter, &fresh->exports);
	*snapshot = fresh;
	return 0;
}

static unsigned int wanted_formats(const struct exporter *exporter)
{
	unsigned int formats = exporter->file_due ? FORMAT_BIT(METRICS_PROMETHEUS) : 0;

	for (const struct waiter *waiter = exporter->waiters; waiter; waiter = waiter->next)
		formats |= FORMAT_BIT(waiter->format);
	return formats;
}

static void start_work(struct exporter *exporter)
{
	struct job *job = &exporter->job;
	int r = take_snapshot(exporter, &job->snapshot);

	job->limits = exporter->settings.limits;
	job->formats = wanted_formats(exporter);
	if (exporter->file_due)
		strcpy(job->textfile, exporter->settings.textfile);
	exporter->file_due = false;
	if (r == 0)
		r = worker_new(&exporter->worker, exporter->parts.loop, work, on_done, exporter);
	if (r < 0) {
		clear_job(exporter);
		fail(exporter, r);
	}
}

/* ---- readings ----------------------------------------------------------------- */

static void on_ledger(int result, void *userdata)
{
	struct exporter *exporter = userdata;

	exporter->request = NULL;
	if (result < 0)
		fail(exporter, result);
	else
		start_work(exporter);
}

static void on_readings(int result, void *userdata)
{
	struct exporter *exporter = userdata;

	exporter->request = NULL;
	if (result == 0)
		result = readings_get(exporter->parts.readings, &exporter->request,
				      READING_BIT(LEDGER), EXPORTER_LEDGER_NS, on_ledger, exporter);
	if (result < 0)
		fail(exporter, result);
}

/* Begin to make the texts that are wanted, if there are any and none are under way. */
static void start(struct exporter *exporter)
{
	int r;

	if (exporter->request || exporter->worker || !wanted_formats(exporter))
		return;
	r = readings_get(exporter->parts.readings, &exporter->request, PARTS, EXPORTER_FRESH_NS,
			 on_readings, exporter);
	if (r < 0)
		fail(exporter, r);
}

static void on_ask(struct http_request *request, const char *accept, void *userdata)
{
	struct exporter *exporter = userdata;
	enum metrics_format format = negotiate_format(accept);
	struct waiter *waiter;

	if (exporter->document[format] &&
	    time_monotonic() - exporter->made_ns[format] < EXPORTER_FRESH_NS) {
		http_answer(request, exporter->document[format]);
		return;
	}
	waiter = calloc(1, sizeof(*waiter));
	if (!waiter) {
		http_answer(request, NULL);
		return;
	}
	*waiter = (struct waiter){exporter->waiters, request, format};
	exporter->waiters = waiter;
	start(exporter);
}

static int on_timer(void *userdata)
{
	struct exporter *exporter = userdata;

	exporter->file_due = true;
	start(exporter);
	return 0;
}

/* ---- life --------------------------------------------------------------------- */

int exporter_set(struct exporter *exporter, const struct exporter_settings *settings)
{
	uint64_t interval = settings->interval_ns;

	exporter->settings = *settings;
	if (exporter->http)
		http_set_timeout(exporter->http, settings->timeout_ns);
	loop_source_free(&exporter->timer);
	exporter->file_due = false;
	if (!settings->textfile[0])
		return 0;
	/* The first one soon, so that a mistake shows soon. */
	return loop_add_timer(exporter->parts.loop, &exporter->timer, TIME_NS_PER_SECOND, interval,
			      on_timer, exporter);
}

/* The unit of the service refuses Internet sockets with EAFNOSUPPORT, and a filter of system calls with EPERM. */
static const char *listen_remedy(int error, enum http_where where)
{
	if (where == HTTP_TCP && (error == -EAFNOSUPPORT || error == -EPERM || error == -EACCES))
		return "; a service needs the drop-in internet.conf for TCP: see netflowd(8)";
	if (where == HTTP_UNIX && error == -EROFS)
		return "; a service can write only where its unit allows it: see the drop-in files.conf in netflowd(8)";
	return "";
}

static int listen_on(struct exporter *exporter)
{
	struct http_settings settings = {
		.path = EXPORTER_PATH,
		.group = "netflow",
		.connections = (unsigned int)exporter->settings.connections,
		.timeout_ns = exporter->settings.timeout_ns,
		.ask = on_ask,
		.userdata = exporter,
	};
	const char *listen = exporter->settings.listen;
	int r = http_address_parse(&settings.address, listen);

	if (r < 0 || settings.address.where == HTTP_NOWHERE)
		return r;
	if (settings.address.where == HTTP_UNIX && !settings.address.path[0] &&
	    (size_t)snprintf(settings.address.path, sizeof(settings.address.path),
			     "%s/" EXPORTER_SOCKET,
			     exporter->parts.runtime_dir) >= sizeof(settings.address.path))
		r = -ENAMETOOLONG;
	if (r == 0)
		r = http_new(&exporter->http, exporter->parts.loop, &settings);
	if (r < 0) {
		log_error("metrics.listen = %s: cannot listen: %s%s", listen, strerror(-r),
			  listen_remedy(r, settings.address.where));
		return r;
	}
	if (!settings.address.local)
		log_warning(
			"metrics.listen = %s: hosts of the network can read the metrics, without a password",
			listen);
	log_info("serving metrics on %s",
		 settings.address.where == HTTP_UNIX ? settings.address.path : listen);
	return 0;
}

static double started_unix(uint64_t started_ns)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9 -
	       (double)(time_monotonic() - started_ns) / 1e9;
}

int exporter_new(struct exporter **exporter, const struct exporter_parts *parts,
		 const struct exporter_settings *settings)
{
	OWN_EXPORTER struct exporter *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->parts = *parts;
	fresh->settings = *settings;
	fresh->started_unix = started_unix(parts->started_ns);
	r = metrics_new(&fresh->metrics);
	if (r == 0)
		r = listen_on(fresh);
	if (r == 0)
		r = exporter_set(fresh, settings);
	if (r < 0)
		return r;
	*exporter = TAKE_PTR(fresh);
	return 0;
}

void exporter_free(struct exporter **exporter)
{
	struct exporter *old = *exporter;

	if (!old)
		return;
	readings_forget(&old->request);
	worker_free(&old->worker);
	clear_job(old);
	loop_source_free(&old->timer);
	for (int i = 0; i < METRICS_FORMATS; i++)
		answer(old, (enum metrics_format)i, NULL);
	http_free(&old->http);
	for (int i = 0; i < METRICS_FORMATS; i++)
		http_document_free(&old->document[i]);
	metrics_free(&old->metrics);
	free(old);
	*exporter = NULL;
}
