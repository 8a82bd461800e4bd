/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/daemon.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

#include "common/cleanup.h"
#include "common/kallsyms.h"
#include "common/log.h"
#include "common/time.h"
#include "daemon/alert/alerts.h"
#include "daemon/alert/deliver.h"
#include "daemon/alert/exec_child.h"
#include "daemon/alert/rules.h"
#include "daemon/control/control.h"
#include "daemon/core/coverage.h"
#include "daemon/core/infer.h"
#include "daemon/core/names.h"
#include "daemon/core/stages.h"
#include "daemon/elsewhere/elsewhere.h"
#include "daemon/exports.h"
#include "daemon/history/history.h"
#include "daemon/kernel/attribution.h"
#include "daemon/kernel/kmsg.h"
#include "daemon/kernel/modules.h"
#include "daemon/kernel/symbols.h"
#include "daemon/manager.h"
#include "daemon/pausing.h"
#include "daemon/probe/probes.h"
#include "daemon/process/activation.h"
#include "daemon/process/confine.h"
#include "daemon/process/helper.h"
#include "daemon/process/lock.h"
#include "daemon/process/loop.h"
#include "daemon/process/privilege.h"
#include "daemon/process/worker.h"
#include "daemon/settings.h"
#include "daemon/store/readings.h"
#include "daemon/store/records.h"
#include "daemon/store/rockets.h"

#define SOCKET_NAME "io.netflowd"
#define KALLSYMS "/proc/kallsyms"
#define HOUSEKEEPING_NS (TIME_NS_PER_SECOND / 4)

/* How long housekeeping waits for a reading that is under way. */
#define BUSY_RETRY_NS UINT64_C(5000000)
#define MODULES "/proc/modules"
#define LARGE_BYTES (256 << 10) /* of a block that is returned to the kernel at once */
/*
 * A module that is loading has its init functions in kallsyms.  The kernel frees them when they have run
 * (do_init_module), and the next module gets their addresses.  So a second reading, a second later, forgets them.
 */
#define NAMES_READINGS 2

struct daemon {
	struct config config; /* the values in force */
	const struct configuration_arguments *arguments;
	char socket_path[PATH_MAX];
	char backend_reason[BACKEND_REASON_MAX];
	char symbols_reason[160];
	uint64_t addresses[BACKEND_SYMBOLS]; /* see backend_symbols */
	int lock;
	struct helper *helper;
	struct names *names;
	struct symbols *symbols;
	struct symbols *fresh; /* the next symbols, while `worker` reads them, or the last ones */
	struct worker *worker; /* NULL: it does not run */
	struct attribution *attribution;
	struct records *records;
	struct rockets *rockets;
	struct kmsg *kmsg;	 /* NULL: not read, kmsg_reason says why */
	struct modules *modules; /* NULL: the kernel reports no modules */
	int names_due;		 /* readings of the kernel's names that are due, one per second */
	char kmsg_reason[PATH_MAX + 160];
	struct loop *loop;
	struct loop_source *sigterm, *sigint, *sighup;
	struct backend *backend;
	struct governor *governor;
	struct pause *pause;
	struct readings *readings;
	struct loop_source *input, *housekeeping, *every_second, *settle;
	bool settles;	     /* the timer `settle` runs */
	bool reload_refused; /* the last reload found a mistake, and changed nothing */
	struct alerts *alerts;
	struct history *history;
	struct elsewhere *elsewhere;
	struct control *control;
	struct manager *manager;
	struct exports *exports;
};

/* A namespace whose name was not found may be deleted before on_every_second() runs. */
static void settle_soon(struct daemon *daemon)
{
	if (daemon->settles || !records_wait(daemon->records))
		return;
	daemon->settles = loop_timer_restart(daemon->settle, RECORDS_PAUSE_NS) == 0;
}

static int on_settle(void *userdata)
{
	struct daemon *daemon = userdata;

	daemon->settles = false;
	records_settle_soon(daemon->records);
	return 0;
}

/* A record from the backend is stored before clients see it: they get it from the store. */
static void take_drop(void *userdata, const struct nf_drop_record *record)
{
	struct daemon *daemon = userdata;

	/* A message is not a packet, and must not take the room of one. */
	if (record->evidence & NF_EVIDENCE_MESSAGE)
		return;
	records_add_drop(daemon->records, record);
	settle_soon(daemon);
	if (daemon->control)
		control_record(daemon->control, RECORDS_DROPS);
}

