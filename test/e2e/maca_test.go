// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/image"
	"github.com/metax-ctk/container-toolkit/test/report"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// The results of running /which, or of a shell that inspects an image without it.
const (
	notFound = "no such library"
	ofHost   = "/opt/maca/lib/libmcruntime.so the host's " + hostVersion
	ofOther  = "/opt/maca/lib/libmcruntime.so the host's " + otherVersion
	ofImage  = "/opt/maca/lib/libmcruntime.so the image's"
)

// macaOutcomes are what docs/maca.md promises: what a program runs on in each image, requested
// in each way.
var macaOutcomes = []struct {
	image                      string
	plain, device, maca, force string // nothing asked, the CDI device alone, --maca, --maca-force
	flags                      string // --maca where it is given by flags
}{
	{debianImage, notFound, ofHost, ofHost, ofHost, ofHost},
	{fedoraImage, notFound, ofHost, ofHost, ofHost, ofHost},
	{distrolessImage, notFound, ofHost, ofHost, ofHost, ofHost},
	{prefixImage, notFound, ofHost, ofHost, ofHost, ofHost},
	{muslImage, notFound, notFound, notFound, notFound, ofHost},
	{staticImage, notFound, ofHost, ofHost, ofHost, ofHost},
	{linkedImage, ofImage, ofHost, ofImage, ofHost, ofImage},
	{directoryImage, notFound, ofImage, notFound, ofHost, notFound},
}

// TestMACA runs a C program on MXMACA in images of every kind, with every engine.
func TestMACA(t *testing.T) {
	archives := t.TempDir()
	for _, name := range macaImages {
		macaArchive(t, name, filepath.Join(archives, name+".tar"))
	}
	rows := []struct {
		name, suite string
		kernel      string // of test/oldkernel; "" is the machine's
		start       func(*host, *testing.T) maca
	}{
		{"docker 29", docker29, "", dockerMACA("29.8.")},
		{"docker 28", "sid", "", dockerMACA("28.")},
		{"docker 28 before Linux 5.2", "sid", "before 5.2", dockerMACA("28.")},
		{"docker 20.10", "bookworm", "", func(h *host, t *testing.T) maca { h.docker(t, "20.10.", nil); return maca{host: h, client: "docker"} }},
		{"podman 5", "sid", "", podmanMACA},
		{"podman 5 before Linux 5.2", "sid", "before 5.2", podmanMACA},
		{"podman 4.3", "bookworm", "", func(h *host, t *testing.T) maca {
			h.podman(t, "4.3", "runc")
			return maca{host: h, client: "podman", cdi: true, options: []string{"--cgroup-parent=" + h.Cgroup()}}
		}},
		{"containerd 2", "sid", "", containerdMACA},
		{"containerd 2 before Linux 5.12", "sid", "5.6 to 5.11", containerdMACA},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, row.suite, sandbox.Hybrid, "--no-groups")
			h.kernel = row.kernel
			h.installMACA(t)
			m := row.start(h, t)
			m.load(t, archives)
			t.Run("matrix", m.matrix)
			t.Run("mx-smi", m.smi)
			if m.client != "ctr" {
				t.Run("environment", m.environment)
				t.Run("check", m.check)
			}
			if m.client == "docker" && m.cdi {
				t.Run("bad", m.bad)
			}
		})
	}
}

func dockerMACA(version string) func(*host, *testing.T) maca {
	return func(h *host, t *testing.T) maca {
		h.docker(t, version, nil)
		return maca{host: h, client: "docker", cdi: true}
	}
}

func podmanMACA(h *host, t *testing.T) maca {
	h.podman(t, "5.", "runc")
	return maca{host: h, client: "podman", cdi: true, options: []string{"--cgroup-parent=" + h.Cgroup()}}
}

func containerdMACA(h *host, t *testing.T) maca {
	h.containerd(t, "2.", containerd2)
	return maca{host: h, client: "ctr", cdi: true}
}

// installMACA gives the node libraries that can be loaded, a second version, and the spec.
func (h *host) installMACA(t *testing.T) {
	t.Helper()
	opt := h.Path(nodeDir+"/opt") + "/"
	if err := os.CopyFS(opt+"maca-"+otherVersion, os.DirFS(opt+"maca-"+hostVersion)); err != nil {
		t.Fatal(err)
	}
	h.write(t, nodeDir+"/opt/maca-"+otherVersion+"/Version.txt", "Version:"+otherVersion+"\n")
	for _, version := range []string{hostVersion, otherVersion} {
		library(t, opt+"maca-"+version+"/lib/"+runtimeLibrary, "the host's "+version)
	}
	h.must(t, nil, "metax-ctk", "--root", nodeDir, "cdi", "generate", "--class", "maca", "--output", "/run/cdi/metax-tech.com-maca.json")
}

