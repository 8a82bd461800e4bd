/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/configuration.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <ini.h>

#include "daemon/settings.h"

#define DROP_IN_SUFFIX ".d"

enum origin { DEFAULT, IN_FILE, COMMAND_LINE };

/* What set a setting. */
struct source {
	enum origin origin;
	const char *file; /* of the configuration's files */
	unsigned int line;
};

struct configuration {
	struct config values;
	struct source *source; /* one per setting */
	char **file;
	size_t files;
};

/* ---- one file ------------------------------------------------------------ */

struct file {
	struct configuration *to;
	FILE *stream;
	const char *path;
	unsigned int line; /* the one that was read last, from 1 */
	int result;
	unsigned int refused; /* the line of the setting that was refused */
	char *error;
};

/* Keeps only the first error. */
static void refuse_line(struct file *file, int result, const char *why)
{
	if (file->result < 0)
		return;
	file->result = result;
	file->refused = file->line;
	snprintf(file->error, CONFIG_ERROR_MAX, "%.200s:%u: %.250s", file->path, file->line, why);
}

/*
 * Skip the rest of a line that does not fit; inih would read it as a line of its own, or from release 58 on refuse a
 * line without an end.  Comments can have any length.
 */
static void skip_rest(struct file *file, char *line, int size)
{
	char why[128];
	int c;

	do
		c = fgetc(file->stream);
	while (c != EOF && c != '\n');
	line[size - 2] = '\n';
	snprintf(why, sizeof(why),
		 "the line has more than %d characters; a longer value can be given with --set",
		 size - 2);
	if (!strchr("#;", line[strspn(line, " \t")]))
		refuse_line(file, -EINVAL, why);
}

/*
 * inih does not say in which line a pair is, so its lines are counted here.  It would add an indented line to the value
 * before it; settings have no such values, so blanks at the begin mean nothing, as in the files of systemd.
 */
static char *read_line(char *line, int size, void *userdata)
{
	struct file *file = userdata;
	size_t length, blanks;

	if (!fgets(line, size, file->stream))
		return NULL;
	file->line++;
	length = strlen(line);
	if (length + 1 == (size_t)size && line[length - 1] != '\n' && !feof(file->stream))
		skip_rest(file, line, size);
	blanks = strspn(line, " \t");
	memmove(line, line + blanks, length + 1 - blanks);
	return line;
}

/* inih's convention: 1 is success, 0 an error.  Only the first error is kept. */
static int take_pair(void *userdata, const char *section, const char *name, const char *value)
{
	struct file *file = userdata;
	char key[CONFIG_KEY_MAX], why[CONFIG_ERROR_MAX];
	size_t setting;

	int r;

	if (file->result < 0)
		return 0;
	snprintf(key, sizeof(key), "%s.%s", section, name);
	if (*section) {
		r = config_set_key(&file->to->values, key, value, &setting, why);
	} else {
		snprintf(why, sizeof(why), "%.100s is before the first [section]", name);
		r = -EINVAL;
	}
	if (r < 0) {
		refuse_line(file, r, why);
		return 0;
	}
	file->to->source[setting] =
		(struct source){.origin = IN_FILE, .file = file->path, .line = file->line};
	return 1;
}

static int cannot_read(const char *path, int error_number, char *error)
{
	snprintf(error, CONFIG_ERROR_MAX, "cannot read %.300s: %s", path, strerror(error_number));
	return -error_number;
}

/* Keep the path for as long as settings refer to it. */
static const char *keep_path(struct configuration *configuration, const char *path)
{
	char **more = reallocarray(configuration->file, configuration->files + 1, sizeof(*more));
	char *copy = strdup(path);

	if (more)
		configuration->file = more;
	if (!more || !copy) {
		free(copy);
		return NULL;
	}
	configuration->file[configuration->files++] = copy;
	return copy;
}

static int parse_stream(struct file *file)
{
	int line, error;

	errno = 0;
	line = ini_parse_stream(read_line, file, take_pair, file);
	error = errno;
	if (ferror(file->stream))
		return cannot_read(file->path, error ? error : EIO, file->error);
	/* inih goes on after a broken line, and returns the number of the first. */
	if (line == 0 || (file->result < 0 && (unsigned int)line >= file->refused))
		return file->result;
	snprintf(file->error, CONFIG_ERROR_MAX, "%.200s:%d: must be [section] or key = value",
		 file->path, line);
	return -EINVAL;
}

/* A file that does not exist, and need not, sets nothing. */
static int read_file(struct configuration *configuration, const char *path, bool needed,
		     char *error)
{
	struct file file = {.to = configuration, .error = error};
	int r;

	file.stream = fopen(path, "re");
	if (!file.stream && errno == ENOENT && !needed)
		return 0;
	if (!file.stream)
		return cannot_read(path, errno, error);
	file.path = keep_path(configuration, path);
	r = file.path ? parse_stream(&file) : -ENOMEM;
	fclose(file.stream);
	return r;
}

/* ---- drop-ins ------------------------------------------------------------ */

