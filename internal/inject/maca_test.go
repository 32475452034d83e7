// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/image"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// simulated is the file tree of a host with MXMACA 3.3.0.15 and the driver's user part.
func simulated(t *testing.T) *hostfs.Root {
	t.Helper()
	_, tree := simtest.Host(t, "c500-8")
	for p := range tree {
		if !strings.HasPrefix(p, "opt/") {
			delete(tree, p)
		}
	}
	return simtest.Write(t, tree)
}

// TestMACA is which options a line gets for an image, and what is said.
func TestMACA(t *testing.T) {
	const (
		byName  = "--device=metax-tech.com/maca=host"
		home    = "--volume=/node/opt/maca-3.3.0.15:/opt/maca-3.3.0.15:ro --volume=/node/opt/maca-3.3.0.15:/opt/maca:ro"
		driver  = " --volume=/node/opt/mxdriver:/opt/mxdriver:ro"
		dirs    = "/opt/mxdriver/bin:/opt/maca/bin:/opt/maca/mxgpu_llvm/bin:/opt/maca/tools/cu-bridge/bin"
		search  = " --env=PATH=" + defaultPath + ":" + dirs
		libs    = "/opt/mxdriver/lib:/opt/maca/lib:/opt/maca/mxgpu_llvm/lib:/opt/maca/ompi/lib:/opt/maca/ucx/lib"
		more    = " --env=MACA_CLANG_PATH=/opt/maca/mxgpu_llvm/bin --env=CUCC_PATH=/opt/maca/tools/cu-bridge"
		env     = " --env=MACA_PATH=/opt/maca" + more
		library = " --env=LD_LIBRARY_PATH=" + libs
		byValue = home + driver + env + search + library
	)
	silent := Daemon{err: errNoDaemon}
	listed := Daemon{info: info{DiscoveredDevices: []discovered{{Source: "cdi", ID: "metax-tech.com/maca=host"}}, CDISpecDirs: []string{"/nowhere"}}}
	own := image.Facts{MACA: &image.Install{Path: "/opt/maca", Version: "3.7.1.5"}}
	host := simulated(t)
	for _, tc := range []struct {
		name, line, inject, check string
		image                     image.Facts
		daemon                    Daemon
		want, says                string // says is part of the notes, or of the error
	}{
		{"no daemon", "run --maca img", "auto", "", image.Facts{}, silent, byValue, ""},
		{"no daemon, CDI", "run --maca img", "cdi", "", image.Facts{}, silent, byName, ""},
		{"listed", "run --maca img", "auto", "", image.Facts{}, listed, byName, ""},
		{"not listed", "run --maca img", "auto", "", image.Facts{}, Daemon{}, byValue, ""},
		{"not listed, CDI", "run --maca img", "cdi", "", image.Facts{}, Daemon{}, "", "error: the docker daemon has no CDI device metax-tech.com/maca=host that mounts /opt/maca-3.3.0.15: run metax-ctk"},
		{"flags", "run --maca img", "flags", "", image.Facts{}, listed, byValue, ""},
		{"with GPUs, which bring the driver", "run --gpus=1 --maca img", "flags", "", image.Facts{}, silent, home + env + search + library, ""},
		{"the user mounts the driver", "run --maca -v /x:/opt/mxdriver img", "flags", "", image.Facts{}, silent, home + env + search + library, ""},
		{"the user has a PATH", "run --maca -e PATH=/p img", "flags", "", image.Facts{}, silent, home + driver + env + " --env=PATH=/p:" + dirs + library, ""},
		{"the user has MACA_PATH", "run --maca -e MACA_PATH=/p img", "auto", "", image.Facts{}, listed, home + driver + more + search + library, ""},
		{"the user has CUCC_PATH", "run --maca -e CUCC_PATH img", "auto", "", image.Facts{}, listed, home + driver + strings.ReplaceAll(env, " --env=CUCC_PATH=/opt/maca/tools/cu-bridge", "") + search + library, ""},
		{"a volume at the place", "run --maca img", "auto", "", image.Facts{Volumes: []string{"/opt/maca"}}, listed, byValue, ""},
		{"an empty directory there", "run --maca img", "auto", "", image.Facts{Empty: true}, listed, byValue, ""},
		{"the image's own is kept", "run --maca img", "auto", "", own, listed, "", "the image has MXMACA 3.7.1.5 of its own in /opt/maca, which is kept (--maca-force gives the host's 3.3.0.15)"},
		{
			"the image's own is replaced", "run --maca-force img", "auto", "", own, listed,
			home + driver + env + " --env=PATH=" + dirs + ":" + defaultPath + library, "",
		},
		{"unusable", "run --maca img", "auto", "", image.Facts{Unusable: "/opt is a file"}, listed, "", "error: image img: /opt is a file: no place for the host's MXMACA"},
		{"the user mounts something there", "run --maca -v /x:/opt/maca img", "auto", "", image.Facts{}, listed, "", "error: something else is to be mounted at /opt/maca"},
		{"a version that is not there", "run --maca=9 img", "auto", "", image.Facts{}, listed, "", "error: --maca: no such version of MXMACA"},
		{"a version as the image", "run --maca 3.3.0.15 img", "auto", "", image.Facts{}, listed, "", `error: the image is "3.3.0.15", which is a version of MXMACA`},
		{"warnings of the image", "run --maca img", "cdi", "", image.Facts{Warnings: []string{"old"}}, listed, byName, "warning: image img: old"},
		{"a new MXMACA, an old driver", "run --maca img", "cdi", "warn", image.Facts{}, listed, byName, "warning: MXMACA 3.3.0.15 with driver 2.15.9: MXMACA 3 needs driver 3"},
		{"refused", "run --maca img", "cdi", "strict", image.Facts{}, listed, "", "error: To start it anyway: --maca-check=warn"},
		{"not requested", "run --gpus=1 img", "auto", "", own, listed, "", ""},
		{"the image's, checked", "run --gpus=1 --maca-check=warn img", "auto", "warn", own, listed, "", "warning: MXMACA 3.7.1.5 with driver 2.15.9: MXMACA 3 needs driver 3"},
		{"the image's, refused", "run --gpus=1 --maca-check=strict img", "auto", "strict", own, listed, "", "error: To start it anyway: --maca-check=warn"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd, err := dockerargs.Scan(strings.Fields(tc.line), dockerargs.Docker())
			if err != nil {
				t.Fatal(err)
			}
			m := MACA{
				Command: cmd, Host: host, Root: "/node", Driver: &gpu.Driver{Version: "2.15.9"},
				Inject: tc.inject, Check: tc.check, Rules: compat.Defaults(),
				Image:  func() (image.Facts, error) { return tc.image, nil },
				Daemon: func() Daemon { return tc.daemon },
				Getenv: func(string) (string, bool) { return "", false },
			}
			if tc.check == "" {
				m.Driver.Version = "3.8.30"
			}
			e, notes, err := m.Edits()
			before, behind := dockerargs.FromEdits(e)
			if d := cmp.Diff(tc.want, strings.Join(append(before, behind...), " ")); d != "" {
				t.Errorf("options (-want +got):\n%s", d)
			}
			var said []string
			for _, n := range notes {
				said = append(said, map[bool]string{true: "warning: "}[n.Warning]+n.Text)
			}
			if err != nil {
				said = append(said, "error: "+err.Error())
			}
			got := strings.Join(said, "\n")
			kind, text, _ := strings.Cut(tc.says, ": ")
			if (tc.says == "") != (got == "") || !strings.Contains(got, text) || kind == "error" != (err != nil) {
				t.Errorf("said %q, want %q", got, tc.says)
			}
		})
	}
}

