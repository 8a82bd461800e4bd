/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Units, containers and pods in the paths of cgroups. */
#include <limits.h>
#include <string.h>

#include "common/array.h"
#include "daemon/core/owner.h"
#include "tests/unit/test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

TEST(test_units)
{
	static const struct {
		const char *path, *unit;
	} paths[] = {
		{"/system.slice/nginx.service", "nginx.service"},
		{"/system.slice/nginx.service/", "nginx.service"},
		{"/system.slice/nginx.service/worker/1", "nginx.service"},
		{"/user.slice/user-1000.slice/user@1000.service/app.slice/foo.scope", "foo.scope"},
		{"/user.slice/user-1000.slice/user@1000.service/init.scope", "init.scope"},
		{"/user.slice/user-1000.slice/session-3.scope", "session-3.scope"},
		{"/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service"},
		{"/system.slice/a\\x2db.service", "a\\x2db.service"},
		{"/system.slice/_cpu.service", "cpu.service"},
		{"/system.slice/__own.service", "_own.service"},
		{"/system.slice/dev-hugepages.mount", "dev-hugepages.mount"},
		{"/system.slice/docker-" ID ".scope", "docker-" ID ".scope"},
		{"/system.slice/docker-" ID ".scope/system.slice/cron.service", "cron.service"},
		{"/init.scope", "init.scope"},
		{"/", NULL},
		{"", NULL},
		{"/system.slice", NULL},
		{"/.service", NULL},
		{"/_.service", NULL},
		{"/docker/" ID, NULL},
		{"/service", NULL},
	};
	char unit[OWNER_NAME_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const char *found = owner_unit(paths[i].path, unit);

		if (!paths[i].unit != !found || (found && strcmp(found, paths[i].unit) != 0))
			fail_msg("%s: %s", paths[i].path, found ? found : "none");
	}
}

TEST(test_containers)
{
	static const struct {
		const char *path, *container;
	} paths[] = {
		{"/system.slice/docker-" ID ".scope", "0123456789ab"},
		{"/docker/" ID, "0123456789ab"},
		{"/docker/" ID "/init", "0123456789ab"},
		{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1_2.slice/"
		 "cri-containerd-" ID ".scope",
		 "0123456789ab"},
		{"/kubepods.slice/kubepods-pod1.slice/crio-" ID ".scope", "0123456789ab"},
		{"/kubepods.slice/kubepods-pod1.slice/crio-" ID ".scope/container", "0123456789ab"},
		{"/machine.slice/libpod-" ID ".scope", "0123456789ab"},
		{"/system.slice/nerdctl-" ID ".scope", "0123456789ab"},
		{"/kubepods/besteffort/pod0a1b/" ID, "0123456789ab"},
		{"/system.slice/containerd.service/kubepods-pod1.slice:cri-containerd:" ID,
		 "0123456789ab"},
		{"/docker/" ID
		 "/docker/ff23456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		 "ff23456789ab"},
		{"/lxc.payload.web-1/system.slice/cron.service", "web-1"},
		{"/lxc.payload.web-1/docker/" ID, "0123456789ab"},
		/* podman: by systemd, by cgroupfs, in a pod of its own, rootless */
		{"/machine.slice/libpod-" ID ".scope/container", "0123456789ab"},
		{"/libpod_parent/libpod-" ID, "0123456789ab"},
		{"/machine.slice/machine-libpod_pod_" ID ".slice/libpod-" ID ".scope",
		 "0123456789ab"},
		{"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID
		 ".scope/container",
		 "0123456789ab"},
		/* a kubelet's static pod, and kubernetes in docker */
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
		 "0a1b2c3d4e5f60718293a4b5c6d7e8f9.slice/crio-" ID ".scope",
		 "0123456789ab"},
		{"/docker/" ID "/kubelet.slice/kubelet-kubepods.slice/"
		 "kubelet-kubepods-pod1_2.slice/cri-containerd-"
		 "ff23456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope",
		 "ff23456789ab"},
		/* systemd-nspawn, and a container of its own in it */
		{"/machine.slice/systemd-nspawn@web.service/payload", "web"},
		{"/machine.slice/systemd-nspawn@web\\x2d1.service/payload/system.slice/a.service",
		 "web-1"},
		{"/machine.slice/machine-web.scope/payload", "web"},
		{"/machine.slice/machine-web.scope/payload/docker/" ID, "0123456789ab"},
		{"/machine.slice/systemd-nspawn@web.service/supervisor", NULL},
		{"/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", NULL},
		{"/machine.slice/machine-.scope/payload", NULL},
		{"/payload", NULL},
		/* the monitor of a container is not in the container */
		{"/machine.slice/libpod-conmon-" ID ".scope", NULL},
		{"/system.slice/crio-conmon-" ID ".scope", NULL},
		{"/lxc.monitor.web-1", NULL},
		{"/lxc.payload.", NULL},
		{"/docker/" ID "0", NULL},
		{"/docker/0" ID, NULL},
		{"/docker/0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", NULL},
		{"/docker/0123456789ab", NULL},
		{"/docker-.scope", NULL},
		{"/x:" ID, NULL},
		{"/system.slice/docker.service", NULL},
		{"/", NULL},
		{"", NULL},
	};
	char container[OWNER_NAME_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const char *found = owner_container(paths[i].path, container);

		if (!paths[i].container != !found ||
		    (found && strcmp(found, paths[i].container) != 0))
			fail_msg("%s: %s", paths[i].path, found ? found : "none");
	}
}

