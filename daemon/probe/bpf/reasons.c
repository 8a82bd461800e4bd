/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The running kernel's names of drop reasons, from its BTF.
 *
 * The reasons of the core are in enum skb_drop_reason.  Since 6.4 (071c0fc6fb91)
 * the upper 16 bits of a reason are its subsystem, a value of enum
 * skb_drop_reason_subsys.  The reasons of a subsystem are in an enum of their own,
 * in the kernel's BTF or in that of the subsystem's module.
 */
#include "daemon/probe/bpf/reasons.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "daemon/core/names.h"
#include "daemon/probe/bpf/internal.h"

#define MODULE_BTF_DIRECTORY "/sys/kernel/btf"

static void cleanup_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

#define OWN_DIR CLEANUP(cleanup_dir)

static const char *enum_value_name(const struct btf *btf, const struct btf_enum *value)
{
	return btf__name_by_offset(btf, value->name_off);
}

/* Add the values of an enum that belong to the core (`core`), or those of all other subsystems. */
static int add_values(struct names *names, const struct btf *btf, const struct btf_type *type,
		      bool core)
{
	const struct btf_enum *value = btf_enum(type);
	int r;

	for (int i = 0; i < btf_vlen(type); i++, value++) {
		uint32_t number = (uint32_t)value->val;

		if (core != (number >> 16 == 0))
			continue;
		r = names_add_reason(names, number, enum_value_name(btf, value));
		if (r == -ENOMEM)
			return r;
	}
	return 0;
}

static bool is_drop_reason_enum(const struct btf *btf, const struct btf_type *type)
{
	const char *name = btf__name_by_offset(btf, type->name_off);

	return btf_kind(type) == BTF_KIND_ENUM && name && strstr(name, "drop_reason") &&
	       strcmp(name, "skb_drop_reason") && strcmp(name, "skb_drop_reason_subsys");
}

/* Add the reasons of subsystems, from the enums of which the type id is at least `first`. */
static int add_subsystem_enums(struct names *names, const struct btf *btf, __u32 first)
{
	int r;

	for (__u32 id = first; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);

		if (!is_drop_reason_enum(btf, type))
			continue;
		r = add_values(names, btf, type, false);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Whether a module has reasons that are not yet known: its name is the beginning of a
 * subsystem's name (mac80211, mac80211_unusable), and none of its subsystems has reasons yet.
 */
static bool has_new_reasons(const struct names *names, const char *module)
{
	bool found = false;

	for (uint32_t id = 1; id < NAMES_SUBSYSTEMS_MAX; id++) {
		const char *name = names_subsystem(names, id << 16);

		if (!name || strncmp(name, module, strlen(module)) != 0)
			continue;
		if (names_has_reasons(names, id << 16))
			return false;
		found = true;
	}
	return found;
}

int bpf_reasons_of_modules(struct names *names, const struct btf *kernel)
{
	OWN_BTF struct btf *own = NULL;
	OWN_DIR DIR *directory = opendir(MODULE_BTF_DIRECTORY);
	struct dirent *entry;
	int r;

	while (directory && (entry = readdir(directory))) {
		OWN_BTF struct btf *module = NULL;

		if (!has_new_reasons(names, entry->d_name))
			continue;
		if (!kernel)
			kernel = own = btf__load_vmlinux_btf();
		if (!kernel)
			return -errno;
		module = btf__load_module_btf(entry->d_name, (struct btf *)kernel);
		if (!module)
			continue;
		r = add_subsystem_enums(names, module, btf__type_cnt(kernel));
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_subsystems(struct names *names, const struct btf *kernel)
{
	int id = btf__find_by_name_kind(kernel, "skb_drop_reason_subsys", BTF_KIND_ENUM);
	const struct btf_type *type;
	const struct btf_enum *value;
	int r;

	if (id <= 0)
		return 0;
	type = btf__type_by_id(kernel, (__u32)id);
	value = btf_enum(type);
	for (int i = 0; i < btf_vlen(type); i++) {
		r = names_add_subsystem(names, (uint16_t)value[i].val,
					enum_value_name(kernel, &value[i]));
		if (r == -ENOMEM)
			return r;
	}
	r = add_subsystem_enums(names, kernel, 1);
	return r < 0 ? r : bpf_reasons_of_modules(names, kernel);
}

int bpf_reasons_read(struct names *names, const struct btf *kernel)
{
	int id = btf__find_by_name_kind(kernel, "skb_drop_reason", BTF_KIND_ENUM);
	int r;

	if (id > 0) {
		r = add_values(names, kernel, btf__type_by_id(kernel, (__u32)id), true);
		if (r < 0)
			return r;
	}
	return add_subsystems(names, kernel);
}

int bpf_reasons_of_kernel(struct names *names)
{
	OWN_BTF struct btf *kernel = btf__load_vmlinux_btf();
	int r;

	if (!kernel)
		return -errno;
	r = bpf_reasons_read(names, kernel);
	return r < 0 ? r : names_has_reasons(names, 0) ? 0 : -ENOENT;
}
