/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In place of libbpf's header: the kernel's structs are those of bpf/kernel.h,
 * and a test decides which of their fields, sizes and values the kernel has.
 */
#ifndef STAND_IN_BPF_CORE_READ_H
#define STAND_IN_BPF_CORE_READ_H

#include "tests/unit/bpf/stand_in.h"

#define bpf_core_field_exists(field) stand_in_has(#field)
#define bpf_core_type_size(type) stand_in_number(#type, sizeof(type))
#define bpf_core_field_offset(type, field) offsetof(type, field)
#define bpf_core_enum_value(type, value) stand_in_number(#value, value)
#define bpf_core_enum_value_exists(type, value) stand_in_has(#value)
#define bpf_core_type_id_kernel(type) 0

/* One step: 0 if the memory is not readable, as in the kernel. */
#define STAND_IN_STEP(from, field)                                                          \
	({                                                                                  \
		__typeof__((from)->field) stand_in_value;                                   \
		stand_in_read((void *)&stand_in_value, sizeof(stand_in_value),              \
			      (const char *)(from) + offsetof(__typeof__(*(from)), field)); \
		stand_in_value;                                                             \
	})
#define STAND_IN_READ_1(from, a) STAND_IN_STEP(from, a)
#define STAND_IN_READ_2(from, a, b)                                            \
	({                                                                     \
		__typeof__((from)->a) stand_in_first = STAND_IN_STEP(from, a); \
		STAND_IN_STEP(stand_in_first, b);                              \
	})
#define STAND_IN_READ_3(from, a, b, c)                                                  \
	({                                                                              \
		__typeof__((from)->a->b) stand_in_second = STAND_IN_READ_2(from, a, b); \
		STAND_IN_STEP(stand_in_second, c);                                      \
	})
#define STAND_IN_READ_4(from, a, b, c, d)                                                    \
	({                                                                                   \
		__typeof__((from)->a->b->c) stand_in_third = STAND_IN_READ_3(from, a, b, c); \
		STAND_IN_STEP(stand_in_third, d);                                            \
	})
#define STAND_IN_PICK(a, b, c, d, macro, ...) macro
#define BPF_CORE_READ(from, ...)                                                      \
	STAND_IN_PICK(__VA_ARGS__, STAND_IN_READ_4, STAND_IN_READ_3, STAND_IN_READ_2, \
		      STAND_IN_READ_1, )                                              \
	(from, __VA_ARGS__)
#define NF_WALK BPF_CORE_READ
#define BPF_CORE_READ_STR_INTO(to, from, field) \
	stand_in_read_string(to, sizeof(*(to)), \
			     (const char *)(from) + offsetof(__typeof__(*(from)), field))
#define BPF_CORE_READ_BITFIELD_PROBED(from, field) ((from)->field)
#define BPF_CORE_READ_BITFIELD(from, field) ((from)->field)

#endif