static void take_journey(void *userdata, const struct nf_journey_record *record)
{
	struct daemon *daemon = userdata;

	records_add_journey(daemon->records, record);
	settle_soon(daemon);
	if (daemon->control)
		control_record(daemon->control, RECORDS_LATENCY);
}

static void take_slots(void *userdata, const struct nf_slots_record *record)
{
	struct daemon *daemon = userdata;

	records_add_transmit(daemon->records, record);
	settle_soon(daemon);
	rockets_record(daemon->rockets, record);
	if (daemon->control)
		control_record(daemon->control, RECORDS_SLOTS);
}

static void take_busy(void *userdata)
{
	struct daemon *daemon = userdata;

	if (daemon->governor)
		governor_hurry(daemon->governor);
}

static void take_rocket(const struct rocket *rocket, void *userdata)
{
	struct daemon *daemon = userdata;

	rockets_add(daemon->rockets, rocket);
}

static int on_input(int fd, unsigned int events, void *userdata)
{
	struct daemon *daemon = userdata;

	(void)fd;
	(void)events;
	return daemon->backend->ops->dispatch(daemon->backend);
}

static int on_housekeeping(void *userdata)
{
	struct daemon *daemon = userdata;

	if (readings_busy(daemon->readings))
		return loop_timer_restart(daemon->housekeeping, BUSY_RETRY_NS);
	daemon->backend->ops->housekeep(daemon->backend);
	manager_housekept(daemon->manager);
	return 0;
}

static int add_xen_overflows(const struct backend_slots *slots, void *userdata)
{
	uint64_t *sum = userdata;

	for (int i = 0; slots->xen && i < NF_SLOTS_OUTCOMES; i++)
		*sum += slots->overflow[i];
	return 0;
}

/* Records say which probes they lack.  A journey has no stage of the slots probes. */
static void find_probes(struct daemon *daemon)
{
	bool sheds_wake = daemon->governor && governor_sheds_wake(daemon->governor);
	struct stage_probes probes = {0};

	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		struct probe_status status;

		daemon->backend->ops->probe(daemon->backend, (enum nf_probe)i, &status);
		if (status.state == PROBE_UNAVAILABLE)
			snprintf(probes.without[i], sizeof(probes.without[i]),
				 "%s is unavailable: %s", probe_specs[i].name, status.reason);
		else if (sheds_wake && !strcmp(probe_specs[i].group, "wake"))
			snprintf(
				probes.without[i], sizeof(probes.without[i]),
				"%s was detached to keep the budget (cost.budget, cost.cpu_budget)",
				probe_specs[i].name);
	}
	records_set_probes(daemon->records, &probes);
}

static void on_wake(void *userdata)
{
	find_probes(userdata);
}

/* A driver was loaded or removed, or the administrator switched probes off or on in the kernel. */
static void refresh_probes(struct daemon *daemon)
{
	if (daemon->backend->ops->refresh(daemon->backend)) {
		if (daemon->manager)
			manager_probes_changed(daemon->manager);
		find_probes(daemon);
	}
}

static int on_modules(bool came, void *userdata)
{
	struct daemon *daemon = userdata;

	if (came) {
		daemon->names_due = NAMES_READINGS;
		/* The module may have the memory of another one, whose functions' names are kept. */
		records_forget_symbols(daemon->records);
	}
	refresh_probes(daemon);
	return 0;
}

/* In a thread: reading all symbols takes 0.1 s.  The next time frees the table that was replaced. */
static int read_symbols(void *userdata)
{
	struct daemon *daemon = userdata;
	int r = symbols_load(daemon->fresh, kallsyms_path(), MODULES);

	/* Reading them needed many MiB for a moment. */
	malloc_trim(0);
	return r;
}

static void take_symbols(int result, void *userdata)
{
	struct daemon *daemon = userdata;

	worker_free(&daemon->worker);
	if (result < 0) {
		log_warning("cannot read " KALLSYMS
			    ": %s; functions of new modules show as addresses",
			    strerror(-result));
		return;
	}
	symbols_swap(daemon->symbols, daemon->fresh);
	records_forget_symbols(daemon->records);
}

static int start_symbols(struct daemon *daemon)
{
	int r = daemon->fresh ? 0 : symbols_new(&daemon->fresh);

	return r < 0 ? r
		     : worker_new(&daemon->worker, daemon->loop, read_symbols, take_symbols,
				  daemon);
}

