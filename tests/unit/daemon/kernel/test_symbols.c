/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "daemon/kernel/symbols.h"
#include "tests/unit/test.h"

static struct symbols *symbols;

static int start(void **state)
{
	(void)state;
	return symbols_new(&symbols);
}

static int stop(void **state)
{
	(void)state;
	symbols_free(&symbols);
	return symbols != NULL;
}

EACH_TEST(start, stop);

static void write_file(char *path, const char *text)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Loads `text` as the contents of /proc/kallsyms. */
static int load_with(const char *text, const char *modules)
{
	char path[] = "/tmp/test_symbols_XXXXXX";
	int r;

	write_file(path, text);
	r = symbols_load(symbols, path, modules);
	unlink(path);
	return r;
}

static int load(const char *text)
{
	return load_with(text, NULL);
}

static const char *at(uint64_t address)
{
	static char text[SYMBOLS_TEXT_MAX];

	symbols_format(symbols, address, text, sizeof(text));
	return text;
}

static const char kernel[] = "0000000000000000 A fixed_percpu_data\n"
			     "ffffffff81000000 T _text\n"
			     "ffffffff81000000 T _stext\n"
			     "ffffffff81000100 t __pfx_udp_rcv\n"
			     "ffffffff81000110 T udp_rcv\n"
			     "ffffffff81000200 W weak_one\n"
			     "ffffffff81000300 t $x\n"
			     "ffffffff81000400 w weak_two\n"
			     "ffffffff81800000 T far_one\n"
			     "ffffffff82000000 R some_data\n"
			     "ffffffff82000100 D more_data\n"
			     "ffffffff83000000 t __init_one\n"
			     "ffffffff83000080 d after_init\n"
			     "ffffffffc0201000 t nft_do_chain\t[nf_tables]\n"
			     "ffffffffc0100000 t veth_xmit\t[veth]\n"
			     "ffffffffc0100080 r veth_data\t[veth]\n"
			     "ffffffffc0300000 t bpf_prog_6deef7357e7b4530_nf\t[bpf]\n";

TEST(test_functions)
{
	assert_int_equal(load(kernel), 0);
	assert_int_equal(symbols_count(symbols), 9);
	assert_string_equal(at(0xffffffff81000000), "_text+0x0");
	assert_string_equal(at(0xffffffff81000110), "udp_rcv+0x0");
	assert_string_equal(at(0xffffffff8100012f), "udp_rcv+0x1f");
	assert_string_equal(at(0xffffffff810001ff), "udp_rcv+0xef");
	assert_string_equal(at(0xffffffff81000200), "weak_one+0x0");
	assert_string_equal(at(0xffffffff810003ff), "weak_one+0x1ff");
	assert_string_equal(at(0xffffffff81000400), "weak_two+0x0");
}

TEST(test_modules)
{
	assert_int_equal(load(kernel), 0);
	assert_string_equal(at(0xffffffffc020103c), "nft_do_chain+0x3c [nf_tables]");
	assert_string_equal(at(0xffffffffc0100004), "veth_xmit+0x4 [veth]");
	/* the last entry of the file has a module, too */
	assert_string_equal(at(0xffffffffc0300010), "bpf_prog_6deef7357e7b4530_nf+0x10 [bpf]");
	assert_string_equal(at(0xffffffffc03fffff), "bpf_prog_6deef7357e7b4530_nf+0xfffff [bpf]");
}

TEST(test_not_text)
{
	assert_int_equal(load(kernel), 0);
	assert_string_equal(at(0), "0x0");
	assert_string_equal(at(1), "0x1");
	assert_string_equal(at(0xffffffff80ffffff), "0xffffffff80ffffff");
	/* a data symbol ends the text before it */
	assert_string_equal(at(0xffffffff82000000), "0xffffffff82000000");
	assert_string_equal(at(0xffffffff82000123), "0xffffffff82000123");
	assert_string_equal(at(0xffffffff8300007f), "__init_one+0x7f");
	assert_string_equal(at(0xffffffff83000080), "0xffffffff83000080");
	assert_string_equal(at(0xffffffffffffffff), "0xffffffffffffffff");
}

