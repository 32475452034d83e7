// SPDX-License-Identifier: Apache-2.0

package dockerargs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Typical command lines. IN stands for the replacement of --gpus.
func TestScanGPUs(t *testing.T) {
	tests := []struct {
		in    string
		want  string // after Rewrite("IN")
		opts  Options
		image string
		rest  string
	}{
		{
			in:   "run --gpus=4 img",
			want: "run IN img", opts: Options{GPUs: "4"}, image: "img",
		},
		{
			in:   "run -it --rm --gpus=all ubuntu:22.04 bash -c ls",
			want: "run -it --rm IN ubuntu:22.04 bash -c ls", opts: Options{GPUs: "all"}, image: "ubuntu:22.04", rest: "bash -c ls",
		},
		{
			in:   "run --gpus all img mx-smi --gpus 3",
			want: "run IN img mx-smi --gpus 3", opts: Options{GPUs: "all"}, image: "img", rest: "mx-smi --gpus 3",
		},
		{
			in:   "create --name x --gpus [0,2] img",
			want: "create --name x IN img", opts: Options{GPUs: "[0,2]"}, image: "img",
		},
		{
			in:   "container run -d --gpus 2 img",
			want: "container run -d IN img", opts: Options{GPUs: "2"}, image: "img",
		},
		{
			in:   "container create --gpus=2 img sh",
			want: "container create IN img sh", opts: Options{GPUs: "2"}, image: "img", rest: "sh",
		},
		{
			in:   "--config /c -D -H unix:///x run --gpus=1 img",
			want: "--config /c -D -H unix:///x run IN img", opts: Options{GPUs: "1"}, image: "img",
		},
		{
			in:   "-- run --gpus=1 img",
			want: "-- run IN img", opts: Options{GPUs: "1"}, image: "img",
		},
		{
			in:   "--help container --help run --gpus=1 img", // docker drops both
			want: "--help container --help run IN img", opts: Options{GPUs: "1"}, image: "img",
		},
		{
			in:   "run -itp80:80 --gpus=1 img",
			want: "run -itp80:80 IN img", opts: Options{GPUs: "1"}, image: "img",
		},
		{
			in:   "run -dp 80:80 --gpus 1 img",
			want: "run -dp 80:80 IN img", opts: Options{GPUs: "1"}, image: "img",
		},
		{
			in:   "run -eA=B -e C=D -e=E --env F --env=G --gpus 1 img",
			want: "run -eA=B -e C=D -e=E --env F --env=G IN img", opts: Options{GPUs: "1"}, image: "img",
		},
		{
			in:   "run --umask 0022 --gpus 1 img", // from Docker 29.8 on
			want: "run --umask 0022 IN img", opts: Options{GPUs: "1"}, image: "img",
		},
		{
			in:   "run --gpus 1 -- img -x",
			want: "run IN -- img -x", opts: Options{GPUs: "1"}, image: "img", rest: "-x",
		},
		{
			in:   "run --gpus 1 -- --gpus x", // an image of that name, docker will say no
			want: "run IN -- --gpus x", opts: Options{GPUs: "1"}, image: "--gpus", rest: "x",
		},
		{
			in:   "run --gpus 1 - x",
			want: "run IN - x", opts: Options{GPUs: "1"}, image: "-", rest: "x",
		},
		{
			in:   "run --gpus 1 ∅ x",
			want: "run IN ∅ x", opts: Options{GPUs: "1"}, image: "", rest: "x",
		},
		{
			in:   "run --rm=false --sig-proxy=false --gpus 1 --init img",
			want: "run --rm=false --sig-proxy=false IN --init img", opts: Options{GPUs: "1"}, image: "img",
		},
		{
			in:   "run --rm false --gpus 1", // a boolean takes no next word: "false" is the image
			want: "run --rm false --gpus 1", image: "false", rest: "--gpus 1",
		},
		{
			in:   "run --entrypoint --gpus --gpus=1 img",
			want: "run --entrypoint --gpus IN img", opts: Options{GPUs: "1"}, image: "img",
		},
		{
			in:   "run --gpus --rm img", // docker also takes it as the value
			want: "run IN img", opts: Options{GPUs: "--rm"}, image: "img",
		},
		{
			in:   "run --gpus= img",
			want: "run IN img", opts: Options{GPUs: ""}, image: "img",
		},
		{
			in:   "run --newflag=x --gpus=1 img", // whole without being known
			want: "run --newflag=x IN img", opts: Options{GPUs: "1"}, image: "img",
		},
		{
			in:   "run --gpus=2 --gpus-policy spread --gpus-explain --dry-run --inject=flags --rm img",
			want: "run IN --rm img", image: "img",
			opts: Options{GPUs: "2", Policy: "spread", Explain: true, DryRun: true, Inject: InjectFlags},
		},
		{
			in:   "run --dry-run=0 --inject cdi --gpus-policy=binpack -it --gpus-explain=false --gpus=2 --rm img",
			want: "run -it IN --rm img", image: "img",
			opts: Options{GPUs: "2", Policy: "binpack", Inject: InjectCDI},
		},
		{
			in:   "run --gpus=1 -v /a:/b -w /b --ulimit memlock=-1 --shm-size 100gb --net=host --ipc=host img python -m x --dry-run",
			want: "run IN -v /a:/b -w /b --ulimit memlock=-1 --shm-size 100gb --net=host --ipc=host img python -m x --dry-run",
			opts: Options{GPUs: "1"}, image: "img", rest: "python -m x --dry-run",
		},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			cmd, err := Scan(words(tt.in), Docker())
			if err != nil {
				t.Fatal(err)
			}
			type result struct {
				Rewritten, Image, Rest string
				HasImage, TakesGPU     bool
				Options                Options
			}
			want := result{tt.want, tt.image, tt.rest, true, tt.want != tt.in, tt.opts}
			got := result{join(cmd.Rewrite("IN")), cmd.Image, join(cmd.Rest), cmd.HasImage, cmd.TakesGPU, cmd.Options}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// Command lines that concern only the client.
func TestScanLeavesAlone(t *testing.T) {
	for _, line := range []string{
		"",
		"ps",
		"ps --gpus=1",
		"--version",
		"--host",
		"-H",
		"--config x",
		"---x run --gpus=1 img",
		"--= run --gpus=1 img",
		"∅ run --gpus=1 img",
		"-",
		"container",
		"container ls --gpus=1",
		"container -- run --gpus=1 img", // docker: unknown command
		"container container run --gpus=1 img",
		"compose run --gpus=1 img",
		"compose --dry-run up",
		"exec -it x run --gpus=1",
		"service create --name x img",
		"help run",
		"run",
		"run img",
		"run img --gpus=1",
		"run -- img --gpus=1",
		"run --name --gpus img",
		"run img --maca",
		"run --name --maca img",
		"run -e --gpus=1 img",
		"run -l--gpus=1 img",
		"run --name",
		"run -dp",
		"run -h",
		"run --help",
		"run --bogus",
		"run --bogus value img",
		"run -z img",
		"run ---gpus=1 img",
		"run --=1 img",
		"create",
		"--bogus value ps",
	} {
		t.Run(line, func(t *testing.T) {
			cmd, err := Scan(words(line), Docker())
			if err != nil {
				t.Fatal(err)
			}
			if cmd.TakesGPU {
				t.Error("takes a GPU")
			}
			if d := cmp.Diff(line, join(cmd.Rewrite("IN"))); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// If docker stops at an error before the image, metax-docker's words are removed and
// docker reports its error.
func TestScanFaultsOfTheClient(t *testing.T) {
	tests := []struct{ in, want string }{
		{"run --gpus=1", "run"},
		{"run -it --gpus=1 --dry-run", "run -it"},
		{"run --gpus=1 --name", "run --name"},
		{"run --gpus=1 -dp", "run -dp"},
		{"run --gpus=1 ---x img", "run ---x img"},
		{"run --gpus=1 --", "run --"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			cmd, err := Scan(words(tt.in), Docker())
			if err != nil {
				t.Fatal(err)
			}
			if !cmd.TakesGPU || cmd.HasImage {
				t.Errorf("takes GPU %v, has image %v; want true, false", cmd.TakesGPU, cmd.HasImage)
			}
			if d := cmp.Diff(tt.want, join(cmd.Rewrite())); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestScanRefuses(t *testing.T) {
	tests := []struct {
		in   string
		want error
		msg  string
	}{
		{"run --gpus", &OptionError{Option: "--gpus"}, "flag needs an argument: --gpus"},
		{"run --gpus=1 --gpus-policy", &OptionError{Option: "--gpus-policy"}, "flag needs an argument: --gpus-policy"},
		{"run -gpus=4 img", &OptionError{Option: "--gpus"}, "-gpus=4 needs two dashes: --gpus=4"},
		{"run -it -gpus 4 img", &OptionError{Option: "--gpus"}, "-gpus needs two dashes: --gpus"},
		{"run -gpus-wait=4m --gpus=1 img", &OptionError{Option: "--gpus-wait"}, "-gpus-wait=4m needs two dashes: --gpus-wait=4m"},
		{"run --gpus=1 -inject=cdi img", &OptionError{Option: "--inject"}, "-inject=cdi needs two dashes: --inject=cdi"},
		{"run --gpus=1 -dry-run img", &OptionError{Option: "--dry-run"}, "-dry-run needs two dashes: --dry-run"},
		{"start -gpus-wait=1m c", &OptionError{Option: "--gpus-wait"}, "-gpus-wait=1m needs two dashes: --gpus-wait=1m"},
		{"create -maca img", &OptionError{Option: "--maca"}, "-maca needs two dashes: --maca"},
		{"run --gpus=1 --gpus=2 img", &OptionError{Option: "--gpus"}, "--gpus is given twice; give it once"},
		{"run --gpus=1 --dry-run --dry-run=0 img", &OptionError{Option: "--dry-run"}, "--dry-run is given twice; give it once"},
		{"run --gpus=1 --dry-run=x img", &OptionError{Option: "--dry-run"}, `invalid argument "x" for --dry-run: want true or false`},
		{"run --gpus=1 --gpus-explain= img", &OptionError{Option: "--gpus-explain"}, `invalid argument "" for --gpus-explain: want true or false`},
		{"run --gpus=1 --inject=hook img", &OptionError{Option: "--inject"}, `invalid argument "hook" for --inject: want auto, cdi or flags`},
		{"run --dry-run img", &WithoutGPUsError{Option: "--dry-run"}, "--dry-run needs --gpus or --maca; add for example --gpus=1"},
		{"run --inject=cdi img --gpus=1", &WithoutGPUsError{Option: "--inject"}, "--inject needs --gpus or --maca; add for example --gpus=1"},
		{"run --maca-check=strict img", &WithoutGPUsError{Option: "--maca-check"}, "--maca-check needs --gpus or --maca; add for example --gpus=1"},
		{"run --maca --gpus-share img", &WithoutGPUsError{Option: "--gpus-share"}, "--gpus-share needs --gpus; add for example --gpus=1"},
		{"run --maca --maca img", &OptionError{Option: "--maca"}, "--maca is given twice; give it once"},
		{"run --maca=../x img", &OptionError{Option: "--maca"}, `invalid argument "../x" for --maca: want a version such as --maca=3.3.0.15`},
		{"run --maca-force= img", &OptionError{Option: "--maca-force"}, `invalid argument "" for --maca-force: want a version such as --maca-force=3.3.0.15`},
		{"run --maca=3.3 --maca-force=3.4 img", &OptionError{Option: "--maca-force"}, "--maca=3.3 and --maca-force=3.4 name two versions; name one"},
		{"run --maca --maca-check=loud img", &OptionError{Option: "--maca-check"}, `invalid argument "loud" for --maca-check: want off, warn or strict`},
		{"create --gpus-policy=spread", &WithoutGPUsError{Option: "--gpus-policy"}, "--gpus-policy needs --gpus; add for example --gpus=1"},
		{
			"run --bogus --gpus=1 img", &UnknownFlagError{Flag: "--bogus"},
			`unknown flag: "--bogus" (if it takes a value, write --bogus=VALUE)`,
		},
		{"run --gpus=1 -itz img", &UnknownFlagError{Flag: "-z"}, `unknown shorthand flag: "-z"`},
		{"run -\xc3 --gpus=1 img", &UnknownFlagError{Flag: "-\xc3"}, `unknown shorthand flag: "-\xc3"`},
		{
			"--root /x run --gpus=1 img", &UnknownFlagError{Flag: "--root", Global: true},
			`unknown flag: "--root" (if it takes a value, write --root=VALUE)`,
		},
		{"--gpus 1 run img", &UnknownFlagError{Flag: "--gpus", Global: true}, `unknown flag: "--gpus" here (it goes after run or create)`},
		{"--gpus=1 run img", &UnknownFlagError{Flag: "--gpus", Global: true}, `unknown flag: "--gpus" here (it goes after run or create)`},
		{"--gpus-wait=1m start c", &UnknownFlagError{Flag: "--gpus-wait", Global: true}, `unknown flag: "--gpus-wait" here (it goes after run, create or compose up)`},
		{"start --gpus-policy=spread c", &UnknownFlagError{Flag: "--gpus-policy"}, `unknown flag: "--gpus-policy" here (it goes after run, create or compose up)`},
		{"run --gpus=1 --gpus-plicy=mtf img", &UnknownFlagError{Flag: "--gpus-plicy"}, `unknown flag: "--gpus-plicy"; did you mean "--gpus-policy"?`},
		{"run --gpu 1 img", &UnknownFlagError{Flag: "--gpu"}, `unknown flag: "--gpu"; did you mean "--gpus"?`},
		{"run --gpu=1 img", &UnknownFlagError{Flag: "--gpu"}, `unknown flag: "--gpu"; did you mean "--gpus"?`},
		{"create --gpus=1 --gpus-only img", &UnknownFlagError{Flag: "--gpus-only"}, `unknown flag: "--gpus-only"`},
		{"start --gpus-wiat=1m c", &UnknownFlagError{Flag: "--gpus-wiat"}, `unknown flag: "--gpus-wiat"; did you mean "--gpus-wait"?`},
		{"run --gpus=1 --inject=cid img", &OptionError{Option: "--inject"}, `invalid argument "cid" for --inject: want auto, cdi or flags; did you mean "cdi"?`},
		{"run --maca --maca-check=strcit img", &OptionError{Option: "--maca-check"}, `invalid argument "strcit" for --maca-check: want off, warn or strict; did you mean "strict"?`},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			cmd, err := Scan(words(tt.in), Docker())
			if err == nil {
				t.Fatalf("scanned as %s", join(cmd.Rewrite("IN")))
			}
			// The reason of an OptionError is its message, compared below.
			if d := cmp.Diff(tt.want, err, cmpopts.IgnoreFields(OptionError{}, "Reason")); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if d := cmp.Diff(tt.msg, err.Error()); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestScanFlags(t *testing.T) {
	in := "-Hssh://h --host tcp://x -c=remote -D --tlsverify=false --log-level=debug container run " +
		"-it -u 1000:1000 --privileged --rm=false -P=0 -e= -v/a:/b --device /dev/fuse --new=1 --gpus=1 --dry-run --user=0 img -u x"
	cmd, err := Scan(words(in), Docker())
	if err != nil {
		t.Fatal(err)
	}
	wantGlobal := Flags{
		{"host", "ssh://h", true, 0, 1},
		{"host", "tcp://x", true, 1, 2},
		{"context", "remote", true, 3, 1},
		{"debug", "true", false, 4, 1},
		{"tlsverify", "false", true, 5, 1},
		{"log-level", "debug", true, 6, 1},
	}
	wantFlags := Flags{
		{"interactive", "true", false, 9, 1},
		{"tty", "true", false, 9, 1},
		{"user", "1000:1000", true, 10, 2},
		{"privileged", "true", false, 12, 1},
		{"rm", "false", true, 13, 1},
		{"publish-all", "0", true, 14, 1},
		{"env", "=", true, 15, 1}, // as docker reads it
		{"volume", "/a:/b", true, 16, 1},
		{"device", "/dev/fuse", true, 17, 2},
		{"new", "1", true, 19, 1},
		{"user", "0", true, 22, 1},
	}
	if d := cmp.Diff(wantGlobal, cmd.Global); d != "" {
		t.Errorf("global -want +got:\n%s", d)
	}
	if d := cmp.Diff(wantFlags, cmd.Flags); d != "" {
		t.Errorf("run -want +got:\n%s", d)
	}
	if cmd.Verb != "run" || cmd.Image != "img" {
		t.Errorf("verb %q, image %q", cmd.Verb, cmd.Image)
	}
	if user, ok := cmd.Flags.Last("user"); user != "0" || !ok {
		t.Errorf("user %q, %v", user, ok)
	}
	for name, want := range map[string][2]bool{
		"privileged": {true, true}, "rm": {true, false}, "device": {true, false}, "runtime": {false, false},
	} {
		if got := [2]bool{cmd.Flags.Has(name), cmd.Flags.True(name)}; got != want {
			t.Errorf("%s: given, true = %v, want %v", name, got, want)
		}
	}
}

// Help requests are parsed without any option of metax-docker, so that the caller can
// add its own help.
func TestScanHelp(t *testing.T) {
	for _, line := range []string{"run --help", "run --gpus=1 --help", "create --help img", "run -it --help=true"} {
		cmd, err := Scan(words(line), Docker())
		if err != nil {
			t.Fatal(err)
		}
		if !cmd.Flags.True("help") {
			t.Errorf("%q does not ask for help", line)
		}
	}
	cmd, err := Scan(words("run -h name img --help"), Docker())
	if err != nil {
		t.Fatal(err)
	}
	if cmd.Flags.Has("help") || cmd.Image != "img" {
		t.Errorf("-h is the hostname: %v, image %q", cmd.Flags, cmd.Image)
	}
}
