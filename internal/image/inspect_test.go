// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/metax-ctk/container-toolkit/internal/image"
)

// tree is an image by its paths: "-> target" is a link, "/" a directory, "|" a pipe,
// and anything else the content of a file. Parents of a path are directories.
type tree map[string]string

func (tr tree) Stat(_ context.Context, name string) (image.Stat, error) {
	if text, ok := tr[name]; ok {
		switch target, isLink := strings.CutPrefix(text, "-> "); {
		case isLink:
			return image.Stat{Mode: fs.ModeSymlink | 0o777, Target: target}, nil
		case text == "/":
			return image.Stat{Mode: fs.ModeDir | 0o755}, nil
		case text == "|":
			return image.Stat{Mode: fs.ModeNamedPipe}, nil
		}
		return image.Stat{Mode: 0o644, Size: int64(len(text))}, nil
	}
	for other := range tr {
		if strings.HasPrefix(other, name+"/") {
			return image.Stat{Mode: fs.ModeDir | 0o755}, nil
		}
	}
	// A path below a link means that Inspect has not followed the link.
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		if strings.HasPrefix(tr[dir], "-> ") {
			return image.Stat{}, fmt.Errorf("asked for %s below a link", name)
		}
	}
	return image.Stat{}, fs.ErrNotExist
}

func (tr tree) File(ctx context.Context, name string, max int64) ([]byte, error) {
	stat, err := tr.Stat(ctx, name)
	if err != nil || !stat.Mode.IsRegular() || stat.Size > max {
		return nil, fmt.Errorf("asked for %s, which is %v of %d bytes: %w", name, stat.Mode, stat.Size, err)
	}
	return []byte(tr[name]), nil
}

const label = "com.example.version"

func install(dir, version string) *image.Install {
	return &image.Install{Path: image.Path, Dir: dir, Version: version, VersionFrom: "Version.txt"}
}