/*
 * New modules bring functions that drop packets, and drop reasons.  Many modules can be loaded at
 * once, so names are read at most once per second.  The names of a removed module stay, for the
 * drops that it caused.
 */
static void learn_names(struct daemon *daemon)
{
	int r = 0;

	if (!daemon->names_due || daemon->worker)
		return;
	daemon->names_due--;
	if (!daemon->symbols_reason[0])
		r = start_symbols(daemon);
	if (r < 0)
		log_warning("cannot read " KALLSYMS
			    ": %s; functions of new modules show as addresses",
			    strerror(-r));
	r = daemon->backend->ops->name_reasons(daemon->backend, daemon->names);
	if (r < 0)
		log_warning("cannot read the drop reasons of new modules: %s; they show as numbers",
			    strerror(-r));
}

/*
 * The kernel reports modules, but not that probes were switched off, so probes are looked at every
 * second.  rockets_check() decides on the rockets of the log that waited long enough for a record.
 */
static int on_every_second(void *userdata)
{
	struct daemon *daemon = userdata;
	struct backend *backend = daemon->backend;
	uint64_t overflows = 0;

	refresh_probes(daemon);
	learn_names(daemon);
	records_settle(daemon->records);
	if (rockets_total(daemon->rockets)) {
		struct backend_cursor all = {0};

		backend->ops->slots(backend, &all, add_xen_overflows, &overflows);
		rockets_check(daemon->rockets, time_monotonic(), overflows);
	}
	return 0;
}

static int on_signal(int number, void *userdata)
{
	struct daemon *daemon = userdata;

	(void)number;
	loop_exit(daemon->loop, 0);
	return 0;
}

/* ---- reload -------------------------------------------------------------- */

static void note_change(const struct setting *setting, bool live, void *userdata)
{
	struct control_reloaded *to = userdata;

	if (live && to->applied_count < CONTROL_RELOADED_MAX)
		to->applied[to->applied_count++] = setting->key;
	else if (!live && to->restart_count < CONTROL_RELOADED_MAX)
		to->restart[to->restart_count++] = setting->key;
}

static struct history_settings history_settings(const struct daemon *daemon)
{
	const struct config *config = &daemon->config;

	return (struct history_settings){
		.enabled = config->history_enabled,
		.why_not = config->backend.replay ? "a recording is shown, which has none" : NULL,
		.directory = config->history_directory,
		.bytes = config->history_bytes,
		.age_ns = config->history_age_ns,
		.interval_ns = config->history_interval_ns,
		.records = config->history_records,
	};
}

/* Give the parts the values in force, and these alert rules. */
static int apply(struct daemon *daemon, struct alert_rules **rules)
{
	struct backend_settings settings;
	struct history_settings history;
	int r;

	config_backend(&daemon->config, &settings);
	daemon->backend->ops->tune(daemon->backend, &settings);
	governor_set(daemon->governor, &daemon->config.governor);
	control_set_limits(daemon->control, &daemon->config.control);
	history = history_settings(daemon);
	history_apply(daemon->history, &history);
	r = elsewhere_set(daemon->elsewhere, daemon->config.elsewhere_interval_ns);
	if (r < 0)
		log_warning("cannot read the kernel's other counters of drops: %s", strerror(-r));
	exports_set(daemon->exports, &daemon->config.exporter, &daemon->config.lines);
	(void)alerts_set_alertmanager(daemon->alerts, &daemon->config.alertmanager);
	return alerts_reload(daemon->alerts, daemon->config.alert_interval_ns, rules);
}

/* The first mistake, and how to see the others. */
static void put_faults(const struct alert_rules *rules, char *text, size_t size)
{
	char others[96] = "";

	if (rules->faults > 1)
		snprintf(others, sizeof(others),
			 "; %zu mistakes in the alert rules: netflowd --check-config lists them",
			 rules->faults);
	alert_fault_format(&rules->fault[0], text, size - strlen(others));
	strcat(text, others);
}

/* Read everything that a reload reads.  It changes nothing; `error` says what is wrong with it. */
static int read_files(const struct daemon *daemon, struct configuration **fresh,
		      struct alert_rules **rules, char *error, size_t size)
{
	int r = configuration_read(fresh, daemon->arguments, error);

	if (r < 0)
		return r;
	r = alerts_read_rules(daemon->alerts, rules);
	if (r < 0) {
		snprintf(error, size, "cannot read the alert rules: %s", strerror(-r));
	} else if ((*rules)->faults) {
		put_faults(*rules, error, size);
		r = -EBADMSG;
	}
	return r;
}