// TestMACAByDefault is what the configuration gives a line that does not request MXMACA;
// nothing that stands in its way is an error.
func TestMACAByDefault(t *testing.T) {
	const byName = "--device=metax-tech.com/maca=host"
	listed := Daemon{info: info{DiscoveredDevices: []discovered{{Source: "cdi", ID: "metax-tech.com/maca=host"}}, CDISpecDirs: []string{"/nowhere"}}}
	host := simulated(t)
	bare := simtest.Root(t, t.TempDir())
	for _, tc := range []struct {
		name, line string
		host       *hostfs.Root
		image      image.Facts
		fails      error
		daemon     Daemon
		inject     string
		want, says string
	}{
		{"an image without", "run --gpus=1 img", host, image.Facts{}, nil, listed, "auto", byName, ""},
		{"an image with its own", "run --gpus=1 img", host, image.Facts{MACA: &image.Install{Path: "/opt/maca"}}, nil, listed, "auto", "", ""},
		{"an image with a directory there", "run --gpus=1 img", host, image.Facts{Empty: true}, nil, listed, "auto", "", ""},
		{"an image without a place", "run --gpus=1 img", host, image.Facts{Unusable: "/opt is a file"}, nil, listed, "auto", "", ""},
		{"a mount of the user's there", "run --gpus=1 -v /x:/opt/maca img", host, image.Facts{}, nil, listed, "auto", "", ""},
		{"switched off", "run --gpus=1 --maca=false img", host, image.Facts{}, nil, listed, "auto", "", ""},
		{"a host without", "run --gpus=1 img", bare, image.Facts{}, nil, listed, "auto", "", ""},
		{"an image that cannot be read", "run --gpus=1 img", host, image.Facts{}, image.ErrUninspectable, listed, "auto", "", "as maca.default requests: the image cannot be inspected"},
		{"CDI without the device", "run --gpus=1 img", host, image.Facts{}, nil, Daemon{}, "cdi", "", "as maca.default requests: the docker daemon has no CDI device metax-tech.com/maca=host"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd, err := dockerargs.Scan(strings.Fields(tc.line), dockerargs.Docker())
			if err != nil {
				t.Fatal(err)
			}
			e, notes, err := MACA{
				Command: cmd, Default: true, Host: tc.host, Root: "/node", Inject: tc.inject,
				Image:  func() (image.Facts, error) { return tc.image, tc.fails },
				Daemon: func() Daemon { return tc.daemon },
				Getenv: func(string) (string, bool) { return "", false },
			}.Edits()
			before, behind := dockerargs.FromEdits(e)
			if got := strings.Join(append(before, behind...), " "); err != nil || got != tc.want {
				t.Errorf("options %q, %v; want %q", got, err, tc.want)
			}
			if len(notes) > 1 || (len(notes) == 1) != (tc.says != "") || tc.says != "" && !strings.Contains(notes[0].Text, tc.says) {
				t.Errorf("said %v, want %q", notes, tc.says)
			}
		})
	}
}