// maca is an engine that has the images.
type maca struct {
	*host
	client  string
	cdi     bool // whether the engine knows CDI
	options []string
}

func (m maca) load(t *testing.T, archives string) {
	t.Helper()
	for _, name := range macaImages {
		text, err := os.ReadFile(filepath.Join(archives, name+".tar"))
		if err != nil {
			t.Fatal(err)
		}
		m.write(t, "/tmp/image.tar", string(text))
		if m.client == "ctr" {
			m.must(t, nil, "ctr", "images", "import", "/tmp/image.tar")
		} else {
			m.must(t, nil, m.client, "load", "--quiet", "--input", "/tmp/image.tar")
		}
	}
}

// start runs a program in an image, by the client alone or through metax-docker. What the
// program says comes by the report: see there for why not by the engine.
func (m maca) start(t *testing.T, program, image string, options []string, words ...string) result {
	t.Helper()
	if len(words) == 0 {
		words = []string{"/which"}
		if image == staticImage {
			words = []string{"/bin/sh", "-c", "mx-smi -L && busybox cat /opt/maca/Version.txt"}
		}
	}
	in := m.inbox(t)
	words = append([]string{"/probe", "tell"}, words...)
	if m.client == "ctr" {
		id := fmt.Sprintf("%s-%d", image, len(options))
		mount := "type=bind,options=rbind:rw,src=" + in.dir + ",dst=" + report.Dir
		argv := append([]string{"ctr", "run", "--rm", "--cgroup", m.Cgroup() + "/" + id, "--mount", mount}, options...)
		return in.told(t, m.run(t, nil, append(append(argv, macaRef(image), id), words...)...))
	}
	argv := slices.Concat([]string{program, "run", "--rm", "--network=none", "--volume=" + in.dir + ":" + report.Dir}, m.options, options, []string{macaRef(image)}, words)
	return in.told(t, m.run(t, []string{"METAX_CTK_ROOT=" + nodeDir, "METAX_CTK_DOCKER=" + m.client, "HOME=/root"}, argv...))
}

// outcome is what a program ran on.
func outcome(image string, r result) string {
	switch said := strings.TrimSpace(r.stdout); {
	case image == staticImage && r.code == 0:
		// As far as it can be seen without loading anything.
		tool, version, ok := strings.Cut(said, "Version:")
		if !ok || !strings.Contains(tool, "GPU#0") {
			return said
		}
		return "/opt/maca/lib/libmcruntime.so the host's " + version
	case image == staticImage && strings.Contains(r.stderr, "mx-smi: not found"):
		return notFound
	case r.code == 0:
		return said
	case strings.Contains(r.stderr+r.stdout, runtimeLibrary):
		return notFound
	}
	return r.String()
}

// matrix is every image in every way.
func (m maca) matrix(t *testing.T) {
	for _, o := range macaOutcomes {
		ways := []struct {
			name, program string
			options       []string
			want          string
		}{
			{"nothing", m.client, nil, o.plain},
			{"device", m.client, []string{"--device=metax-tech.com/maca=host"}, o.device},
			{"--maca", "metax-docker", []string{"--maca"}, o.maca},
			{"--maca by flags", "metax-docker", []string{"--maca", "--inject=flags"}, o.flags},
			{"--maca-force", "metax-docker", []string{"--maca-force"}, o.force},
			{"--maca=VERSION", "metax-docker", []string{"--maca=" + otherVersion}, strings.ReplaceAll(o.maca, ofHost, ofOther)},
			{"--maca-force=VERSION", "metax-docker", []string{"--maca-force=" + otherVersion}, strings.ReplaceAll(o.force, ofHost, ofOther)},
		}
		for _, w := range ways {
			ours := w.program == "metax-docker"
			switch {
			case w.name == "device" && !m.cdi, ours && m.client == "ctr":
				continue
			case ours && (!m.cdi || m.client == "podman") && w.want == notFound && o.flags == ofHost:
				w.want = strings.ReplaceAll(o.flags, ofHost, map[bool]string{true: ofOther, false: ofHost}[strings.Contains(w.name, "VERSION")])
			}
			t.Run(o.image+"/"+w.name, func(t *testing.T) {
				if o.image == staticImage {
					if w.name != "nothing" && ours {
						w.options = append(w.options, "--gpus=1", "--gpus-share")
					} else if w.name != "nothing" {
						w.options = append(w.options, "--device=metax-tech.com/gpu=0")
					}
				}
				r := m.start(t, w.program, o.image, w.options)
				if got := outcome(o.image, r); got != w.want {
					t.Errorf("it runs on %q, want %q\n%v", got, w.want, r)
				}
				kept := strings.Contains(r.stderr, "of its own in /opt/maca, which is kept")
				own := o.image == linkedImage || o.image == directoryImage
				if want := own && ours && !strings.Contains(w.name, "force"); kept != want {
					t.Errorf("says that the image's is kept: %t, want %t\n%s", kept, want, r.stderr)
				}
			})
		}
	}
}

