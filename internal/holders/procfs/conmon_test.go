// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Command lines as they were seen, cut where podman hands on its own options. ID
// stands for a container's ID, EXEC for that of an exec session.
const (
	// Podman 5.4 and 5.8 with conmon 2.1.12 and 2.1.13.
	podman5 = "/usr/bin/conmon --api-version 1 -c ID -u ID -r /usr/bin/runc -b /var/lib/containers/storage/overlay-containers/ID/userdata" +
		" -p /run/containers/storage/overlay-containers/ID/userdata/pidfile -n plain --exit-dir /run/libpod/exits --persist-dir /run/libpod/persist/ID" +
		" --full-attach -l k8s-file:/var/lib/containers/storage/overlay-containers/ID/userdata/ctr.log --log-level warning --syslog" +
		" --runtime-arg --log-format=json --runtime-arg --log --runtime-arg=/run/containers/storage/overlay-containers/ID/userdata/oci-log" +
		" --conmon-pidfile /run/containers/storage/overlay-containers/ID/userdata/conmon.pid --exit-command /usr/bin/podman" +
		" --exit-command-arg --root --exit-command-arg /var/lib/containers/storage --exit-command-arg --network-config-dir --exit-command-arg  --exit-command-arg container" +
		" --exit-command-arg cleanup --exit-command-arg --stopped-only --exit-command-arg ID"
	// Podman 4.3 with conmon 2.1.6.
	podman4 = "/usr/bin/conmon --api-version 1 -c ID -u ID -r /usr/bin/runc -b /var/lib/containers/storage/overlay-containers/ID/userdata" +
		" -p /run/containers/storage/overlay-containers/ID/userdata/pidfile -n plain --exit-dir /run/libpod/exits" +
		" --full-attach -l k8s-file:/var/lib/containers/storage/overlay-containers/ID/userdata/ctr.log --log-level warning" +
		" --runtime-arg --log-format=json --runtime-arg --log --runtime-arg=/run/containers/storage/overlay-containers/ID/userdata/oci-log" +
		" --conmon-pidfile /run/containers/storage/overlay-containers/ID/userdata/conmon.pid --exit-command /usr/bin/podman --exit-command-arg container"
	// An exec session of Podman 5.8.
	podmanExec = "/usr/bin/conmon --api-version 1 -c ID -u EXEC -r /usr/bin/runc -b /var/lib/containers/storage/overlay-containers/ID/userdata/EXEC" +
		" -p /var/lib/containers/storage/overlay-containers/ID/userdata/EXEC/exec_pid -n plain --full-attach -l none --log-level warning --syslog" +
		" -e --exec-attach --exec-process-spec /var/lib/containers/storage/overlay-containers/ID/userdata/EXEC/exec-process-647340882 --exit-command /usr/bin/podman"
	// By the source of CRI-O 1.34.
	crio134 = "/usr/libexec/crio/conmon -b /run/containers/storage/overlay-containers/ID/userdata -c ID --exit-dir /var/run/crio/exits -l /var/log/pods/ns_pod_uid/main/0.log" +
		" --log-level info -n k8s_main_pod_ns_uid_0 -P /run/containers/storage/overlay-containers/ID/userdata/conmon-pidfile" +
		" -p /run/containers/storage/overlay-containers/ID/userdata/pidfile --persist-dir /var/lib/containers/storage/overlay-containers/ID/userdata" +
		" -r /usr/libexec/crio/crun --runtime-arg --root=/run/crun --socket-dir-path /var/run/crio --syslog -u ID -s -t"
	crioExec = "/usr/libexec/crio/conmon -c ID -n k8s_main_pod_ns_uid_0 -r /usr/libexec/crio/crun -p /tmp/pidfile123 -e -l /tmp/crio-log-ID" +
		" --socket-dir-path /var/run/crio --log-level info --sync --exec-process-spec /tmp/exec-process-1 --runtime-arg --root=/run/crun"
)

func argv(line string) []byte {
	line = strings.NewReplacer("ID", id, "EXEC", strings.Repeat("e", 64)).Replace(line)
	return []byte(strings.ReplaceAll(line, " ", "\x00") + "\x00")
}

func TestParseConmon(t *testing.T) {
	stored := "/var/lib/containers/storage/overlay-containers/" + id + "/userdata"
	for line, want := range map[string]conmonArgs{
		podman5: {podman, id, "plain", stored, "/usr/bin/runc"},
		podman4: {podman, id, "plain", stored, "/usr/bin/runc"},
		crio134: {crio, id, "k8s_main_pod_ns_uid_0", "/run/containers/storage/overlay-containers/" + id + "/userdata", "/usr/libexec/crio/crun"},
		"conmon --cid ID --name a --bundle /b --exit-command /usr/bin/podman": {podman, id, "a", "/b", ""},
		"conmon --cid=ID --name=a=b --bundle=/b --full-attach":                {podman, id, "a=b", "/b", ""},
		// What looks like an option in the place of a value is none.
		"conmon -c ID -n -e -b /b":                                              {crio, id, "-e", "/b", ""},
		"conmon --exit-command-arg -c --exit-command-arg X -c ID":               {crio, id, "", "", ""},
		"conmon --runtime-arg --exec --log-tag --exit-command -c ID":            {crio, id, "", "", ""},
		"conmon -c first -c ID -b /a -b /b":                                     {crio, id, "", "/b", ""},
		"conmon -it -sc ID -b /b":                                               {crio, id, "", "/b", ""},
		"conmon --unknown --api-version 1 -c ID -- -c other --exec":             {podman, id, "", "", ""},
		"conmon -c ID --runtime /x/metax-runtime -b /b --runtime-arg=--root=/r": {crio, id, "", "/b", "/x/metax-runtime"},
		"conmon -c ID --runtime=/x/y":                                           {crio, id, "", "", "/x/y"},
		"conmon -c ID -b":                                                       {crio, id, "", "", ""},
	} {
		got, ok := parseConmon(argv(line))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(conmonArgs{})); diff != "" || !ok {
			t.Errorf("%s: %v %s", line, ok, diff)
		}
	}
	for _, line := range []string{
		podmanExec, crioExec, "", "conmon", "conmon --version", "conmon -c short -b /b", "conmon -c IDx", "conmon -c",
		"conmon -c ID --exec", "conmon -c ID -ie", "conmon -c ID -ei", "ID -b /b",
	} {
		if got, ok := parseConmon(argv(line)); ok {
			t.Errorf("%s: is read as %+v", line, got)
		}
	}
}

