// SPDX-License-Identifier: Apache-2.0

package mxsml

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/gputest"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// exit is the error of a program that ended with a code.
type exit int

func (e exit) Error() string { return fmt.Sprint("exit status ", int(e)) }
func (e exit) ExitCode() int { return int(e) }

// says is a program that prints this answer, and records its arguments.
func says(a Answer, err error, asked *[]string) Run {
	return func(_ context.Context, args ...string) ([]byte, error) {
		if asked != nil {
			*asked = args
		}
		text, _ := json.Marshal(a)
		return text, err
	}
}

func prints(text string, err error) Run {
	return func(context.Context, ...string) ([]byte, error) { return []byte(text), err }
}

func TestRead(t *testing.T) {
	var asked []string
	got, err := Reader{Run: says(answer(), nil, &asked), Path: "/lib"}.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(answer(), got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"/lib", "node"}, asked); diff != "" {
		t.Error(diff)
	}
}

func TestReadFails(t *testing.T) {
	failed := func(err error) Answer { return Answer{Version: Version, Failure: NewFailure(err)} }
	for name, test := range map[string]struct {
		run  Run
		want error
		text string
	}{
		"unusable":              {says(failed(fmt.Errorf("load: %w", ErrUnusable)), exit(3), nil), ErrUnusable, "query /lib: not a libmxsml library"},
		"a code":                {says(failed(fmt.Errorf("x: %w", &CodeError{Function: "mxSmlInit", Code: 8})), exit(1), nil), nil, "query /lib: mxSmlInit failed: PermissionDenied (8)"},
		"a code of tomorrow":    {says(failed(&CodeError{Function: "f", Code: 27, Text: "new"}), exit(1), nil), nil, `f failed: "new" (27)`},
		"a code without a text": {says(failed(&CodeError{Function: "f", Code: 27}), exit(1), nil), nil, "f failed with code 27"},
		"another failure":       {says(failed(errors.New("f says 99")), exit(1), nil), nil, "query /lib: f says 99"},
		"crashed":               {prints("", exit(2)), ErrCrashed, "query /lib: it crashed: exit status 2"},
		"crashed in its answer": {prints(`{"version":`, exit(2)), ErrCrashed, "exit status 2"},
		"crashed behind it":     {says(answer(), exit(2), nil), ErrCrashed, "exit status 2"},
		"silent":                {prints("", nil), ErrCrashed, "it ended the program"},
		"nonsense":              {prints("hello", nil), ErrFormat, "not understood"},
		"not there":             {prints("", errors.New("no such file")), nil, "query /lib: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := Reader{Run: test.run, Path: "/lib"}.Read(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.text) || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("error is %v, want %v with %q", err, test.want, test.text)
			}
			for _, other := range []error{ErrUnusable, ErrCrashed, ErrFormat} {
				if other != test.want && errors.Is(err, other) {
					t.Errorf("error %v is %v too", err, other)
				}
			}
			if diff := cmp.Diff(Answer{}, a); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadLate(t *testing.T) {
	hang := func(ctx context.Context, _ ...string) ([]byte, error) {
		<-ctx.Done()
		return nil, exit(-1)
	}
	if _, err := (Reader{Run: hang, Timeout: time.Millisecond}).Read(t.Context()); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrCrashed) {
		t.Errorf("error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Reader{Run: hang}).Read(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, ErrCrashed) {
		t.Errorf("error is %v", err)
	}
}

func TestFind(t *testing.T) {
	for _, test := range []struct {
		tree sim.Tree
		want string
	}{
		{sim.Tree{"etc": sim.Dir{}}, ""},
		{sim.Tree{"opt/maca-3/lib/libmxsml.so": sim.File{}, "opt/maca": sim.Link("/opt/maca-3")}, "/opt/maca-3/lib/libmxsml.so"},
		{sim.Tree{"opt/maca/lib/libmxsml.so": sim.File{}, "opt/mxn100/lib/libmxsml.so": sim.File{}}, "/opt/maca/lib/libmxsml.so"},
		{sim.Tree{"opt/maca/lib/libmxsml.so": sim.File{}, "opt/mxdriver/lib/libmxsml.so": sim.File{}}, "/opt/mxdriver/lib/libmxsml.so"},
	} {
		root := simtest.Write(t, test.tree)
		dir := root.Dir()
		if path, ok := root.First(Paths()); strings.TrimPrefix(path, dir) != test.want || ok != (test.want != "") {
			t.Errorf("found %q, %t; want %q", path, ok, test.want)
		}
	}
}

func TestCreate(t *testing.T) {
	var asked []string
	made := Answer{Version: Version, Slice: &Slice{Index: 2, UUID: "u", Alias: "a", ComputePercent: 5, MemoryMiB: 128, QoS: gpu.QoSFixedShare}}
	request := SliceRequest{BDF: gputest.BDF(t, "0000:08:00.0"), Compute: 5, MemoryMiB: 128, QoS: gpu.QoSFixedShare, Alias: "a"}
	got, err := Reader{Run: says(made, nil, &asked), Path: "/lib"}.Create(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	want := gpu.Slice{Kind: gpu.SliceSGPU, Index: 2, UUID: "u", Alias: "a", ComputePercent: 5, MemoryMiB: 128, QoS: gpu.QoSFixedShare}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	words := []string{"/lib", "sgpu", "create", "--gpu=0000:08:00.0", "--compute=5", "--memory=128", "--qos=fixed-share", "--alias=a"}
	if diff := cmp.Diff(words, asked); diff != "" {
		t.Error(diff)
	}
	if _, err := (Reader{Run: says(Answer{Version: Version}, nil, nil)}).Create(t.Context(), request); !errors.Is(err, ErrFormat) {
		t.Errorf("without a slice the error is %v", err)
	}
}

func TestSliceRequest(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*SliceRequest)
		bad    bool
	}{
		"as it is":        {func(*SliceRequest) {}, false},
		"all of a GPU":    {func(r *SliceRequest) { r.Compute = 100 }, false},
		"nothing of it":   {func(r *SliceRequest) { r.Compute = 0 }, true},
		"more than it":    {func(r *SliceRequest) { r.Compute = 101 }, true},
		"no memory":       {func(r *SliceRequest) { r.MemoryMiB = 0 }, true},
		"negative memory": {func(r *SliceRequest) { r.MemoryMiB = -128 }, true},
		"half a step":     {func(r *SliceRequest) { r.MemoryMiB = 64 }, true},
		"a step and half": {func(r *SliceRequest) { r.MemoryMiB = 192 }, true},
		"too much memory": {func(r *SliceRequest) { r.MemoryMiB = 1 << 40 }, true},
		"no QoS":          {func(r *SliceRequest) { r.QoS = "" }, false},
		"unknown QoS":     {func(r *SliceRequest) { r.QoS = "best" }, true},
		"alias of 31":     {func(r *SliceRequest) { r.Alias = strings.Repeat("a", 31) }, false},
		"alias of 32":     {func(r *SliceRequest) { r.Alias = strings.Repeat("a", 32) }, true},
		"alias of two":    {func(r *SliceRequest) { r.Alias = "a b" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := SliceRequest{Compute: 5, MemoryMiB: 128, QoS: gpu.QoSBurstShare, Alias: "a-_.Z9"}
			test.change(&r)
			if err := r.Check(); (err != nil) != test.bad || err != nil && !errors.Is(err, ErrRequest) {
				t.Errorf("error is %v", err)
			}
			ran := false
			run := func(context.Context, ...string) ([]byte, error) { ran = true; return nil, nil }
			_, _ = Reader{Run: run}.Create(t.Context(), r)
			if ran == test.bad {
				t.Errorf("it was run: %t", ran)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	var asked []string
	r := Reader{Run: says(Answer{Version: Version}, nil, &asked), Path: "/lib"}
	if err := r.Remove(t.Context(), gputest.BDF(t, "0000:08:00.0"), "GPU-s-1"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"/lib", "sgpu", "remove", "--gpu=0000:08:00.0", "--slice=GPU-s-1"}, asked); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"", "--help", "a b"} {
		asked = nil
		if err := r.Remove(t.Context(), gpu.BDF{}, name); !errors.Is(err, ErrRequest) || asked != nil {
			t.Errorf("%q: error is %v, asked %q", name, err, asked)
		}
	}
}