// smi runs mx-smi by its bare name in a container with a GPU, in an image that has none and in
// one that has another program of that name.
func (m maca) smi(t *testing.T) {
	for _, image := range []string{debianImage, muslImage} {
		ways := map[string][]string{"by CDI": {m.client, "--device=metax-tech.com/gpu=0"}}
		if m.client != "ctr" {
			ways["by metax-docker"] = []string{"metax-docker", "--gpus=device=0", "--gpus-share"}
			ways["by flags"] = []string{"metax-docker", "--gpus=device=0", "--gpus-share", "--inject=flags"}
		}
		if !m.cdi {
			delete(ways, "by CDI")
		}
		for way, words := range ways {
			t.Run(image+"/"+way, func(t *testing.T) {
				r := m.start(t, words[0], image, words[1:], "/bin/sh", "-c", "mx-smi -L")
				want := m.gpus[0].UUID
				if image == muslImage {
					want = ownSMI
				}
				if r.code != 0 || !strings.Contains(r.stdout, want) {
					t.Errorf("want %q: %v", want, r)
				}
			})
		}
	}
}

// environment is what image and command line state about it, which stays unchanged.
func (m maca) environment(t *testing.T) {
	sh := []string{"/bin/sh", "-c", `echo "$PATH"; echo "$LD_LIBRARY_PATH"; echo "$MACA_PATH"`}
	host := "/opt/mxdriver/lib:/opt/maca/lib:/opt/maca/mxgpu_llvm/lib:/opt/maca/ompi/lib:/opt/maca/ucx/lib"
	const path, programs = "/usr/local/bin:/usr/bin:/bin", "/opt/mxdriver/bin:/opt/maca/bin:/opt/maca/mxgpu_llvm/bin:/opt/maca/tools/cu-bridge/bin"
	for name, c := range map[string]struct {
		image   string
		options []string
		want    string
	}{
		"by flags": {debianImage, []string{"--maca", "--inject=flags"}, path + ":" + programs + "\n" + host + "\n/opt/maca\n"},
		"the user's": {
			debianImage,
			[]string{"-e", "LD_LIBRARY_PATH=/mine", "--maca", "--inject=flags", "--env=PATH=/bin:/mine", "-eMACA_PATH=/else"},
			"/bin:/mine:" + programs + "\n/mine:" + host + "\n/else\n",
		},
		"forced": {linkedImage, []string{"--maca-force"}, programs + ":" + path + "\n" + host + ":/opt/maca/lib\n/opt/maca\n"},
		"kept":   {linkedImage, []string{"--maca"}, path + "\n/opt/maca/lib\n/opt/maca\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if r := m.start(t, "metax-docker", c.image, c.options, sh...); r.code != 0 || r.stdout != c.want {
				t.Errorf("want\n%s\ngot %v", c.want, r)
			}
		})
	}
	if m.client != "docker" || !m.cdi {
		return
	}
	t.Run("by CDI", func(t *testing.T) {
		if r := m.start(t, "metax-docker", debianImage, []string{"--maca"}, sh...); r.stdout != path+"\n\n/opt/maca\n" {
			t.Error(r)
		}
	})
	t.Run("programs", func(t *testing.T) {
		r := m.start(t, "metax-docker", debianImage, []string{"--maca", "--gpus=2"}, "/bin/sh", "-c", "mx-smi -L && mxcc && cucc && macainfo && busybox readlink /opt/maca")
		if r.code != 0 || !strings.Contains(r.stdout, "GPU#1") || !strings.Contains(r.stdout, "mxcc (simulated)\ncucc of /opt/maca/tools/cu-bridge (simulated)\n") || !strings.HasSuffix(r.stdout, "(simulated)\n/opt/maca-"+hostVersion+"\n") {
			t.Error(r)
		}
	})
}