// A service of compose has no options of a command line, so that no message names one.
func TestMACAOfService(t *testing.T) {
	m := MACA{Service: true, Default: true, Host: simulated(t), Root: "/", Image: func() (image.Facts, error) { return image.Facts{}, errNoDaemon }}
	_, notes, err := m.Edits()
	if err != nil || len(notes) != 1 || !strings.HasSuffix(notes[0].Text, `(for none: the option maca: "false" of the service)`) {
		t.Errorf("by default: %v, %v", notes, err)
	}
	m.Command.Options.MACA.Given = true
	m.Image = func() (image.Facts, error) {
		return image.Facts{MACA: &image.Install{Path: "/opt/maca", Version: "3.7.1.5"}}, nil
	}
	m.Check = dockerargs.MACACheckOff
	_, notes, err = m.Edits()
	if err != nil || len(notes) != 1 || notes[0].Text != "the image has MXMACA 3.7.1.5 of its own in /opt/maca, which is kept" {
		t.Errorf("the image's own: %v, %v", notes, err)
	}
	m.Command.Options.MACA.Version = "9.9"
	if _, _, err := m.Edits(); err == nil || !strings.HasPrefix(err.Error(), "option maca: ") {
		t.Errorf("a version that is not here: %v", err)
	}
}

func TestMACAImageFails(t *testing.T) {
	m := MACA{Host: simulated(t), Root: "/", Image: func() (image.Facts, error) { return image.Facts{}, image.ErrUninspectable }}
	m.Command.Options.MACA.Given = true
	_, _, err := m.Edits()
	if !errors.Is(err, image.ErrUninspectable) || !strings.Contains(err.Error(), "--device metax-tech.com/maca=host") {
		t.Errorf("error %v", err)
	}
	m.Command.Options.MACA.Given, m.Check = false, dockerargs.MACACheckWarn
	if _, notes, err := m.Edits(); err != nil || len(notes) != 1 || !notes[0].Warning {
		t.Errorf("checked: %v, %v", notes, err)
	}
	m.Check = dockerargs.MACACheckStrict
	if _, _, err := m.Edits(); !errors.Is(err, image.ErrUninspectable) {
		t.Errorf("checked strictly: %v", err)
	}
}