static void reload(void *userdata, struct control_reloaded *reloaded)
{
	OWN_CONFIGURATION struct configuration *fresh = NULL;
	OWN_RULES struct alert_rules *rules = NULL;
	struct daemon *daemon = userdata;
	int r;

	if (daemon->config.backend.replay) {
		snprintf(reloaded->error, sizeof(reloaded->error),
			 "a recording is shown: start netflowd --replay again for other settings");
		return;
	}
	manager_reloading(daemon->manager);
	r = read_files(daemon, &fresh, &rules, reloaded->error, sizeof(reloaded->error));
	if (r == 0) {
		reloaded->error[0] = 0;
		configuration_apply(fresh, &daemon->config, note_change, reloaded);
		r = apply(daemon, &rules);
		if (r < 0)
			snprintf(reloaded->error, sizeof(reloaded->error),
				 "cannot use the alert rules: %s", strerror(-r));
	}
	daemon->reload_refused = reloaded->error[0];
	manager_reloaded(daemon->manager, reloaded);
}

static int on_sighup(int number, void *userdata)
{
	struct control_reloaded reloaded = {0};

	(void)number;
	reload(userdata, &reloaded);
	return 0;
}

/* ---- start --------------------------------------------------------------- */

static int start_loop(struct daemon *daemon)
{
	int r = loop_new(&daemon->loop);

	if (r == 0)
		r = loop_add_signal(daemon->loop, &daemon->sigterm, SIGTERM, on_signal, daemon);
	if (r == 0)
		r = loop_add_signal(daemon->loop, &daemon->sigint, SIGINT, on_signal, daemon);
	if (r < 0)
		log_error("cannot start the event loop: %s", strerror(-r));
	return r;
}

/* Some reasons can only be inferred if the kernel's version is known. */
static void learn_kernel(void)
{
	struct utsname name;

	infer_set_kernel(uname(&name) ? NULL : name.release);
}

/* Without symbols, locations show as addresses: coverage reports that, and startup goes on. */
static int load_symbols(struct daemon *daemon)
{
	int r = symbols_new(&daemon->symbols);

	if (r < 0)
		return r;
	symbols_want(daemon->symbols, backend_symbols, daemon->addresses, BACKEND_SYMBOLS);
	r = symbols_load(daemon->symbols, kallsyms_path(), MODULES);
	if (r == -ENODATA)
		strcpy(daemon->symbols_reason, KALLSYMS
		       " hides the addresses; give netflowd CAP_SYSLOG and set kernel.kptr_restrict to 0 or 1");
	else if (r < 0)
		snprintf(daemon->symbols_reason, sizeof(daemon->symbols_reason),
			 "cannot read " KALLSYMS ": %s", strerror(-r));
	if (r < 0)
		log_warning("drop locations are shown as addresses: %s", daemon->symbols_reason);
	return r == -ENOMEM ? r : 0;
}

/* Opened before the backend looks for drivers, so that no driver is loaded unseen in between. */
static int open_modules(struct daemon *daemon)
{
	int r = modules_new(&daemon->modules, daemon->loop, on_modules, daemon);

	if (r < 0)
		log_warning(
			"cannot read module events: %s; looking for new drivers every second, functions of new modules have no names until netflowd restarts",
			strerror(-r));
	return r == -ENOMEM ? r : 0;
}

/* What trace events cost is not known to netflowd, and it cannot have fewer of them. */
static void warn_of_cost(struct daemon *daemon)
{
	if (backend_can_shed(daemon->backend) || daemon->config.backend.replay ||
	    backend_is_none(daemon->backend))
		return;
	daemon->config.governor.on = false;
	log_warning(
		"the backend tracefs runs: netflowd reads every event, which costs it about 1 µs of CPU time per packet, and cost.budget is not kept; %s",
		daemon->backend_reason);
}

static int open_governor(struct daemon *daemon)
{
	int r;

	warn_of_cost(daemon);
	r = governor_new(&daemon->governor, daemon->loop, daemon->backend,
			 &daemon->config.governor);

	if (r == 0)
		governor_on_wake(daemon->governor, on_wake, daemon);
	return r;
}

/* `daemon` has no manager yet for a pause that an earlier run began. */
static void on_pause(enum pause_event event, const struct pause_state *state, const char *text,
		     void *userdata)
{
	struct daemon *daemon = userdata;

	pausing_report(event, state, text);
	if (daemon->history)
		history_note(daemon->history, state->level == PAUSE_ALL, state->changed_ns);
	if (daemon->manager)
		manager_probes_changed(daemon->manager);
}

