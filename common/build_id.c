/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/build_id.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Names and descriptors of a note are padded to its segment's alignment: 4, or 8 for some GNU properties. */
static size_t padded(size_t size, size_t align)
{
	return (size + align - 1) / align * align;
}

static void put_hex(struct build_id *id, const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count && 2 * i + 2 < sizeof(id->s); i++)
		snprintf(id->s + 2 * i, 3, "%02x", bytes[i]);
}

static void search_notes(struct build_id *id, const uint8_t *notes, size_t size, size_t align)
{
	while (size >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) header;
		const uint8_t *name = notes + sizeof(header);
		size_t name_size, whole;

		memcpy(&header, notes, sizeof(header));
		name_size = padded(header.n_namesz, align);
		whole = sizeof(header) + name_size + padded(header.n_descsz, align);
		if (whole > size)
			return;
		if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU))) {
			put_hex(id, name + name_size, header.n_descsz);
			return;
		}
		notes += whole;
		size -= whole;
	}
}

/* The first object that dl_iterate_phdr() visits is the program itself. */
static int visit(struct dl_phdr_info *object, size_t size, void *data)
{
	struct build_id *id = data;

	(void)size;
	for (size_t i = 0; i < object->dlpi_phnum && !id->s[0]; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		uintptr_t at = object->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_NOTE)
			search_notes(id, (const uint8_t *)at, segment->p_memsz,
				     segment->p_align == 8 ? 8 : 4);
	}
	return 1;
}

struct build_id build_id(void)
{
	struct build_id id = {""};

	dl_iterate_phdr(visit, &id);
	return id;
}
