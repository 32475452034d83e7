// SPDX-License-Identifier: Apache-2.0

package dockerargs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// words splits a command line at blanks; "" is written as ∅.
func words(line string) []string {
	out := strings.Fields(line)
	for i, w := range out {
		if w == "∅" {
			out[i] = ""
		}
	}
	return out
}

// join is the inverse of words, for readable tables.
func join(argv []string) string {
	out := make([]string, len(argv))
	for i, w := range argv {
		if out[i] = w; w == "" {
			out[i] = "∅"
		}
	}
	return strings.Join(out, " ")
}

func ExampleScan() {
	args := []string{"run", "-it", "--gpus=2", "--dry-run", "--rm", "img", "sh", "-c", "ls /dev"}
	cmd, err := Scan(args, Docker())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cmd.Options.GPUs, cmd.Options.DryRun, cmd.Image)
	argv := append([]string{"docker"}, cmd.Rewrite("--device", "metax-tech.com/gpu=GPU-1")...)
	fmt.Println(Quote(argv))
	// Output:
	// 2 true img
	// docker run -it --device metax-tech.com/gpu=GPU-1 --rm img sh -c 'ls /dev'
}

func TestRewriteSharesNothing(t *testing.T) {
	in := words("run --gpus=1 --rm img a b")
	cmd, err := Scan(in, Docker())
	if err != nil {
		t.Fatal(err)
	}
	out := cmd.Rewrite("--device", "metax-tech.com/gpu=0")
	if d := cmp.Diff(words("run --device metax-tech.com/gpu=0 --rm img a b"), out); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	for i := range out {
		out[i] = "changed"
	}
	if d := cmp.Diff(words("run --gpus=1 --rm img a b"), in); d != "" {
		t.Errorf("the input changed:\n%s", d)
	}
}

func FuzzScan(f *testing.F) {
	for _, line := range []string{
		"run --gpus=4 img", "run -it --rm img sh", "container run -dp 80:80 --gpus 2 -- img", "--host x create --dry-run img",
		"run --gpus 1 --inject=cdi --gpus-policy=spread --gpus-explain img --gpus 3", "run -e= -itz ---x",
		"run --maca=3.3 -e A=b --maca-force -- img --maca", "create --maca=false img", "start --dry-run a b", "run --gpus 1 -a", "ps -a", "run --gpus",
	} {
		f.Add(strings.Join(strings.Fields(line), "\x00"))
	}
	client := Docker()
	f.Fuzz(func(t *testing.T, joined string) {
		args := strings.Split(joined, "\x00")
		cmd, err := Scan(args, client)
		if err != nil {
			var typo *UnknownFlagError // docker does not know the flag either
			if !mentionsOption(args) && !errors.As(err, &typo) {
				t.Fatalf("%q: %v, although nothing is ours", args, err)
			}
			return
		}
		if cmd.isStart() {
			return
		}
		if !cmd.Gives() {
			if d := cmp.Diff(args, cmd.Rewrite("IN"), cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("%q changed with nothing to give:\n%s", args, d)
			}
			return
		}
		out := cmd.RewriteWith([]string{"--device=x"}, []string{"--env=y"})
		added := 1
		if cmd.HasImage {
			added = 2
			// Everything from the image on is unchanged.
			tail := append([]string{cmd.Image}, cmd.Rest...)
			for _, line := range [][]string{args, out} {
				if len(line) < len(tail) || !cmp.Equal(tail, line[len(line)-len(tail):]) {
					t.Fatalf("%q: image %q and rest %q do not end %q", args, cmd.Image, cmd.Rest, line)
				}
			}
		}
		// The rewritten line scans to the same command, without metax-docker's options.
		again, err := Scan(out, client)
		if err != nil {
			t.Fatalf("%q, rewritten to %q: %v", args, out, err)
		}
		if again.Gives() || again.HasImage != cmd.HasImage || again.Image != cmd.Image || again.Verb != cmd.Verb ||
			!cmp.Equal(again.Rest, cmd.Rest, cmpopts.EquateEmpty()) || len(again.Flags) != len(cmd.Flags)+added {
			t.Fatalf("%q and its rewriting %q scan differently:\n%#v\n%#v", args, out, cmd, again)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	args := words("--config /c run -it --rm -v /a:/b --shm-size 100gb --ulimit memlock=-1 --gpus=4 --name x img python train.py")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Scan(args, Docker()); err != nil {
			b.Fatal(err)
		}
	}
}