static int open_pause(struct daemon *daemon)
{
	const struct pause_parts parts = {
		.loop = daemon->loop,
		.governor = daemon->governor,
		.directory = daemon->config.history_directory,
		.file = daemon->config.pause_file,
		.report = on_pause,
		.userdata = daemon,
	};

	return pause_new(&daemon->pause, &parts);
}

/* Drops and slots are counted unless all is paused. */
static const char *why_paused(void *userdata, bool counts)
{
	const struct daemon *daemon = userdata;
	const struct pause_state *state = pause_state(daemon->pause);

	return state->level == PAUSE_ALL || (state->level && !counts) ? state->text : NULL;
}

static int choose_backend(struct daemon *daemon)
{
	const struct backend_sink sink = {.drop = take_drop,
					  .journey = take_journey,
					  .slots = take_slots,
					  .busy = take_busy,
					  .userdata = daemon};
	struct backend_settings settings;
	int r;

	config_backend(&daemon->config, &settings);
	memcpy(settings.symbols, daemon->addresses, sizeof(settings.symbols));
	r = backend_open(&daemon->backend, &settings, &sink, daemon->names, daemon->backend_reason);
	if (r < 0 && daemon->backend_reason[0])
		log_error("%s", daemon->backend_reason);
	return r;
}

/* The clock goes on where the recording ends, before any timer counts on it. */
static int open_recording(struct daemon *daemon)
{
	struct backend_recording recording;
	int r = choose_backend(daemon);

	if (r < 0)
		return r;
	daemon->backend->ops->recording(daemon->backend, &recording);
	time_become(recording.last_ns, recording.realtime_ns);
	symbols_take(daemon->symbols, recording.symbols);
	records_forget_symbols(daemon->records);
	if (!recording.realtime_known)
		log_warning(
			"the recording does not say what time of day its clock was: times count from 1970-01-01T00:00:00Z");
	return 0;
}

static int open_backend(struct daemon *daemon)
{
	int fd, r = daemon->backend ? 0 : choose_backend(daemon);

	if (r < 0)
		return r;
	r = loop_add_timer(daemon->loop, &daemon->every_second, TIME_NS_PER_SECOND,
			   TIME_NS_PER_SECOND, on_every_second, daemon);
	if (r == 0)
		r = readings_new(&daemon->readings, daemon->loop, daemon->backend);
	if (r == 0)
		r = loop_add_timer(daemon->loop, &daemon->settle, RECORDS_PAUSE_NS, 0, on_settle,
				   daemon);
	if (r < 0)
		return r;
	daemon->settles = true;
	if (backend_is_none(daemon->backend)) {
		log_error("no probe can run: %s; serving status only", daemon->backend_reason);
		return 0;
	}
	r = loop_add_timer(daemon->loop, &daemon->housekeeping, HOUSEKEEPING_NS, HOUSEKEEPING_NS,
			   on_housekeeping, daemon);
	if (r < 0)
		return r;
	fd = daemon->backend->ops->fd(daemon->backend);
	if (fd < 0)
		return 0;
	return loop_add_fd(daemon->loop, &daemon->input, fd, LOOP_READ, on_input, daemon);
}

/* The log is a second source: without it, the probe still counts overflows. */
static int open_kmsg(struct daemon *daemon)
{
	int r = -ENOENT;

	strcpy(daemon->kmsg_reason, daemon->config.backend.replay
					    ? "a recording is shown, which does not have it"
					    : "slots.kmsg is empty");
	if (daemon->config.kmsg[0])
		r = kmsg_new(&daemon->kmsg, daemon->loop, daemon->config.kmsg, take_rocket, daemon,
			     daemon->kmsg_reason, sizeof(daemon->kmsg_reason));
	if (r < 0 && daemon->config.kmsg[0])
		log_warning("cannot compare the kernel's log with the slots probe: %s",
			    daemon->kmsg_reason);
	return r == -ENOMEM ? r : 0;
}

static int open_alerts(struct daemon *daemon)
{
	const struct alerts_parts parts = {
		.loop = daemon->loop,
		.backend = daemon->backend,
		.backend_reason = daemon->backend_reason,
		.readings = daemon->readings,
		.names = daemon->names,
		.attribution = daemon->attribution,
		.records = daemon->records,
		.disabled = daemon->config.backend.disabled,
		.rockets = daemon->kmsg ? daemon->rockets : NULL,
		.directory = daemon->config.alert_rules,
		.helper = daemon->helper,
		.paused = why_paused,
		.userdata = daemon,
		.interval_ns = daemon->config.alert_interval_ns,
	};

	return alerts_new(&daemon->alerts, &parts);
}

