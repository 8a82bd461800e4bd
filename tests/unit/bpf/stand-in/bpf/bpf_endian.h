/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In place of libbpf's header. */
#ifndef STAND_IN_BPF_ENDIAN_H
#define STAND_IN_BPF_ENDIAN_H

#include <endian.h>

#define bpf_ntohs(number) be16toh(number)
#define bpf_htons(number) htobe16(number)
#define bpf_ntohl(number) be32toh(number)
#define bpf_htonl(number) htobe32(number)

#endif
