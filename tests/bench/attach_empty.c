/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attaches the empty programs of the named events, and no others, until its standard input ends.
 *
 * Usage: attach_empty OBJECT EVENT...
 *
 * Prints "ready" when all are attached, then reads these commands from standard input:
 *   measure   enable the kernel's BPF statistics and print "measuring"; the statistics cost time
 *             themselves, so the benchmark enables them only for floods that it does not compare
 *   report    disable the statistics, print one line "EVENT RUNS NANOSECONDS" per program, counted
 *             since `measure`, then "end"
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "common/cleanup.h"

#define PREFIX "empty_"

struct runs {
	__u64 count;
	__u64 ns;
};

struct hook {
	const char *event;
	struct bpf_program *program;
	struct bpf_link *link;
	struct runs before;
};

static int find_programs(struct bpf_object *object, struct hook *hooks, int n)
{
	struct bpf_program *program;
	char name[64];

	bpf_object__for_each_program(program, object) bpf_program__set_autoload(program, false);
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), PREFIX "%s", hooks[i].event);
		hooks[i].program = bpf_object__find_program_by_name(object, name);
		if (!hooks[i].program) {
			warnx("the object has no empty program for event %s", hooks[i].event);
			return -ENOENT;
		}
		bpf_program__set_autoload(hooks[i].program, true);
	}
	return 0;
}

static int attach(struct hook *hooks, int n)
{
	for (int i = 0; i < n; i++) {
		hooks[i].link = bpf_program__attach(hooks[i].program);
		if (!hooks[i].link) {
			int r = -errno;

			warn("cannot attach to %s", hooks[i].event);
			return r;
		}
	}
	return 0;
}

static int read_runs(const struct bpf_program *program, struct runs *ret)
{
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
		return -errno;
	*ret = (struct runs){.count = info.run_cnt, .ns = info.run_time_ns};
	return 0;
}

static void stats_off(int *stats_fd)
{
	if (*stats_fd >= 0)
		close(*stats_fd);
	*stats_fd = -1;
}

static int measure(struct hook *hooks, int n, int *stats_fd)
{
	stats_off(stats_fd);
	for (int i = 0; i < n; i++) {
		int r = read_runs(hooks[i].program, &hooks[i].before);

		if (r < 0)
			return r;
	}
	*stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (*stats_fd < 0)
		return -errno;
	puts("measuring");
	return 0;
}

static int report(const struct hook *hooks, int n, int *stats_fd)
{
	struct runs now;

	stats_off(stats_fd);
	for (int i = 0; i < n; i++) {
		int r = read_runs(hooks[i].program, &now);

		if (r < 0)
			return r;
		printf("%s %llu %llu\n", hooks[i].event, now.count - hooks[i].before.count,
		       now.ns - hooks[i].before.ns);
	}
	puts("end");
	return 0;
}

static int serve(struct hook *hooks, int n)
{
	OWN_FD int stats_fd = -1;
	char line[32];
	int r = 0;

	puts("ready");
	while (r >= 0 && fflush(stdout) == 0 && fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "measure\n"))
			r = measure(hooks, n, &stats_fd);
		else if (!strcmp(line, "report\n"))
			r = report(hooks, n, &stats_fd);
		else
			warnx("unknown command (measure or report expected): %s", line);
	}
	if (r < 0)
		warnx("BPF statistics: %s", strerror(-r));
	return r;
}

int main(int argc, char **argv)
{
	struct bpf_object *object;
	OWN_FREE struct hook *hooks = NULL;
	int n = argc - 2, r;

	if (n < 1)
		errx(2, "usage: attach_empty OBJECT EVENT...");
	hooks = calloc((size_t)n, sizeof(*hooks));
	if (!hooks)
		err(1, "calloc");
	for (int i = 0; i < n; i++)
		hooks[i].event = argv[i + 2];

	object = bpf_object__open_file(argv[1], NULL);
	if (!object)
		err(1, "%s", argv[1]);
	r = find_programs(object, hooks, n);
	if (r == 0)
		r = bpf_object__load(object);
	if (r == 0)
		r = attach(hooks, n);
	if (r == 0)
		r = serve(hooks, n);

	for (int i = n - 1; i >= 0; i--)
		bpf_link__destroy(hooks[i].link);
	bpf_object__close(object);
	return r < 0 ? 1 : 0;
}