/* The history says what could not be seen in its time. */
static int describe_coverage(struct coverage *coverage, void *userdata)
{
	const struct daemon *daemon = userdata;

	*coverage = (struct coverage){0};
	return daemon->control ? control_coverage(daemon->control, NULL, coverage) : 0;
}

static struct collect_unseen unseen_since(uint64_t from_ns, void *userdata)
{
	const struct daemon *daemon = userdata;
	const struct seen_part seen = governor_seen(daemon->governor, from_ns);

	return (struct collect_unseen){.all_ns = seen.unseen_ns, .longest_ns = seen.longest_ns};
}

static int open_history(struct daemon *daemon)
{
	const struct history_settings settings = history_settings(daemon);
	const struct history_parts parts = {
		.loop = daemon->loop,
		.readings = daemon->readings,
		.sources = {.backend = daemon->backend,
			    .records = daemon->records,
			    .attribution = daemon->attribution},
		.coverage = describe_coverage,
		.unseen = unseen_since,
		.userdata = daemon,
	};

	int r = history_new(&daemon->history, &parts, &settings);

	/* A pause of an earlier run goes on. */
	if (r == 0 && pause_state(daemon->pause)->level == PAUSE_ALL)
		history_note(daemon->history, true, time_monotonic());
	return r;
}

/* The service manager may have made the socket (netflowd.socket). */
static int find_socket(struct daemon *daemon, int *listening)
{
	char path[sizeof(daemon->socket_path)], error[256];
	int r = activation_socket(listening, path, sizeof(path), error, sizeof(error));

	if (r < 0)
		log_error("%s", error);
	else if (*listening >= 0)
		strcpy(daemon->socket_path, path);
	return r;
}

/* When what is shown began. */
static uint64_t started_ns(const struct daemon *daemon)
{
	struct backend_recording recording;

	if (daemon->backend->ops->recording(daemon->backend, &recording))
		return recording.first_ns;
	return time_monotonic();
}

static int open_control(struct daemon *daemon, int listening)
{
	const struct control_parts parts = {
		.loop = daemon->loop,
		.sources =
			{
				.backend = daemon->backend,
				.backend_reason = daemon->backend_reason,
				.symbols_reason =
					daemon->symbols_reason[0] ? daemon->symbols_reason : NULL,
				.records = daemon->records,
				.readings = daemon->readings,
				.attribution = daemon->attribution,
				.rockets = daemon->rockets,
				.kmsg_reason = daemon->kmsg ? NULL : daemon->kmsg_reason,
				.slots_limit = (uint32_t)daemon->config.backend.slots.limit,
				.governor = daemon->governor,
				.history = daemon->history,
				.elsewhere = daemon->elsewhere,
				.pause = daemon->pause,
				.started_ns = started_ns(daemon),
			},
		.alerts = daemon->alerts,
		.limits = daemon->config.control,
		.socket_path = daemon->socket_path,
		/* A recording is its owner's. */
		.group = daemon->config.backend.replay ? NULL : "netflow",
		.listening = listening,
		.reload = reload,
		.reload_userdata = daemon,
	};
	int r = control_new(&daemon->control, &parts);

	if (r < 0)
		log_error("cannot listen on %s: %s", daemon->socket_path, strerror(-r));
	return r;
}

static int open_manager(struct daemon *daemon)
{
	const struct manager_parts parts = {
		.loop = daemon->loop,
		.backend = daemon->backend,
		.backend_reason = daemon->backend_reason,
		.readings = daemon->readings,
		.control = daemon->control,
		.pause = daemon->pause,
		.socket_path = daemon->socket_path,
	};

	return manager_new(&daemon->manager, &parts);
}

static int open_exports(struct daemon *daemon, const char *runtime_dir)
{
	const struct exports_parts parts = {
		.loop = daemon->loop,
		.backend = daemon->backend,
		.governor = daemon->governor,
		.readings = daemon->readings,
		.records = daemon->records,
		.attribution = daemon->attribution,
		.rockets = daemon->kmsg ? daemon->rockets : NULL,
		.alerts = daemon->alerts,
		.control = daemon->control,
		.history = daemon->history,
		.elsewhere = daemon->elsewhere,
		.reload_refused = &daemon->reload_refused,
		.pause = daemon->pause,
		.runtime_dir = runtime_dir,
		.socket_path = daemon->socket_path,
		.started_ns = time_monotonic(),
	};

	return exports_new(&daemon->exports, &parts, &daemon->config.exporter,
			   &daemon->config.lines);
}