TEST(test_wanted)
{
	static const char *const names[] = {"udp_rcv", "some_data", "veth_data",	"not_there",
					    "net_tx",  "udp_table", "fixed_percpu_data"};
	static const uint64_t expected[] = {0xffffffff81000110,
					    0xffffffff82000000,
					    0xffffffffc0100080,
					    0,
					    0xffffffff84000000,
					    0xffffffff84000100,
					    0};
	static const char suffixed[] = "ffffffff83ffff00 T net_tx_action\n"
				       "ffffffff84000000 t net_tx.isra.0\n"
				       "ffffffff84000100 b udp_table.12\n"
				       "ffffffff84000200 D udp_table\n";
	uint64_t address[ARRAY_SIZE(names)] = {1, 1, 1, 1, 1, 1, 1};
	char text[sizeof(kernel) + sizeof(suffixed)];

	snprintf(text, sizeof(text), "%s%s", kernel, suffixed);
	symbols_want(symbols, names, address, ARRAY_SIZE(names));
	assert_int_equal(load(text), 0);
	assert_memory_equal(address, expected, sizeof(expected));
	/* Only that time, for another thread reads the table again. */
	memset(address, 0, sizeof(address));
	assert_int_equal(load(text), 0);
	assert_int_equal(address[0], 0);
}

TEST(test_too_far)
{
	assert_int_equal(load(kernel), 0);
	assert_string_equal(at(0xffffffff81000400 + SYMBOLS_OFFSET_MAX - 1), "weak_two+0xfffff");
	assert_string_equal(at(0xffffffff81000400 + SYMBOLS_OFFSET_MAX), "0xffffffff81100400");
	assert_string_equal(at(0xffffffffc0400000), "0xffffffffc0400000");
}

TEST(test_not_loaded)
{
	char text[SYMBOLS_TEXT_MAX];

	assert_int_equal(symbols_count(symbols), 0);
	assert_string_equal(at(0xffffffff81000110), "0xffffffff81000110");
	symbols_format(NULL, 0x1234, text, sizeof(text));
	assert_string_equal(text, "0x1234");
}

TEST(test_hidden)
{
	assert_int_equal(load("0000000000000000 A fixed_percpu_data\n"
			      "0000000000000000 T _text\n"
			      "0000000000000000 t veth_xmit\t[veth]\n"),
			 -ENODATA);
	assert_string_equal(at(0), "0x0");
}

TEST(test_no_file)
{
	assert_int_equal(symbols_load(symbols, "/nonexistent/kallsyms", NULL), -ENOENT);
	assert_int_equal(symbols_load(symbols, "/proc", NULL), -EISDIR);
}

