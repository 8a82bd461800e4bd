/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/probe/replay/fault.h"
#include "tests/unit/test.h"

enum { PAGE = 4096 };

static volatile char *memory;
static int calls;

static void touch(void *userdata)
{
	calls++;
	(void)memory[*(const size_t *)userdata];
}

static void turn(void *userdata)
{
	for (;;)
		touch(userdata);
}

/* A page of a file of one page, behind it one that the file does not have, and behind that nothing. */
static int map_file(void **state)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	memory = mmap(NULL, 3 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	assert_ptr_not_equal(memory, MAP_FAILED);
	return munmap((void *)(memory + 2 * PAGE), PAGE);
}

static int unmap_file(void **state)
{
	(void)state;
	return munmap((void *)memory, 2 * PAGE);
}

ALL_TESTS(map_file, unmap_file);

TEST(test_no_fault)
{
	struct fault_handlers others;
	size_t at = 0;

	fault_begin(&others, 1);
	calls = 0;
	assert_int_equal(fault_guard(touch, &at), 0);
	assert_int_equal(calls, 1);
	fault_end(&others);
}

/* SIGBUS, and SIGSEGV where nothing is mapped; again and again. */
TEST(test_faults)
{
	struct fault_handlers others;
	size_t behind_file = PAGE, nowhere = 2 * PAGE, inside = 1;

	fault_begin(&others, 1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fault_guard(touch, &behind_file), SIGBUS);
		assert_int_equal(fault_guard(touch, &nowhere), SIGSEGV);
		assert_int_equal(fault_guard(touch, &inside), 0);
	}
	fault_end(&others);
}

/* What is not guarded ends the process. */
TEST(test_unguarded)
{
	struct fault_handlers others;
	size_t inside = 0, behind_file = PAGE;
	int status;
	pid_t child;

	fault_begin(&others, 1);
	assert_int_equal(fault_guard(touch, &inside), 0);
	child = fork();
	if (!child) {
		touch(&behind_file);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
	fault_end(&others);
}

/* A call that would never return. */
TEST(test_no_end)
{
	struct fault_handlers others;
	size_t inside = 0;

	fault_begin(&others, 1);
	assert_int_equal(fault_guard(turn, &inside), SIGVTALRM);
	assert_int_equal(fault_guard(touch, &inside), 0);
	fault_end(&others);
}