static int start_alerts(struct daemon *daemon)
{
	const struct alert_clients clients = control_alert_clients(daemon->control);
	OWN_RULES struct alert_rules *rules = NULL;
	int r = alerts_set_alertmanager(daemon->alerts, &daemon->config.alertmanager);

	if (r == 0)
		r = alerts_read_rules(daemon->alerts, &rules);
	if (r == 0 && rules->faults) {
		alert_rules_log_faults(rules);
		return -EBADMSG;
	}
	return r < 0 ? r : alerts_start(daemon->alerts, &clients, &rules);
}

/* Slots records that netflowd keeps in memory: near misses and overflows are rare. */
#define SLOTS_RECENT 1024

static int open_stores(struct daemon *daemon)
{
	const struct config *config = &daemon->config;
	const size_t capacity[RECORDS_KINDS] = {
		[RECORDS_DROPS] = config->records_recent,
		[RECORDS_LATENCY] = config->records_recent,
		[RECORDS_SLOTS] = SLOTS_RECENT,
	};
	struct records_sources sources = {.names = daemon->names, .symbols = daemon->symbols};
	int r = attribution_new(&daemon->attribution, NULL);

	if (r < 0)
		return r;
	sources.attribution = daemon->attribution;
	r = records_new(&daemon->records, capacity, &sources);
	return r < 0 ? r : rockets_new(&daemon->rockets);
}

static int take_lock(struct daemon *daemon, const char *runtime_dir)
{
	char error[PATH_MAX + 256];

	daemon->lock = lock_take(runtime_dir, error, sizeof(error));
	if (daemon->lock < 0)
		log_error("%s", error);
	return daemon->lock < 0 ? daemon->lock : 0;
}

/* First, while the process is small and has all its privileges. */
static int start_helper(struct daemon *daemon)
{
	const char *user = daemon->config.alert_exec_user;
	int r = exec_child_helper(&daemon->helper, user);

	if (r == -ENOENT)
		log_error("alerts.exec_user = %s: there is no such user", user);
	else if (r < 0)
		log_error("cannot start the process that runs the programs of alerts: %s",
			  strerror(-r));
	return r;
}

/*
 * A live daemon gives up the rest when everything is open; one that serves a recording before it reads the file, which
 * may be hostile.  A kernel that refuses this leaves a daemon that works.
 */
static void give_up_privileges(int (*limit)(void))
{
	int r = limit();

	if (r < 0)
		log_warning(
			"cannot give up capabilities: %s; netflowd keeps those that it started with",
			strerror(-r));
	r = confine();
	if (r < 0)
		log_warning(
			"cannot filter system calls: %s; netflowd runs without a seccomp filter",
			strerror(-r));
}

static void cleanup_daemon(struct daemon **daemon)
{
	daemon_free(daemon);
}

#define OWN_DAEMON CLEANUP(cleanup_daemon)

static struct reading_unseen unseen_packets(void *userdata)
{
	const struct daemon *daemon = userdata;
	const struct governor_unseen unseen = governor_unseen(daemon->governor);

	return (struct reading_unseen){unseen.packets, unseen.undrawn, unseen.detached};
}

/* The first reading is where the counts begin. */
static int count_traffic(struct daemon *daemon)
{
	int r = readings_count_traffic(daemon->readings, "/proc", unseen_packets, daemon);

	if (r == 0)
		r = readings_take(daemon->readings, READING_BIT(TRAFFIC) | READING_BIT(COUNTERS));
	if (r < 0 && r != -ENOMEM) {
		log_warning("cannot read the kernel's counters of packets: %s", strerror(-r));
		return 0;
	}
	return r;
}