func FuzzParseMonitor(f *testing.F) {
	for _, line := range []string{podman5, podmanExec, crio134, crioExec, "", "-", "conmon - --"} {
		f.Add(argv(line))
	}
	f.Fuzz(func(t *testing.T, cmdline []byte) {
		o, ok := parseConmon(cmdline)
		if !ok {
			return
		}
		if !fullID(o.id) || o.engine != podman && o.engine != crio {
			t.Errorf("%q is read as %+v", cmdline, o)
		}
		for _, part := range []string{o.id, o.name, o.bundle} {
			if !strings.Contains(string(cmdline), part) || strings.Contains(part, "\x00") {
				t.Errorf("%q is nowhere in %q", part, cmdline)
			}
		}
	})
}

func TestParseClaim(t *testing.T) {
	const lease, gpus = "--label=metax-tech.com/lease=0123456789ab", "--label=metax-tech.com/gpus="
	all := cmp.AllowUnexported(leaseLabels{})
	for line, want := range map[string]leaseLabels{
		"docker run " + lease + " " + gpus + "0,1 image":                                                   {"0123456789ab", []int{0, 1}},
		"docker run " + gpus + "12 " + lease:                                                               {"0123456789ab", []int{12}},
		"docker run " + lease + " " + gpus + "3 i --label=metax-tech.com/lease=ffffffffffff " + gpus + "4": {"0123456789ab", []int{3}},
	} {
		got, ok := parseLeaseLabels(argv(line))
		if diff := cmp.Diff(want, got, all); diff != "" || !ok {
			t.Errorf("%s: %v %s", line, ok, diff)
		}
	}
	for _, line := range []string{
		"", "docker run image", "docker run " + lease, "docker run " + gpus + "0", lease + " " + gpus, lease + " " + gpus + "0,", lease + " " + gpus + "-1",
		lease + " " + gpus + "+1", lease + " " + gpus + "99999", lease + "c " + gpus + "0", "--label=metax-tech.com/lease=0123456789aB " + gpus + "0",
		"--label metax-tech.com/lease=0123456789ab " + gpus + "0", "sh -c x" + lease + " " + gpus + "0", "--label=metax-tech.com/lease= " + gpus + "0",
	} {
		if got, ok := parseLeaseLabels(argv(line)); ok {
			t.Errorf("%s: is read as %+v", line, got)
		}
	}
	if got, ok := parseLeaseLabels([]byte("sh\x00-c\x00docker run " + lease + " " + gpus + "0\x00")); ok {
		t.Errorf("a word of a shell is read as %+v", got)
	}
}

func FuzzParseClaim(f *testing.F) {
	f.Add(argv("docker run --label=metax-tech.com/lease=0123456789ab --label=metax-tech.com/gpus=0,1 image"))
	f.Fuzz(func(t *testing.T, cmdline []byte) {
		c, ok := parseLeaseLabels(cmdline)
		if ok && (!usage.ValidID(c.lease) || len(c.gpus) == 0) {
			t.Errorf("%q is read as %+v", cmdline, c)
		}
	})
}

func TestShim(t *testing.T) {
	for line, want := range map[string]string{
		"/usr/bin/containerd-shim-runc-v2 -namespace moby -id ID -address /run/containerd/containerd.sock": "/run/containerd/containerd.sock",
		"containerd-shim --address=/a -namespace x":                                                        "/a", "containerd-shim -id address -namespace x": "", "containerd-shim address /a": "", "containerd-shim -address": "", "": "",
	} {
		if got := parseShimAddress(argv(line)); got != want && got != strings.ReplaceAll(want, "ID", id) {
			t.Errorf("%s: address is %q, want %q", line, got, want)
		}
	}
	for cwd, want := range map[string]string{
		"/run/containerd/io.containerd.runtime.v2.task/k8s.io/abc": "/run/containerd",
		"/run/x/io.containerd.runtime.v1.linux/moby/abc":           "/run/x",
		"/run/containerd/io.containerd.runtime.v2.task/k8s.io":     "", "/": "", "": "",
		"/run/containerd/io.containerd.runtime.v2.task/k8s.io/abc/rootfs": "",
		"x/io.containerd.runtime.v2.task/k8s.io/abc":                      "",
	} {
		if got, ok := parseStateDir(cwd); got != want || ok != (want != "") {
			t.Errorf("%s: state is %q, %v; want %q", cwd, got, ok, want)
		}
	}
}