// check compares versions with the driver, which is 3.4.4.
func (m maca) check(t *testing.T) {
	m.write(t, "/etc/metax-container-toolkit/config.toml", `[[maca.requirements]]
maca = "3.7"
driver = "3.8"
why = "for the test"
`)
	const mismatch = "MXMACA 3.7.1.5 with driver 3.4.4: MXMACA 3.7 needs driver 3.8 or newer (for the test)"
	for name, c := range map[string]struct {
		image   string
		options []string
		code    int
		says    string
	}{
		"a mismatch warns":       {linkedImage, []string{"--maca"}, 0, "warning: " + mismatch},
		"strict refuses":         {linkedImage, []string{"--maca", "--maca-check=strict"}, 125, mismatch},
		"without --maca as well": {linkedImage, []string{"--gpus=1", "--gpus-share", "--maca-check=strict"}, 125, mismatch},
		"the host's instead":     {linkedImage, []string{"--maca-force", "--maca-check=strict"}, 0, "not checked: MXMACA 3.3.0.15 with driver 3.4.4: no rule"},
		"off":                    {linkedImage, []string{"--maca", "--maca-check=off"}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := m.start(t, "metax-docker", c.image, c.options)
			if r.code != c.code || !strings.Contains(r.stderr, c.says) || c.says == "" && strings.Contains(r.stderr, "driver") {
				t.Errorf("want exit code %d and %q: %v", c.code, c.says, r)
			}
		})
	}
}

// bad is what has to end in a message that names the path.
func (m maca) bad(t *testing.T) {
	opt := m.Path(nodeDir+"/opt") + "/"
	relink := func(t *testing.T, target string) {
		t.Helper()
		if err := os.Remove(opt + "maca"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, opt+"maca"); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { relink(t, "/opt/maca-"+hostVersion) })
	for target, says := range map[string]string{
		"/opt/maca-9":  "no MXMACA on this host: /opt/maca does not lead to it",
		"maca":         "/opt/maca",
		"/":            "/opt/maca",
		"/etc":         "/opt/maca",
		"/opt/missing": "/opt/maca",
	} {
		t.Run("host "+target, func(t *testing.T) {
			relink(t, target)
			if r := m.start(t, "metax-docker", debianImage, []string{"--maca"}); r.code != 125 || !strings.Contains(r.stderr, says) {
				t.Errorf("want exit code 125 and %q: %v", says, r)
			}
		})
	}
	relink(t, "/opt/maca-"+hostVersion)
	for target, says := range map[string]string{
		"/": "/opt/maca of the image", "maca": "/opt/maca of the image", "../../../etc": "/opt/maca of the image",
	} {
		t.Run("image "+target, func(t *testing.T) {
			m.astray(t, target)
			for _, option := range []string{"--maca", "--maca-force"} {
				r := m.run(t, []string{"METAX_CTK_ROOT=" + nodeDir, "HOME=/root"}, "metax-docker", "run", "--rm", option, macaRef("astray"), "/probe", "exit", "0")
				if r.code != 125 || !strings.Contains(r.stderr, says) || !strings.Contains(r.stderr, "no place for the host's MXMACA") {
					t.Errorf("%s: want exit code 125 and %q: %v", option, says, r)
				}
			}
		})
	}
	t.Run("no such image", func(t *testing.T) {
		if r := m.run(t, []string{"METAX_CTK_ROOT=" + nodeDir}, "metax-docker", "run", "--pull=never", "--maca", "localhost/nobody:1"); r.code != 125 || !strings.Contains(r.stderr, "localhost/nobody:1") {
			t.Errorf("want exit code 125: %v", r)
		}
	})
	t.Run("unknown version", func(t *testing.T) {
		r := m.start(t, "metax-docker", debianImage, []string{"--maca=9.9"})
		if r.code != 125 || !strings.Contains(r.stderr, hostVersion) || !strings.Contains(r.stderr, otherVersion) {
			t.Errorf("want an error that lists what there is: %v", r)
		}
	})
}

// astray loads an image whose /opt/maca is a link to nowhere good.
func (m maca) astray(t *testing.T, target string) {
	t.Helper()
	probe, err := os.ReadFile(filepath.Join(fixed.bin, "probe"))
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if _, err := (image.Image{
		Ref: macaRef("astray"), Files: map[string][]byte{"/probe": probe}, Dirs: []string{"/dev", "/etc", "/proc", "/sys", "/opt"},
		Links: map[string]string{"/opt/maca": target},
	}).WriteTo(&archive); err != nil {
		t.Fatal(err)
	}
	m.write(t, "/tmp/astray.tar", archive.String())
	m.must(t, nil, m.client, "load", "--quiet", "--input", "/tmp/astray.tar")
}