func TestInspect(t *testing.T) {
	const v2 = "Version:2.0\n"
	chain := func(n int) tree { // of n links, the last to an installation
		tr := tree{"/opt/maca": "-> l1", fmt.Sprintf("/opt/l%d/Version.txt", n): v2}
		for i := 1; i < n; i++ {
			tr[fmt.Sprintf("/opt/l%d", i)] = fmt.Sprintf("-> l%d", i+1)
		}
		return tr
	}
	none := image.Facts{}
	found := func(i *image.Install) image.Facts { return image.Facts{MACA: i} }
	unknown := image.Facts{MACA: &image.Install{Path: image.Path, Dir: "/opt/maca"}}
	unusable := func(why string) image.Facts { return image.Facts{Unusable: why} }
	for name, tc := range map[string]struct {
		tree  tree
		env   []string
		label string
		want  image.Facts
		warns []string // what each warning has to say
	}{
		"nothing":            {tree{}, nil, "", none, nil},
		"no maca":            {tree{"/opt": "/"}, nil, "", none, nil},
		"directory":          {tree{"/opt/maca/Version.txt": v2}, nil, "", found(install("/opt/maca", "2.0")), nil},
		"relative link":      {tree{"/opt/maca": "-> maca-2.0", "/opt/maca-2.0/Version.txt": v2}, nil, "", found(install("/opt/maca-2.0", "2.0")), nil},
		"absolute link":      {tree{"/opt/maca": "-> /opt/maca-2.0/", "/opt/maca-2.0/Version.txt": v2}, nil, "", found(install("/opt/maca-2.0", "2.0")), nil},
		"up and down":        {tree{"/opt/maca": "-> ../opt/./x/../maca-2.0", "/opt/x": "/", "/opt/maca-2.0/Version.txt": v2}, nil, "", found(install("/opt/maca-2.0", "2.0")), nil},
		"above the root":     {tree{"/opt/maca": "-> ../../../../data/maca", "/data/maca/Version.txt": v2}, nil, "", found(install("/data/maca", "2.0")), []string{"out of /opt"}},
		"opt is a link":      {tree{"/opt": "-> /data", "/data/maca/Version.txt": v2}, nil, "", found(install("/data/maca", "2.0")), []string{`/opt of the image is a link, to "/data"`}},
		"by lib":             {tree{"/opt/maca/lib/x.so": "ELF"}, nil, "3.3", image.Facts{MACA: &image.Install{Path: image.Path, Dir: "/opt/maca", Version: "3.3", VersionFrom: "label " + label}}, []string{`no "/opt/maca/Version.txt"`}},
		"lib is a link":      {tree{"/opt/maca/lib": "-> lib64", "/opt/maca/lib64/x.so": "ELF"}, nil, "", unknown, []string{`no "/opt/maca/Version.txt"`, "not known"}},
		"lib leads out":      {tree{"/opt/maca/lib": "-> /usr/lib", "/usr/lib/x.so": "ELF"}, nil, "", image.Facts{Empty: true}, nil},
		"lib is a file":      {tree{"/opt/maca/lib": "x"}, nil, "", image.Facts{Empty: true}, nil},
		"empty":              {tree{"/opt/maca": "/"}, nil, "", image.Facts{Empty: true}, nil},
		"link to empty":      {tree{"/opt/maca": "-> maca-2.0", "/opt/maca-2.0": "/"}, nil, "", image.Facts{Empty: true}, nil},
		"broken":             {tree{"/opt/maca": "-> gone/maca"}, nil, "", image.Facts{}, []string{`"/opt/gone/maca", which is not there`}},
		"broken in system":   {tree{"/opt/maca": "-> /etc/gone"}, nil, "", unusable(`"/etc/gone", a directory of the system`), []string{"/etc/gone"}},
		"root":               {tree{"/opt/maca": "-> /", "/Version.txt": v2}, nil, "", unusable(`"/", a directory of the system`), []string{`"/"`}},
		"up to the root":     {tree{"/opt/maca": "-> ../../..", "/lib": "/"}, nil, "", unusable(`"/", a directory`), []string{`"/"`}},
		"opt itself":         {tree{"/opt/maca": "-> .", "/opt/lib": "/"}, nil, "", unusable(`"/opt", a directory`), []string{`"/opt"`}},
		"etc":                {tree{"/opt/maca": "-> ../../../etc", "/etc/Version.txt": v2}, nil, "", unusable(`"/etc", a directory`), []string{"/etc"}},
		"below usr/lib":      {tree{"/opt/maca": "-> /usr/lib/x", "/usr/lib/x/Version.txt": v2}, nil, "", unusable("/usr/lib/x"), []string{"/usr/lib/x"}},
		"etc by opt":         {tree{"/opt": "-> etc", "/etc/maca/Version.txt": v2}, nil, "", unusable("/etc/maca"), []string{"/etc/maca"}},
		"beside etc":         {tree{"/opt/maca": "-> /etcetera", "/etcetera/Version.txt": v2}, nil, "", found(install("/etcetera", "2.0")), []string{"out of /opt"}},
		"usr/local/x":        {tree{"/opt/maca": "-> /usr/local/maca", "/usr/local/maca/Version.txt": v2}, nil, "", found(install("/usr/local/maca", "2.0")), []string{"out of /opt"}},
		"itself":             {tree{"/opt/maca": "-> maca"}, nil, "", unusable("circle"), []string{"/opt/maca"}},
		"circle":             {tree{"/opt/maca": "-> b", "/opt/b": "-> maca/x"}, nil, "", unusable("circle"), []string{"circle"}},
		"40 links":           {chain(40), nil, "", found(install("/opt/l40", "2.0")), nil},
		"41 links":           {chain(41), nil, "", unusable("circle"), []string{"too many"}},
		"many steps":         {tree{"/opt/maca": "-> " + strings.Repeat("x/../", 500) + "y", "/opt/x": "/"}, nil, "", unusable("circle"), []string{"too many"}},
		"file":               {tree{"/opt/maca": "x"}, nil, "", unusable("is a file"), []string{"not a directory"}},
		"pipe":               {tree{"/opt/maca": "|"}, nil, "", unusable("is a pipe"), []string{"not a directory"}},
		"link over a file":   {tree{"/opt/maca": "-> f/x", "/opt/f": "x"}, nil, "", unusable(`"/opt/f" is not a directory`), []string{"reached"}},
		"opt is a file":      {tree{"/opt": "x"}, nil, "", unusable(`"/opt" is not a directory`), []string{"reached"}},
		"version elsewhere":  {tree{"/opt/maca/Version.txt": "-> /etc/shadow", "/etc/shadow": v2, "/opt/maca/lib": "/"}, nil, "", unknown, []string{`"/etc/shadow", which is not read`, "not known"}},
		"version beside":     {tree{"/opt/maca/Version.txt": "-> ../maca-2/V", "/opt/maca-2/V": v2, "/opt/maca/lib": "/"}, nil, "", unknown, []string{`"/opt/maca-2/V", which is not read`, "not known"}},
		"version inside":     {tree{"/opt/maca/Version.txt": "-> etc/V", "/opt/maca/etc/V": v2}, nil, "", found(install("/opt/maca", "2.0")), nil},
		"version a device":   {tree{"/opt/maca/Version.txt": "-> /dev/zero", "/opt/maca/lib": "/"}, nil, "", unknown, []string{"/dev/zero", "not known"}},
		"version in circles": {tree{"/opt/maca/Version.txt": "-> Version.txt", "/opt/maca/lib": "/"}, nil, "", unknown, []string{"circle", "not known"}},
		"version a pipe":     {tree{"/opt/maca/Version.txt": "|", "/opt/maca/lib": "/"}, nil, "", unknown, []string{"is a pipe", "not known"}},
		"version huge":       {tree{"/opt/maca/Version.txt": strings.Repeat("x", 64<<10+1)}, nil, "", unknown, []string{"65537 bytes", "not known"}},
		"version empty":      {tree{"/opt/maca/Version.txt": ""}, nil, "", unknown, []string{"no version", "not known"}},
		"version binary":     {tree{"/opt/maca/Version.txt": "\x7fELF\x02"}, nil, "", unknown, []string{"no version", "not known"}},
		"version suffix":     {tree{"/opt/maca/Version.txt": "Version:3.8.0.3-c600u\nmore"}, nil, "", found(install("/opt/maca", "3.8.0.3-c600u")), nil},
		"label agrees":       {tree{"/opt/maca/Version.txt": "Version:2.0.1"}, []string{"MACA_AI_VERSION=2"}, " 2.0\n", found(install("/opt/maca", "2.0.1")), nil},
		"label differs":      {tree{"/opt/maca/Version.txt": v2}, []string{"MACA_AI_VERSION=2.01"}, "3.0", found(install("/opt/maca", "2.0")), []string{"3.0; the first", "2.01; the first"}},
		"environment":        {tree{"/opt/maca/lib": "/"}, []string{"MACA_AI_VERSION=1", "MACA_AI_VERSION=3.1"}, "", image.Facts{MACA: &image.Install{Path: image.Path, Dir: "/opt/maca", Version: "3.1", VersionFrom: "environment MACA_AI_VERSION"}}, []string{`no "/opt/maca/Version.txt"`}},
		"label no version":   {tree{"/opt/maca/Version.txt": v2}, nil, "a b", found(install("/opt/maca", "2.0")), []string{"label " + label + ` of the image is "a b"`}},
		"label alone":        {tree{}, nil, "3.0", none, []string{"MXMACA 3.0, but the image has none"}},
		"MACA_PATH":          {tree{"/srv/m/Version.txt": v2}, []string{"MACA_PATH=/srv/m/"}, "", image.Facts{MACA: &image.Install{Path: "/srv/m", Dir: "/srv/m", Version: "2.0", VersionFrom: "Version.txt"}}, nil},
		"MACA_PATH same":     {tree{"/opt/maca": "-> maca-2", "/opt/maca-2/Version.txt": v2}, []string{"MACA_PATH=/opt/maca-2"}, "", found(install("/opt/maca-2", "2.0")), nil},
		"MACA_PATH usual":    {tree{}, []string{"MACA_PATH=/opt/maca/"}, "", none, nil},
		"MACA_PATH other":    {tree{"/opt/maca/Version.txt": v2, "/srv/m/Version.txt": "Version:3"}, []string{"MACA_PATH=/srv/m"}, "", found(install("/opt/maca", "2.0")), []string{`another at MACA_PATH="/srv/m"`}},
		"MACA_PATH nowhere":  {tree{"/srv/f": "x"}, []string{"MACA_PATH=/srv/m"}, "", none, []string{"leads to no MXMACA"}},
		"MACA_PATH a file":   {tree{"/srv/f": "x"}, []string{"MACA_PATH=/srv/f"}, "", none, []string{"not a directory"}},
		"MACA_PATH empty":    {tree{"/srv/m": "/"}, []string{"MACA_PATH=/srv/m"}, "", none, []string{"leads to no MXMACA"}},
		"MACA_PATH relative": {tree{"/m/Version.txt": v2}, []string{"MACA_PATH=m"}, "", none, []string{"not absolute"}},
		"MACA_PATH system":   {tree{"/etc/Version.txt": v2}, []string{"MACA_PATH=/etc"}, "", none, []string{"directory of the system"}},
		"MACA_PATH for a bad one": {
			tree{"/opt/maca": "-> /", "/srv/m/Version.txt": v2},
			[]string{"MACA_PATH=/srv/m"},
			"",
			image.Facts{MACA: &image.Install{Path: "/srv/m", Dir: "/srv/m", Version: "2.0", VersionFrom: "Version.txt"}, Unusable: `"/", a directory of the system`},
			[]string{"directory of the system"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			labels := map[string]string{label: tc.label, "other": "9"}
			got, err := image.Inspect(t.Context(), "sha256:a", tc.env, labels, tc.tree, []string{"missing", label})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Warnings) != len(tc.warns) {
				t.Fatalf("warnings %q, want %q", got.Warnings, tc.warns)
			}
			for i, says := range tc.warns {
				if !strings.Contains(got.Warnings[i], says) {
					t.Errorf("warning %q does not say %q", got.Warnings[i], says)
				}
			}
			if (got.Unusable == "") != (tc.want.Unusable == "") || !strings.Contains(got.Unusable, tc.want.Unusable) {
				t.Errorf("unusable: %q, want %q", got.Unusable, tc.want.Unusable)
			}
			tc.want.ID, tc.want.Env, tc.want.Labels = "sha256:a", tc.env, labels
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(image.Facts{}, "Warnings", "Unusable"), cmpopts.IgnoreUnexported(image.Facts{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// failing fails for one path.
type failing struct {
	tree
	at  string
	err error
}

func (f failing) Stat(ctx context.Context, name string) (image.Stat, error) {
	if name == f.at {
		return image.Stat{}, f.err
	}
	return f.tree.Stat(ctx, name)
}

func (f failing) File(ctx context.Context, name string, max int64) ([]byte, error) {
	if f.at == "file" {
		return nil, f.err
	}
	return f.tree.File(ctx, name, max)
}

// A file that could not be read is an error, not a fact.
func TestInspectTrouble(t *testing.T) {
	tr := tree{"/opt/maca": "-> maca-2", "/opt/maca-2/lib": "/", "/opt/maca-2/Version.txt": "Version:2"}
	gone := errors.New("the daemon is gone")
	for _, at := range []string{"/opt", "/opt/maca", "/opt/maca-2", "/opt/maca-2/Version.txt", "/srv", "file"} {
		for _, err := range []error{gone, context.Canceled} {
			got, e := image.Inspect(t.Context(), "sha256:a", []string{"MACA_PATH=/srv/m"}, nil, failing{tr, at, err}, nil)
			if !errors.Is(e, err) || !cmp.Equal(got, image.Facts{}, cmpopts.IgnoreUnexported(image.Facts{})) {
				t.Errorf("%s: %+v, %v", at, got, e)
			}
		}
	}
	// A file that changes before it is read.
	for _, err := range []error{image.ErrNotRegular, image.ErrTooLarge, fs.ErrNotExist} {
		if _, e := image.Inspect(t.Context(), "sha256:a", nil, nil, failing{tr, "file", err}, nil); !errors.Is(e, err) {
			t.Errorf("%v: %v", err, e)
		}
	}
	// An engine that follows links itself reports circles by an error.
	for err, says := range map[error]string{syscall.ELOOP: "circle", syscall.ENOTDIR: "not a directory"} {
		got, e := image.Inspect(t.Context(), "sha256:a", nil, nil, failing{tr, "/opt/maca", fmt.Errorf("stat: %w", err)}, nil)
		if e != nil || got.MACA != nil || got.Empty || !strings.Contains(got.Unusable, says) {
			t.Errorf("%v: %+v, %v", err, got, e)
		}
	}
}

// No image makes Inspect read a path more than once.
func TestInspectBounded(t *testing.T) {
	hostile := tree{"/opt/maca": "-> " + strings.Repeat("../opt/d/", 400) + "maca", "/opt/d/maca": "-> /opt/maca"}
	for i := range 100 {
		hostile["/opt/d"+strings.Repeat("/d", i)+"/maca"] = "-> d/maca"
	}
	asked := counting{tree: hostile, n: new(int)}
	if _, err := image.Inspect(t.Context(), "sha256:a", []string{"MACA_PATH=/opt" + strings.Repeat("/d", 2000)}, nil, asked, nil); err != nil {
		t.Fatal(err)
	}
	if *asked.n > 500 {
		t.Errorf("asked %d times", *asked.n)
	}
}

type counting struct {
	tree
	n *int
}

func (c counting) Stat(ctx context.Context, name string) (image.Stat, error) {
	*c.n++
	return c.tree.Stat(ctx, name)
}

func FuzzInspect(f *testing.F) {
	f.Add("/opt/maca\x00-> maca-2\n/opt/maca-2/lib\x00/", "MACA_PATH=/opt/maca-2", "1")
	f.Add("/opt\x00-> /\n/maca\x00-> opt/maca", "MACA_PATH=../x", "\x00")
	f.Fuzz(func(t *testing.T, text, variable, version string) {
		tr := tree{}
		for line := range strings.SplitSeq(text, "\n") {
			name, content, _ := strings.Cut(line, "\x00")
			if name = path.Clean("/" + name); name != "/" {
				tr[name] = content
			}
		}
		got, err := image.Inspect(t.Context(), "i", []string{variable}, map[string]string{label: version}, resolved{tr}, []string{label})
		if err != nil {
			t.Fatal(err)
		}
		if got.Empty && got.Unusable != "" {
			t.Errorf("%+v", got)
		}
		for _, name := range dirOf(got) {
			if !path.IsAbs(name) || path.Clean(name) != name || name == "/" || strings.HasPrefix(name, "/etc/") {
				t.Errorf("directory %q", name)
			}
		}
		for _, w := range got.Warnings {
			if bytes.ContainsAny([]byte(w), "\x00\n\x1b") {
				t.Errorf("warning %q", w)
			}
		}
	})
}

func dirOf(f image.Facts) []string {
	if f.MACA == nil {
		return nil
	}
	return []string{f.MACA.Dir}
}

// resolved is a tree in which, unlike in a real one, a file may be the parent of
// another.
type resolved struct{ tree }

func (r resolved) Stat(ctx context.Context, name string) (image.Stat, error) {
	stat, err := r.tree.Stat(ctx, name)
	if err != nil {
		err = fs.ErrNotExist
	}
	return stat, err
}