int daemon_new(struct daemon **daemon, const struct configuration *configuration,
	       const struct configuration_arguments *arguments, const char *runtime_dir,
	       const char *replay)
{
	OWN_DAEMON struct daemon *fresh = calloc(1, sizeof(*fresh));
	OWN_FD int listening = -1;
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->config = *configuration_values(configuration);
	if (replay)
		config_replay(&fresh->config, replay);
	fresh->arguments = arguments;
	fresh->lock = -1;
	if ((size_t)snprintf(fresh->socket_path, sizeof(fresh->socket_path), "%s/" SOCKET_NAME,
			     runtime_dir) >= sizeof(fresh->socket_path))
		return -ENAMETOOLONG;

	r = find_socket(fresh, &listening);
	if (r < 0)
		return r;
	r = take_lock(fresh, runtime_dir);
	if (r < 0)
		return r;
	r = replay ? 0 : start_helper(fresh);
	if (r < 0)
		return r;
	/*
	 * Rows of thousands of devices take MiB for some seconds.  In the heap they would leave holes, which glibc
	 * makes worse: whatever is freed once raises this limit.
	 */
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	/* Huge pages would round the daemon's memory up by many MiB.  The helper's programs may have them. */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	r = names_new(&fresh->names);
	if (r < 0)
		return r;
	if (!replay)
		learn_kernel();
	r = replay ? symbols_new(&fresh->symbols) : load_symbols(fresh);
	if (r < 0)
		return r;
	r = open_stores(fresh);
	if (r == 0 && replay) {
		give_up_privileges(privilege_limit_replay);
		r = open_recording(fresh);
	}
	if (r < 0)
		return r;
	r = start_loop(fresh);
	if (r < 0)
		return r;
	r = replay ? 0 : open_modules(fresh);
	if (r < 0)
		return r;
	r = open_backend(fresh);
	if (r < 0)
		return r;
	find_probes(fresh);
	r = open_governor(fresh);
	if (r < 0)
		return r;
	r = open_pause(fresh);
	if (r < 0)
		return r;
	r = open_kmsg(fresh);
	if (r < 0)
		return r;
	r = open_alerts(fresh);
	if (r < 0)
		return r;
	r = open_history(fresh);
	if (r < 0)
		return r;
	r = elsewhere_new(&fresh->elsewhere, fresh->loop);
	if (r < 0)
		return r;
	r = open_control(fresh, TAKE_FD(listening));
	if (r < 0)
		return r;
	r = open_manager(fresh);
	if (r < 0)
		return r;
	r = replay ? 0 : start_alerts(fresh);
	if (r == 0)
		r = open_exports(fresh, runtime_dir);
	if (r == 0)
		r = loop_add_signal(fresh->loop, &fresh->sighup, SIGHUP, on_sighup, fresh);
	if (r < 0)
		return r;
	/* Reading the kernel's types and symbols needed many MiB for a moment. */
	malloc_trim(0);
	if (!replay)
		give_up_privileges(privilege_limit);
	r = replay ? 0 : count_traffic(fresh);
	if (r < 0)
		return r;
	/* Their threads have no more privileges than the loop's. */
	history_start(fresh->history);
	r = elsewhere_start(fresh->elsewhere, fresh->config.elsewhere_interval_ns);
	if (r < 0)
		log_warning("cannot read the kernel's other counters of drops: %s", strerror(-r));
	*daemon = TAKE_PTR(fresh);
	return 0;
}

int daemon_run(struct daemon *daemon)
{
	int r = manager_ready(daemon->manager);

	if (r == 0)
		r = loop_run(daemon->loop);
	loop_notify("STOPPING=1");
	if (r < 0)
		log_error("the event loop failed: %s", strerror(-r));
	return r;
}

void daemon_free(struct daemon **daemon)
{
	struct daemon *d = *daemon;

	if (!d)
		return;
	exports_free(&d->exports);
	manager_free(&d->manager);
	history_free(&d->history);
	control_free(&d->control);
	elsewhere_free(&d->elsewhere);
	alerts_free(&d->alerts);
	worker_free(&d->worker);
	kmsg_free(&d->kmsg);
	modules_free(&d->modules);
	loop_source_free(&d->input);
	loop_source_free(&d->settle);
	loop_source_free(&d->every_second);
	loop_source_free(&d->housekeeping);
	readings_free(&d->readings);
	pause_free(&d->pause);
	governor_free(&d->governor);
	backend_free(&d->backend);
	loop_source_free(&d->sighup);
	loop_source_free(&d->sigint);
	loop_source_free(&d->sigterm);
	loop_free(&d->loop);
	rockets_free(&d->rockets);
	records_free(&d->records);
	attribution_free(&d->attribution);
	symbols_free(&d->symbols);
	symbols_free(&d->fresh);
	names_free(&d->names);
	helper_free(&d->helper);
	cleanup_close(&d->lock);
	free(d);
	*daemon = NULL;
}