TEST(test_not_kallsyms)
{
	static const char *const texts[] = {
		"",
		"\n",
		"hello\n",
		"ffffffff81000000\n",
		"ffffffff81000000 T\n",
		"ffffffff81000000 T \n",
		"ffffffff81000000 R data\n",
		"ffffffff81000000000000000000 T x\n",
		" T x\n",
		"ffffffff81000000  T x\n",
		"ffffffff81000000 TT x\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(load(texts[i]), -EBADMSG);
}

TEST(test_last_line_without_end)
{
	assert_int_equal(load("garbage\nffffffff81000000 T only"), 0);
	assert_string_equal(at(0xffffffff81000001), "only+0x1");
}

TEST(test_load_again)
{
	assert_int_equal(load("1000 T before\n"), 0);
	assert_int_equal(load("2000 T after\n"), 0);
	assert_int_equal(symbols_count(symbols), 1);
	assert_string_equal(at(0x1001), "0x1001");
	assert_string_equal(at(0x2001), "after+0x1");
	/* a failed load changes nothing */
	assert_int_equal(load("nothing"), -EBADMSG);
	assert_string_equal(at(0x2001), "after+0x1");
}

TEST(test_small_buffer)
{
	char text[8];

	assert_int_equal(load(kernel), 0);
	symbols_format(symbols, 0xffffffff8100012f, text, sizeof(text));
	assert_string_equal(text, "udp_rcv");
}

/* A data symbol ends a function at a lower address, but not one at its own address. */
TEST(test_data_in_any_order)
{
	assert_int_equal(load("1000 T first\n2000 T second\n2000 R same_place\n1800 d below\n"), 0);
	assert_string_equal(at(0x1001), "first+0x1");
	assert_string_equal(at(0x1801), "0x1801");
	assert_string_equal(at(0x2000), "second+0x0");
	assert_string_equal(at(0x2001), "second+0x1");
}

#define VETH "veth 4096 0 - Live 0xffffffffc0100000\n"
#define NF_TABLES "nf_tables 8192 2 nft_ct,nft_compat, Live 0xffffffffc0201000 (OE)\n"
#define GRE "gre 16384 1 ip_gre, Loading 0xffffffffc0102000\n"

/* A name counts while its module has the memory: another module there, or a later one, has other functions. */
TEST(test_modules_that_change)
{
#define BPF "bpf_prog_6deef7357e7b4530_nf+0x10 [bpf]"
	static const struct {
		const char *now; /* NULL: cannot be read */
		const char *veth, *nf_tables, *bpf;
	} cases[] = {
		{VETH NF_TABLES, "veth_xmit+0x4 [veth]", "nft_do_chain+0x3c [nf_tables]", BPF},
		/* in memory behind veth, which had been free */
		{VETH NF_TABLES GRE, "veth_xmit+0x4 [veth]", "nft_do_chain+0x3c [nf_tables]", BPF},
		/* in memory that veth, or a BPF program, had */
		{"gre 4096 0 - Live 0xffffffffc0100000\n"
		 "ip_gre 4096 0 - Live 0xffffffffc0300000\n" NF_TABLES,
		 "0xffffffffc0100004", "nft_do_chain+0x3c [nf_tables]", "0xffffffffc0300010"},
		/* a module that was removed caused the drops before; one that came again is elsewhere */
		{"nf_tables 8192 - - Live 0xffffffffc0200000\n", "veth_xmit+0x4 [veth]",
		 "0xffffffffc020103c", BPF},
		{"", "veth_xmit+0x4 [veth]", "nft_do_chain+0x3c [nf_tables]", BPF},
		{NULL, "0xffffffffc0100004", "0xffffffffc020103c", BPF},
	};
	char path[] = "/tmp/test_symbols_XXXXXX";
	char text[] = "ffffffff81000110 T udp_rcv\n"
		      "ffffffffc0201000 t nft_do_chain\t[nf_tables]\n"
		      /* It has run, and its memory was freed. */
		      "ffffffffc0201020 t veth_init\t[veth]\n"
		      "ffffffffc0100000 t veth_xmit\t[veth]\n"
		      "ffffffffc0300000 t bpf_prog_6deef7357e7b4530_nf\t[bpf]\n";

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		FILE *file;

		strcpy(path, "/tmp/test_symbols_XXXXXX");
		write_file(path, VETH NF_TABLES "hidden 4096 0 - Live 0x0000000000000000\nx\n");
		assert_int_equal(load_with(text, path), 0);
		file = cases[i].now ? fopen(path, "we") : NULL;
		if (file)
			fputs(cases[i].now, file);
		if (file)
			fclose(file);
		else
			unlink(path);
		assert_string_equal(at(0xffffffff81000112), "udp_rcv+0x2");
		assert_string_equal(at(0xffffffffc0100004), cases[i].veth);
		assert_string_equal(at(0xffffffffc0102004), "0xffffffffc0102004");
		assert_string_equal(at(0xffffffffc020103c), cases[i].nf_tables);
		assert_string_equal(at(0xffffffffc0300010), cases[i].bpf);
		unlink(path);
	}
}

/* On the running kernel, the names agree with /proc/kallsyms. */
TEST(test_running_kernel)
{
	char line[1024], name[512], expected[SYMBOLS_TEXT_MAX];
	unsigned long long address;
	int r = symbols_load(symbols, "/proc/kallsyms", NULL);
	FILE *file;

	if (r == -ENODATA || r == -ENOENT) {
		print_message("the running kernel shows no symbols\n");
		skip();
	}
	assert_int_equal(r, 0);
	file = fopen("/proc/kallsyms", "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx %*c %511s", &address, name) != 2 ||
		    strcmp(name, "netif_receive_skb") != 0)
			continue;
		snprintf(expected, sizeof(expected), "%s+0x7", name);
		assert_string_equal(at(address + 7), expected);
		break;
	}
	fclose(file);
}
