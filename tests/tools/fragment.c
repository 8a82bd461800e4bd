/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fragments the machine's free memory until many single pages are free, but no block of 8 or more
 * contiguous pages.  Then it prints one line, and keeps memory in that state until standard input
 * ends:
 *   pages
 * which is the number of free pages.
 *
 * It allocates the free pages and frees every second one, by page frame number: the buddy of each
 * freed page stays allocated, so the freed page cannot become part of a larger block.  Some blocks
 * cannot be allocated this way, because the kernel reserves them for its own types of allocations.
 * They go into the queue of a Unix socket, which allocates blocks of 32 KiB (UNIX_SKB_FRAGS_SZ), or
 * 8 pages on x86.  A failed search for such a block wakes kswapd and kcompactd, which make new
 * blocks; those go into the queue, too.
 *
 * The pages are locked, and with vm.compact_unevictable_allowed=0 they stay where they are.  The
 * program ignores ZONE_DMA, 16 MiB that the kernel uses last: see vm.lowmem_reserve_ratio.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/array.h"

#define BLOCK_ORDER 3 /* no block of 2^BLOCK_ORDER pages may stay free */
/* Stays free during the allocation, so that other processes have memory until pages are freed. */
#define SPARE_MIB 8
#define BLOCK (32U << 10)
#define QUEUE_MAX (256 << 20) /* bytes; the kernel doubles this value */
#define LOOK_MS 5	      /* interval at which the program looks for new blocks */

#define PAGEMAP_PRESENT (UINT64_C(1) << 63)
#define PAGEMAP_PFN ((UINT64_C(1) << 55) - 1)

static size_t page;

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		err(1, "%s", path);
	close(fd);
}

/* The number of free pages in blocks of 2^order pages or more, without those of ZONE_DMA. */
static uint64_t free_pages(unsigned int order)
{
	FILE *file = fopen("/proc/buddyinfo", "re");
	char line[512], zone[32];
	uint64_t pages = 0;
	int at;

	if (!file)
		err(1, "/proc/buddyinfo");
	while (fgets(line, sizeof(line), file)) {
		char *rest = line, *next;

		if (sscanf(line, "Node %*d, zone %31s%n", zone, &at) != 1)
			errx(1, "unexpected line in /proc/buddyinfo: %s", line);
		if (!strcmp(zone, "DMA"))
			continue;
		rest += at;
		for (unsigned int o = 0; *rest != '\n'; o++, rest = next + strspn(next, " ")) {
			uint64_t blocks = strtoull(rest, &next, 10);

			pages += o >= order ? blocks << o : 0;
		}
	}
	fclose(file);
	return pages;
}

/* Allocates all free memory but SPARE_MIB in single, locked pages. */
static uint8_t *take(size_t *size)
{
	uint64_t pages = free_pages(0), spare = ((uint64_t)SPARE_MIB << 20) / page;
	uint8_t *memory;

	if (pages <= spare)
		errx(1, "only %" PRIu64 " pages are free; more than %" PRIu64 " are needed", pages,
		     spare);
	*size = (size_t)(pages - spare) * page;
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		err(1, "PR_SET_THP_DISABLE");
	memory = mmap(NULL, *size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED)
		err(1, "mmap of %zu bytes", *size);
	return memory;
}

static void free_every_second(uint8_t *memory, size_t size)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entries[512];

	if (pagemap < 0)
		err(1, "/proc/self/pagemap");
	for (size_t at = 0; at < size; at += ARRAY_SIZE(entries) * page) {
		off_t offset = (off_t)((uintptr_t)(memory + at) / page * sizeof(entries[0]));
		ssize_t n = pread(pagemap, entries, sizeof(entries), offset);

		if (n < 0)
			err(1, "/proc/self/pagemap");
		for (size_t i = 0; i < (size_t)n / sizeof(entries[0]); i++) {
			size_t here = at + i * page;

			if (here < size && entries[i] & PAGEMAP_PRESENT &&
			    entries[i] & PAGEMAP_PFN & 1 &&
			    madvise(memory + here, page, MADV_DONTNEED_LOCKED))
				err(1, "MADV_DONTNEED_LOCKED");
		}
	}
	close(pagemap);
}

/* A socket whose other end is never read, so that sent data keeps its memory. */
static int queue_new(void)
{
	int ends[2], most = QUEUE_MAX;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) ||
	    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUFFORCE, &most, sizeof(most)))
		err(1, "socketpair");
	return ends[0];
}

static void use_up_blocks(int queue)
{
	static const uint8_t nothing[2 * BLOCK];

	while (free_pages(BLOCK_ORDER))
		if (send(queue, nothing, sizeof(nothing), MSG_DONTWAIT) < 0)
			err(1, "%" PRIu64 " pages are still free in large blocks",
			    free_pages(BLOCK_ORDER));
}

int main(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	uint8_t *memory;
	size_t size;
	int queue;

	page = (size_t)sysconf(_SC_PAGESIZE);
	/* If memory runs out, the kernel should kill this program first. */
	put("/proc/self/oom_score_adj", "1000");
	memory = take(&size);
	free_every_second(memory, size);
	queue = queue_new();
	use_up_blocks(queue);
	printf("%" PRIu64 "\n", free_pages(0));
	fflush(stdout);
	while (poll(&input, 1, LOOK_MS) == 0)
		use_up_blocks(queue);
	return 0;
}