#define UID "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
#define UID_ "0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9"
#define STATIC "0a1b2c3d4e5f60718293a4b5c6d7e8f9"

TEST(test_pods)
{
	static const struct {
		const char *path, *pod;
	} paths[] = {
		/* the kubelet's systemd driver: containerd, CRI-O, docker; the three classes of pods */
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
		 ".slice/cri-containerd-" ID ".scope",
		 UID},
		{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
		 ".slice/crio-" ID ".scope/container",
		 UID},
		{"/kubepods.slice/kubepods-pod" UID_ ".slice/docker-" ID ".scope", UID},
		/* the pod without a container */
		{"/kubepods.slice/kubepods-pod" UID_ ".slice", UID},
		/* its cgroupfs driver */
		{"/kubepods/burstable/pod" UID "/" ID, UID},
		{"/kubepods/pod" UID "/" ID, UID},
		{"/kubepods/besteffort/pod" UID "/crio-" ID, UID},
		/* a path for systemd, used by cgroupfs */
		{"/system.slice/containerd.service/kubepods-burstable-pod" UID_
		 ".slice:cri-containerd:" ID,
		 UID},
		/* static pods, kubernetes in docker, a pod in a pod */
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" STATIC
		 ".slice/crio-" ID ".scope",
		 STATIC},
		{"/docker/" ID "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
		 ".slice/cri-containerd-" ID ".scope",
		 UID},
		{"/kubepods/pod" STATIC "/" ID "/kubepods/pod" UID "/" ID, UID},
		/* podman has pods without a UID of this kind */
		{"/machine.slice/machine-libpod_pod_" ID ".slice/libpod-" ID ".scope", NULL},
		{"/kubepods/podx/" ID, NULL},
		{"/kubepods/pod" UID "0/" ID, NULL},
		{"/kubepods/pod0a1b2c3d-4e5f-6071-8293_a4b5c6d7e8fG", NULL},
		{"/kubepods/pod" ID, NULL},
		{"/kubepods.slice", NULL},
		{"/system.slice/pod.service", NULL},
		{"/.slice", NULL},
		{"/kubelet/kubepods/pod" UID, UID},
		{"/kubepods/podX", NULL},
		{"/docker/" ID, NULL},
		{"/", NULL},
		{"", NULL},
	};
	char pod[OWNER_POD_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const char *found = owner_pod(paths[i].path, pod);

		if (!paths[i].pod != !found || (found && strcmp(found, paths[i].pod) != 0))
			fail_msg("%s: %s", paths[i].path, found ? found : "none");
	}
}

/* Names longer than NAME_MAX do not change the buffer. */
TEST(test_long_names)
{
	char path[2048], text[OWNER_NAME_MAX] = "as it was";

	memset(path, 'a', sizeof(path));
	strcpy(path + 1000, ".service");
	assert_null(owner_unit(path, text));
	memcpy(path, "lxc.payload.", 12);
	assert_null(owner_container(path, text));
	assert_string_equal(text, "as it was");
	strcpy(path + NAME_MAX - 8, ".service");
	assert_non_null(owner_unit(path, text));
	assert_string_equal(text, path);
}