static int is_drop_in(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && dot && !strcmp(dot, ".conf");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int read_drop_in(struct configuration *configuration, const char *directory,
			const char *name, char *error)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, name) >= sizeof(path))
		return cannot_read(name, ENAMETOOLONG, error);
	return read_file(configuration, path, true, error);
}

static int read_drop_ins(struct configuration *configuration, const char *path, char *error)
{
	char directory[PATH_MAX];
	struct dirent **entries;
	int count, r = 0;

	if ((size_t)snprintf(directory, sizeof(directory), "%s" DROP_IN_SUFFIX, path) >=
	    sizeof(directory))
		return cannot_read(path, ENAMETOOLONG, error);
	count = scandir(directory, &entries, is_drop_in, by_name);
	if (count < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0
							   : cannot_read(directory, errno, error);
	for (int i = 0; i < count; i++) {
		if (r == 0)
			r = read_drop_in(configuration, directory, entries[i]->d_name, error);
		free(entries[i]);
	}
	free(entries);
	return r;
}

static int read_with_drop_ins(struct configuration *configuration, const char *path, bool needed,
			      char *error)
{
	int r = read_file(configuration, path, needed, error);

	return r < 0 ? r : read_drop_ins(configuration, path, error);
}

/* ---- all sources --------------------------------------------------------- */

static int read_files(struct configuration *configuration,
		      const struct configuration_arguments *arguments, char *error)
{
	int r = 0;

	if (!arguments->files)
		return read_with_drop_ins(configuration, CONFIGURATION_FILE, false, error);
	for (size_t i = 0; r == 0 && i < arguments->files; i++)
		r = read_with_drop_ins(configuration, arguments->file[i], true, error);
	return r;
}

static int set(struct configuration *configuration, const char *assignment, char *error)
{
	size_t setting;
	int r = config_set(&configuration->values, assignment, &setting, error);

	if (r == 0)
		configuration->source[setting] = (struct source){.origin = COMMAND_LINE};
	return r;
}

static int place_pause_file(struct config *values, const struct configuration_arguments *arguments,
			    char *error)
{
	const char *file = arguments->files ? arguments->file[0] : CONFIGURATION_FILE;
	const char *slash = strrchr(file, '/');
	int length =
		snprintf(values->pause_file, sizeof(values->pause_file), "%.*s" CONFIGURATION_PAUSE,
			 slash ? (int)(slash + 1 - file) : 0, file);

	return (size_t)length < sizeof(values->pause_file) ? 0
							   : cannot_read(file, ENAMETOOLONG, error);
}

int configuration_read(struct configuration **configuration,
		       const struct configuration_arguments *arguments, char *error)
{
	OWN_CONFIGURATION struct configuration *new = calloc(1, sizeof(*new));
	int r;

	snprintf(error, CONFIG_ERROR_MAX, "%s", strerror(ENOMEM));
	if (!new)
		return -ENOMEM;
	new->source = calloc(setting_count, sizeof(new->source[0]));
	if (!new->source)
		return -ENOMEM;
	config_init(&new->values);
	r = place_pause_file(&new->values, arguments, error);
	if (r == 0)
		r = read_files(new, arguments, error);
	for (size_t i = 0; r == 0 && i < arguments->sets; i++)
		r = set(new, arguments->set[i], error);
	if (r < 0)
		return r;
	*configuration = TAKE_PTR(new);
	return 0;
}

void configuration_free(struct configuration **configuration)
{
	struct configuration *old = *configuration;

	if (!old)
		return;
	for (size_t i = 0; i < old->files; i++)
		free(old->file[i]);
	free(old->file);
	free(old->source);
	free(old);
	*configuration = NULL;
}

const struct config *configuration_values(const struct configuration *configuration)
{
	return &configuration->values;
}

size_t configuration_files(const struct configuration *configuration)
{
	return configuration->files;
}

void configuration_apply(const struct configuration *configuration, struct config *running,
			 void (*visit)(const struct setting *setting, bool live, void *userdata),
			 void *userdata)
{
	for (size_t i = 0; i < setting_count; i++) {
		const struct setting *setting = &setting_table[i];

		if (config_same(running, &configuration->values, setting))
			continue;
		if (setting->live)
			config_copy(running, &configuration->values, setting);
		visit(setting, setting->live, userdata);
	}
}

/* ---- printing ------------------------------------------------------------ */

static void print_source(const struct source *source, FILE *to)
{
	switch (source->origin) {
	case DEFAULT:
		fprintf(to, "# default\n");
		break;
	case IN_FILE:
		fprintf(to, "# %s:%u\n", source->file, source->line);
		break;
	case COMMAND_LINE:
		fprintf(to, "# --set\n");
		break;
	}
}

void configuration_print(const struct configuration *configuration, FILE *to)
{
	for (size_t i = 0; i < setting_count; i++) {
		const char *key = setting_table[i].key, *dot = strchr(key, '.');

		if (setting_begins_section(i))
			fprintf(to, "%s[%.*s]\n", i ? "\n" : "", (int)(dot - key), key);
		print_source(&configuration->source[i], to);
		fprintf(to, "%s = ", dot + 1);
		config_print_value(&configuration->values, &setting_table[i], to);
		fputc('\n', to);
	}
}
