/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/default_config.h"

#include <string.h>

#include "common/wrap.h"
#include "daemon/configuration.h"
#include "daemon/settings.h"

#define WIDTH 100 /* characters of a line */

static const char opening[] =
	"# SPDX-License-Identifier: GPL-2.0-or-later\n"
	"#\n"
	"# The configuration of netflowd: every setting, with its default in a comment.  To change a\n"
	"# setting, remove the # before it and edit its value.  An upgrade never conflicts with files of\n"
	"# your own in " CONFIGURATION_FILE ".d (NAME.conf, with a line [SECTION]\n"
	"# before the settings), which netflowd reads after this one.\n"
	"#\n"
	"# netflowd --check-config    checks all files\n"
	"# netflowctl reload          puts new values in force; it names those that need a restart\n"
	"# netflowd --print-config    prints the value of every setting and where it comes from\n"
	"#\n"
	"# A duration has a unit, ns, us, ms, s, min, h or d, as in 1.5s or 1h30m; a size can have one, as in\n"
	"# 64MiB.  See netflowd.conf(5).\n";

static const char experts[] = "\n# ---- for experts: hardly any host needs other values ----\n";

static void print_comment(FILE *to, const char *text)
{
	fputs("# ", to);
	wrap_text(to, text, 2, "# ", WIDTH);
}

static void print_values(FILE *to, const struct setting *setting)
{
	struct setting_values values = setting_values(setting);
	char text[SETTING_VALUES_MAX + 128];

	snprintf(text, sizeof(text), "Must be %s; %s.", values.s,
		 setting->live ? "changes on a reload" : "a change needs a restart");
	print_comment(to, text);
}

void default_config_print(FILE *to)
{
	fputs(opening, to);
	for (size_t i = 0; i < setting_count; i++) {
		const struct setting *setting = &setting_table[i];
		const char *dot = strchr(setting->key, '.');

		if (setting->expert && !setting_table[i - 1].expert)
			fputs(experts, to);
		if (setting_begins_section(i))
			fprintf(to, "\n[%.*s]\n", (int)(dot - setting->key), setting->key);
		fputc('\n', to);
		print_comment(to, setting->help);
		print_values(to, setting);
		fprintf(to, "#%s =%s%s\n", dot + 1, setting->initial[0] ? " " : "",
			setting->initial);
	}
}
